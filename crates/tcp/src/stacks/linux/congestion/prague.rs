//! Prague in Linux's own sender: `tcp_prague.c` 0.6 of L4STeam's Linux 5.15.
//!
//! It alone sets the window (`cong_control`), so there is no proportional rate reduction. A
//! reduction is owed: the window is a whole number of segments, and goes down or up by one per
//! acknowledgment until nothing is owed. After a loss the window therefore falls more slowly than
//! at once, the more so if the receiver answers for many segments at a time. Meanwhile the sender
//! goes on at nearly the old rate.
//!
//! | here | there |
//! |---|---|
//! | `owed`, in 2^-20 segments | `cwnd_cnt` |
//! | `alpha`, in 2^-24 | `upscaled_alpha` |
//! | `increase` | `ai_ack_increase` |
//! | `averaged`, `reduced` | `alpha_stamp`, `cwr_stamp` |
//! | `round`, `rounds` | `next_seq`, `round` |
//!
//! Left out: the detection of classic queues, which is off (`prague_ecn_fallback`), and other
//! heuristics than `RTT_CONTROL_RATE`.

use super::Cwnd;
use crate::congestion::CongestionControl;
use crate::stacks::linux::{State, Version};
use forebay_core::{Duration, Time};

/// A segment in the counts of the window (`ONE_CWND`).
const ONE: i64 = 1 << 20;
/// The value 1 of the share of marks (`PRAGUE_MAX_ALPHA`), and its bits.
const ALPHA_BITS: u32 = 20;
const ALL: u64 = 1 << ALPHA_BITS;
/// Round trips are compared in units of 2^7 us (`RTT_UNIT`).
const RTT_UNIT: u32 = 7;
/// A buffer has what leaves in 2^-12 s (`prague_burst_shift`).
const BURST_SHIFT: u32 = 12;
const LEAST: u32 = 2;

/// An acknowledgment, as `cong_control` sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Segments newly delivered, and newly reported as marked (`acked_sacked`, `ece_delta`).
    pub(crate) delivered: u32,
    pub(crate) marked: u32,
    /// All segments that were delivered, and that were reported as marked.
    pub(crate) total_delivered: u32,
    pub(crate) total_marked: u32,
    /// Whether the window limits the sender.
    pub(crate) limited: bool,
    pub(crate) una: u64,
    pub(crate) next: u64,
    pub(crate) in_flight: u32,
    /// Eight times the smoothed round-trip time in us; 0 before the first sample.
    pub(crate) eight_srtt_us: u64,
}

/// State of Prague.
#[derive(Debug)]
pub(crate) struct Prague {
    mtu: u64,
    /// g is 2 to the power of minus this.
    gain_shift: u32,
    /// The reference round trip in units.
    reference: u64,
    transition: u32,
    /// When the present acknowledgment arrived (`tcp_mstamp`).
    now: Time,
    marks_seen: bool,
    in_loss: bool,
    alpha: u64,
    increase: u64,
    owed: i64,
    /// What was owed, and the window, before the last loss.
    owed_before: i64,
    pub(super) before: u32,
    averaged: Time,
    reduced: Option<Time>,
    round: u64,
    rounds: u32,
    delivered: u32,
    marked: u32,
    /// The pacing rate in bytes per second, and the segments of a buffer.
    pub(crate) rate: u64,
    pub(crate) burst: u32,
}

impl Prague {
    pub(super) fn new(control: &CongestionControl, mtu: u64, now: Time) -> Self {
        let params = control.params();
        let number = |name: &str| params.get(name).and_then(serde_json::Value::as_f64);
        let span = |name: &str| -> Option<Duration> { params.get(name)?.as_str()?.parse().ok() };
        let gain_shift = libm::round(-libm::log2(number("gain").unwrap_or(1.0))).clamp(0.0, 10.0);
        let reference = span("reference_rtt").unwrap_or(Duration::ZERO);
        Prague {
            mtu,
            gain_shift: gain_shift as u32,
            reference: (reference.as_nanos() / 1000) >> RTT_UNIT,
            transition: number("transition_rounds").unwrap_or(0.0) as u32,
            now,
            marks_seen: false,
            in_loss: false,
            alpha: ALL << gain_shift as u32,
            increase: ONE as u64,
            owed: 0,
            owed_before: 0,
            before: 0,
            averaged: now,
            reduced: None,
            round: 0,
            rounds: 0,
            delivered: 0,
            marked: 0,
            rate: 0,
            burst: 1,
        }
    }

    /// The connection is open (`prague_init`).
    pub(crate) fn open(&mut self, now: Time, window: &Cwnd, seen: &Seen) {
        (self.now, self.averaged) = (now, now);
        if seen.eight_srtt_us > 0 {
            self.update_rate(window, seen);
        }
        self.begin_round(window, seen);
    }

    /// An acknowledgment arrives, or a timer expires.
    pub(crate) fn begin(&mut self, now: Time) {
        self.now = now;
    }

    /// `prague_is_rtt_indep`.
    fn is_independent(&self, window: &Cwnd) -> bool {
        self.reference > 0
            && !window.in_slow_start(Version::Linux6_1)
            && self.rounds >= self.transition
    }

    /// Whether a reference round trip has passed since then.
    fn is_over(&self, since: Time) -> bool {
        self.now.since(since) >= Duration::from_micros(self.reference << RTT_UNIT)
    }

    /// `prague_ai_ack_increase`.
    fn set_increase(&mut self, eight_srtt_us: u64) {
        let rtt = (eight_srtt_us >> 3) >> RTT_UNIT;
        let scaled = self.rounds >= self.transition && rtt > 0 && rtt < self.reference;
        let square = self.reference * self.reference;
        self.increase = match scaled {
            true => ((rtt << 20) * rtt + (square >> 1)) / square,
            false => ONE as u64,
        };
    }

    /// `prague_cong_control`.
    pub(crate) fn on_ack(&mut self, window: &mut Cwnd, seen: &Seen) {
        self.update_window(window, seen);
        let averages =
            seen.una >= self.round && (!self.is_independent(window) || self.is_over(self.averaged));
        if averages {
            self.update_alpha(window, seen);
        }
        self.update_rate(window, seen);
    }

    /// `prague_update_cwnd`.
    fn update_window(&mut self, window: &mut Cwnd, seen: &Seen) {
        self.marks_seen |= seen.marked > 0;
        let mut acked = seen.delivered.saturating_sub(seen.marked);
        if acked > 0 && !self.in_loss && seen.limited {
            if window.in_slow_start(Version::Linux6_1) {
                acked = window.slow_start(Version::Linux6_1, acked);
                if acked == 0 {
                    return self.set_increase(seen.eight_srtt_us);
                }
            }
            let (cwnd, acked) = (u64::from(window.cwnd), u64::from(acked));
            let share = (acked * self.increase + (cwnd >> 1)) / cwnd.max(1);
            self.owed += share.max(acked) as i64;
        }
        if self.owed <= -ONE {
            self.owed += ONE;
            window.cwnd -= 1;
            if window.cwnd < LEAST {
                (window.cwnd, self.owed) = (LEAST, 0);
            }
            window.ssthresh = window.cwnd;
            self.set_increase(seen.eight_srtt_us);
        } else if self.owed >= ONE {
            self.owed -= ONE;
            window.grow(1);
            self.set_increase(seen.eight_srtt_us);
        }
    }

    /// `prague_update_alpha`.
    fn update_alpha(&mut self, window: &Cwnd, seen: &Seen) {
        if self.marks_seen {
            let marked = u64::from(seen.total_marked - self.marked) << ALPHA_BITS;
            let share = marked / u64::from((seen.total_delivered - self.delivered).max(1));
            let alpha = self.alpha - (self.alpha >> self.gain_shift) + share;
            self.alpha = alpha.min(ALL << self.gain_shift);
            self.averaged = self.now;
        }
        self.begin_round(window, seen);
    }

    /// `prague_new_round`.
    fn begin_round(&mut self, window: &Cwnd, seen: &Seen) {
        (self.round, self.delivered) = (seen.next, seen.total_delivered);
        self.marked = seen.total_marked;
        if !window.in_slow_start(Version::Linux6_1) {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.set_increase(seen.eight_srtt_us);
    }

    /// `prague_update_pacing_rate`.
    fn update_rate(&mut self, window: &Cwnd, seen: &Seen) {
        let factor = if window.cwnd < window.ssthresh / 2 { 2 } else { 1 };
        let each = 8_000_000 * self.mtu * factor / seen.eight_srtt_us.max(1);
        self.rate = each * u64::from(window.cwnd.max(seen.in_flight));
        self.burst = (((self.rate / self.mtu) >> BURST_SHIFT) as u32).max(1);
    }

    /// The state changes (`prague_state`).
    pub(crate) fn on_state(&mut self, window: &Cwnd, state: State) {
        match state {
            State::Recovery => self.on_loss(window),
            State::Cwr => self.on_marks(window),
            State::Open => self.in_loss = false,
            State::Disorder | State::Loss => {}
        }
    }

    /// `prague_enter_loss`.
    pub(crate) fn on_loss(&mut self, window: &Cwnd) {
        (self.before, self.owed_before) = (window.cwnd, self.owed);
        self.owed -= (i64::from(window.cwnd) << 19) + (self.owed >> 1);
        self.in_loss = true;
    }

    /// `prague_enter_cwr`.
    fn on_marks(&mut self, window: &Cwnd) {
        let independent = self.is_independent(window);
        if independent && !self.reduced.is_none_or(|since| self.is_over(since)) {
            return;
        }
        self.reduced = Some(self.now);
        let alpha = self.alpha >> self.gain_shift;
        // Half is added, so that nothing is lost in the mean.
        self.owed -= ((alpha * (u64::from(window.cwnd) << 20) + ALL) >> (ALPHA_BITS + 1)) as i64;
    }

    /// `prague_cwnd_undo`.
    pub(super) fn undo(&mut self) {
        self.owed += self.owed - self.owed_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1500;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Prague in congestion avoidance with a window of `cwnd` segments and a round trip of `ms`.
    fn begin(cwnd: u32, ms: u64) -> (Prague, Cwnd, Seen) {
        let control = CongestionControl::of::<crate::congestion::Prague>();
        let window = Cwnd { cwnd, ssthresh: cwnd, count: 0, most: 1000 };
        let seen = Seen { limited: true, eight_srtt_us: 8000 * ms, next: 1000, ..Seen::default() };
        let mut prague = Prague::new(&control, MTU, at(0));
        prague.open(at(0), &window, &seen);
        (prague, window, seen)
    }

    #[test]
    fn a_loss_takes_half_a_segment_at_a_time_and_nothing_grows_meanwhile() {
        let (mut prague, mut window, seen) = begin(100, 50);
        prague.on_state(&window, State::Recovery);
        // However many segments an acknowledgment reports.
        let seen = Seen { delivered: 44, ..seen };
        for left in (50..100).rev() {
            prague.on_ack(&mut window, &seen);
            assert_eq!((window.cwnd, window.ssthresh), (left, left));
        }
        prague.on_ack(&mut window, &seen);
        assert_eq!((window.cwnd, prague.owed), (50, 0));
        // 50 segments in a window of 50 are one more.
        prague.on_state(&window, State::Open);
        prague.on_ack(&mut window, &Seen { delivered: 50, ..seen });
        assert_eq!(window.cwnd, 51);
    }

    #[test]
    fn what_is_owed_counts_at_the_next_loss() {
        let (mut prague, mut window, seen) = begin(100, 50);
        prague.on_state(&window, State::Recovery);
        for _ in 0..20 {
            prague.on_ack(&mut window, &seen);
        }
        // 80 are left, of which 30 are owed: half of the 50 that would remain.
        assert_eq!((window.cwnd, prague.owed), (80, -30 * ONE));
        prague.on_state(&window, State::Recovery);
        assert_eq!(prague.owed, -55 * ONE);
    }

    #[test]
    fn a_timeout_takes_half_of_what_was_there_and_ends_at_two_segments() {
        let (mut prague, mut window, seen) = begin(100, 50);
        prague.on_loss(&window);
        window.cwnd = 1;
        prague.on_ack(&mut window, &seen);
        assert_eq!((window.cwnd, window.ssthresh, prague.owed), (2, 2, 0));
    }

    #[test]
    fn marks_take_half_of_their_average_share() {
        let (mut prague, mut window, seen) = begin(100, 50);
        // One of ten: 16 - 1 + 0.1 sixteenths, in units of 2^-20.
        let marked = Seen { delivered: 10, marked: 1, una: 1000, next: 2000, ..seen };
        prague.on_ack(&mut window, &Seen { total_delivered: 10, total_marked: 1, ..marked });
        assert_eq!(prague.alpha, (15 << 20) + (1 << 20) / 10);
        prague.on_state(&window, State::Cwr);
        let owed = -prague.owed as f64 / ONE as f64;
        // 100 * 15.1 / 16 / 2, less the increase of 9 in a window of 100.
        assert!((owed - 47.1875 + 0.09).abs() < 1e-4, "{owed}");
        // Within a round the average stays.
        let alpha = prague.alpha;
        prague.on_ack(&mut window, &Seen { una: 1999, ..marked });
        assert_eq!(prague.alpha, alpha);
    }

    #[test]
    fn short_round_trips_grow_and_answer_as_one_of_25_ms() {
        let (mut prague, mut window, seen) = begin(100, 10);
        prague.rounds = 500;
        prague.begin_round(&window, &seen);
        // 78 and 195 units of 128 us: (78 / 195)^2 = 0.16.
        assert_eq!(prague.increase, 167_772);
        prague.begin(at(30));
        prague.on_state(&window, State::Cwr);
        let owed = prague.owed;
        assert!(owed < 0);
        prague.begin(at(54));
        prague.on_state(&window, State::Cwr);
        assert_eq!(prague.owed, owed);
        prague.begin(at(55));
        prague.on_state(&window, State::Cwr);
        assert!(prague.owed < owed);
        // 25 ms and more are what they are.
        let long = Seen { eight_srtt_us: 200_000, ..seen };
        prague.on_ack(&mut window, &Seen { una: 1000, ..long });
        assert_eq!(prague.increase, ONE as u64);
    }

    #[test]
    fn the_pace_is_a_window_a_round_trip_in_buffers_of_a_quarter_millisecond() {
        let (mut prague, mut window, seen) = begin(100, 10);
        // 100 packets of 1500 bytes in 10 ms: 10 000 a second, 2.4 in 2^-12 s.
        assert_eq!((prague.rate, prague.burst), (15_000_000, 2));
        prague.on_ack(&mut window, &Seen { in_flight: 120, ..seen });
        assert_eq!(prague.rate, 18_000_000);
        window.ssthresh = 1000;
        prague.update_rate(&window, &seen);
        assert_eq!((prague.rate, prague.burst), (30_000_000, 4));
    }
}
