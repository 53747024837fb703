//! Prague: DCTCP's response to marks, adapted to the Internet.
//!
//! Packets are sent as ECT(1), so a queue for low latency, low loss and scalable throughput (L4S)
//! marks them at a delay of a millisecond or less. The receiver counts marks
//! ([`Needs::AccurateEcn`]). In each round the window is reduced by half of the average share of
//! marked bytes, and grows with all bytes that arrive without a mark. Round trips shorter than a
//! reference of 25 ms count as if they had this length, so flows with short round trips do not take
//! the whole link.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-00. Where the reference implementation,
//! `tcp_prague.c` of L4STeam's Linux (0.6), has changed since, it is the source. The stack
//! `linux-6.1` has that module itself, with its response to losses
//! (`stacks/linux/congestion/prague.rs`).
//!
//! | draft | here |
//! |---|---|
//! | alpha, g, frac | `alpha`, `gain`, the share of `marked` in `delivered` |
//! | acked_sacked, ece_delta | [`Delivery::delivered`], [`Delivery::marked`] |
//! | RTT_ref, M, D | [`Prague::reference`], `stretch`, `transition_rounds` |
//! | MAX_BURST_DELAY | [`MAX_BURST`] |
//!
//! # Deviations
//! - D1. Windows are bytes, and the fraction of a byte is kept. Linux has segments and their
//!   fraction, rounds the window up to whole ones, and changes it by one per acknowledgment.
//! - D2. The pace follows the window, as the reference does by now, not the larger of window and
//!   flight (section 2.5.1).
//! - D3. A packet leaves as a segment of its own; a burst is several of them (section 2.5.2).
//! - D4. Losses are found as with every control here, by counting segments (RFC 6675) instead of
//!   time (section 2.3.3, RACK).
//! - D5. A reduction that turns out to be spurious is not undone.
//! - D6. Slow start ends at the first mark or loss; `hystart` has no effect (section 2.4.5).
//! - D7. With the reference round trip, the next reduction comes one reference round trip after the
//!   last (section 2.4.4). Linux checks once per round trip, and so reduces at multiples of it.
//! - D8. The average of a round is updated before the reduction for the same acknowledgment; Linux
//!   does it in the reverse order.
//!
//! Without accurate feedback it is New Reno with ECT(0), or without ECN (section 2.3.1). It does
//! not detect classic queues; by default the reference does not, either (section 3.3).

use super::{
    AckSample, Attention, Conduct, CongestionController, CongestionEvent, CongestionKind, Delivery,
    Feedback, Needs, NewReno, Role, Start, Window, dctcp::next_alpha,
};
use crate::ConnectionParams;
use forebay_core::config::{positive_share, require};
use forebay_core::{ConfigError, Duration, Named, Rate, Time, params};
use std::sync::Arc;

/// Section 2.5.2: longest time that a burst takes at the bottleneck.
const MAX_BURST: Duration = Duration::from_micros(250);

params! {
    // The defaults are the values of the draft and of the reference.
    /// Parameters of Prague.
    #[derive(Copy, PartialEq)]
    pub struct PragueParams {
        /// Weight of the last round in the average share of marked bytes (g, section 2.3.2), above
        /// 0 to 1.
        pub gain: f64 = 0.0625,
        /// Round trip as which shorter ones count (RTT_ref, section 2.4.4), up to 1 s; `"0s"`
        /// leaves the rate dependent on the round trip.
        pub reference_rtt: Duration = Duration::from_millis(25),
        /// Rounds after slow start before shorter round trips count as the reference (D, section
        /// 2.4.4), so that short flows are not held back.
        pub transition_rounds: u32 = 500,
    }
}

impl PragueParams {
    fn validate(&self) -> Result<(), ConfigError> {
        let PragueParams { gain, reference_rtt, .. } = self;
        positive_share("gain", *gain)?;
        require(*reference_rtt <= Duration::from_secs(1), "reference_rtt", || {
            format!("must be at most 1s, got \"{reference_rtt}\"")
        })
    }
}

/// State of Prague.
#[derive(Debug, Default)]
pub struct Prague {
    /// The response to losses; without accurate feedback, the whole response.
    reno: NewReno,
    params: PragueParams,
    /// Whether marks are counted.
    accurate: bool,
    alpha: f64,
    /// Whether a mark has come. Until then there is nothing to average (the reference's `saw_ce`).
    marks_seen: bool,
    delivered: u64,
    marked: u64,
    /// When the average was last updated, and when the window was last reduced.
    averaged: Time,
    reduced: Time,
    /// Number of rounds since slow start.
    rounds: u32,
    /// Fraction of a byte not yet added to the window.
    credit: f64,
    srtt: Option<Duration>,
    /// Bytes of packets for each byte of payload.
    overhead: f64,
}

impl Prague {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams, params: PragueParams) -> Self {
        Prague {
            reno: NewReno::new(connection),
            params,
            alpha: 1.0,
            overhead: connection.mtu.0 as f64 / connection.mss() as f64,
            ..Prague::default()
        }
    }

    /// The round trip that counts instead of the connection's own, if it does (section 2.4.4).
    fn reference(&self, window: &Window) -> Option<Duration> {
        let short = self.srtt.is_some_and(|srtt| srtt < self.params.reference_rtt);
        let grown = self.rounds >= self.params.transition_rounds && !window.in_slow_start();
        (short && grown).then_some(self.params.reference_rtt)
    }

    /// Section 2.4.3: one segment per round trip, shared among the bytes that came without a mark.
    /// With a reference round trip, 1/M^2 of it (section 2.4.4).
    fn increase(&mut self, window: &mut Window, delivered: u64) {
        let mut bytes = delivered;
        if window.in_slow_start() {
            let room = window.ssthresh - window.cwnd;
            window.grow(bytes.min(room));
            bytes -= bytes.min(room);
        }
        let stretch = match (self.reference(window), self.srtt) {
            (Some(reference), Some(srtt)) => reference.as_secs_f64() / srtt.as_secs_f64().max(1e-6),
            _ => 1.0,
        };
        let share = bytes as f64 / window.cwnd as f64;
        self.credit += share * window.mss as f64 / (stretch * stretch);
        let whole = self.credit as u64;
        self.credit -= whole as f64;
        window.grow(whole);
    }

    /// Section 2.4.2, without rounding down each time.
    fn reduce(&mut self, window: &mut Window, now: Time) {
        let exact = (window.cwnd as f64 + self.credit) * (1.0 - self.alpha / 2.0);
        let least = 2 * window.mss;
        (window.ssthresh, self.credit) = match exact as u64 {
            whole if whole >= least => (whole, exact - whole as f64),
            _ => (least, 0.0),
        };
        self.reduced = now;
    }

    /// Section 2.3.2.
    fn average(&mut self, now: Time) {
        if self.marks_seen && self.delivered > 0 {
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha = next_alpha(self.alpha, self.params.gain, share);
        }
        (self.delivered, self.marked, self.averaged) = (0, 0, now);
    }

    /// Bytes per second on the wire (section 2.5.1).
    fn pace(&self, window: &Window) -> Option<f64> {
        let srtt = self.srtt.filter(|srtt| self.accurate && *srtt > Duration::ZERO)?;
        let factor = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.0 };
        Some(factor * window.cwnd as f64 * self.overhead / srtt.as_secs_f64())
    }
}

impl Named for Prague {
    type Family = dyn CongestionController;
    const NAME: &'static str = "prague";
    const SUMMARY: &'static str = "DCTCP's response to marks for the Internet: ECT(1), paced, and the \
                                   same rate for short round trips";
    const SOURCE: &'static str =
        "draft-briscoe-iccrg-prague-congestion-control; RFC 9331, section 4";
    const FACTS: Conduct = Conduct { linux: None, needs: Needs::AccurateEcn };
    type Params = PragueParams;

    fn build(params: &PragueParams, _: &()) -> Result<Start, ConfigError> {
        params.validate()?;
        let params = *params;
        Ok(Arc::new(move |connection| Box::new(Prague::new(connection, params))))
    }
}

impl CongestionController for Prague {
    fn on_feedback(&mut self, feedback: Feedback) {
        self.accurate = feedback == Feedback::Accurate;
    }

    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        // While losses are repaired the window is not increased, but for slow start after a timeout
        // (RFC 5681, section 3.1), without which all that is lost is sent again one at a time.
        if !self.accurate || sample.after_timeout {
            self.reno.on_ack(window, sample);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        if event.kind != CongestionKind::Ecn || !self.accurate {
            self.credit = 0.0;
            return self.reno.on_congestion(window, event);
        }
        if self.reference(window).is_some() {
            // Then `on_delivery` reduces the window, once per reference round trip.
            window.ssthresh = window.cwnd;
        } else {
            self.reduce(window, event.now);
        }
    }

    fn role(&self) -> Role {
        Role { attention: Attention::Acknowledgments, paces: true, ..Role::default() }
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        self.srtt = delivery.srtt;
        if !self.accurate {
            return;
        }
        self.marks_seen |= delivery.echo;
        self.delivered += delivery.delivered;
        self.marked += delivery.marked;
        let unmarked = delivery.delivered.saturating_sub(delivery.marked);
        // RFC 7661, section 4.3: half of it counts as used, for the pace may hold back the rest.
        let used = delivery.limited || 2 * delivery.prior_in_flight >= window.cwnd;
        if unmarked > 0 && !delivery.repairing && used {
            self.increase(window, unmarked);
        }
        let reference = self.reference(window);
        let is_over = |since: Time| reference.is_none_or(|rtt| delivery.now.since(since) >= rtt);
        if delivery.round_end && is_over(self.averaged) {
            self.average(delivery.now);
            if !window.in_slow_start() {
                self.rounds = self.rounds.saturating_add(1);
            }
        }
        if delivery.echo && !delivery.repairing && reference.is_some() && is_over(self.reduced) {
            self.reduce(window, delivery.now);
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
    }

    fn pacing_rate(&self, window: &Window, _srtt: Option<Duration>) -> Option<Rate> {
        self.pace(window).map(|bytes| Rate::from_bps(((8.0 * bytes) as u64).max(1)))
    }

    fn send_quantum(&self, window: &Window) -> u64 {
        let burst = self.pace(window).map_or(0.0, |bytes| bytes * MAX_BURST.as_secs_f64());
        ((burst / self.overhead) as u64).max(window.mss)
    }

    fn heap(&self) -> usize {
        size_of::<Self>() - size_of::<NewReno>() + self.reno.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;

    const MSS: u64 = 1000;

    fn begin(segments: u64, params: PragueParams) -> (Prague, Window) {
        let connection =
            ConnectionParams { mtu: forebay_core::Bytes(MSS + 40), ..ConnectionParams::default() };
        let mut window = Window::new(&connection, None);
        window.cwnd = segments * MSS;
        let mut prague = Prague::new(&connection, params);
        prague.on_feedback(Feedback::Accurate);
        (prague, window)
    }

    /// A path that acknowledges each segment a round trip after it was sent, and marks it with a
    /// probability. Like the sender, it asks for at most one reduction per round trip.
    struct Path {
        now: Time,
        rtt: Duration,
        acked: u64,
        round: u64,
        reduced_at: u64,
    }

    impl Path {
        fn new(rtt_ms: u64) -> Self {
            let rtt = Duration::from_millis(rtt_ms);
            Path { now: Time::ZERO, rtt, acked: 0, round: 0, reduced_at: 0 }
        }

        fn acknowledge(&mut self, prague: &mut Prague, window: &mut Window, marked: bool) {
            self.now +=
                Duration::from_secs_f64(self.rtt.as_secs_f64() * MSS as f64 / window.cwnd as f64);
            self.acked += MSS;
            let sent = self.acked + window.cwnd;
            let round_end = self.acked > self.round;
            if round_end {
                self.round = sent;
            }
            let delivery = Delivery {
                now: self.now,
                acked: MSS,
                delivered: MSS,
                marked: if marked { MSS } else { 0 },
                echo: marked,
                prior_in_flight: window.cwnd,
                round_end,
                srtt: Some(self.rtt),
                limited: true,
                ..Delivery::default()
            };
            prague.on_delivery(window, &delivery);
            if marked && self.acked > self.reduced_at {
                let event = CongestionEvent {
                    now: self.now,
                    kind: CongestionKind::Ecn,
                    flight: window.cwnd,
                };
                prague.on_congestion(window, &event);
                window.cwnd = window.cwnd.min(window.ssthresh);
                self.reduced_at = sent;
            }
        }
    }

    /// Mean window over time, in segments, if marks have probability `p`.
    fn mean_window(p: f64, rtt_ms: u64, params: PragueParams) -> f64 {
        let (mut prague, mut window) = begin((2.0 / p) as u64, params);
        window.ssthresh = window.cwnd;
        let (mut path, mut rng) = (Path::new(rtt_ms), Rng::named(1, "marks"));
        let (mut sum, mut from) = (0.0, Time::ZERO);
        for turn in 0..1_500_000 {
            if turn == 300_000 {
                (sum, from) = (0.0, path.now);
            }
            let (before, cwnd) = (path.now, window.cwnd);
            path.acknowledge(&mut prague, &mut window, rng.chance(p));
            sum += cwnd as f64 / MSS as f64 * path.now.since(before).as_secs_f64();
        }
        sum / path.now.since(from).as_secs_f64()
    }

    /// After a reduction comes a round trip without one, and then, with random marks, 1/p packets
    /// until the next mark: 1 + 1/x round trips with x = p W. They add (1 - p) (1 + 1/x) segments,
    /// and the reduction takes alpha W / 2 = x / 2. Section 2.4.2 has "an average of 2 congestion
    /// marks per RTT", which does not count this wait.
    fn random_marks_a_round(p: f64) -> f64 {
        let free = 1.0 - p;
        free + libm::sqrt(free * free + 2.0 * free)
    }

    #[test]
    fn the_window_is_inverse_to_the_share_of_marks() {
        let plain = PragueParams { reference_rtt: Duration::ZERO, ..PragueParams::default() };
        for p in [0.2, 0.05, 0.0125] {
            let marks = p * mean_window(p, 30, plain);
            let ratio = marks / random_marks_a_round(p);
            assert!((0.93..1.07).contains(&ratio), "{p}: {marks} marks a round, {ratio}");
            assert!(marks > 2.0 * (1.0 - p) * 0.9, "{p}: {marks}");
        }
    }

    #[test]
    fn short_round_trips_get_the_rate_of_the_reference() {
        let params = PragueParams { transition_rounds: 0, ..PragueParams::default() };
        let rate = |rtt_ms: u64| mean_window(0.05, rtt_ms, params) / rtt_ms as f64;
        let reference = rate(25);
        for rtt_ms in [5, 10] {
            let ratio = rate(rtt_ms) / reference;
            assert!((0.8..1.25).contains(&ratio), "{rtt_ms} ms: {ratio}");
        }
        // Longer ones are as ever: half the rate at twice the round trip.
        assert!((0.48..0.52).contains(&(rate(50) / reference)));
    }

    #[test]
    fn a_mark_ends_slow_start_with_half_of_the_window() {
        let (mut prague, mut window) = begin(10, PragueParams::default());
        let mut path = Path::new(10);
        (0..10).for_each(|_| path.acknowledge(&mut prague, &mut window, false));
        assert_eq!((window.cwnd, prague.alpha), (20_000, 1.0));
        path.acknowledge(&mut prague, &mut window, true);
        assert_eq!((window.cwnd, window.ssthresh), (10_000, 10_000));
        // What comes without a mark counts meanwhile, too: a segment a round trip.
        (0..10).for_each(|_| path.acknowledge(&mut prague, &mut window, false));
        // MSS^2 / cwnd a segment: the root of 10000^2 + 2 * 10 * 1000^2, in steps a little more.
        assert!((10_954..10_960).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn losses_halve_what_is_in_flight() {
        for kind in [CongestionKind::Loss, CongestionKind::Timeout] {
            let (mut prague, mut window) = begin(100, PragueParams::default());
            prague.alpha = 0.01;
            prague.on_congestion(
                &mut window,
                &CongestionEvent { now: Time::ZERO, kind, flight: 90_000 },
            );
            assert_eq!(window.ssthresh, 45_000);
        }
    }

    #[test]
    fn without_accurate_feedback_it_is_new_reno() {
        let (mut prague, mut window) = begin(100, PragueParams::default());
        prague.on_feedback(Feedback::Classic);
        prague.alpha = 0.01;
        let event = CongestionEvent { now: Time::ZERO, kind: CongestionKind::Ecn, flight: 100_000 };
        prague.on_congestion(&mut window, &event);
        assert_eq!(window.ssthresh, 50_000);
        window.cwnd = 50_000;
        let mut path = Path::new(10);
        path.acknowledge(&mut prague, &mut window, false);
        assert_eq!((window.cwnd, prague.pacing_rate(&window, None)), (50_000, None));
        let sample = AckSample { acked: 50_000, limited: true, ..AckSample::default() };
        prague.on_ack(&mut window, &sample);
        assert_eq!(window.cwnd, 51_000);
    }

    #[test]
    fn the_pace_is_the_window_a_round_trip_in_bursts_of_250_us() {
        let (mut prague, mut window) = begin(1000, PragueParams::default());
        prague.srtt = Some(Duration::from_millis(10));
        // In slow start twice that: 2 * 1040 kB in 10 ms.
        assert_eq!(prague.pacing_rate(&window, None), Some(Rate::from_bps(1_664_000_000)));
        window.ssthresh = window.cwnd;
        assert_eq!(prague.pacing_rate(&window, None), Some(Rate::from_bps(832_000_000)));
        // 25 segments, and never less than one.
        assert_eq!(prague.send_quantum(&window), 25_000);
        window.cwnd = 10 * MSS;
        assert_eq!(prague.send_quantum(&window), MSS);
    }
}
