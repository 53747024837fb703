//! BBR's model and state machine as in Linux 6.1 (`tcp_bbr.c`), in its integers: segments,
//! microseconds, ticks. It does not know connections: its caller reports each acknowledgment.
//!
//! | `tcp_bbr.c` | here |
//! |---|---|
//! | `bbr_main`, `bbr_update_model` | [`Law::on_ack`] |
//! | `bbr_ssthresh`, `bbr_save_cwnd` | [`Law::save`] |
//! | `bbr_set_state` | [`Law::on_timeout`] |
//! | `bbr_cwnd_event` | [`Law::on_restart`] |
//! | `bbr_undo_cwnd` | [`Law::on_undo`] |
//! | `struct minmax` | [`MaxFilter`] |
//! | `struct rate_sample` | [`Sample`] |

use super::super::draw::drawn;
use super::super::max_filter::MaxFilter;
use super::policed::{BW, News, Policed, bandwidth};
use forebay_core::Time;

pub(crate) use super::policed::Totals;

/// The value 1 of a gain (`BBR_UNIT`).
const ONE: u64 = 256;
/// 2/ln 2: the gain in Startup.
const HIGH_GAIN: u64 = ONE * 2885 / 1000 + 1;
/// The inverse: the gain in Drain.
const DRAIN_GAIN: u64 = ONE * 1000 / 2885;
/// Gain of the window in `ProbeBw`.
const CWND_GAIN: u64 = 2 * ONE;
/// Gains of the rate in the eight phases of `ProbeBw`.
const CYCLE: [u64; 8] = [ONE * 5 / 4, ONE * 3 / 4, ONE, ONE, ONE, ONE, ONE, ONE];
/// Rounds for which a sample of the bandwidth counts.
const BW_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Number of segments that are always allowed (`bbr_cwnd_min_target`).
const LEAST_CWND: u32 = 4;
const INITIAL_CWND: u32 = 10;
/// In ticks: how long the smallest round-trip time counts, and how long `ProbeRtt` lasts.
const MIN_RTT_TICKS: u64 = 10 * TICKS_PER_SECOND;
const PROBE_RTT_TICKS: u64 = TICKS_PER_SECOND / 5;
const TICKS_PER_SECOND: u64 = 250;
/// Rounds for which aggregation counts, and its limit in microseconds.
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_MOST_US: u64 = 100_000;
/// An epoch of aggregation ends after this many acknowledged segments.
const EXTRA_RESET: u64 = 1 << 20;
/// More segments than any path holds.
const MOST: u128 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The kind of recovery in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Repair {
    /// Nothing: Open, Disorder or CWR.
    #[default]
    Nothing,
    Recovery,
    Loss,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) now: Time,
    pub(crate) totals: Totals,
    /// Segments delivered since the acknowledged segment was sent, if known, and the number of
    /// microseconds, if that gives a rate.
    pub(crate) delivered: Option<u32>,
    pub(crate) interval_us: Option<u64>,
    /// Segments delivered before that segment was sent.
    pub(crate) prior_delivered: u32,
    pub(crate) app_limited: bool,
    /// Segments delivered and lost with this acknowledgment.
    pub(crate) acked: u32,
    pub(crate) losses: u32,
    /// Segments in flight before it and after it.
    pub(crate) prior_in_flight: u32,
    pub(crate) in_flight: u32,
    /// Round-trip time of the acknowledged segment that was sent last.
    pub(crate) rtt_us: Option<u64>,
    pub(crate) srtt_us: Option<u64>,
    pub(crate) repair: Repair,
    /// When the next segment may leave (`tcp_wstamp_ns`).
    pub(crate) next_send: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Law {
    mss: u64,
    mode: Mode,
    min_rtt_us: Option<u64>,
    min_rtt_tick: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    bw: MaxFilter<u64>,
    round: u32,
    round_start: bool,
    next_round: u32,
    cycle_at_us: u64,
    cycle: usize,
    before: Repair,
    conserves: bool,
    idle_restart: bool,
    policed: Policed,
    pacing_gain: u64,
    cwnd_gain: u64,
    full: bool,
    full_rounds: u8,
    full_bw: u64,
    has_rtt: bool,
    prior_cwnd: u32,
    /// Payload bytes per second.
    pub(crate) pacing_rate: u64,
    epoch_us: u64,
    epoch_acked: u64,
    extra: [u32; 2],
    extra_at: usize,
    extra_rounds: u32,
    /// The slow start threshold, once Drain has set it.
    pub(crate) ssthresh: Option<u32>,
}

/// `bbr_rate_bytes_per_sec`: one percent less than the bandwidth.
fn bytes_a_second(bw: u64, mss: u64, gain: u64) -> u64 {
    let scaled = (product(bw, mss) * u128::from(gain)) >> 8;
    ((scaled * (1_000_000 / 100 * 99)) >> 24) as u64
}

/// The product of a bandwidth and a time or a size, which may need more than 64 bits.
fn product(bw: u64, other: u64) -> u128 {
    u128::from(bw) * u128::from(other)
}

fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}

fn ticks(at: Time) -> u64 {
    at.as_nanos() / (1_000_000_000 / TICKS_PER_SECOND)
}

impl Law {
    /// The state of a connection that has just been opened, with segments of `mss` bytes and the
    /// handshake's measurements (`bbr_init`).
    pub(crate) fn new(
        mss: u64,
        now: Time,
        cwnd: u32,
        rtt_us: Option<u64>,
        totals: &Totals,
    ) -> Self {
        let mut law = Law {
            mss,
            min_rtt_us: rtt_us,
            min_rtt_tick: ticks(now),
            next_round: totals.delivered,
            policed: Policed::new(totals),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            epoch_us: micros(now),
            ..Law::default()
        };
        law.init_pacing_rate(cwnd, rtt_us);
        law
    }

    #[cfg(test)]
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Reads an acknowledgment, and sets the window. Returns true if segments sent now cannot
    /// measure the path's bandwidth, because little is sent on purpose.
    pub(crate) fn on_ack(&mut self, sample: &Sample, cwnd: &mut u32) -> bool {
        self.update_bw(sample);
        self.update_aggregation(sample, *cwnd);
        if self.mode == Mode::ProbeBw && self.phase_is_over(sample) {
            self.next_phase(&sample.totals);
        }
        self.check_full(sample);
        self.check_drain(sample);
        let understates = self.update_min_rtt(sample, cwnd);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, *cwnd, sample.srtt_us);
        self.set_cwnd(sample, cwnd);
        understates
    }

    /// Segments per microsecond, in units of 2^-24 (`bbr_bw`).
    fn bandwidth(&self) -> u64 {
        self.policed.rate().unwrap_or(self.bw.get())
    }

    /// `bbr_bw_to_pacing_rate`.
    fn rate(&self, bw: u64, gain: u64) -> u64 {
        bytes_a_second(bw, self.mss, gain)
    }

    fn init_pacing_rate(&mut self, cwnd: u32, srtt_us: Option<u64>) {
        self.has_rtt = srtt_us.is_some();
        let rtt_us = srtt_us.map_or(1000, |rtt| rtt.max(1));
        self.pacing_rate = self.rate(bandwidth(cwnd, rtt_us), HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, gain: u64, cwnd: u32, srtt_us: Option<u64>) {
        let rate = self.rate(self.bandwidth(), gain);
        if !self.has_rtt && srtt_us.is_some() {
            self.init_pacing_rate(cwnd, srtt_us);
        }
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Fewest segments that leave together (`bbr_min_tso_segs`).
    pub(crate) fn least_burst(&self) -> u32 {
        if self.pacing_rate < 1_200_000 / 8 { 1 } else { 2 }
    }

    /// Segments that would leave together (`bbr_tso_segs_goal`).
    pub(crate) fn burst(&self) -> u32 {
        let least = self.least_burst();
        // GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER.
        let bytes = (self.pacing_rate >> 10).min(65_536 - 1 - 320);
        ((bytes / self.mss) as u32).clamp(least, 127)
    }

    /// `bbr_bdp`.
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(rtt_us) = self.min_rtt_us else { return INITIAL_CWND };
        let scaled = (product(bw, rtt_us) * u128::from(gain)) >> 8;
        scaled.div_ceil(u128::from(BW)).min(MOST) as u32
    }

    /// `bbr_quantization_budget`.
    fn budget(&self, cwnd: u32) -> u32 {
        let even = (cwnd + 3 * self.burst() + 1) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    /// `bbr_inflight`.
    fn inflight(&self, bw: u64, gain: u64) -> u32 {
        self.budget(self.bdp(bw, gain))
    }

    /// Segments in the network when the next segment may leave (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, sample: &Sample, in_flight: u32) -> u32 {
        let wait_us = sample.next_send.since(sample.now).as_nanos() / 1000;
        let leaving = (product(self.bandwidth(), wait_us) >> 24).min(MOST) as u32;
        let more = if self.pacing_gain > ONE { self.burst() } else { 0 };
        (in_flight + more).saturating_sub(leaving)
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, sample: &Sample) {
        self.round_start = false;
        let (Some(delivered), Some(interval)) = (sample.delivered, sample.interval_us) else {
            return;
        };
        if interval == 0 {
            return;
        }
        if sample.prior_delivered >= self.next_round {
            self.next_round = sample.totals.delivered;
            self.round += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_policer(sample.losses, sample.app_limited, &sample.totals);
        let bw = bandwidth(delivered, interval);
        if !sample.app_limited || bw >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.round, bw);
        }
    }

    /// `bbr_lt_bw_sampling`.
    fn sample_policer(&mut self, losses: u32, app_limited: bool, totals: &Totals) {
        let probing = self.mode == Mode::ProbeBw;
        let unit = self.rate_unit();
        let news =
            self.policed.sample(self.round_start, probing, losses, app_limited, totals, unit);
        match news {
            News::Nothing => {}
            News::Found => self.pacing_gain = ONE,
            News::Over => self.begin_probe_bw(totals),
        }
    }

    /// Bandwidths that differ by at most 4 kbit/s count as equal (`bbr_lt_bw_diff`).
    fn rate_unit(&self) -> impl Fn(u64) -> bool + use<> {
        let mss = self.mss;
        move |bw| bytes_a_second(bw, mss, ONE) <= 4000 / 8
    }

    /// `bbr_update_ack_aggregation`.
    fn update_aggregation(&mut self, sample: &Sample, cwnd: u32) {
        if sample.acked == 0
            || sample.delivered.is_none()
            || sample.interval_us.is_none_or(|us| us == 0)
        {
            return;
        }
        if self.round_start {
            self.extra_rounds = (self.extra_rounds + 1).min(31);
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra_at = 1 - self.extra_at;
                self.extra[self.extra_at] = 0;
            }
        }
        let at_us = micros(sample.totals.delivered_at);
        let span_us = at_us.saturating_sub(self.epoch_us);
        let mut expected = (product(self.bandwidth(), span_us) >> 24).min(MOST) as u64;
        let acked = u64::from(sample.acked);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EXTRA_RESET {
            (self.epoch_acked, self.epoch_us, expected) = (0, at_us, 0);
        }
        self.epoch_acked = (self.epoch_acked + acked).min(0xf_ffff);
        let extra = (self.epoch_acked - expected).min(u64::from(cwnd)) as u32;
        self.extra[self.extra_at] = self.extra[self.extra_at].max(extra);
    }

    /// The window's addition for aggregation (`bbr_ack_aggregation_cwnd`).
    fn aggregation(&self) -> u32 {
        if !self.full {
            return 0;
        }
        let most = (self.bandwidth() * EXTRA_MOST_US / BW) as u32;
        self.extra[0].max(self.extra[1]).min(most)
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, sample: &Sample) -> bool {
        let since = micros(sample.totals.delivered_at).saturating_sub(self.cycle_at_us);
        let whole = self.min_rtt_us.is_some_and(|rtt| since > rtt);
        if self.pacing_gain == ONE {
            return whole;
        }
        let in_flight = self.in_network(sample, sample.prior_in_flight);
        let bw = self.bw.get();
        if self.pacing_gain > ONE {
            let reached = || in_flight >= self.inflight(bw, self.pacing_gain);
            return whole && (sample.losses > 0 || reached());
        }
        whole || in_flight <= self.inflight(bw, ONE)
    }

    fn next_phase(&mut self, totals: &Totals) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at_us = micros(totals.delivered_at);
    }

    /// `bbr_reset_probe_bw_mode`: starts with any phase except the draining one.
    fn begin_probe_bw(&mut self, totals: &Totals) {
        self.mode = Mode::ProbeBw;
        let drawn = drawn(totals.delivered_at, u64::from(totals.delivered)) * 7.0;
        self.cycle = CYCLE.len() - 1 - (drawn as usize).min(6);
        self.next_phase(totals);
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full(&mut self, sample: &Sample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        if self.bw.get() >= (self.full_bw * (ONE * 5 / 4)) >> 8 {
            (self.full_bw, self.full_rounds) = (self.bw.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= 3;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, sample: &Sample) {
        let target = |law: &Self| law.inflight(law.bw.get(), ONE);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.ssthresh = Some(target(self));
        }
        if self.mode == Mode::Drain && self.in_network(sample, sample.in_flight) <= target(self) {
            self.begin_probe_bw(&sample.totals);
        }
    }

    /// `bbr_update_min_rtt`. Returns true in `ProbeRtt`.
    fn update_min_rtt(&mut self, sample: &Sample, cwnd: &mut u32) -> bool {
        let tick = ticks(sample.now);
        let expired = tick > self.min_rtt_tick + MIN_RTT_TICKS;
        if let Some(rtt) = sample.rtt_us
            && (expired || self.min_rtt_us.is_none_or(|least| rtt < least))
        {
            (self.min_rtt_us, self.min_rtt_tick) = (Some(rtt), tick);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(*cwnd);
            self.probe_rtt_done = None;
        }
        let probing = self.mode == Mode::ProbeRtt;
        if probing {
            if self.probe_rtt_done.is_none() && sample.in_flight <= LEAST_CWND {
                self.probe_rtt_done = Some(tick + PROBE_RTT_TICKS);
                self.probe_rtt_round_done = false;
                self.next_round = sample.totals.delivered;
            } else if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(tick, cwnd, &sample.totals);
                }
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
        probing
    }

    fn check_probe_rtt_done(&mut self, tick: u64, cwnd: &mut u32, totals: &Totals) {
        if self.probe_rtt_done.is_none_or(|done| tick <= done) {
            return;
        }
        self.min_rtt_tick = tick;
        *cwnd = (*cwnd).max(self.prior_cwnd);
        if self.full {
            self.begin_probe_bw(totals);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed.rate().is_some() => (ONE, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (ONE, ONE),
        };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, sample: &Sample, cwnd: &mut u32) {
        if sample.acked > 0 && !self.repairs(sample, cwnd) {
            let bdp = self.bdp(self.bandwidth(), self.cwnd_gain);
            let target = self.budget(bdp + self.aggregation());
            if self.full {
                *cwnd = (*cwnd + sample.acked).min(target);
            } else if *cwnd < target || sample.totals.delivered < INITIAL_CWND {
                *cwnd += sample.acked;
            }
            *cwnd = (*cwnd).max(LEAST_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            *cwnd = (*cwnd).min(LEAST_CWND);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`. Returns true while one segment leaves for each that
    /// arrives.
    fn repairs(&mut self, sample: &Sample, cwnd: &mut u32) -> bool {
        if sample.losses > 0 {
            *cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        let before = std::mem::replace(&mut self.before, sample.repair);
        let arrived = sample.in_flight + sample.acked;
        if sample.repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.next_round = sample.totals.delivered;
            *cwnd = arrived;
        } else if before >= Repair::Recovery && sample.repair < Repair::Recovery {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            *cwnd = (*cwnd).max(arrived);
        }
        self.conserves
    }

    /// The window is about to be reduced. Its value is saved, and restored later.
    pub(crate) fn save(&mut self, cwnd: u32) {
        let good = self.before < Repair::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// The retransmission timer expired, so a round is over.
    pub(crate) fn on_timeout(&mut self, totals: &Totals) {
        self.before = Repair::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.sample_policer(1, false, totals);
    }

    /// A reduction was unnecessary.
    pub(crate) fn on_undo(&mut self, totals: &Totals) {
        (self.full_bw, self.full_rounds) = (0, 0);
        self.policed.reset(totals);
    }

    /// The application sends again after an idle time.
    pub(crate) fn on_restart(&mut self, now: Time, cwnd: &mut u32, totals: &Totals) {
        self.idle_restart = true;
        (self.epoch_us, self.epoch_acked) = (micros(now), 0);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(ONE, *cwnd, None),
            Mode::ProbeRtt => self.check_probe_rtt_done(ticks(now), cwnd, totals),
            _ => {}
        }
    }
}
