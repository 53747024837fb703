//! The state machine of BBR ("State Machine Operation").

use super::{Bbr3, INFINITE, MIN_PIPE_SEGMENTS};
use crate::congestion::draw::drawn;
use forebay_core::{Duration, Time};

/// Least time in ProbeRTT (BBR.ProbeRTTDuration).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// The share of the data known to fit in flight that is left to others (BBR.Headroom).
const HEADROOM: f64 = 0.15;
/// Least number of lost ranges in the round that ends Startup (BBRStartupFullLossCnt).
const STARTUP_LOSS_RANGES: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

/// BBR.ack_phase: what acknowledgments say about a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State of the probes for bandwidth ("ProbeBW State").
#[derive(Debug, Default)]
pub(super) struct Probing {
    pub(super) ack_phase: AckPhase,
    /// Samples belong to a probe (is_bw_probe_sample).
    pub(super) is_sample: bool,
    /// The last probe exceeded the path's capacity; the last one was stopped early.
    pub(super) prev_too_high: bool,
    pub(super) prev_precautionary: bool,
    pub(super) up_acked: u64,
    /// None means infinity (probe_up_acked_per_inc).
    pub(super) acked_per_increase: Option<u64>,
    pub(super) up_rounds: u32,
    pub(super) rounds_since_up: u32,
    pub(super) wait: Duration,
    pub(super) cycle_stamp: Time,
}

impl Bbr3 {
    pub(super) fn update_model_and_state(&mut self) {
        self.update_latest_delivery_signals();
        self.update_congestion_signals();
        self.update_ack_aggregation();
        self.check_full_bw_reached();
        self.check_startup_done();
        self.check_drain_done();
        self.update_probe_bw_cycle_phase();
        self.update_min_rtt();
        self.check_probe_rtt();
        self.end_loss_round();
        self.advance_latest_delivery_signals();
        self.bound_bw_for_model();
    }

    pub(super) fn is_in_probe_bw(&self) -> bool {
        use State::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self.state, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.app_limited {
            return;
        }
        let rate = self.delivery_rate();
        if rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_done(&mut self) {
        if self.state != State::Startup {
            return;
        }
        self.check_startup_high_loss();
        if self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss ("Exiting Startup Based on Packet Loss").
    fn check_startup_high_loss(&mut self) {
        let a_round = self.repairing && self.round_count > self.recovery_round;
        let lossy = self.is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight);
        let high = match self.selective {
            true => {
                let scattered = self.loss_ranges >= STARTUP_LOSS_RANGES;
                self.loss_round_start && a_round && lossy && scattered
            }
            false => self.repairing && self.is_loss_in_round,
        };
        if high {
            self.leave_startup_by_loss();
        }
    }

    pub(super) fn leave_startup_by_loss(&mut self) {
        self.undo_state = Some(State::Startup);
        self.full_bw_now = true;
        self.full_bw_reached = true;
        self.inflight_longterm = self.bdp().max(self.inflight_latest);
        self.enter_drain();
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count;
    }

    fn check_drain_done(&mut self) {
        let late = self.round_count > self.drain_start_round + 3;
        if self.state == State::Drain && (late || self.in_flight <= self.inflight(1.0)) {
            self.start_probe_bw_down();
        }
    }

    pub(super) fn start_probe_bw_down(&mut self) {
        self.reset_congestion_signals();
        self.probing.acked_per_increase = None;
        self.pick_probe_wait();
        self.probing.cycle_stamp = self.now;
        self.probing.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    fn pick_probe_wait(&mut self) {
        let rounds = drawn(self.now, self.delivered) >= 0.5;
        self.probing.rounds_since_up = u32::from(rounds);
        let seconds = 2.0 + drawn(self.now, self.delivered + 1);
        self.probing.wait = Duration::from_nanos((seconds * 1e9) as u64);
    }

    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.probing.up_rounds = 0;
        self.probing.up_acked = 0;
        self.probing.prev_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self) {
        self.probing.ack_phase = AckPhase::Starting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.delivery_rate();
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe_bw() => {}
            State::ProbeBwDown if self.is_time_to_cruise() => self.state = State::ProbeBwCruise,
            State::ProbeBwRefill if self.round_start => {
                self.probing.is_sample = true;
                self.start_probe_bw_up();
            }
            State::ProbeBwUp if self.is_time_to_go_down() => {
                self.probing.prev_too_high = false;
                self.start_probe_bw_down();
            }
            _ => {}
        }
    }

    fn is_time_to_cruise(&self) -> bool {
        let bdp = self.quantized(self.bdp_of(self.max_bw(), 1.0));
        self.in_flight <= self.inflight_with_headroom() && self.in_flight <= bdp
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if self.probing.prev_too_high && self.in_flight >= self.inflight_longterm {
            self.probing.prev_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.delivery_rate();
            return false;
        }
        self.full_bw_now
    }

    /// Begins a probe if it is time for one.
    fn is_time_to_probe_bw(&mut self) -> bool {
        let waited = self.now > self.probing.cycle_stamp + self.probing.wait;
        let time = waited || self.is_reno_coexistence_probe_time();
        if time {
            self.start_probe_bw_refill();
        }
        time
    }

    fn is_reno_coexistence_probe_time(&self) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(63);
        u64::from(self.probing.rounds_since_up) >= rounds
    }

    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = ((HEADROOM * self.inflight_longterm as f64) as u64).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE_SEGMENTS * self.mss)
    }

    fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1_u64 << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(30);
        self.probing.acked_per_increase = Some((self.cwnd / growth).max(self.mss));
    }

    fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probing.up_acked += self.newly_acked;
        if let Some(per_increase) = self.probing.acked_per_increase {
            let delta = self.probing.up_acked / per_increase;
            self.probing.up_acked -= delta * per_increase;
            self.inflight_longterm += delta * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel. Returns true if it has chosen the next state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.round_start && self.probing.ack_phase == AckPhase::Starting {
            self.probing.ack_phase = AckPhase::Feedback;
        }
        if self.round_start && self.probing.ack_phase == AckPhase::Stopping {
            self.probing.is_sample = false;
            self.probing.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() {
                if !self.rs.app_limited {
                    self.advance_max_bw_filter();
                }
                if self.probing.prev_precautionary && !self.probing.prev_too_high {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
        }
        let safe = !self.is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight);
        if safe && self.inflight_longterm != INFINITE {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }

    fn check_probe_rtt(&mut self) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.probing.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if self.rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self) {
        if self.probe_rtt_done_stamp.is_none() {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(self.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done();
        }
    }

    fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt_done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.restore_cwnd();
        // ExitProbeRTT.
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down();
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// Nothing was in flight, and the application sends again.
    pub(super) fn handle_restart_from_idle(&mut self) {
        self.idle_restart = true;
        self.extra_acked_interval_start = self.now;
        if self.is_in_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done();
        }
    }
}
