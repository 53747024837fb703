//! BBR's model of the path ("Updating Network Path Model Parameters").

use super::states::State;
use super::{Bbr3, INFINITE};
use crate::congestion::Lost;
use forebay_core::Duration;

/// Loss rate that is tolerated while bandwidth is probed (BBR.LossThresh).
pub(super) const LOSS_THRESH: f64 = 0.02;
/// The share of a bound that remains after a round with losses (BBR.Beta).
pub(super) const BETA: f64 = 0.7;
/// The time for which the smallest round-trip time counts (BBR.MinRTTFilterLen).
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
/// Time between two states ProbeRTT (BBR.ProbeRTTInterval).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// Rounds for which aggregation counts (BBR.ExtraAckedFilterLen).
const EXTRA_ACKED_ROUNDS: u32 = 10;

impl Bbr3 {
    /// RS.delivery_rate; 0 if there is none.
    pub(super) fn delivery_rate(&self) -> f64 {
        self.rs.rate.unwrap_or(0.0)
    }

    /// BBR.max_bw.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.delivery_rate());
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        if self.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.delivery_rate();
            self.inflight_latest = self.rs.delivered;
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if self.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
        }
    }

    /// At the end of a round: clears the losses of the round, after Startup has looked at them.
    pub(super) fn end_loss_round(&mut self) {
        if self.loss_round_start {
            self.is_loss_in_round = false;
            self.loss_ranges = 0;
        }
    }

    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() || !self.is_loss_in_round {
            return;
        }
        // InitLowerBounds.
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = self.cwnd;
        }
        // LossLowerBounds.
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        let kept = (BETA * self.inflight_shortterm as f64) as u64;
        self.inflight_shortterm = self.inflight_latest.max(kept);
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = INFINITE;
    }

    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.delivery_rate();
        if rate > 0.0 && (rate >= self.max_bw() || !self.rs.app_limited) {
            self.max_bw[0] = self.max_bw[0].max(rate);
        }
    }

    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw[0] > 0.0 {
            self.max_bw = [0.0, self.max_bw[0]];
        }
    }

    fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.probing.rounds_since_up += 1;
            self.limited = [false, self.limited[0]];
        }
    }

    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// C.is_cwnd_limited.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    pub(super) fn update_ack_aggregation(&mut self) {
        let interval = self.now.since(self.extra_acked_interval_start);
        let mut expected = (self.bw * interval.as_secs_f64()) as u64;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = self.now;
            expected = 0;
        }
        self.extra_acked_delivered += self.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked_filter.update(rounds, self.round_count, extra);
    }

    pub(super) fn update_min_rtt(&mut self) {
        self.probe_rtt_expired = self.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = self.rs.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = self.now;
        }
        let expired = self.now > self.min_rtt_stamp + MIN_RTT_FILTER;
        if let Some(least) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|known| least < known))
        {
            self.min_rtt = Some(least);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// IsInflightTooHigh, with `lost` bytes of `in_flight`.
    pub(super) fn is_inflight_too_high(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * LOSS_THRESH || (lost > 0 && !self.selective)
    }

    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            // Of several losses found at once only the first saves the state: it may begin
            // ProbeBW_DOWN, which clears `is_loss_in_round`.
            if self.saved != self.now {
                self.save_state_upon_loss();
            }
        }
        self.is_loss_in_round = true;
    }

    pub(super) fn handle_lost_packet(&mut self, lost: &Lost) {
        self.now = lost.now;
        self.note_loss();
        self.loss_ranges += u32::from(lost.start != self.loss_end);
        self.loss_end = lost.start + lost.bytes;
        if self.probing.is_sample && self.is_inflight_too_high(lost.lost, lost.tx_in_flight) {
            self.handle_inflight_too_high(inflight_at_loss(lost), lost.app_limited);
        }
    }

    pub(super) fn handle_inflight_too_high(&mut self, tx_in_flight: u64, app_limited: bool) {
        self.probing.prev_too_high = true;
        self.probing.is_sample = false;
        if !app_limited {
            let target = (self.target_inflight() as f64 * BETA) as u64;
            self.inflight_longterm = tx_in_flight.max(target);
        }
        if self.state == State::ProbeBwUp {
            self.undo_state = Some(State::ProbeBwUp);
            self.start_probe_bw_down();
        }
    }

    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.saved = self.now;
        self.undo_state = None;
        self.undo_bw_shortterm = self.bw_shortterm;
        self.undo_inflight_shortterm = self.inflight_shortterm;
        self.undo_inflight_longterm = self.inflight_longterm;
    }

    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo_bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo_inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo_inflight_longterm);
        let measures = self.state == State::ProbeRtt;
        match self.undo_state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if !measures {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeBwUp) if self.state != State::ProbeBwUp && !measures => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}

/// Data in flight when the losses passed the threshold, which was somewhere in the lost segment
/// (InflightAtLoss).
pub(super) fn inflight_at_loss(lost: &Lost) -> u64 {
    let before = lost.tx_in_flight.saturating_sub(lost.bytes) as f64;
    let lost_before = lost.lost.saturating_sub(lost.bytes) as f64;
    let prefix = (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH);
    (before + prefix).max(0.0) as u64
}
