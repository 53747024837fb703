//! The present state of the world, for observers.

use super::World;
use crate::engine::fabric::Link;
use forebay_core::{Discipline, Rate, Time};
use forebay_tcp::{Config as TcpConfig, Sender};
use serde_json::{Map, Value, json};
use std::sync::Arc;

impl World {
    /// The present instant.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Every link by its name: the kind of its queue, the backlog (without the packet in transmission), the
    /// rate, counts of packets sent, dropped and marked since the measurement began, and the variables of
    /// its discipline.
    pub fn links_now(&self) -> Value {
        let links = self.fabric.links().iter().map(|link| {
            let (waiting, port) = (link.backlog(), link.port());
            let mut variables = Map::new();
            port.probe(self.now, &mut |name, value| {
                drop(variables.insert(name.into(), value.into()))
            });
            let seen = json!({
                "kind": link.kind,
                "packets": waiting.packets,
                "bytes": waiting.bytes,
                "rate_bps": port.capacity().rate(self.now).bps(),
                "sent_packets": link.sent.0,
                "sent_bytes": link.sent.1,
                "dropped": link.meter.dropped_total(),
                "marked": link.meter.marked,
                "variables": variables,
            });
            (link.name.clone(), seen)
        });
        Value::Object(links.collect())
    }

    /// Every flow, in order: the index of its traffic entry; payload delivered, packets dropped and marked
    /// since the measurement began; and of its open connections the number, the sums of windows and bytes
    /// in flight, and the mean of round-trip times.
    pub fn flows_now(&self) -> Value {
        let mut flows: Vec<Value> = Vec::with_capacity(self.measures.users.len());
        let mut open = vec![(0_u32, 0_u64, 0_u64, 0.0_f64); self.measures.users.len()];
        for (user, sender) in self.transport.connections().open() {
            let (count, cwnd, in_flight, srtt) = &mut open[user as usize];
            let info = sender.info();
            *count += 1;
            *cwnd += info.cwnd;
            *in_flight += info.in_flight;
            *srtt += info.srtt.map_or(0.0, |srtt| srtt.as_secs_f64() * 1e3);
        }
        for (meter, (count, cwnd, in_flight, srtt)) in self.measures.users.iter().zip(open) {
            let is_open = count > 0;
            flows.push(json!({
                "traffic": meter.traffic,
                "delivered_bytes": meter.bytes,
                "dropped": meter.dropped,
                "marked": meter.marked,
                "connections": count,
                "cwnd_bytes": is_open.then_some(cwnd),
                "in_flight_bytes": is_open.then_some(in_flight),
                "srtt_ms": (is_open && srtt > 0.0).then(|| srtt / f64::from(count)),
            }));
        }
        Value::Array(flows)
    }

    /// The link of this index.
    pub fn link(&self, link: usize) -> &Link {
        &self.fabric.links()[link]
    }

    /// (user, sender) of every connection that is open.
    pub fn senders(&self) -> impl Iterator<Item = (u32, &Sender)> {
        self.transport.connections().open()
    }

    /// Gives the discipline of a link the parameters of `fresh`, which was built for a link of `rate`; it
    /// keeps its state. False if it cannot ([`Discipline::retune`]).
    pub fn retune(&mut self, link: usize, fresh: &mut dyn Discipline, rate: Rate) -> bool {
        let now = self.now;
        self.fabric.links_mut()[link].retune(now, fresh, rate)
    }

    /// Changes all connections of a user to `tcp`. False if its congestion control cannot change.
    pub fn control(&mut self, user: u32, tcp: &Arc<TcpConfig>) -> bool {
        let World { now, fabric, transport, measures, .. } = self;
        transport.control(*now, user, tcp, fabric, measures)
    }
}
