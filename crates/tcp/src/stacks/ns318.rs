//! ns-3.18's `TcpNewReno` (2013), with windows in octets. Functions named here are those of its
//! `src/internet/model/tcp-newreno.cc`, `tcp-socket-base.cc` and `rtt-estimator.cc`.
//!
//! `m_nextTxSequence` is [`Ns318::point`], `m_highTxMark` the connection's SND.NXT, the head of
//! `m_txBuffer` its SND.UNA.

use super::{Abilities, Ack, Flow, Host, Rules, Stack};
use crate::{ConnectionParams, LossRecovery, SenderStats};
use forebay_core::{ConfigError, Duration, Named, Time, params};
use std::collections::VecDeque;
use std::sync::Arc;

/// `MaxMultiplier` of `RttEstimator`.
const MOST_BACKOFF: u64 = 64;
/// `InitialEstimation` of `RttEstimator`.
const FIRST_ESTIMATE: f64 = 1e9;
/// `Gain` of `RttMeanDeviation`.
const GAIN: f64 = 0.1;
/// `SlowStartThreshold` of `TcpSocket`.
const FIRST_THRESHOLD: u32 = 0xffff;

/// A segment that was sent (`RttHistory`).
#[derive(Debug)]
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    again: bool,
}

params! {
    /// Parameters of `ns-3.18`.
    #[derive(Copy, PartialEq)]
    pub struct Ns318Params {
        /// New data on the first two duplicate acknowledgments (`LimitedTransmit`; RFC 3042).
        /// Default false.
        pub limited_transmit: bool = false,
    }
}

impl Named for Ns318 {
    type Family = Stack;
    const NAME: &'static str = "ns-3.18";
    const SUMMARY: &'static str = "the sender of ns-3.18: TcpNewReno";
    const SOURCE: &'static str = "ns-3.18, src/internet/model/tcp-newreno.cc, tcp-socket-base.cc";
    const FACTS: Abilities = Abilities {
        recovery: &[LossRecovery::NewReno],
        congestion: Some(&["new-reno"]),
        lacks: &[
            "accurate_ecn",
            "ecn",
            "hystart",
            "max_window",
            "pacing",
            "slow_start_after_idle",
            "timestamps",
        ],
    };
    type Params = Ns318Params;

    fn build(params: &Ns318Params, _: &()) -> Result<Host, ConfigError> {
        let params = *params;
        Ok(Host::Rules(Arc::new(move |connection| Box::new(Ns318::new(connection, params)))))
    }
}

/// State of one sender.
#[derive(Debug, Default)]
pub struct Ns318 {
    mss: u32,
    /// Congestion window in octets, modulo 2^32.
    cwnd: u32,
    ssthresh: u32,
    limited_transmit: bool,
    point: u64,
    duplicates: u32,
    fast: bool,
    recover: u64,
    /// Whether the head is sent again, after everything that the window allows.
    resend: bool,
    pending: bool,
    /// Whether one segment of new data is sent whatever the window allows.
    one: bool,
    history: VecDeque<Sent>,
    /// Estimate of the round-trip time, in nanoseconds.
    estimate: f64,
    variance: f64,
    measured: bool,
    multiplier: u64,
    minimum: Duration,
}

impl Ns318 {
    fn new(connection: &ConnectionParams, params: Ns318Params) -> Self {
        let mss = connection.mss() as u32;
        Ns318 {
            mss,
            cwnd: mss.saturating_mul(connection.initial_window),
            ssthresh: connection
                .initial_ssthresh
                .map_or(FIRST_THRESHOLD, |n| n.saturating_mul(mss)),
            limited_transmit: params.limited_transmit,
            point: 1,
            pending: true,
            estimate: FIRST_ESTIMATE,
            multiplier: 1,
            minimum: connection.min_rto,
            ..Ns318::default()
        }
    }

    /// `DupAck`. It does not check whether the duplicates were caused by segments that were sent
    /// twice (RFC 6582, step 2), and does not restart the timer.
    fn on_duplicate(&mut self, flow: &Flow, stats: &mut SenderStats) {
        if self.duplicates == 3 && !self.fast {
            stats.fast_recoveries += 1;
            self.ssthresh = self.half_flight(flow);
            self.cwnd = self.ssthresh.wrapping_add(3 * self.mss);
            self.recover = flow.next;
            self.fast = true;
            self.resend = true;
        } else if self.fast {
            self.cwnd = self.cwnd.wrapping_add(self.mss);
            self.pending = true;
        } else if self.limited_transmit {
            self.one = true;
        }
    }

    /// `TcpNewReno::NewAck`
    fn on_new_ack(&mut self, flow: &Flow, number: u64) {
        if self.fast && number < self.recover {
            // A value below zero wraps around to four gigabytes.
            self.cwnd = self.cwnd.wrapping_sub((number - flow.una) as u32).wrapping_add(self.mss);
            self.resend = true;
            return;
        }
        if self.fast {
            // BytesInFlight still counts the octets that this acknowledges.
            self.cwnd = self.ssthresh.min((flow.next - flow.una) as u32 + self.mss);
            self.fast = false;
        }
        let more = if self.cwnd < self.ssthresh {
            self.mss
        } else {
            (self.mss.wrapping_mul(self.mss) / self.cwnd.max(1)).max(1)
        };
        self.cwnd = self.cwnd.wrapping_add(more);
    }

    /// `BytesInFlight`
    fn half_flight(&self, flow: &Flow) -> u32 {
        (2 * self.mss).max((flow.next - flow.una) as u32 / 2)
    }

    /// `SendPendingData`
    fn room_for_one(&self, flow: &Flow) -> bool {
        let Some(len) = flow.len(self.point) else {
            return false;
        };
        let window = u64::from(self.cwnd).min(flow.room);
        self.point - flow.una + len <= window
    }

    /// `RttEstimator::AckSeq`: the oldest segment alone is measured, if it was sent once.
    fn estimate(&mut self, now: Time, number: u64) {
        if let Some(first) = self.history.front().filter(|it| !it.again && number >= it.end) {
            let rtt = now.since(first.at).as_nanos() as f64;
            // RttMeanDeviation::Measurement
            if std::mem::replace(&mut self.measured, true) {
                let error = rtt - self.estimate;
                self.estimate += GAIN * error;
                self.variance += GAIN * (error.abs() - self.variance);
            } else {
                self.estimate = rtt;
                self.variance = rtt;
            }
            self.multiplier = 1;
        }
        while self.history.front().is_some_and(|sent| sent.end <= number) {
            self.history.pop_front();
        }
    }
}

impl Rules for Ns318 {
    /// `ReceivedAck`
    fn on_ack(&mut self, flow: &Flow, ack: &Ack<'_>, stats: &mut SenderStats) -> Option<Duration> {
        let number = ack.segment.ack;
        self.estimate(flow.now, number);
        self.pending = false;
        if number == flow.una {
            // Whether or not it was a timeout that sent everything again.
            if number < self.point && ack.segment.len == 0 {
                self.duplicates += 1;
                self.on_duplicate(flow, stats);
            } else if flow.una == flow.next {
                // A window update. The source does nothing until the application's next `Send`,
                // which calls SendPendingData; here that is now.
                self.pending = true;
            }
            return None;
        }
        self.on_new_ack(flow, number);
        self.duplicates = 0;
        self.point = self.point.max(number);
        self.pending = true;
        Some(self.rto())
    }

    /// `Retransmit`. The duplicates are not forgotten; ssthresh is half of all that was sent and
    /// not acknowledged, at a repeated timeout too.
    fn on_timeout(&mut self, flow: &Flow) -> Duration {
        self.fast = false;
        self.ssthresh = self.half_flight(flow);
        self.cwnd = self.mss;
        self.point = flow.una;
        self.multiplier = (2 * self.multiplier).min(MOST_BACKOFF);
        self.resend = true;
        self.pending = false;
        self.one = false;
        self.rto()
    }

    fn poll(&mut self, flow: &Flow) -> Option<u64> {
        // `NewAck` sends what the window allows before it sends the head again.
        if self.pending && self.room_for_one(flow) {
            return Some(self.point);
        }
        if std::mem::take(&mut self.resend) {
            // DoRetransmit
            return (flow.una < flow.next).then_some(flow.una);
        }
        if std::mem::take(&mut self.one) && flow.len(self.point).is_some() {
            return Some(self.point);
        }
        None
    }

    fn sent(&mut self, flow: &Flow, start: u64, end: u64) {
        self.point = self.point.max(end);
        // RttEstimator::SentSeq
        if start >= flow.next {
            self.history.push_back(Sent { start, end, at: flow.now, again: false });
        } else {
            let at = self.history.partition_point(|sent| sent.end <= start);
            if let Some(sent) = self.history.get_mut(at).filter(|sent| sent.start <= start) {
                sent.again = true;
            }
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd.into()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh.into()
    }

    fn srtt(&self) -> Option<Duration> {
        self.measured.then(|| Duration::from_nanos(self.estimate as u64))
    }

    /// `RttMeanDeviation::RetransmitTimeout`, in whole milliseconds.
    fn rto(&self) -> Duration {
        let whole = |nanos: f64| (nanos / 1e6) as u64;
        let sum = Duration::from_millis(whole(self.estimate) + 4 * whole(self.variance));
        sum.max(self.minimum).saturating_mul(self.multiplier)
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.history.capacity() * size_of::<Sent>()
    }
}
