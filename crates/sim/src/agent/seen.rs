//! What an agent observes of a step, as differences of counts.

use super::Seen;
use crate::engine::Link;
use crate::measure::UserMeter;
use forebay_core::{Duration, Time};
use forebay_tcp::Sender;
use std::ops::Add;

/// What a link has counted since its measurement began.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkCounts {
    arrived: u64,
    sent: (u64, u64),
    dropped: u64,
    marked: u64,
    waits: (u64, u128),
}

impl LinkCounts {
    /// The present counts of `link`.
    pub fn of(link: &Link) -> Self {
        let meter = &link.meter;
        LinkCounts {
            arrived: meter.offered.iter().sum(),
            sent: link.sent,
            dropped: meter.dropped_total(),
            marked: meter.marked,
            waits: (meter.delay.count(), meter.delay.total()),
        }
    }

    /// What has been counted since `before`.
    pub fn since(&self, before: &LinkCounts) -> LinkCounts {
        LinkCounts {
            arrived: self.arrived - before.arrived,
            sent: (self.sent.0 - before.sent.0, self.sent.1 - before.sent.1),
            dropped: self.dropped - before.dropped,
            marked: self.marked - before.marked,
            waits: (self.waits.0 - before.waits.0, self.waits.1 - before.waits.1),
        }
    }
}

impl Add for LinkCounts {
    type Output = LinkCounts;
    fn add(self, other: LinkCounts) -> LinkCounts {
        LinkCounts {
            arrived: self.arrived + other.arrived,
            sent: (self.sent.0 + other.sent.0, self.sent.1 + other.sent.1),
            dropped: self.dropped + other.dropped,
            marked: self.marked + other.marked,
            waits: (self.waits.0 + other.waits.0, self.waits.1 + other.waits.1),
        }
    }
}

/// A link after a step.
pub struct LinkStep<'a> {
    /// What was counted in the step.
    pub counts: LinkCounts,
    /// Length of the step.
    pub span: Duration,
    /// The mean waiting time of the last packets that left, in ms.
    pub sojourn_ms: &'a mut f64,
}

impl LinkStep<'_> {
    /// The observation. Those of senders are 0.
    pub fn see(&mut self, what: Seen, link: &Link, now: Time) -> f64 {
        let LinkCounts { arrived, sent, dropped, marked, waits } = self.counts;
        let seconds = self.span.as_secs_f64();
        let rate = || link.port().capacity().rate(now).bps() as f64;
        let share = |count: u64| if arrived > 0 { count as f64 / arrived as f64 } else { 0.0 };
        let utilization = || {
            let rate = rate();
            if rate > 0.0 { sent.1 as f64 * 8.0 / seconds / rate } else { 0.0 }
        };
        match what {
            Seen::SojournMs => {
                if waits.0 > 0 {
                    *self.sojourn_ms = waits.1 as f64 / waits.0 as f64 * 1e-6;
                }
                *self.sojourn_ms
            }
            Seen::BacklogPackets => link.backlog().packets as f64,
            Seen::BacklogBytes => link.backlog().bytes as f64,
            Seen::BacklogMs => {
                let (bits, rate) = (link.backlog().bytes as f64 * 8.0, rate());
                if rate > 0.0 { bits / rate * 1e3 } else { 0.0 }
            }
            Seen::ArrivalPps => arrived as f64 / seconds,
            Seen::DeparturePps => sent.0 as f64 / seconds,
            Seen::DepartureBps => sent.1 as f64 * 8.0 / seconds,
            Seen::Dropped => dropped as f64,
            Seen::Marked => marked as f64,
            Seen::DropShare => share(dropped),
            Seen::MarkShare => share(marked),
            Seen::Utilization => utilization(),
            Seen::LogUtilization => libm::log(utilization().max(LEAST)),
            Seen::RateBps => rate(),
            _ => 0.0,
        }
    }
}

/// All logarithms of smaller shares, and of fewer Mbit/s, are equal.
const LEAST: f64 = 0.01;

/// What a flow has counted since the measurement began.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowCounts {
    bytes: u64,
    dropped: u64,
    marked: u64,
}

impl FlowCounts {
    /// The present counts of `meter`.
    pub fn of(meter: &UserMeter) -> Self {
        FlowCounts { bytes: meter.bytes, dropped: meter.dropped, marked: meter.marked }
    }

    /// What has been counted since `before`.
    pub fn since(&self, before: &FlowCounts) -> FlowCounts {
        FlowCounts {
            bytes: self.bytes - before.bytes,
            dropped: self.dropped - before.dropped,
            marked: self.marked - before.marked,
        }
    }
}

impl Add for FlowCounts {
    type Output = FlowCounts;
    fn add(self, other: FlowCounts) -> FlowCounts {
        FlowCounts {
            bytes: self.bytes + other.bytes,
            dropped: self.dropped + other.dropped,
            marked: self.marked + other.marked,
        }
    }
}

/// The connections of a flow that are open.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open {
    count: u32,
    cwnd: f64,
    in_flight: f64,
    srtt_ms: f64,
}

impl Open {
    /// Counts one more connection.
    pub fn add(&mut self, sender: &Sender) {
        let mss = sender.mss() as f64;
        self.count += 1;
        self.cwnd += sender.cwnd() as f64 / mss;
        self.in_flight += sender.in_flight() as f64 / mss;
        self.srtt_ms += sender.srtt().map_or(0.0, |srtt| srtt.as_secs_f64() * 1e3);
    }
}

/// A flow after a step.
pub struct FlowStep<'a> {
    /// What was counted in the step.
    pub counts: FlowCounts,
    /// Length of the step.
    pub span: Duration,
    /// Its open connections at the end.
    pub open: Open,
    /// The mean of their smoothed round-trip times in ms. Without connections, the last one.
    pub srtt_ms: &'a mut f64,
}

impl FlowStep<'_> {
    /// The observation. Those of links are 0.
    pub fn see(&mut self, what: Seen) -> f64 {
        let throughput = self.counts.bytes as f64 * 8.0 / self.span.as_secs_f64();
        match what {
            Seen::SrttMs => {
                if self.open.srtt_ms > 0.0 {
                    *self.srtt_ms = self.open.srtt_ms / f64::from(self.open.count);
                }
                *self.srtt_ms
            }
            Seen::ThroughputBps => throughput,
            Seen::LogThroughput => libm::log((throughput * 1e-6).max(LEAST)),
            Seen::CwndPackets => self.open.cwnd,
            Seen::InFlightPackets => self.open.in_flight,
            Seen::Dropped => self.counts.dropped as f64,
            Seen::Marked => self.counts.marked as f64,
            _ => 0.0,
        }
    }
}
