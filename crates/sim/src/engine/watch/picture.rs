//! Pictures of a watched world, as JSON.

use super::ledger::{Ledger, Row, Serial, Step, What};
use super::{Scene, Watch};
use crate::engine::measures::Measures;
use forebay_core::{Ecn, Packet, PacketKind, Time};
use serde::Serialize;
use serde_json::{Value, json};

/// A JSON list. Numbers that are not finite are null.
pub fn list<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<_> = values.into_iter().collect();
    serde_json::to_string(&values).expect("numbers can be written")
}

/// A JSON object of variables.
pub fn json(variables: &[(&'static str, f64)]) -> Value {
    variables.iter().map(|(name, value)| (name.to_string(), Value::from(*value))).collect()
}

/// A queue of the watched discipline.
#[derive(Serialize)]
struct Inner {
    id: usize,
    packets: Vec<(Serial, u32, u32, u32, u64, u8)>,
    total: usize,
    bytes: u64,
}

impl Watch {
    /// See [`World::shown`](crate::World::shown).
    pub fn shown(&self, measures: &Measures) -> Value {
        let names = measures.classes.iter().map(|class| class.name.clone());
        let row =
            |row: &Row| json!({ "traffic": row.traffic, "class": row.class, "flows": row.flows });
        let flows: Vec<_> = self.ledger().shown.iter().map(row).collect();
        json!({ "classes": names.collect::<Vec<_>>(), "flows": flows })
    }

    /// See [`World::picture`](crate::World::picture).
    pub fn picture(&self, scene: &Scene, most: usize) -> String {
        let mut ledger = self.ledger();
        let gone: Vec<_> = ledger.gone.drain(..).collect();
        let gone = gone.iter().filter_map(|(serial, reason)| {
            let story = ledger.story(*serial)?;
            let (row, class) = ledger.place(story.user);
            Some((*serial, row, class, reason.name()))
        });
        let gone = list(gone);
        let (queues, total, bytes) = self.queue(scene, &ledger, most);
        let (moving, moving_total) = moving(scene, &ledger, most);
        format!(
            "\"queues\":{},\"total\":{total},\"bytes\":{bytes},\"sending\":{},\"gone\":{gone},\
             \"moving\":{},\"moving_total\":{moving_total}",
            list(queues),
            self.sending(scene, &ledger),
            list(moving),
        )
    }

    fn queue(&self, scene: &Scene, ledger: &Ledger, most: usize) -> (Vec<Inner>, usize, u64) {
        let mut queues: Vec<Inner> = Vec::new();
        let Some(link) = self.link else { return (queues, 0, 0) };
        let port = scene.fabric.links()[link as usize].port();
        let mut shown = 0;
        port.waiting(&mut |id, packet: &Packet| {
            if queues.last().is_none_or(|last| last.id != id) {
                queues.push(Inner { id, packets: Vec::new(), total: 0, bytes: 0 });
            }
            let inner = queues.last_mut().expect("there is one");
            inner.total += 1;
            inner.bytes += u64::from(packet.len);
            if shown < most {
                shown += 1;
                let cargo = scene.fabric.hold.look(packet.id);
                let (row, class) = ledger.place(cargo.user);
                let age = scene.now.since(packet.queued).as_nanos();
                let is_marked = u8::from(packet.ecn() == Ecn::Ce);
                let serial = ledger.serial(packet.id, cargo);
                inner.packets.push((serial, row, class, packet.len, age, is_marked));
            }
        });
        let held = port.backlog();
        (queues, held.packets, held.bytes)
    }

    fn sending(&self, scene: &Scene, ledger: &Ledger) -> Value {
        let of = |(serial, since): (Serial, Time)| {
            let until = scene.fabric.links()[self.link? as usize].port().free_at();
            let story = ledger.story(serial).filter(|_| until > scene.now)?;
            let (row, class) = ledger.place(story.user);
            Some(json!([serial, row, class, story.bytes, share(since, scene.now, until)]))
        };
        ledger.sending.and_then(of).unwrap_or_default()
    }

    pub fn story(&self, scene: &Scene, serial: Serial) -> Option<Value> {
        let ledger = self.ledger();
        let story = ledger.story(serial)?;
        let (row, class) = ledger.place(story.user);
        let kind = match story.kind {
            PacketKind::PureAck => "ack",
            PacketKind::Control => "control",
            _ => "data",
        };
        let last = story.steps.last().map(|step| step.what);
        let ended = matches!(last, Some(What::Delivered | What::Lost | What::Dropped(_)));
        let steps = story.steps.iter().map(|step| step_of(scene, step));
        Some(json!({
            "id": serial,
            "flow": row,
            "class_id": class,
            "bytes": story.bytes,
            "kind": kind,
            "ended": ended,
            "steps": steps.collect::<Vec<_>>(),
        }))
    }
}

/// Packets in pipes (number, flow, class, bytes, link, share of the way), and their number.
#[expect(clippy::type_complexity)]
fn moving(
    scene: &Scene,
    ledger: &Ledger,
    most: usize,
) -> (Vec<(Serial, u32, u32, u32, i64, f64)>, usize) {
    let mut moving = Vec::new();
    for (arrival, id) in scene.fabric.under_way() {
        if moving.len() == most {
            break;
        }
        let cargo = scene.fabric.hold.look(id);
        let serial = ledger.serial(id, cargo);
        let left = ledger.story(serial).and_then(|story| story.left);
        let (link, since) = left.map_or((-1, cargo.sent), |(link, at)| (i64::from(link), at));
        if since > scene.now {
            continue;
        }
        let (row, class) = ledger.place(cargo.user);
        let share = share(since, scene.now, arrival);
        moving.push((serial, row, class, cargo.packet.len, link, share));
    }
    let total = scene.fabric.count_under_way();
    (moving, total)
}

/// Share of the time from `since` to `until` that has passed at `now`.
fn share(since: Time, now: Time, until: Time) -> f64 {
    let (past, whole) = (now.since(since).as_secs_f64(), until.since(since).as_secs_f64());
    if whole > 0.0 { (past / whole * 1e4).round() / 1e4 } else { 1.0 }
}

fn step_of(scene: &Scene, step: &Step) -> Value {
    let (what, why) = match step.what {
        What::Sent => ("sent", ""),
        What::Queued => ("queued", ""),
        What::Dropped(reason) => ("dropped", reason.name()),
        What::Marked => ("marked", ""),
        What::Transmitted => ("transmitted", ""),
        What::Lost => ("lost", ""),
        What::Delivered => ("delivered", ""),
    };
    json!({
        "at_ns": step.at.as_nanos(),
        "what": what,
        "where": step.link.map_or("", |link| &scene.fabric.links()[link as usize].name),
        "why": why,
        "waiting": step.waiting,
        "variables": json(&step.variables),
    })
}
