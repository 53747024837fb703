//! Points of the series of a watched world.

use super::picture::{json, list};
use super::{Scene, Watch};
use forebay_core::{Backlog, DropReason};
use serde_json::{Map, Value};

impl Watch {
    /// Adds a point to the series: counts since the one before, and the present state.
    pub fn point(&mut self, scene: &Scene) {
        self.next_point += self.grain;
        let (backlog, variables) = self.watched(scene);
        let mut ledger = self.ledger();
        let mut windows = vec![None; ledger.shown.len()];
        for (user, sender) in scene.transport.connections().open() {
            let row = ledger.rows[user as usize];
            *windows[row as usize].get_or_insert(0) += sender.cwnd();
        }
        let since = &mut ledger.since;
        let delays = since
            .delays
            .iter()
            .map(|(count, sum)| (*count > 0).then(|| sum.as_secs_f64() * 1e3 / f64::from(*count)));
        let span = self.grain.as_secs_f64();
        let rates = since.bytes.iter().map(|bytes| (*bytes as f64 * 8.0 / span).round());
        let reasons = DropReason::ALL.iter().zip(since.dropped).filter(|(_, count)| *count > 0);
        let reasons = reasons.map(|(reason, count)| (reason.name().to_owned(), count.into()));
        let point = format!(
            "{{\"t\":{},\"packets\":{},\"bytes\":{},\"delay_ms\":{},\"bps\":{},\"cwnd\":{},\
             \"dropped\":{},\"marked\":{},\"variables\":{}}}",
            scene.now.as_secs_f64(),
            backlog.packets,
            backlog.bytes,
            list(delays),
            list(rates),
            list(windows),
            Value::Object(reasons.collect::<Map<_, _>>()),
            since.marked,
            json(&variables),
        );
        since.bytes.fill(0);
        since.delays.fill(Default::default());
        (since.dropped, since.marked) = Default::default();
        ledger.points.push(point);
    }

    /// Backlog and variables of the watched queue.
    fn watched(&self, scene: &Scene) -> (Backlog, Vec<(&'static str, f64)>) {
        let Some(link) = self.link else { return Default::default() };
        let port = scene.fabric.links()[link as usize].port();
        let mut variables = Vec::new();
        port.probe(scene.now, &mut |name, value| variables.push((name, value)));
        (port.backlog(), variables)
    }

    /// See [`World::points`](crate::World::points).
    pub fn points(&self, first: usize) -> (usize, String) {
        let ledger = self.ledger();
        let points = ledger.points.get(first..).unwrap_or_default();
        (ledger.points.len(), format!("[{}]", points.join(",")))
    }
}
