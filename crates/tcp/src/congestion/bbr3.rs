//! BBR, version 3. It sends at the rate at which the path delivers, within bounds of bandwidth and
//! of data in flight that it learns by probing.
//!
//! Source: draft-ietf-ccwg-bbr-05, in the working group's text of August 2026, with its section
//! names. [`path`] has the model of the path, [`states`] the state machine, [`control`] the rate
//! and the window that follow from them.
//!
//! | draft | here |
//! |---|---|
//! | `UpdateOnACK` | [`CongestionController::on_delivery`] |
//! | `HandleLostPacket` | [`CongestionController::on_lost`] |
//! | `OnEnterRTO`, `OnEnterFastRecovery` | [`CongestionController::on_congestion`] |
//! | `HandleSpuriousLossDetection` | [`CongestionController::on_spurious`] |
//! | `HandleRestartFromIdle` | [`CongestionController::on_restart`] |
//! | `MarkConnectionAppLimited` | [`CongestionController::understates`] |
//! | RS, C.cwnd, C.SMSS | `rs`, `cwnd`, `mss` |
//! | other names | the same, without their prefix |
//!
//! # Deviations
//! - D1. Losses found with an acknowledgment that delivers nothing are counted with the next one.
//! - D2. The end of recovery is seen with the acknowledgment after the one that ended it.
//! - D3. The draft leaves the response to ECN open, and says only that it is congestion. Between
//!   probes an echo, once per window, counts as a loss; while bandwidth is probed, or in Startup,
//!   it counts as a loss rate that is too high. In Linux's stack echoes change nothing, as with the
//!   kernel's BBRv3 (`bbr_can_use_ecn`, on a route without `ecn_low`).
//! - D4. T_bbr and the rounds before a probe are drawn by hashing the time and the delivered bytes,
//!   so a run can be repeated.
//! - D5. A cycle without a bandwidth sample does not change the filter (as Linux's
//!   `bbr_advance_max_bw_filter`).
//! - D6. Losses between the first and the last of a round are in as many ranges as there are gaps
//!   between them, in the order in which they are found (`BBRStartupFullLossCnt`).
//! - D7. A round's losses are cleared at the end of the acknowledgment that ends the round, so that
//!   the check of Startup sees them.
//! - D8. Only a recovery after a timeout that the sender finds spurious (F-RTO) is undone.

mod control;
mod path;
mod probe;
mod states;
#[cfg(test)]
mod tests;

use super::max_filter::MaxFilter;
use super::{
    AckSample, Attention, CongestionController, CongestionEvent, CongestionKind, Delivery, Lost,
    NoParams, RateSample, Role, Start, Window,
};
use crate::{ConnectionParams, LossRecovery};
use forebay_core::{ConfigError, Duration, Named, Rate, Time};
use states::{Probing, State};
use std::sync::Arc;

/// No bound.
const INFINITE: u64 = u64::MAX;
/// BBR.MinPipeCwnd, in segments.
const MIN_PIPE_SEGMENTS: u64 = 4;

/// State of BBR, in bytes, bytes per second and seconds.
#[derive(Debug, Default)]
pub struct Bbr3 {
    // The connection.
    mss: u64,
    initial_cwnd: u64,
    cwnd: u64,
    headers: u64,
    selective: bool,
    begun: bool,
    now: Time,
    in_flight: u64,
    delivered: u64,
    newly_acked: u64,
    repairing: bool,
    /// Whether the whole window was used in this round, and in the last one.
    limited: [bool; 2],
    rs: RateSample,
    // The path.
    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,
    /// Largest rates of this cycle and of the last one.
    max_bw: [f64; 2],
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    bw_latest: f64,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    loss_ranges: u32,
    loss_end: u64,
    recovery_round: u32,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,
    extra_acked_filter: MaxFilter<u64>,
    // The state machine.
    state: State,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u8,
    drain_start_round: u32,
    probing: Probing,
    idle_restart: bool,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    // The state to return to after a recovery that was not needed, and when it was saved.
    saved: Time,
    undo_state: Option<State>,
    undo_bw_shortterm: f64,
    undo_inflight_shortterm: u64,
    undo_inflight_longterm: u64,
    prior_cwnd: u64,
    // Rate and quantum.
    pacing_rate: f64,
    send_quantum: u64,
}

impl Bbr3 {
    /// The state of a new connection (`OnInit`).
    pub fn new(connection: &ConnectionParams) -> Self {
        let mss = connection.mss();
        let initial_cwnd = Window::new(connection, None).cwnd;
        Bbr3 {
            mss,
            initial_cwnd,
            cwnd: initial_cwnd,
            headers: connection.mtu.0 - mss,
            selective: connection.recovery == LossRecovery::Sack,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            loss_end: INFINITE,
            saved: Time::MAX,
            send_quantum: 2 * mss,
            ..Bbr3::default()
        }
    }

    /// The first acknowledgment of data. The handshake's measurements are known now.
    fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        self.begun = true;
        self.min_rtt = srtt;
        self.probe_rtt_min_delay = srtt;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (now, now);
        self.extra_acked_interval_start = now;
        self.pacing_rate = self.initial_rate(srtt);
    }

    /// Congestion that ECN echoes report (D3).
    fn on_echo(&mut self) {
        self.note_loss();
        if self.state == State::Startup {
            self.leave_startup_by_loss();
        } else if self.probing.is_sample {
            let (in_flight, limited) = (self.rs.tx_in_flight, self.rs.app_limited);
            self.handle_inflight_too_high(in_flight, limited);
        }
    }
}

impl Named for Bbr3 {
    type Family = dyn CongestionController;
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str =
        "paces within bounds of rate and flight that it probes for (BBRv3)";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr-05";
    type Params = NoParams;

    fn build(_: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(Bbr3::new(connection))))
    }
}

impl CongestionController for Bbr3 {
    fn on_ack(&mut self, _: &mut Window, _: &AckSample) {}

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // Only recovery reads the threshold, and BBR overrides the window that recovery sets.
        window.ssthresh = window.ssthresh.min(window.cwnd);
        self.cwnd = window.cwnd;
        match event.kind {
            CongestionKind::Ecn => self.on_echo(),
            kind => {
                self.save_cwnd();
                // `on_lost` may have saved the state for the loss that begins this recovery.
                if self.saved != event.now {
                    self.now = event.now;
                    self.save_state_upon_loss();
                }
                self.repairing = true;
                self.recovery_round = self.round_count;
                if kind == CongestionKind::Timeout {
                    // Nothing counts as in flight after a timeout.
                    window.cwnd = self.mss;
                }
            }
        }
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        (self.now, self.cwnd) = (now, window.cwnd);
        self.handle_restart_from_idle();
        window.cwnd = self.cwnd;
    }

    fn role(&self) -> Role {
        Role { attention: Attention::Rates, governs: true, paces: true }
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        if !self.begun {
            self.begin(delivery.now, delivery.srtt);
        }
        (self.now, self.cwnd) = (delivery.now, window.cwnd);
        (self.in_flight, self.newly_acked) = (delivery.in_flight, delivery.delivered);
        self.limited[0] |= delivery.limited;
        let was_repairing = std::mem::replace(&mut self.repairing, delivery.repairing);
        if was_repairing && !self.repairing {
            self.restore_cwnd();
        }
        if let Some(rate) = delivery.rate {
            self.rs = rate;
            self.delivered = rate.total_delivered;
            self.update_model_and_state();
            self.update_control_parameters();
        }
        window.cwnd = self.cwnd.min(window.maximum);
    }

    fn on_lost(&mut self, _: &mut Window, lost: &Lost) {
        self.handle_lost_packet(lost);
    }

    fn on_spurious(&mut self, window: &mut Window) {
        self.cwnd = window.cwnd;
        self.handle_spurious_loss_detection();
        window.cwnd = self.cwnd;
    }

    fn understates(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn pacing_rate(&self, _: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let payload = if self.begun { self.pacing_rate } else { self.initial_rate(srtt) };
        let wire = payload * 8.0 * (self.mss + self.headers) as f64 / self.mss as f64;
        Some(Rate::from_bps((wire as u64).max(1)))
    }

    fn send_quantum(&self, _: &Window) -> u64 {
        self.send_quantum
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.report(out);
    }
}
