//! Observations of an agent: differences of counts over a step, and the state at its end.

use super::Seen;
use crate::engine::Link;
use crate::measure::UserMeter;
use forebay_core::{Duration, Time};
use forebay_tcp::Sender;

/// Counts of a link or of a flow since its measurement began; a flow has only some of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    arrived: u64,
    sent: u64,
    bytes: u64,
    dropped: u64,
    marked: u64,
    waits: u64,
    wait_ns: u64,
}

impl Counts {
    pub fn of_link(link: &Link) -> Self {
        let meter = &link.meter;
        Counts {
            arrived: meter.offered.iter().sum(),
            sent: link.sent.0,
            bytes: link.sent.1,
            dropped: meter.dropped_total(),
            marked: meter.marked,
            waits: meter.delay.count(),
            wait_ns: meter.delay.total() as u64,
        }
    }

    pub fn of_flow(meter: &UserMeter) -> Self {
        let UserMeter { bytes, dropped, marked, .. } = *meter;
        Counts { bytes, dropped, marked, ..Counts::default() }
    }

    /// The counts since `before`. Differences wrap: counts that begin again at zero go on
    /// from the negative of what was counted until then.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            arrived: self.arrived.wrapping_sub(before.arrived),
            sent: self.sent.wrapping_sub(before.sent),
            bytes: self.bytes.wrapping_sub(before.bytes),
            dropped: self.dropped.wrapping_sub(before.dropped),
            marked: self.marked.wrapping_sub(before.marked),
            waits: self.waits.wrapping_sub(before.waits),
            wait_ns: self.wait_ns.wrapping_sub(before.wait_ns),
        }
    }
}

/// A link after a step.
pub struct LinkStep<'a> {
    /// Counts of the step.
    pub counts: Counts,
    /// Length of the step.
    pub span: Duration,
    /// Mean waiting time in ms of the packets that left in the last step with any.
    pub sojourn_ms: &'a mut f64,
}

impl LinkStep<'_> {
    /// The observation `what`; 0 if it is one of senders.
    pub fn see(&mut self, what: Seen, link: &Link, now: Time) -> f64 {
        let Counts { arrived, sent, bytes, dropped, marked, waits, wait_ns } = self.counts;
        let seconds = self.span.as_secs_f64();
        let rate = || link.port().capacity().rate(now).bps() as f64;
        let share = |count: u64| if arrived > 0 { count as f64 / arrived as f64 } else { 0.0 };
        let utilization = || {
            let rate = rate();
            if rate > 0.0 { bytes as f64 * 8.0 / seconds / rate } else { 0.0 }
        };
        match what {
            Seen::SojournMs => {
                if waits > 0 {
                    *self.sojourn_ms = wait_ns as f64 / waits as f64 * 1e-6;
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
            Seen::DeparturePps => sent as f64 / seconds,
            Seen::DepartureBps => bytes as f64 * 8.0 / seconds,
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

/// Least share, and least number of Mbit/s, of which a logarithm is taken.
const LEAST: f64 = 0.01;

/// Open connections of a flow: sums over them, windows in segments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open {
    count: u32,
    cwnd: f64,
    in_flight: f64,
    srtt_ms: f64,
}

impl Open {
    pub fn add(&mut self, sender: &Sender) {
        let (mss, info) = (sender.mss() as f64, sender.info());
        self.count += 1;
        self.cwnd += info.cwnd as f64 / mss;
        self.in_flight += info.in_flight as f64 / mss;
        self.srtt_ms += info.srtt.map_or(0.0, |srtt| srtt.as_secs_f64() * 1e3);
    }
}

/// A flow after a step.
pub struct FlowStep<'a> {
    /// Counts of the step.
    pub counts: Counts,
    /// Length of the step.
    pub span: Duration,
    /// Its open connections at the end.
    pub open: Open,
    /// Mean of their smoothed round-trip times in ms; without connections, the last one.
    pub srtt_ms: &'a mut f64,
}

impl FlowStep<'_> {
    /// The observation `what`; 0 if it is one of links.
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
