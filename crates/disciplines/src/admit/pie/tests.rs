//! PIE against numbers worked out from RFC 8033.

use super::*;
use crate::fixture::{Record, Rig, SETTING, ms, us};
use forebay_core::{Ecn, Rng, Verdict};
use proptest::prelude::{Just, prop_assert_eq, prop_oneof, proptest};
use serde_json::json;

fn law() -> PieLaw {
    PieLaw::new(&PieParams::default(), &SETTING).unwrap()
}

fn state(drop_prob: f64, delay_ms: u64) -> PieState {
    let mut state = PieState::new(&law());
    state.drop_prob = drop_prob;
    state.delay = Duration::from_millis(delay_ms);
    state
}

#[test]
fn the_auto_tuning_table_is_that_of_section_4_2() {
    for (drop_prob, divisor) in [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_009, 512.0),
        (0.000_05, 128.0),
        (0.000_5, 32.0),
        (0.005, 8.0),
        (0.05, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ] {
        assert_eq!(auto_tuning(drop_prob), divisor, "{drop_prob}");
    }
}

#[test]
fn one_update_by_hand() {
    for (drop_prob, old, new, want) in [
        // 0.125 * (20 - 15) ms + 1.25 * (20 - 10) ms = 0.013125, divided by 2048, 32, 2.
        (0.0, 10, 20, 0.013_125 / 2048.0),
        (0.000_5, 10, 20, 0.000_5 + 0.013_125 / 32.0),
        (0.05, 10, 20, 0.05 + 0.013_125 / 2.0),
        (0.2, 10, 20, 0.213_125),
        // 0.125 * 85 ms + 1.25 * 90 ms = 0.123125 is capped from 0.1 on (section 5.5).
        (0.2, 10, 100, 0.22),
        (0.05, 10, 100, 0.05 + 0.123_125 / 2.0),
        // Below the target and shrinking: -0.125 * 5 ms - 1.25 * 10 ms.
        (0.2, 20, 10, 0.2 - 0.013_125),
        (0.000_001, 20, 10, 0.0),
        // Idle: minus 0.125 * 15 ms, and then a decay of 2 %.
        (0.2, 0, 0, (0.2 - 0.001_875) * 0.98),
        (0.999_9, 100, 200, 1.0),
    ] {
        let mut state = state(drop_prob, old);
        state.update(&law(), Duration::from_millis(new));
        assert!((state.drop_prob - want).abs() < 1e-12, "{drop_prob} {old} {new}");
    }
}

#[test]
fn the_burst_allowance_lasts_ten_updates_and_returns_with_calm() {
    let mut state = state(0.0, 0);
    for left in (0..10).rev() {
        state.update(&law(), Duration::from_millis(50));
        assert_eq!(state.burst_allowance, Duration::from_millis(15 * left));
    }
    state.update(&law(), Duration::from_millis(5));
    state.drop_prob = 0.0;
    state.update(&law(), Duration::from_millis(5));
    assert_eq!(state.burst_allowance, Duration::from_millis(150));
    // A delay of exactly half the target is not calm.
    state.update(&law(), Duration::from_micros(7_500));
    assert_eq!(state.burst_allowance, Duration::from_millis(135));
}

proptest! {
    /// Updates made up for at the next call are those that a timer would have made.
    #[test]
    fn catching_up_is_what_a_timer_does(
        drop_prob in prop_oneof![0.0..1.0_f64, 0.0..0.001_f64],
        old in 0..60_u64,
        now in prop_oneof![Just(0_u64), 0..60_u64],
        updates in 1..3000_u64,
    ) {
        let law = law();
        let (mut lazy, mut timed) = (state(drop_prob, old), state(drop_prob, old));
        lazy.measured = Duration::from_millis(now);
        lazy.catch_up(&law, Time::ZERO + law.params.t_update * updates + Duration::from_nanos(7), 0);
        for _ in 0..updates {
            timed.update(&law, Duration::from_millis(now));
        }
        prop_assert_eq!(lazy.drop_prob.to_bits(), timed.drop_prob.to_bits());
        prop_assert_eq!(lazy.burst_allowance, timed.burst_allowance);
        prop_assert_eq!(lazy.updated, Time::ZERO + law.params.t_update * updates);
    }
}

#[test]
fn a_long_idle_time_comes_to_rest() {
    let law = law();
    let mut state = state(1.0, 40);
    state.catch_up(&law, Time::ZERO + Duration::from_secs(1_000_000), 0);
    assert_eq!(state.drop_prob, 0.0);
    assert_eq!(state.burst_allowance, law.params.max_burst);
    // The next update is due a period after the last multiple of 15 ms.
    assert!(Time::ZERO + Duration::from_secs(1_000_000) < state.updated + law.params.t_update);
}

fn judge(law: &PieLaw, state: &mut PieState, bytes: u64, rng: &mut Rng) -> Record {
    let mut record = Record::default();
    let mut packet = Packet::new(0, 0, 1000);
    packet.set_ecn(Ecn::Ect0);
    let mut cx = Context::new(Time::ZERO, rng, &mut record);
    match state.judge(law, &mut packet, bytes, &mut cx) {
        Ok(()) => {
            packet.retire();
        }
        Err(reason) => cx.drop(packet, reason),
    }
    record
}

#[test]
fn nothing_is_dropped_in_calm_in_a_burst_or_from_two_packets() {
    let law = law();
    let mut rng = Rng::named(1, "calm");
    let mut losses = |drop_prob, delay, burst_ms, bytes| {
        let mut state = state(drop_prob, delay);
        state.burst_allowance = Duration::from_millis(burst_ms);
        (0..1000).map(|_| judge(&law, &mut state, bytes, &mut rng).dropped.len()).sum::<usize>()
    };
    assert_eq!(losses(0.19, 7, 0, 100_000), 0);
    assert_eq!(losses(1.0, 40, 15, 100_000), 0);
    assert_eq!(losses(1.0, 40, 0, 3_000), 0);
    assert_eq!(losses(1.0, 40, 0, 3_001), 1000);
    assert!(losses(0.2, 7, 0, 100_000) > 0);
}

#[test]
fn derandomization_bounds_the_gaps() {
    // p = 0.05: no drop before the probabilities sum to 0.85 (17 packets), always one at 8.5.
    let law = law();
    let mut rng = Rng::named(2, "gaps");
    let mut state = state(0.05, 40);
    state.burst_allowance = Duration::ZERO;
    let mut gap = 0;
    let mut shortest = u32::MAX;
    let mut drops = 0_u32;
    let arrivals = 400_000;
    for _ in 0..arrivals {
        gap += 1;
        if !judge(&law, &mut state, 100_000, &mut rng).dropped.is_empty() {
            shortest = shortest.min(gap);
            assert!((17..=171).contains(&gap));
            drops += 1;
            gap = 0;
        }
    }
    assert_eq!(shortest, 17);
    // 16 packets pass, then a geometric wait with mean 20: 36 a drop.
    let mean = f64::from(arrivals) / f64::from(drops);
    assert!((35.0..37.0).contains(&mean), "{mean}");
}

#[test]
fn without_derandomization_drops_are_independent() {
    let params = PieParams { derandomize: false, ..PieParams::default() };
    let law = PieLaw::new(&params, &SETTING).unwrap();
    let mut rng = Rng::named(3, "independent");
    let mut state = state(0.05, 40);
    state.burst_allowance = Duration::ZERO;
    let drops: usize =
        (0..40_000).map(|_| judge(&law, &mut state, 100_000, &mut rng).dropped.len()).sum();
    // Binomial: 2000 with a deviation of 43.6.
    assert!((1825..=2175).contains(&drops), "{drops}");
}

#[test]
fn marks_give_way_to_drops_at_the_threshold() {
    let params = PieParams { ecn: true, derandomize: false, ..PieParams::default() };
    let law = PieLaw::new(&params, &SETTING).unwrap();
    let mut rng = Rng::named(4, "marks");
    let mut count = |drop_prob| {
        let mut state = state(drop_prob, 40);
        state.burst_allowance = Duration::ZERO;
        let mut both = (0, 0);
        for _ in 0..1000 {
            let record = judge(&law, &mut state, 100_000, &mut rng);
            both = (both.0 + record.marked.len(), both.1 + record.dropped.len());
        }
        both
    };
    assert!(matches!(count(0.099), (1.., 0)));
    assert!(matches!(count(0.1), (0, 1..)));
}

#[test]
fn the_departure_rate_gives_the_delay() {
    // 1000 bytes leave every 0.8 ms: 16 384 bytes are first exceeded by 17 packets, 13.6 ms,
    // and PIE takes that as the time of 16 384 bytes (5.2): 41 000 bytes wait 34.03 ms.
    let mut departures = Departures::default();
    for turn in 0..60 {
        departures.departed(us(turn * 800), 1000, 41_000);
    }
    let want = 41_000.0 / 16_384.0 * 13_600_000.0;
    assert_eq!(departures.delay(41_000), Duration::from_nanos(want as u64));
    // Less than DQ_THRESHOLD queued: no measurement.
    let mut departures = Departures::default();
    for turn in 0..60 {
        departures.departed(us(turn * 800), 1000, 16_383);
    }
    assert_eq!(departures.delay(41_000), Duration::ZERO);
}

/// Offers twice a 10 Mbit/s link's capacity, unresponsively, for 40 s. Returns the mean probability
/// and delay (in ms) of the second half.
fn overload(extra: serde_json::Value) -> (f64, f64) {
    let mut block = json!({ "kind": "pie", "limit": "100000p" });
    block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let mut rig = Rig::new(block);
    let (mut delay, mut probability) = (0.0, 0.0);
    for tick in 0..50_000_u64 {
        let now = us(tick * 800);
        rig.offer(now, |_| {});
        rig.offer(now, |_| {});
        rig.take(now);
        if tick >= 25_000 {
            delay += rig.probe("delay_ms");
            probability += rig.probe("drop_probability");
        }
    }
    (probability / 25_000.0, delay / 25_000.0)
}

#[test]
fn an_overload_is_held_at_the_target() {
    // Half of the arrivals must be dropped, so the probability must be a half.
    let (p, delay) = overload(json!({ "derandomize": false }));
    assert!((0.47..0.53).contains(&p) && (13.0..17.0).contains(&delay), "{p} {delay}");
    let (p, delay) =
        overload(json!({ "derandomize": false, "delay_estimation": "departure-rate" }));
    assert!((0.47..0.53).contains(&p) && (13.0..17.0).contains(&delay), "{p} {delay}");
}

#[test]
fn a_full_buffer_overflows() {
    let mut rig = Rig::new(json!({ "kind": "pie", "limit": "2p" }));
    rig.offer(ms(0), |_| {});
    rig.offer(ms(0), |_| {});
    assert_eq!(rig.offer(ms(0), |_| {}), Verdict::Dropped);
    assert_eq!(rig.record.dropped, [(2, DropReason::Overflow)]);
}
