//! LEDBAT (RFC 6817): a congestion control that gives way to others.
//!
//! A linear controller keeps the queueing delay near a target. So LEDBAT takes only the capacity
//! that others leave: a sender that fills queues raises the delay above the target, and LEDBAT
//! slows down.
//!
//! | symbol | here |
//! |---|---|
//! | TARGET, GAIN | [`LedbatParams`] |
//! | BASE_HISTORY, CURRENT_FILTER | `BASE_HISTORY`, `CURRENT_FILTER` |
//! | ALLOWED_INCREASE, MIN_CWND | `ALLOWED_INCREASE`, `MIN_CWND` |
//! | INIT_CWND | `initial_window` of the connection; section 2.5 asks for 2 |
//!
//! The one-way delay is the receiver's timestamp minus the echoed one (RFC 7323): from the first
//! transmission of the oldest segment that an acknowledgment covers until the acknowledgment
//! leaves. The clocks may differ, because only differences of delays count.
//!
//! # Deviations
//! - D1. GAIN may be above 1, which section 2.5 forbids, because RFC 7928, section 5.4, asks for a
//!   target of 5 ms and a gain of 10 in tests of queue disciplines.
//! - D2. Acknowledgments during loss recovery neither change the window nor give a delay sample.
//! - D3. A timeout is the sender's RTO, as section 2.4.2 has it for TCP.

use super::{AckSample, Conduct, CongestionController, CongestionEvent, Needs, Start, Window};
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Named, Time, params};
use std::any::Any;
use std::sync::Arc;

/// Section 2.5: minutes over which the base delay is the minimum.
const BASE_HISTORY: usize = 10;
/// Section 2.4.2: each minimum is measured over a minute.
const MINUTE_NS: u64 = 60_000_000_000;
/// Section 2.5: at least 4 delay samples per round trip. The filter is their minimum, so a delayed
/// acknowledgment has no effect if another was prompt.
const CURRENT_FILTER: usize = 4;
/// Section 2.5, in segments: how far the window may be above the data in flight.
const ALLOWED_INCREASE: u64 = 1;
/// Section 2.5, in segments.
const MIN_CWND: u64 = 2;

params! {
    /// Parameters of LEDBAT (RFC 6817, section 2.5).
    #[derive(Copy, PartialEq)]
    pub struct LedbatParams {
        /// Queueing delay to keep, one way; above 0, at most 100 ms.
        pub target: Duration = Duration::from_millis(100),
        /// Segments a round trip by which the window grows while there is no queue, and shrinks
        /// while the queue is twice the target; above 0. RFC 6817 allows at most 1; RFC 7928,
        /// section 5.4, asks for 10 with a target of 5 ms.
        pub gain: f64 = 1.0,
    }
}

impl LedbatParams {
    fn validate(&self) -> Result<(), ConfigError> {
        let LedbatParams { target, gain } = self;
        let most = Duration::from_millis(100);
        require(*target > Duration::ZERO && *target <= most, "target", || {
            format!("must be greater than 0 and at most 100ms, got \"{target}\"")
        })?;
        require(*gain > 0.0 && gain.is_finite(), "gain", || {
            format!("must be greater than 0, got {gain}")
        })
    }
}

/// State of LEDBAT.
#[derive(Debug)]
pub struct Ledbat {
    target: f64,
    gain: f64,
    /// The smallest delay of each of the last minutes, newest first; [`Duration::MAX`] without a
    /// sample.
    base: [Duration; BASE_HISTORY],
    /// The minute of `base[0]`, counted from time zero.
    minute: u64,
    /// The last samples and their times, in a ring; [`Duration::MAX`] if there is none yet.
    current: [(Time, Duration); CURRENT_FILTER],
    oldest: usize,
    /// Part of a byte not yet added to the window.
    credit: f64,
}

impl Ledbat {
    /// The state of a new connection.
    pub fn new(LedbatParams { target, gain }: LedbatParams) -> Self {
        Ledbat {
            target: target.as_secs_f64(),
            gain,
            base: [Duration::MAX; BASE_HISTORY],
            minute: 0,
            current: [(Time::ZERO, Duration::MAX); CURRENT_FILTER],
            oldest: 0,
            credit: 0.0,
        }
    }

    /// Section 2.4.2, update_base_delay; minutes without a sample count as infinite.
    fn update_base(&mut self, now: Time, delay: Duration) {
        let minute = now.as_nanos() / MINUTE_NS;
        let passed = (minute - self.minute).min(BASE_HISTORY as u64) as usize;
        if passed > 0 {
            self.minute = minute;
            self.base.rotate_right(passed);
            self.base[..passed].fill(Duration::MAX);
        }
        self.base[0] = self.base[0].min(delay);
    }

    /// Section 2.4.2, update_current_delay.
    fn update_current(&mut self, now: Time, delay: Duration) {
        self.current[self.oldest] = (now, delay);
        self.oldest = (self.oldest + 1) % CURRENT_FILTER;
    }

    /// FILTER(current_delays) minus MIN(base_delays). No sample is older than a round trip (section
    /// 2.5). There must be at least one.
    fn queueing_delay(&self, now: Time, rtt: Duration) -> Duration {
        let recent = self.current.iter().filter(|(at, _)| now.since(*at) <= rtt);
        let current = recent.map(|(_, delay)| *delay).min().unwrap_or(Duration::MAX);
        let base = self.base.iter().copied().min().unwrap_or(Duration::MAX);
        current.saturating_sub(base)
    }
}

impl Named for Ledbat {
    type Family = dyn CongestionController;
    const NAME: &'static str = "ledbat";
    const SUMMARY: &'static str = "takes only what others leave, by measuring the delay";
    const SOURCE: &'static str = "RFC 6817";
    const FACTS: Conduct = Conduct { needs: Needs::Timestamps, ..Conduct::USUAL };
    type Params = LedbatParams;

    fn build(params: &LedbatParams, _: &()) -> Result<Start, ConfigError> {
        params.validate()?;
        let params = *params;
        Ok(Arc::new(move |_| Box::new(Ledbat::new(params))))
    }
}

impl CongestionController for Ledbat {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        let Some(delay) = sample.one_way else { return };
        self.update_base(sample.now, delay);
        self.update_current(sample.now, delay);
        let rtt = sample.srtt.unwrap_or(Duration::MAX);
        let queueing = self.queueing_delay(sample.now, rtt).as_secs_f64();
        let off_target = (self.target - queueing) / self.target;
        let mss = window.mss as f64;
        let cwnd = window.cwnd as f64;
        let wanted = cwnd + self.credit + self.gain * off_target * sample.acked as f64 * mss / cwnd;
        // FlightSize before this acknowledgment.
        let flight = sample.sent - sample.ack + sample.acked;
        let allowed = (flight + ALLOWED_INCREASE * window.mss).min(window.maximum) as f64;
        let bounded = wanted.min(allowed).max((MIN_CWND * window.mss) as f64);
        window.cwnd = bounded as u64;
        self.credit = bounded - window.cwnd as f64;
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &CongestionEvent) {
        // Section 2.4.2, "on data loss"; after a timeout the caller goes down to one segment.
        window.ssthresh = window.cwnd.min((window.cwnd / 2).max(MIN_CWND * window.mss));
        self.credit = 0.0;
    }

    fn retune(&mut self, _: &mut Window, fresh: &mut dyn Any) -> bool {
        fresh.downcast_ref::<Self>().is_some_and(|fresh| {
            (self.target, self.gain) = (fresh.target, fresh.gain);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionParams;
    use crate::congestion::CongestionKind;

    const RTT: Duration = Duration::from_millis(100);

    fn ledbat(segments: u64, gain: f64) -> (Ledbat, Window) {
        let target = Duration::from_millis(100);
        let mut window = Window::new(&ConnectionParams::default(), None);
        window.cwnd = segments * window.mss;
        (Ledbat::new(LedbatParams { target, gain }), window)
    }

    /// Acknowledges one full window, segment by segment, over a round trip that begins at `from`
    /// milliseconds. Each segment is `delay` milliseconds on its way.
    fn round(ledbat: &mut Ledbat, window: &mut Window, from: u64, delay: u64) {
        let segments = window.cwnd / window.mss;
        for number in 0..segments {
            let micros = 1000 * from + RTT.as_nanos() / 1000 * number / segments;
            acknowledge(ledbat, window, Duration::from_micros(micros), delay, window.cwnd);
        }
    }

    fn acknowledge(
        ledbat: &mut Ledbat,
        window: &mut Window,
        at: Duration,
        delay: u64,
        flight: u64,
    ) {
        let sample = AckSample {
            now: Time::ZERO + at,
            acked: window.mss,
            ack: window.mss,
            sent: flight,
            rtt: Some(RTT),
            srtt: Some(RTT),
            one_way: Some(Duration::from_millis(delay)),
            limited: true,
            after_timeout: false,
        };
        ledbat.on_ack(window, &sample);
    }

    fn segments(window: &Window) -> f64 {
        window.cwnd as f64 / window.mss as f64
    }

    #[test]
    fn it_grows_by_gain_segments_a_round_trip_while_there_is_no_queue() {
        // Section 3.2.1: at GAIN 1 as TCP in congestion avoidance, one segment a round trip.
        for (gain, growth) in [(1.0, 1.0), (0.5, 0.5), (10.0, 10.0)] {
            let (mut ledbat, mut window) = ledbat(100, gain);
            round(&mut ledbat, &mut window, 0, 30);
            let grown = segments(&window) - 100.0;
            // The window that divides grows meanwhile, so that it is a little less.
            assert!(grown <= growth && grown > growth * (1.0 - growth / 100.0), "{grown}");
        }
    }

    #[test]
    fn it_holds_at_the_target_and_goes_as_far_above_it_as_it_came_below() {
        let (mut ledbat, mut window) = ledbat(100, 1.0);
        round(&mut ledbat, &mut window, 0, 30);
        let before = window.cwnd;
        round(&mut ledbat, &mut window, 200, 130);
        assert_eq!(window.cwnd, before);
        // off_target = (100 - 50) / 100.
        round(&mut ledbat, &mut window, 400, 80);
        assert!((segments(&window) - before as f64 / 1460.0 - 0.5).abs() < 0.01);
        // 200 ms above the base: off_target = -1.
        let before = segments(&window);
        round(&mut ledbat, &mut window, 600, 230);
        assert!((segments(&window) - before + 1.0).abs() < 0.02, "{}", segments(&window) - before);
    }

    #[test]
    fn it_never_falls_below_two_segments_nor_stands_above_its_flight() {
        let (mut ledbat, mut window) = ledbat(4, 1.0);
        round(&mut ledbat, &mut window, 0, 30);
        (1..10).for_each(|n| round(&mut ledbat, &mut window, 200 * n, 1030));
        assert_eq!(window.cwnd, 2 * window.mss);
        // Application-limited: flight of three segments before this acknowledgment.
        let (mut ledbat, mut window) = super::tests::ledbat(100, 1.0);
        let flight = 3 * window.mss;
        acknowledge(&mut ledbat, &mut window, Duration::ZERO, 30, flight);
        assert_eq!(window.cwnd, 4 * window.mss);
    }

    #[test]
    fn a_loss_halves_the_window() {
        for (before, after) in [(100, 50), (3, 2), (2, 2)] {
            let (mut ledbat, mut window) = ledbat(before, 1.0);
            let kind = CongestionKind::Loss;
            let event = CongestionEvent { now: Time::ZERO, kind, flight: window.cwnd };
            ledbat.on_congestion(&mut window, &event);
            assert_eq!(window.ssthresh, after * window.mss);
        }
    }

    #[test]
    fn the_base_delay_is_the_least_of_ten_minutes() {
        let (mut ledbat, _) = ledbat(10, 1.0);
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let queueing = |ledbat: &mut Ledbat, seconds, millis| {
            let delay = Duration::from_millis(millis);
            ledbat.update_base(at(seconds), delay);
            ledbat.update_current(at(seconds), delay);
            ledbat.queueing_delay(at(seconds), RTT).as_millis_f64()
        };
        assert_eq!(queueing(&mut ledbat, 59, 20), 0.0);
        assert_eq!(queueing(&mut ledbat, 61, 50), 30.0);
        // The first minute, 0, is remembered until minute 10 begins.
        assert_eq!(queueing(&mut ledbat, 599, 50), 30.0);
        assert_eq!(queueing(&mut ledbat, 600, 50), 0.0);
        // A shorter path is seen at once; after a long idle time nothing is remembered.
        assert_eq!(queueing(&mut ledbat, 601, 10), 0.0);
        assert_eq!(queueing(&mut ledbat, 602, 50), 40.0);
        assert_eq!(queueing(&mut ledbat, 6000, 70), 0.0);
    }

    #[test]
    fn one_prompt_acknowledgment_among_the_last_four_is_believed_for_a_round_trip() {
        let (mut ledbat, _) = ledbat(10, 1.0);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        ledbat.update_base(at(0), Duration::from_millis(20));
        let mut queueing = |millis, delay| {
            ledbat.update_current(at(millis), Duration::from_millis(delay));
            ledbat.queueing_delay(at(millis), RTT).as_millis_f64()
        };
        assert_eq!(queueing(0, 25), 5.0);
        assert_eq!([10, 20, 30].map(|now| queueing(now, 65)), [5.0; 3]);
        assert_eq!(queueing(40, 65), 45.0, "the fifth last is forgotten");
        assert_eq!(queueing(50, 30), 10.0);
        assert_eq!(queueing(151, 65), 45.0, "and what is older than a round trip");
    }

    #[test]
    fn without_timestamps_nothing_is_known_and_the_window_stays() {
        let (mut ledbat, mut window) = ledbat(10, 1.0);
        let before = window.cwnd;
        let sample = AckSample {
            now: Time::ZERO,
            acked: window.mss,
            ack: window.mss,
            sent: before,
            rtt: None,
            srtt: None,
            one_way: None,
            limited: true,
            after_timeout: false,
        };
        ledbat.on_ack(&mut window, &sample);
        assert_eq!(window.cwnd, before);
    }
}
