//! Each state of BBR and what leads out of it, after the draft's example test cases; the path delivers a
//! segment of 1000 bytes a millisecond.

use super::path::inflight_at_loss;
use super::states::{AckPhase, State};
use super::*;

const MSS: u64 = 1000;
/// Bytes a second, and bytes of a round trip of 40 ms.
const RATE: f64 = 1e6;
const RTT: Duration = Duration::from_millis(40);
const BDP: u64 = 40 * MSS;

struct Path {
    bbr: Bbr3,
    window: Window,
    now: Time,
    delivered: u64,
}

impl Path {
    fn new() -> Self {
        let mtu = "1040B".parse().unwrap();
        let recovery = LossRecovery::Sack;
        let connection =
            ConnectionParams { mtu, recovery, initial_window: 10, ..ConnectionParams::default() };
        let (bbr, window) = (Bbr3::new(&connection), Window::new(&connection, None));
        Path { bbr, window, now: Time::ZERO, delivered: 0 }
    }

    /// An acknowledgment of `bytes` after `wait`; each ends a round. `change` alters it.
    fn ack(&mut self, wait: Duration, bytes: u64, change: impl Fn(&mut Delivery, &mut RateSample)) {
        self.now += wait;
        let before = self.delivered;
        self.delivered += bytes;
        let mut rate = RateSample {
            rate: Some(RATE),
            interval: RTT,
            delivered: bytes,
            prior_delivered: before,
            total_delivered: self.delivered,
            tx_in_flight: BDP,
            rtt: Some(RTT),
            ..RateSample::default()
        };
        let mut delivery = Delivery {
            now: self.now,
            acked: bytes,
            delivered: bytes,
            prior_in_flight: 2 * BDP,
            in_flight: 2 * BDP,
            srtt: Some(RTT),
            ..Delivery::default()
        };
        change(&mut delivery, &mut rate);
        delivery.rate = Some(rate);
        self.bbr.on_delivery(&mut self.window, &delivery);
    }

    fn round(&mut self) {
        self.ack(RTT, BDP, |_, _| {});
    }

    fn until(&mut self, state: State, change: impl Fn(&mut Delivery, &mut RateSample) + Copy) {
        for _ in 0..1000 {
            if self.bbr.state == state {
                return;
            }
            self.ack(RTT, BDP, change);
        }
        panic!("{:?}, not {state:?}", self.bbr.state);
    }

    /// In ProbeBW_CRUISE, with the pipe full.
    fn cruising() -> Self {
        let mut path = Path::new();
        path.until(State::ProbeBwCruise, |delivery, _| delivery.in_flight = BDP / 2);
        path
    }

    /// The segment from `start` on is lost, of `of` bytes in flight, with `lost` lost in all.
    fn lose(&mut self, start: u64, lost: u64, of: u64) {
        let told =
            Lost { now: self.now, start, bytes: MSS, tx_in_flight: of, lost, app_limited: false };
        self.bbr.on_lost(&mut self.window, &told);
    }

    fn congestion(&mut self, kind: CongestionKind) {
        let event = CongestionEvent { now: self.now, kind, flight: BDP };
        self.bbr.on_congestion(&mut self.window, &event);
    }

    /// Payload a second over the path's, in hundredths.
    fn gain(&self) -> u64 {
        (self.bbr.pacing_rate * 100.0 / RATE + 0.5) as u64
    }
}

fn limited(_: &mut Delivery, rate: &mut RateSample) {
    rate.app_limited = true;
}

fn drained(delivery: &mut Delivery, _: &mut RateSample) {
    delivery.in_flight = BDP / 2;
}

#[test]
fn the_first_rate_is_that_of_the_initial_window() {
    // 2.77 times 10 000 bytes in 40 ms.
    let mut path = Path::new();
    assert!((path.bbr.initial_rate(Some(RTT)) - 692_500.0).abs() < 1.0);
    path.ack(RTT, 10 * MSS, |_, rate| rate.rate = Some(100_000.0));
    assert!((path.bbr.pacing_rate - 692_500.0).abs() < 1.0);
}

#[test]
fn startup_ends_after_three_rounds_that_bring_less_than_a_quarter_more() {
    let mut path = Path::new();
    for (rate, cwnd) in [(0.25, 20), (0.5, 40), (1.0, 80)] {
        let bytes = (rate * BDP as f64) as u64;
        path.ack(RTT, bytes, |_, sample| sample.rate = Some(rate * RATE));
        assert_eq!((path.bbr.state, path.window.cwnd), (State::Startup, cwnd * MSS));
    }
    assert_eq!(path.gain(), 274);
    path.round();
    path.round();
    assert_eq!((path.bbr.full_bw_count, path.bbr.full_bw_reached), (2, false));
    path.ack(RTT, BDP, |_, rate| rate.rate = Some(1.2 * RATE));
    assert!(path.bbr.full_bw_now && path.bbr.full_bw_reached);
    // Half of 1.2 times the rate, less a hundredth.
    assert_eq!((path.bbr.state, path.gain()), (State::Drain, 59));
}

#[test]
fn what_the_application_limits_ends_neither_startup_nor_a_probe() {
    let mut path = Path::new();
    (0..100).for_each(|_| path.ack(RTT, BDP, limited));
    assert_eq!(path.bbr.state, State::Startup);
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    (0..30).for_each(|_| path.ack(RTT, BDP, limited));
    assert_eq!(path.bbr.state, State::ProbeBwUp);
}

#[test]
fn startup_ends_with_six_ranges_lost_in_a_round_of_recovery() {
    for (ranges, state) in [(5, State::Startup), (6, State::Drain)] {
        let mut path = Path::new();
        path.ack(RTT, BDP, limited);
        path.congestion(CongestionKind::Loss);
        for range in 0..ranges {
            path.lose(2 * range * MSS, (range + 1) * MSS, 100 * MSS);
        }
        let lossy = |delivery: &mut Delivery, rate: &mut RateSample| {
            (delivery.repairing, rate.app_limited) = (true, true);
            (rate.lost, rate.tx_in_flight) = (6 * MSS, 100 * MSS);
        };
        path.ack(RTT, BDP, |delivery, rate| {
            lossy(delivery, rate);
            rate.prior_delivered = 0;
        });
        assert_eq!(path.bbr.state, State::Startup);
        path.ack(RTT, BDP + MSS, lossy);
        assert_eq!(path.bbr.state, state, "{ranges}");
        if state == State::Drain {
            assert!(path.bbr.full_bw_reached && path.bbr.full_bw_now);
            assert_eq!(path.bbr.inflight_longterm, BDP + MSS);
        }
    }
}

#[test]
fn drain_ends_at_the_product_or_after_three_rounds() {
    let mut path = Path::new();
    path.until(State::Drain, |_, _| {});
    path.ack(RTT, BDP, |delivery, _| delivery.in_flight = BDP + 1);
    assert_eq!(path.bbr.state, State::Drain);
    path.ack(RTT, BDP, |delivery, _| delivery.in_flight = BDP);
    assert_eq!((path.bbr.state, path.gain()), (State::ProbeBwCruise, 99));
    let mut path = Path::new();
    path.until(State::Drain, |_, _| {});
    (0..3).for_each(|_| path.round());
    assert_eq!(path.bbr.state, State::Drain);
    path.round();
    assert_eq!((path.bbr.state, path.gain()), (State::ProbeBwDown, 89));
}

#[test]
fn down_ends_with_headroom_or_after_two_to_three_seconds() {
    let mut path = Path::new();
    path.until(State::ProbeBwDown, |delivery, _| delivery.in_flight = BDP);
    path.bbr.inflight_longterm = 40 * MSS;
    // A headroom of 15 %: 34 segments.
    path.ack(RTT, BDP, |delivery, rate| (delivery.in_flight, rate.tx_in_flight) = (34_001, 0));
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    path.ack(RTT, BDP, |delivery, rate| (delivery.in_flight, rate.tx_in_flight) = (34_000, 0));
    assert_eq!((path.bbr.state, path.gain()), (State::ProbeBwCruise, 99));
    // In rounds of a second, of which 40 would be needed, the clock decides.
    let mut path = Path::new();
    path.until(State::ProbeBwDown, |delivery, _| delivery.in_flight = BDP);
    let since = path.now;
    while path.bbr.state == State::ProbeBwDown {
        path.ack(Duration::from_millis(100), BDP, |_, _| {});
    }
    let waited = path.now.since(since).as_secs_f64();
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
    assert!((2.0..=3.1).contains(&waited), "{waited}");
}

#[test]
fn a_probe_comes_after_as_many_rounds_as_reno_would_need() {
    // 40 segments fit: 40 rounds of 10 ms, or one fewer.
    let mut path = Path::cruising();
    path.bbr.probing.rounds_since_up = 0;
    path.bbr.probing.cycle_stamp = path.now;
    let mut rounds = 0;
    while path.bbr.state == State::ProbeBwCruise {
        path.ack(Duration::from_millis(10), BDP, |_, _| {});
        rounds += 1;
    }
    assert_eq!((rounds, path.bbr.state), (40, State::ProbeBwRefill));
    // A round of it, then UP; what the application limited below the bandwidth does not count.
    path.ack(RTT, BDP, |_, rate| (rate.rate, rate.app_limited) = (Some(0.1 * RATE), true));
    assert_eq!((path.bbr.state, path.bbr.max_bw()), (State::ProbeBwUp, RATE));
    assert_eq!((path.gain(), path.bbr.gains()), (124, (1.25, 2.25)));
    assert!(path.bbr.probing.is_sample);
}

#[test]
fn up_ends_when_the_rate_has_stopped_growing() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    (0..2).for_each(|_| path.round());
    assert_eq!((path.bbr.state, path.bbr.full_bw_count), (State::ProbeBwUp, 2));
    path.round();
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(!path.bbr.probing.prev_too_high);
}

#[test]
fn a_loss_rate_above_two_hundredths_ends_up_and_sets_the_bound() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    path.round();
    path.lose(0, MSS, 50 * MSS);
    assert_eq!(path.bbr.state, State::ProbeBwUp);
    path.lose(5 * MSS, 2 * MSS, 50 * MSS);
    // Of 49 in flight before it one was lost; two hundredths are reached there already.
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::ProbeBwDown, 48_979));
    assert_eq!(path.bbr.undo_state, Some(State::ProbeBwUp));
    // Once a probe.
    path.lose(7 * MSS, 3 * MSS, 45 * MSS);
    assert_eq!(path.bbr.inflight_longterm, 48_979);
    // The next probe is cut short as soon as so much is in flight, and if nothing came of that, the one
    // after it follows at once.
    path.until(State::ProbeBwUp, |_, rate| rate.tx_in_flight = 0);
    path.ack(RTT, BDP, |delivery, rate| (delivery.in_flight, rate.tx_in_flight) = (48_979, 0));
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(path.bbr.probing.prev_precautionary && !path.bbr.probing.prev_too_high);
    path.round();
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
}

#[test]
fn the_bound_never_comes_down_by_more_than_cubics_share() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    path.lose(0, 5 * MSS, 20 * MSS);
    // 0.7 of the product, which is above the 19 segments at the loss.
    assert_eq!(path.bbr.inflight_longterm, 28 * MSS);
}

#[test]
fn where_the_losses_pass_the_threshold_is_worked_out() {
    let lost = |bytes, tx_in_flight, lost| Lost { bytes, tx_in_flight, lost, ..Lost::default() };
    // 0.02 of 90 000 is 1800; (1800 - 0) / 0.98 = 1836.7 of the 10 000.
    assert_eq!(inflight_at_loss(&lost(10_000, 100_000, 10_000)), 91_836);
    // Before it 1000 were lost: (1800 - 1000) / 0.98.
    assert_eq!(inflight_at_loss(&lost(10_000, 100_000, 11_000)), 90_816);
}

#[test]
fn the_bound_grows_by_twice_as_much_each_round() {
    let mut path = Path::cruising();
    path.bbr.inflight_longterm = BDP;
    path.until(State::ProbeBwUp, |delivery, rate| {
        (delivery.limited, rate.tx_in_flight) = (true, 0);
    });
    let mut bounds = vec![path.bbr.inflight_longterm / MSS];
    for round in 0..5 {
        // A window of acknowledgments a round, the first of which has begun; the bound is what holds the window.
        let cwnd = path.window.cwnd;
        for part in 0..40 {
            path.ack(RTT / 40, cwnd / 40, |delivery, rate| {
                (delivery.limited, rate.tx_in_flight) = (true, 0);
                let begins = part == 0 && round > 0;
                rate.prior_delivered = if begins { rate.prior_delivered } else { 0 };
            });
        }
        assert_eq!(path.bbr.state, State::ProbeBwUp);
        bounds.push(path.bbr.inflight_longterm / MSS);
    }
    let steps: Vec<_> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, [1, 2, 4, 8, 16]);
}

#[test]
fn losses_between_probes_pull_the_short_term_bounds_down() {
    let mut path = Path::cruising();
    let cwnd = path.window.cwnd;
    path.lose(0, MSS, BDP);
    path.ack(RTT, 20 * MSS, |_, rate| {
        (rate.rate, rate.app_limited) = (Some(0.5 * RATE), true);
    });
    // The round that lost delivered more, by what is kept of it: all of the rate.
    assert!((path.bbr.bw_shortterm - RATE).abs() < 1.0);
    for (round, bw) in [(1, 0.7), (2, 0.5), (3, 0.5)] {
        path.lose(0, MSS, BDP);
        path.ack(RTT, 20 * MSS, |_, rate| {
            (rate.rate, rate.app_limited) = (Some(0.5 * RATE), true);
        });
        assert!((path.bbr.bw_shortterm - bw * RATE).abs() < 1.0, "{round}");
        assert!(path.bbr.inflight_shortterm < cwnd);
    }
    assert!((path.bbr.bw - 0.5 * RATE).abs() < 1.0);
    path.until(State::ProbeBwRefill, |_, _| {});
    assert!(path.bbr.bw_shortterm.is_infinite() && path.bbr.inflight_shortterm == INFINITE);
}

#[test]
fn the_bandwidth_is_the_largest_of_this_cycle_and_the_last() {
    let mut path = Path::cruising();
    let half = |delivery: &mut Delivery, rate: &mut RateSample| {
        drained(delivery, rate);
        rate.rate = Some(0.5 * RATE);
    };
    path.until(State::ProbeBwUp, half);
    assert_eq!(path.bbr.max_bw(), RATE);
    // With this probe a cycle is over in which there was half.
    path.until(State::ProbeBwDown, half);
    path.ack(RTT, BDP, half);
    assert_eq!(path.bbr.max_bw(), 0.5 * RATE);
}

#[test]
fn every_five_seconds_the_round_trip_is_measured_anew() {
    let longer = |delivery: &mut Delivery, rate: &mut RateSample| {
        drained(delivery, rate);
        rate.rtt = Some(RTT + Duration::from_millis(1));
    };
    let mut path = Path::cruising();
    let since = path.bbr.probe_rtt_min_stamp;
    path.until(State::ProbeRtt, longer);
    assert!(path.now.since(since) > Duration::from_secs(5));
    assert!(path.now.since(since) <= Duration::from_secs(5) + RTT);
    assert!(path.bbr.understates());
    // Half of the product, and no less than four.
    assert_eq!((path.window.cwnd, path.bbr.gains()), (20_000, (1.0, 0.5)));
    let until = path.now + Duration::from_millis(200);
    while path.bbr.state == State::ProbeRtt {
        path.ack(RTT, 20 * MSS, longer);
    }
    assert!(path.now > until && path.now <= until + RTT);
    assert_eq!(path.bbr.state, State::ProbeBwCruise);
    // The least round trip counts for ten seconds.
    assert_eq!(path.bbr.min_rtt, Some(RTT));
    while path.now.since(since) <= Duration::from_secs(10) + RTT {
        path.ack(RTT, BDP, longer);
    }
    assert_eq!(path.bbr.min_rtt, Some(RTT + Duration::from_millis(1)));
}

#[test]
fn from_a_measurement_amid_startup_it_goes_back_there() {
    let mut path = Path::new();
    let longer = |delivery: &mut Delivery, rate: &mut RateSample| {
        (delivery.in_flight, rate.app_limited) = (4 * MSS, true);
        rate.rtt = Some(RTT + Duration::from_millis(1));
    };
    path.until(State::ProbeRtt, longer);
    path.until(State::Startup, longer);
    assert!(!path.bbr.full_bw_reached);
}

#[test]
fn silence_takes_the_place_of_a_measurement() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    path.now += Duration::from_secs(6);
    path.bbr.on_restart(&mut path.window, path.now);
    // At the rate, whatever the state.
    assert_eq!((path.gain(), path.bbr.idle_restart), (99, true));
    path.ack(RTT, MSS, |_, rate| rate.rtt = Some(RTT + Duration::from_millis(1)));
    assert_ne!(path.bbr.state, State::ProbeRtt);
    assert!(!path.bbr.idle_restart);
}

#[test]
fn a_spurious_recovery_gives_back_bounds_window_and_state() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwUp, |_, _| {});
    let cwnd = path.window.cwnd;
    // A timeout finds many segments lost at once.
    path.lose(0, 5 * MSS, 20 * MSS);
    path.lose(5 * MSS, 10 * MSS, 20 * MSS);
    path.congestion(CongestionKind::Timeout);
    assert_eq!((path.bbr.state, path.window.cwnd), (State::ProbeBwDown, MSS));
    path.bbr.on_spurious(&mut path.window);
    assert_eq!((path.bbr.state, path.window.cwnd), (State::ProbeBwRefill, cwnd));
    assert_eq!(path.bbr.inflight_longterm, INFINITE);
    // Out of Startup likewise.
    let mut path = Path::new();
    path.round();
    path.bbr.leave_startup_by_loss();
    path.bbr.on_spurious(&mut path.window);
    assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (State::Startup, false));
}

#[test]
fn after_a_recovery_the_window_is_what_it_was() {
    let mut path = Path::cruising();
    let cwnd = path.window.cwnd;
    path.congestion(CongestionKind::Timeout);
    assert_eq!(path.window.cwnd, MSS);
    path.ack(RTT, MSS, |delivery, _| delivery.repairing = true);
    assert_eq!(path.window.cwnd, 4 * MSS);
    path.ack(RTT, MSS, |_, _| {});
    assert_eq!(path.window.cwnd, cwnd + MSS);
}

#[test]
fn marks_are_losses_between_probes_and_too_many_during_one() {
    let mut path = Path::cruising();
    path.congestion(CongestionKind::Ecn);
    path.ack(RTT, 20 * MSS, |_, rate| (rate.rate, rate.app_limited) = (Some(0.5 * RATE), true));
    assert!(path.bbr.bw_shortterm <= RATE && path.bbr.inflight_shortterm < INFINITE);
    path.until(State::ProbeBwUp, |_, _| {});
    path.congestion(CongestionKind::Ecn);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::ProbeBwDown, BDP));
    let mut path = Path::new();
    path.round();
    path.congestion(CongestionKind::Ecn);
    assert_eq!(path.bbr.state, State::Drain);
    // Before the first sample the first rate stays.
    let mut path = Path::new();
    path.congestion(CongestionKind::Ecn);
    path.ack(RTT, MSS, |_, rate| rate.rate = None);
    assert!((path.bbr.pacing_rate - 692_500.0).abs() < 1.0);
}

#[test]
fn aggregation_adds_to_the_window_for_ten_rounds() {
    let mut path = Path::cruising();
    let steady = |path: &mut Path, rounds: u32| {
        for _ in 0..rounds {
            path.ack(RTT, 30 * MSS, drained);
        }
    };
    steady(&mut path, 12);
    let lone = path.window.cwnd;
    // 30 segments more than a millisecond lets expect.
    path.ack(Duration::from_millis(1), 31 * MSS, drained);
    steady(&mut path, 1);
    assert!(path.window.cwnd > lone, "{} {lone}", path.window.cwnd);
}

#[test]
fn with_a_product_below_a_segment_four_may_be_in_flight() {
    let mut path = Path::new();
    let slow = |delivery: &mut Delivery, rate: &mut RateSample| {
        (rate.rate, rate.delivered, delivery.in_flight) = (Some(8000.0), MSS, MSS);
    };
    (0..40).for_each(|_| path.ack(Duration::from_millis(125), MSS, slow));
    assert!(path.bbr.is_in_probe_bw());
    assert!((4 * MSS..=8 * MSS).contains(&path.window.cwnd), "{}", path.window.cwnd);
    assert!((path.bbr.bw - 8000.0).abs() < 1.0);
}

#[test]
fn acknowledgments_of_a_probe_are_told_apart() {
    let mut path = Path::cruising();
    path.until(State::ProbeBwRefill, |_, _| {});
    assert_eq!(path.bbr.probing.ack_phase, AckPhase::Refilling);
    path.round();
    assert_eq!(path.bbr.probing.ack_phase, AckPhase::Starting);
    path.round();
    assert_eq!(path.bbr.probing.ack_phase, AckPhase::Feedback);
    path.until(State::ProbeBwDown, |_, _| {});
    assert_eq!(path.bbr.probing.ack_phase, AckPhase::Stopping);
    path.round();
    assert_eq!((path.bbr.probing.ack_phase, path.bbr.probing.is_sample), (AckPhase::Init, false));
}
