//! The table `[agent]` of a scenario.

use forebay_core::Duration;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// An agent that learns (`forebay.gym`): what it controls, what it sets, what it observes, and its
/// reward.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentTable {
    /// Link whose queue it controls. The compared link if neither this nor `traffic` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Traffic entry of which it is the congestion control. Each flow has an agent of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<String>,
    /// Simulated time from one action to the next; above 0. Default 10ms.
    #[serde(default = "ten_milliseconds")]
    pub step: Duration,
    /// Parameters of the queue or of the congestion control that it sets, with a range for each:
    /// `{ target = "1ms..100ms:log" }`. Without any, the queue becomes one of the kind `agent`,
    /// whose `drop_probability` is set, from 0 to 1; and the congestion control becomes `agent`,
    /// whose `window` is set, from 1 to 1000 segments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "some")]
    pub actions: BTreeMap<String, String>,
    /// Observations in each step, in order. Default, at a link: `sojourn_ms`,
    /// `backlog_packets`, `arrival_pps`, `departure_pps`, `dropped` and `marked`; at a sender:
    /// `srtt_ms`, `throughput_bps`, `cwnd_packets`, `in_flight_packets`, `dropped` and `marked`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "some")]
    pub observations: Vec<Seen>,
    /// Its reward for each step: a sum of observations, each multiplied by a weight. Default, at a
    /// link: `{ log_utilization = 1.0, sojourn_ms = -0.01 }`; at a sender: `{ log_throughput = 1.0,
    /// srtt_ms = -0.01 }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "some")]
    pub reward: BTreeMap<Seen, f64>,
    /// Fields of the scenario, by path, that each episode draws again, with their ranges: `{
    /// "dumbbell.rate" = "2Mbit..50Mbit:log", "traffic[0].flows" = "1..20" }`; or values such as
    /// `"fifo,codel"`, one of which is chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub draws: BTreeMap<String, String>,
}

fn ten_milliseconds() -> Duration {
    Duration::from_millis(10)
}

/// A table or a list that is written, and so has something in it.
fn some<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let found = T::deserialize(from)?;
    if found == T::default() {
        return Err(D::Error::custom("is empty; leave it out for the usual ones"));
    }
    Ok(found)
}

/// An observation of a step, at a link or at a sender. Without a packet a share is 0, and a delay is
/// that of the step before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Link: mean waiting time of the packets that left the queue, in ms.
    SojournMs,
    /// Link: packets that wait at the end of the step.
    BacklogPackets,
    /// Link: bytes of these packets.
    BacklogBytes,
    /// Link: how long these would take to send at the link's rate, in ms.
    BacklogMs,
    /// Link: packets that arrived, per second.
    ArrivalPps,
    /// Link: packets that were sent, per second.
    DeparturePps,
    /// Link: bits that were sent, with the link's overhead, per second.
    DepartureBps,
    /// Packets that the queue dropped. For a sender, all that were dropped on the path.
    Dropped,
    /// Packets that were marked congestion-experienced, likewise.
    Marked,
    /// Link: share of the arriving packets that were dropped, 0 to 1.
    DropShare,
    /// Link: share of the arriving packets that were marked, 0 to 1.
    MarkShare,
    /// Link: `departure_bps` divided by the link's rate, about 0 to 1.
    Utilization,
    /// Link: the natural logarithm of `utilization`, at least that of 0.01.
    LogUtilization,
    /// Link: its rate in bit/s; the mean rate of a trace.
    RateBps,
    /// Sender: smoothed round-trip time in ms.
    SrttMs,
    /// Sender: payload delivered in order, in bit/s.
    ThroughputBps,
    /// Sender: the natural logarithm of `throughput_bps` in Mbit/s, at least that of 0.01.
    LogThroughput,
    /// Sender: congestion window in segments.
    CwndPackets,
    /// Sender: segments in flight.
    InFlightPackets,
}

impl Seen {
    /// Observations at a link.
    pub const LINK: [Seen; 14] = [
        Seen::SojournMs,
        Seen::BacklogPackets,
        Seen::BacklogBytes,
        Seen::BacklogMs,
        Seen::ArrivalPps,
        Seen::DeparturePps,
        Seen::DepartureBps,
        Seen::Dropped,
        Seen::Marked,
        Seen::DropShare,
        Seen::MarkShare,
        Seen::Utilization,
        Seen::LogUtilization,
        Seen::RateBps,
    ];
    /// Observations at a sender.
    pub const SENDER: [Seen; 7] = [
        Seen::SrttMs,
        Seen::ThroughputBps,
        Seen::LogThroughput,
        Seen::CwndPackets,
        Seen::InFlightPackets,
        Seen::Dropped,
        Seen::Marked,
    ];
}
