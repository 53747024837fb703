//! Common code of the disciplines' tests: a port without a link, and a record of lost packets.

use crate::Disciplines;
use forebay_core::tcp::Tcp;
use forebay_core::{
    Context, Discipline, DropReason, Packet, Rate, Rng, Setting, Sink, Time, Verdict,
};
use serde_json::Value;

/// All packets that went to the sink, by their id.
#[derive(Default)]
pub struct Record {
    pub dropped: Vec<(u32, DropReason)>,
    pub marked: Vec<u32>,
    /// The TCP header of the packet that is offered next.
    pub header: Option<Tcp>,
}

impl Sink for Record {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet.id, reason));
        packet.retire();
    }
    fn marked(&mut self, packet: &Packet) {
        self.marked.push(packet.id);
    }
    fn tcp_header(&mut self, _: &Packet) -> Option<Tcp> {
        self.header
    }
}

/// A 10 Mbit/s port, 1500-byte packets, no link overhead.
pub const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000), 0, 1500);

/// A discipline under test.
pub struct Rig {
    pub discipline: Box<dyn Discipline>,
    pub record: Record,
    pub rng: Rng,
    next_id: u32,
}

impl Rig {
    /// The discipline that `block` describes.
    pub fn new(block: Value) -> Self {
        let discipline =
            Disciplines::builtin().build(&block, &SETTING).unwrap_or_else(|e| panic!("{e}"));
        Rig { discipline, record: Record::default(), rng: Rng::named(1, "rig"), next_id: 0 }
    }

    /// Offers a packet of 1000 bytes, changed by `shape`, at `now`; its id counts from zero.
    pub fn offer(&mut self, now: Time, shape: impl FnOnce(&mut Packet)) -> Verdict {
        let mut packet = Packet::new(self.next_id, 0, 1000);
        self.next_id += 1;
        packet.queued = now;
        shape(&mut packet);
        self.discipline.enqueue(packet, &mut Context::new(now, &mut self.rng, &mut self.record))
    }

    /// Takes the next packet at `now` and returns its id.
    pub fn take(&mut self, now: Time) -> Option<u32> {
        let mut cx = Context::new(now, &mut self.rng, &mut self.record);
        self.discipline.dequeue(&mut cx).map(Packet::retire)
    }

    /// Number of packets held.
    pub fn held(&self) -> usize {
        self.discipline.backlog().packets
    }

    /// Ids of the packets dropped since the last call, in order.
    pub fn drops(&mut self) -> Vec<u32> {
        self.record.dropped.drain(..).map(|(id, _)| id).collect()
    }

    /// The internal variable called `name`.
    pub fn probe(&self, name: &str) -> f64 {
        let mut found = None;
        self.discipline.probe(Time::ZERO, &mut |key, value| {
            if key == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no variable is called {name}"))
    }
}

/// `micros` microseconds after the beginning.
pub fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1_000)
}

/// `millis` milliseconds after the beginning.
pub fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}
