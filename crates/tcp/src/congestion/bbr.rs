//! BBR (version 1) as in Linux 6.1. It models the path by its bandwidth and its smallest round-trip
//! time, and derives the rate and the window from them. Losses and marks alone reduce neither.
//!
//! Source: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016,
//! and Linux 6.1, `net/ipv4/tcp_bbr.c`; [`law`] uses the same integers. With `preset = "linux"` the
//! same code is part of Linux's own sender, with samples as in `tcp_rate.c`.
//!
//! # Deviations
//! - D1. The standards' sender counts bytes, so a part of a segment counts as a whole one.
//! - D2. The start of recovery is seen with the acknowledgment after the one that reported the
//!   loss.
//! - D3. Segments leave one by one: `bbr_tso_segs_goal` only adds to the window.
//! - D4. The phase in which `ProbeBw` begins is drawn by hashing the time and the delivered bytes,
//!   so a run can be repeated.
//! - D5. No acknowledgment counts as delayed (`FLAG_ACK_MAYBE_DELAYED`, which is set for short
//!   segments).

pub(crate) mod law;
mod policed;
#[cfg(test)]
mod tests;

use super::{
    AckSample, Attention, Conduct, CongestionController, CongestionEvent, CongestionKind, Delivery,
    Lost, NoParams, Role, Start, Window,
};
use crate::ConnectionParams;
use forebay_core::{ConfigError, Duration, Named, Rate, Time};
use law::{Law, Repair, Sample, Totals};
use std::sync::Arc;

/// State of BBR.
#[derive(Debug, Default)]
pub struct Bbr {
    /// Set when the connection is open.
    law: Option<Law>,
    /// Bytes of headers in a full segment, and the size of its payload.
    headers: u64,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    lost_before: u64,
    timed_out: bool,
    understates: bool,
}

impl Bbr {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        Bbr { headers: connection.mtu.0 - connection.mss(), ..Bbr::default() }
    }

    fn totals(&self, mss: u64) -> Totals {
        Totals {
            delivered: 1 + segments(self.delivered, mss),
            lost: segments(self.lost, mss),
            delivered_at: self.delivered_at,
        }
    }
}

fn segments(bytes: u64, mss: u64) -> u32 {
    bytes.div_ceil(mss) as u32
}

fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

impl Named for Bbr {
    type Family = dyn CongestionController;
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str = "paces by a model of the path's bandwidth and round trip (BBRv1)";
    const SOURCE: &'static str = "Linux 6.1, net/ipv4/tcp_bbr.c; Cardwell et al. 2016";
    const FACTS: Conduct = Conduct::BBR;
    type Params = NoParams;

    fn build(_: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(Bbr::new(connection))))
    }
}

impl CongestionController for Bbr {
    fn on_ack(&mut self, _: &mut Window, _: &AckSample) {}

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // Only recovery reads the threshold, and BBR overrides the window that recovery sets.
        window.ssthresh = window.ssthresh.min(window.cwnd);
        let totals = self.totals(window.mss);
        let Some(law) = &mut self.law else { return };
        law.save((window.cwnd / window.mss) as u32);
        if event.kind == CongestionKind::Timeout {
            law.on_timeout(&totals);
            self.timed_out = true;
            window.cwnd = window.mss;
        }
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let totals = self.totals(window.mss);
        let Some(law) = &mut self.law else { return };
        let mut cwnd = (window.cwnd / window.mss) as u32;
        law.on_restart(now, &mut cwnd, &totals);
        window.cwnd = u64::from(cwnd) * window.mss;
    }

    fn role(&self) -> Role {
        Role { attention: Attention::Rates, governs: true, paces: true }
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let mss = window.mss;
        let mut cwnd = (window.cwnd / mss) as u32;
        if self.law.is_none() {
            let totals = Totals { delivered: 1, lost: 0, delivered_at: delivery.now };
            let rtt = delivery.srtt.map(micros);
            self.law = Some(Law::new(mss, delivery.now, cwnd, rtt, &totals));
        }
        if let Some(rate) = &delivery.rate {
            (self.delivered, self.delivered_at) = (rate.total_delivered, delivery.now);
        }
        self.timed_out &= delivery.repairing;
        let rate = delivery.rate.as_ref();
        let sample = Sample {
            now: delivery.now,
            totals: self.totals(mss),
            delivered: rate.map(|rate| segments(rate.delivered, mss)),
            interval_us: rate.filter(|rate| rate.rate.is_some()).map(|rate| micros(rate.interval)),
            prior_delivered: 1 + rate.map_or(0, |rate| segments(rate.prior_delivered, mss)),
            app_limited: rate.is_some_and(|rate| rate.app_limited),
            acked: segments(delivery.delivered, mss),
            losses: segments(self.lost - self.lost_before, mss),
            prior_in_flight: segments(delivery.prior_in_flight, mss),
            in_flight: segments(delivery.in_flight, mss),
            rtt_us: rate.and_then(|rate| rate.rtt).map(micros),
            srtt_us: delivery.srtt.map(micros),
            repair: match (delivery.repairing, self.timed_out) {
                (false, _) => Repair::Nothing,
                (true, false) => Repair::Recovery,
                (true, true) => Repair::Loss,
            },
            next_send: delivery.next_send,
        };
        self.lost_before = self.lost;
        let Some(law) = &mut self.law else { return };
        self.understates = law.on_ack(&sample, &mut cwnd);
        window.cwnd = (u64::from(cwnd) * mss).min(window.maximum);
        if let Some(segments) = law.ssthresh {
            window.ssthresh = u64::from(segments) * mss;
        }
    }

    fn on_lost(&mut self, _: &mut Window, lost: &Lost) {
        self.lost += lost.bytes;
    }

    fn understates(&self) -> bool {
        self.understates
    }

    fn pacing_rate(&self, window: &Window, _: Option<Duration>) -> Option<Rate> {
        // The kernel paces payload.
        let payload = self.law.as_ref()?.pacing_rate;
        let wire = payload * 8 * (window.mss + self.headers) / window.mss;
        Some(Rate::from_bps(wire.max(1)))
    }
}
