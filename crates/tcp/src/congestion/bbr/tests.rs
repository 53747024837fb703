//! Each state of BBR, with numbers worked out from `tcp_bbr.c`'s constants.

use super::law::{Law, Mode, Repair, Sample, Totals};
use forebay_core::{Duration, Time};

const MSS: u64 = 1448;
/// Round trip, us, and what the path takes in it: a segment a millisecond.
const RTT: u64 = 40_000;
const BDP: u32 = 40;

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// A path that delivers a segment a millisecond, a round trip at a time.
struct Path {
    law: Law,
    cwnd: u32,
    now: u64,
    totals: Totals,
    understates: bool,
}

impl Path {
    fn new() -> Self {
        let totals = Totals { delivered: 1, lost: 0, delivered_at: at(0) };
        let law = Law::new(MSS, at(0), 10, Some(RTT), &totals);
        Path { law, cwnd: 10, now: 0, totals, understates: false }
    }

    /// An acknowledgment after `micros`, which ends a round if `delivered` reach back to its start;
    /// `change` alters the sample.
    fn ack(&mut self, micros: u64, delivered: u32, change: impl Fn(&mut Sample)) {
        self.now += micros;
        let before = self.totals.delivered;
        self.totals.delivered += delivered;
        self.totals.delivered_at = at(self.now);
        let mut sample = Sample {
            now: at(self.now),
            totals: self.totals,
            delivered: Some(delivered),
            interval_us: Some(u64::from(delivered) * 1000),
            prior_delivered: before,
            app_limited: false,
            acked: delivered,
            losses: 0,
            prior_in_flight: self.cwnd,
            in_flight: self.cwnd,
            rtt_us: Some(RTT),
            srtt_us: Some(RTT),
            repair: Repair::Nothing,
            next_send: at(self.now),
        };
        change(&mut sample);
        self.totals.lost += sample.losses;
        sample.totals.lost = self.totals.lost;
        self.understates = self.law.on_ack(&sample, &mut self.cwnd);
    }

    /// Rounds of `segments` with nothing new in them.
    fn rounds(&mut self, count: u32, segments: u32) {
        (0..count).for_each(|_| self.ack(RTT, segments, |_| {}));
    }

    /// Up to `ProbeBw`, with the pipe full.
    fn steady() -> Self {
        let mut path = Path::new();
        path.rounds(4, BDP);
        path.ack(RTT, BDP, |sample| sample.in_flight = BDP);
        assert_eq!(path.law.mode(), Mode::ProbeBw);
        path
    }

    /// Payload a second over that of the path, in hundredths.
    fn gain(&self) -> u64 {
        (self.law.pacing_rate * 100 + 500 * MSS) / (1000 * MSS)
    }
}

#[test]
fn the_first_rate_is_that_of_the_initial_window() {
    // 10 segments in 40 ms, by 739/256, less a hundredth: 1 034 487 bytes a second.
    let rate = Path::new().law.pacing_rate;
    assert!(rate.abs_diff(1_034_487) < 100, "{rate}");
}

#[test]
fn startup_grows_until_three_rounds_bring_nothing_new() {
    let mut path = Path::new();
    // Rates of a quarter, a half and the whole path: the window grows by what arrives.
    for (segments, cwnd) in [(10, 20), (20, 40), (40, 80)] {
        path.ack(RTT, segments, |sample| sample.interval_us = Some(RTT));
        assert_eq!((path.law.mode(), path.cwnd), (Mode::Startup, cwnd));
    }
    // 739/256 less a hundredth.
    assert_eq!(path.gain(), 286);
    path.rounds(2, BDP);
    assert_eq!(path.law.mode(), Mode::Startup);
    // What the application held back does not count.
    path.ack(RTT, BDP, |sample| sample.app_limited = true);
    assert_eq!(path.law.mode(), Mode::Startup);
    path.rounds(1, BDP);
    assert_eq!((path.law.mode(), path.gain()), (Mode::Drain, 34));
    // The threshold is the path's product: 40, and room for three bursts of two, even.
    assert_eq!(path.law.ssthresh, Some(46));
    path.ack(RTT, BDP, |sample| sample.in_flight = 47);
    assert_eq!(path.law.mode(), Mode::Drain);
    path.ack(RTT, BDP, |sample| sample.in_flight = 46);
    assert_eq!(path.law.mode(), Mode::ProbeBw);
}

#[test]
fn the_cycle_has_a_quarter_more_a_quarter_less_and_six_rounds_of_the_rate() {
    let mut path = Path::steady();
    let full = |sample: &mut Sample| sample.prior_in_flight = 60;
    // Until the cycle begins anew; after that, its phases are a round each.
    while path.gain() != 124 {
        path.ack(RTT + 1, BDP, full);
    }
    let mut gains = Vec::new();
    for _ in 0..8 {
        path.ack(RTT + 1, BDP, full);
        gains.push(path.gain());
    }
    assert_eq!(gains, [74, 99, 99, 99, 99, 99, 99, 124]);
    // Probing lasts until 1.25 of the product is in flight, 50 + 6 + 2, or something is lost.
    path.ack(RTT + 1, BDP, |sample| sample.prior_in_flight = 50);
    assert_eq!(path.gain(), 124);
    path.ack(RTT + 1, BDP, |sample| (sample.prior_in_flight, sample.losses) = (50, 1));
    assert_eq!(path.gain(), 74);
    // Draining ends as soon as the product is reached.
    path.ack(1000, 1, |sample| sample.prior_in_flight = 46);
    assert_eq!(path.gain(), 99);
    // Twice the product, the bursts, and what came at once: 40 at each acknowledgment.
    assert!((86..=128).contains(&path.cwnd), "{}", path.cwnd);
}

#[test]
fn after_ten_seconds_the_round_trip_is_measured_anew() {
    let mut path = Path::steady();
    let longer = |sample: &mut Sample| sample.rtt_us = Some(RTT + 1000);
    while path.now < 10_000_000 {
        path.ack(RTT, BDP, longer);
        assert!(!path.understates);
    }
    let before = path.cwnd;
    path.ack(RTT, BDP, longer);
    assert_eq!((path.law.mode(), path.cwnd, path.understates), (Mode::ProbeRtt, 4, true));
    // 200 ms from when four are in flight, and a round.
    let few = |sample: &mut Sample| sample.in_flight = 4;
    path.ack(RTT, 4, few);
    for _ in 0..5 {
        path.ack(RTT, 4, few);
        assert_eq!((path.law.mode(), path.cwnd), (Mode::ProbeRtt, 4));
    }
    path.ack(RTT, 4, few);
    assert_eq!(path.law.mode(), Mode::ProbeBw);
    assert_eq!(path.cwnd, before);
    path.ack(RTT, 4, few);
    assert!(!path.understates);
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_gives_the_window_back() {
    let mut path = Path::steady();
    path.rounds(10, BDP);
    let before = path.cwnd;
    path.law.save(before);
    let lost = |sample: &mut Sample| {
        (sample.losses, sample.in_flight) = (3, 70);
        (sample.repair, sample.prior_delivered) = (Repair::Recovery, 0);
    };
    path.ack(1000, 1, lost);
    assert_eq!(path.cwnd, 71);
    // One for each that arrives; what was lost is taken off, down to what is in flight.
    path.ack(1000, 2, lost);
    assert_eq!(path.cwnd, 72);
    // A round later it grows by what arrives; losses are still taken off.
    path.ack(1000, 2, |sample| (sample.losses, sample.repair) = (1, Repair::Recovery));
    assert_eq!(path.cwnd, 73);
    // What it was, and what has arrived.
    path.ack(1000, 1, |_| {});
    assert_eq!(path.cwnd, before + 1);
    // A timeout leaves one, by the sender; the window comes back as well.
    path.law.save(before);
    path.law.on_timeout(&path.totals);
    path.cwnd = 1;
    path.ack(1000, 1, |sample| sample.repair = Repair::Loss);
    assert_eq!(path.cwnd, 4);
    path.ack(1000, 1, |_| {});
    assert_eq!(path.cwnd, before + 1);
}

#[test]
fn a_policed_rate_is_used_for_48_rounds() {
    let mut path = Path::steady();
    // 25 segments of 40 in a round arrive, ten are lost: 62.5 % of the rate, less a hundredth. Four
    // rounds an interval, twice; the first begins with the first loss.
    let policed = |sample: &mut Sample| sample.losses = 10;
    for _ in 0..7 {
        assert_ne!(path.gain(), 62);
        path.ack(RTT, 25, policed);
    }
    path.ack(RTT, 25, policed);
    assert_eq!(path.gain(), 62);
    for _ in 0..47 {
        path.ack(RTT, 25, |_| {});
        assert_eq!(path.gain(), 62);
    }
    path.rounds(1, BDP);
    assert_ne!(path.gain(), 62);
}

#[test]
fn after_silence_it_sends_at_the_rate_and_skips_the_measurement() {
    let mut path = Path::steady();
    while path.gain() == 99 {
        path.ack(RTT + 1, BDP, |sample| sample.prior_in_flight = 60);
    }
    path.now += 11_000_000;
    path.law.on_restart(at(path.now), &mut path.cwnd, &path.totals);
    assert_eq!(path.gain(), 99);
    path.ack(RTT, 1, |sample| sample.rtt_us = Some(RTT + 1000));
    assert_eq!(path.law.mode(), Mode::ProbeBw);
}

#[test]
fn aggregation_adds_to_the_window() {
    let mut path = Path::steady();
    path.rounds(20, 8);
    // 30 at once after 30 ms without any: 22 more than the 8 of a round ago would let expect.
    let lone = path.cwnd;
    path.ack(1000, 30, |_| {});
    path.rounds(1, 8);
    assert!(path.cwnd > lone, "{} {lone}", path.cwnd);
}
