//! What a running gate tells about itself.

use crate::io::Missed;
use crate::rules::Count;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Packets and bytes of IP packets.
pub type Traffic = Count;

/// Everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Of forebay.
    pub version: String,
    /// Its process.
    pub process: u32,
    /// Time since it began.
    pub uptime_s: f64,
    /// Whether it only pretends to queue.
    pub dry_run: bool,
    /// How often the configuration was changed since.
    pub reloads: u64,
    /// The configuration, every default filled in.
    pub config: Value,
    /// From inside to outside.
    pub forward: Direction,
    /// From outside to inside.
    pub reverse: Direction,
    /// The rules in order, the default last.
    pub rules: Vec<RuleStatus>,
    /// What was missed at the inside interface.
    pub inside: Missed,
    /// What was missed at the outside interface.
    pub outside: Missed,
    /// Buffers in all.
    pub buffers: u32,
    /// Buffers in use.
    pub buffers_used: u32,
}

/// One direction since the beginning. Every packet received was passed, sent, dropped or answered
/// by the box, or still waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Direction {
    /// Kind of the queue; none if packets pass.
    pub kind: Option<String>,
    /// Rate that it is shaped to.
    pub rate_bps: Option<u64>,
    /// Packets that came in.
    pub received: Traffic,
    /// Of those, packets that were not queued.
    pub passed: Traffic,
    /// Packets that left the queue.
    pub sent: Traffic,
    /// Packets dropped, by reason.
    pub dropped: Drops,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Packets that wait in the queue.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Packets on the emulated wire, or waiting for the interface.
    pub in_transit: u64,
    /// Median of the time in the queue.
    pub p50_delay_ms: f64,
    /// 99th percentile of the time in the queue.
    pub p99_delay_ms: f64,
    /// Longest time in the queue.
    pub max_delay_ms: f64,
    /// Checksums that the sender had left to hardware, and the gate completed.
    pub completed_checksums: u64,
    /// How often the gate did not run for so long that capacity was lost.
    pub stalls: u64,
    /// Mean time by which packets left later than they should.
    pub mean_lateness_us: f64,
    /// Longest such time.
    pub max_lateness_us: f64,
    /// By QoS class.
    pub classes: BTreeMap<u8, Class>,
    /// What the box in front of the queue did, if there is one.
    pub guard: Option<BoxStatus>,
    /// The discipline's own variables.
    pub variables: BTreeMap<String, f64>,
    /// The recording, if there is one.
    pub recording: Option<Recording>,
}

/// Packets dropped, by reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Drops(pub BTreeMap<String, u64>);

impl Drops {
    /// For whatever reason.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// A QoS class of one direction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Class {
    /// Packets that came to the queue.
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

/// What a box did.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BoxStatus {
    /// Freezes of a flow.
    pub freezes: u64,
    /// Ends of a freeze.
    pub releases: u64,
    /// Windows rewritten.
    pub rewritten: u64,
    /// Packets that went no further, since they were answered.
    pub answered: u64,
    /// Acknowledgments made, answers not counted.
    pub made: u64,
    /// Packets to be made for which there was no buffer or no way.
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

/// A recording under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    /// Bytes so far.
    pub bytes: u64,
    /// Whether it goes on: its limit is not reached, and nothing failed.
    pub open: bool,
}

/// What a rule matched.
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
    /// Names of the rules that never matched.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.iter().filter(|rule| rule.packets == 0 && rule.name != "default");
        rules.map(|rule| rule.name.as_str())
    }
}
