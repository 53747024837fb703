//! Rate, quantum and window ("Updating Control Parameters").

use super::states::State;
use super::{Bbr3, MIN_PIPE_SEGMENTS};
use forebay_core::Duration;

/// 4 ln 2 (BBR.StartupPacingGain).
const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DrainPacingGain.
const DRAIN_PACING_GAIN: f64 = 0.5;
/// BBR.DefaultCwndGain.
const CWND_GAIN: f64 = 2.0;
/// BBR.ProbeRTTCwndGain.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// 99 percent (BBR.PacingMarginPercent).
const MARGIN: f64 = 0.99;
/// More bytes than any path holds.
const MOST: u64 = 1 << 50;
/// Most bytes that leave together.
const LARGEST_QUANTUM: u64 = 65_536;

impl Bbr3 {
    /// BBR.pacing_gain and BBR.cwnd_gain ("Summary of Control Behavior in the State Machine").
    pub(super) fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::ProbeBwDown => (0.9, CWND_GAIN),
            State::ProbeBwCruise | State::ProbeBwRefill => (1.0, CWND_GAIN),
            State::ProbeBwUp => (1.25, 2.25),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    pub(super) fn update_control_parameters(&mut self) {
        self.set_pacing_rate_with_gain(self.gains().0);
        let millisecond = (self.pacing_rate / 1000.0) as u64;
        self.send_quantum = millisecond.min(LARGEST_QUANTUM).max(2 * self.mss);
        self.set_cwnd();
    }

    /// InitPacingRate.
    pub(super) fn initial_rate(&self, srtt: Option<Duration>) -> f64 {
        let round_trip = srtt.filter(|srtt| *srtt > Duration::ZERO);
        let seconds = round_trip.unwrap_or(Duration::from_millis(1)).as_secs_f64();
        STARTUP_PACING_GAIN * self.initial_cwnd as f64 / seconds
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        // Marks may end Startup before there is a sample (D3).
        if rate > self.pacing_rate || (self.full_bw_reached && rate > 0.0) {
            self.pacing_rate = rate;
        }
    }

    /// BDPMultiple for a bandwidth.
    pub(super) fn bdp_of(&self, bw: f64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(min_rtt) => ((gain * bw * min_rtt.as_secs_f64()) as u64).min(MOST),
            None => self.initial_cwnd,
        }
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_of(self.bw, 1.0)
    }

    /// QuantizationBudget.
    pub(super) fn quantized(&self, cap: u64) -> u64 {
        let cap = cap.max(3 * self.send_quantum).max(MIN_PIPE_SEGMENTS * self.mss);
        if self.state == State::ProbeBwUp { cap + 2 * self.mss } else { cap }
    }

    pub(super) fn inflight(&self, gain: f64) -> u64 {
        self.quantized(self.bdp_of(self.bw, gain))
    }

    /// UpdateMaxInflight.
    fn max_inflight(&self) -> u64 {
        let cap = self.bdp_of(self.bw, self.gains().1);
        self.quantized(cap + self.extra_acked_filter.get())
    }

    pub(super) fn save_cwnd(&mut self) {
        let good = !self.repairing && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_of(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_SEGMENTS * self.mss)
    }

    fn set_cwnd(&mut self) {
        let most = self.max_inflight();
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.newly_acked).min(most);
        } else if self.cwnd < most || self.delivered < self.initial_cwnd {
            self.cwnd += self.newly_acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_SEGMENTS * self.mss);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            _ if self.is_in_probe_bw() => self.inflight_longterm,
            _ => super::INFINITE,
        };
        let cap = cap.min(self.inflight_shortterm).max(MIN_PIPE_SEGMENTS * self.mss);
        self.cwnd = self.cwnd.min(cap);
    }
}
