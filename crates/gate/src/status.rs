//! The state of a running gate, as it reports it.

use crate::io::Missed;
use crate::rules::Count;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Packets and bytes of IP packets.
pub type Traffic = Count;

/// The whole report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Version of forebay.
    pub version: String,
    /// Process number.
    pub process: u32,
    /// Time since it began.
    pub uptime_s: f64,
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// Number of changes of the configuration since then.
    pub reloads: u64,
    /// The configuration, with every default filled in.
    pub config: Value,
    /// From inside to outside.
    pub forward: DirectionStatus,
    /// From outside to inside.
    pub reverse: DirectionStatus,
    /// The rules in order; the default is last.
    pub rules: Vec<RuleStatus>,
    /// Frames missed at the inside interface.
    pub inside: Missed,
    /// Frames missed at the outside interface.
    pub outside: Missed,
    /// Number of buffers.
    pub buffers: u32,
    /// Buffers in use.
    pub buffers_used: u32,
}

/// One direction since the beginning. Every packet received was passed, sent, dropped or answered
/// by the box, or still waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectionStatus {
    /// Kind of the queue; none if packets pass unqueued.
    pub kind: Option<String>,
    /// Rate to which it is shaped.
    pub rate_bps: Option<u64>,
    /// Packets that arrived.
    pub received: Traffic,
    /// Of these, packets that were not queued.
    pub passed: Traffic,
    /// Packets that left the queue.
    pub sent: Traffic,
    /// Packets dropped, by reason.
    pub dropped: Drops,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Queues of earlier configurations, whose packets leave first.
    #[serde(default)]
    pub earlier_queues: u64,
    /// Packets that wait in the queues.
    pub backlog_packets: u64,
    /// Bytes of these packets.
    pub backlog_bytes: u64,
    /// Packets on the emulated wire, or waiting for the interface.
    pub in_transit: u64,
    /// Median of the time in the queue.
    pub p50_delay_ms: f64,
    /// 99th percentile of the time in the queue.
    pub p99_delay_ms: f64,
    /// Longest time in the queue.
    pub max_delay_ms: f64,
    /// Checksums that the sender left to hardware, and the gate completed.
    pub completed_checksums: u64,
    /// Number of pauses of the gate that were so long that capacity was lost.
    pub stalls: u64,
    /// Mean lateness of departing packets.
    pub mean_lateness_us: f64,
    /// Maximum of this lateness.
    pub max_lateness_us: f64,
    /// By QoS class.
    pub classes: BTreeMap<u8, Class>,
    /// The counters of the box in front of the queue, if there is one.
    #[serde(rename = "box")]
    pub middlebox: Option<BoxStatus>,
    /// The discipline's own variables.
    pub variables: BTreeMap<String, f64>,
    /// The recording, if there is one.
    pub recording: Option<Recording>,
}

/// Packets dropped, by reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Drops(pub BTreeMap<String, u64>);

impl DirectionStatus {
    /// Adds what another core reports.
    fn add(&mut self, more: DirectionStatus) {
        let mean = |own: (f64, u64), other: (f64, u64)| {
            (own.0 * own.1 as f64 + other.0 * other.1 as f64) / (own.1 + other.1).max(1) as f64
        };
        let sent = (self.sent.packets, more.sent.packets);
        self.mean_lateness_us =
            mean((self.mean_lateness_us, sent.0), (more.mean_lateness_us, sent.1));
        for (own, other) in [
            (&mut self.received, more.received),
            (&mut self.passed, more.passed),
            (&mut self.sent, more.sent),
        ] {
            own.merge(other);
        }
        for (reason, count) in more.dropped.0 {
            *self.dropped.0.entry(reason).or_default() += count;
        }
        for (own, other) in [
            (&mut self.marked, more.marked),
            (&mut self.earlier_queues, more.earlier_queues),
            (&mut self.backlog_packets, more.backlog_packets),
            (&mut self.backlog_bytes, more.backlog_bytes),
            (&mut self.in_transit, more.in_transit),
            (&mut self.completed_checksums, more.completed_checksums),
            (&mut self.stalls, more.stalls),
        ] {
            *own += other;
        }
        for (own, other) in [
            (&mut self.p50_delay_ms, more.p50_delay_ms),
            (&mut self.p99_delay_ms, more.p99_delay_ms),
            (&mut self.max_delay_ms, more.max_delay_ms),
            (&mut self.max_lateness_us, more.max_lateness_us),
        ] {
            *own = own.max(other);
        }
        for (class, other) in more.classes {
            match self.classes.entry(class) {
                Entry::Vacant(entry) => drop(entry.insert(other)),
                Entry::Occupied(mut own) => own.get_mut().add(other),
            }
        }
        for (name, value) in more.variables {
            *self.variables.entry(name).or_default() += value;
        }
    }
}

impl Class {
    /// Adds what another core reports.
    fn add(&mut self, more: Class) {
        self.offered.merge(more.offered);
        self.sent.merge(more.sent);
        self.dropped += more.dropped;
        self.marked += more.marked;
        self.waiting += more.waiting;
        self.delay_sum_s += more.delay_sum_s;
        self.mean_delay_ms = self.delay_sum_s * 1e3 / self.sent.packets.max(1) as f64;
        self.max_delay_ms = self.max_delay_ms.max(more.max_delay_ms);
    }
}

impl Drops {
    /// The sum over all reasons.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// A QoS class of one direction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Class {
    /// Packets that arrived at the queue.
    pub offered: Traffic,
    /// Packets that left it.
    pub sent: Traffic,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Packets that wait.
    pub waiting: u64,
    /// Sum of the times in the queue.
    pub delay_sum_s: f64,
    /// Mean time in the queue.
    pub mean_delay_ms: f64,
    /// Longest time in the queue.
    pub max_delay_ms: f64,
}

/// The counters of a box.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BoxStatus {
    /// Freezes of a flow.
    pub freezes: u64,
    /// Ends of a freeze.
    pub releases: u64,
    /// Windows rewritten.
    pub rewritten: u64,
    /// Packets that did not pass because they were answered.
    pub answered: u64,
    /// Acknowledgments made, without answers.
    pub made: u64,
    /// Packets that could not be made, because there was no buffer or no route.
    pub lost: u64,
    /// Flows forgotten for lack of room.
    pub evicted: u64,
    /// Flows known.
    pub flows: u64,
    /// Flows frozen.
    pub frozen: u64,
    /// Flows for which others are held back.
    pub active: u64,
}

/// A recording in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    /// Bytes so far.
    pub bytes: u64,
    /// Whether it continues: its limit is not reached, and no write has failed.
    pub open: bool,
}

/// The packets that a rule has matched.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RuleStatus {
    /// Its name.
    pub name: String,
    /// Packets.
    pub packets: u64,
    /// Bytes of IP packets.
    pub bytes: u64,
}

impl Status {
    /// Adds what another core reports. Percentiles and maxima are then those of the core that has the
    /// largest.
    pub fn add(&mut self, more: Status) {
        self.forward.add(more.forward);
        self.reverse.add(more.reverse);
        for (rule, other) in self.rules.iter_mut().zip(more.rules) {
            rule.packets += other.packets;
            rule.bytes += other.bytes;
        }
        for (own, other) in [(&mut self.inside, more.inside), (&mut self.outside, more.outside)] {
            own.oversize += other.oversize;
            own.no_buffer += other.no_buffer;
            own.kernel += other.kernel;
            own.refused += other.refused;
        }
        self.buffers += more.buffers;
        self.buffers_used += more.buffers_used;
    }

    /// Names of the rules that never matched.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.iter().filter(|rule| rule.packets == 0 && rule.name != "default");
        rules.map(|rule| rule.name.as_str())
    }
}
