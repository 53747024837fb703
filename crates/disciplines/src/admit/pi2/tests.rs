//! Numbers computed by hand from RFC 9332, appendix A.

use crate::Disciplines;
use crate::fixture::{Rig, SETTING, ms};
use forebay_core::{DropReason, Ecn};
use serde_json::{Value, json};

/// PI2 at 33 ms, with 1000 packets of `ecn` that have waited since 0 ms. Two updates were made.
///
/// p' = a (16 ms - 15 ms) + b 16 ms = 0.05134765625; then + a (32 ms - 15 ms) + b 16 ms, with
/// a = 41/256 and b = 819/256 a second.
fn waiting(extra: Value, ecn: Ecn) -> Rig {
    let mut block = json!({ "kind": "pi2", "derandomize": true });
    block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let mut rig = Rig::new(block);
    for _ in 0..1000 {
        rig.offer(ms(0), |packet| packet.set_ecn(ecn));
    }
    rig.offer(ms(33), |packet| packet.set_ecn(ecn));
    rig
}

const BASE: f64 = 0.105_257_812_5;

#[test]
fn the_base_probability_moves_as_the_pseudo_code_says() {
    let rig = waiting(json!({}), Ecn::NotEct);
    assert!((rig.probe("base_probability") - BASE).abs() < 1e-15);
    assert!((rig.probe("drop_probability") - BASE * BASE).abs() < 1e-15);
    assert!((rig.probe("coupled_probability") - 2.0 * BASE).abs() < 1e-15);
    assert_eq!(rig.probe("delay_ms"), 32.0);
}

#[test]
fn an_idle_queue_forgets_at_the_rate_of_the_target() {
    let mut rig = waiting(json!({}), Ecn::Ect1);
    while rig.held() > 0 {
        rig.take(ms(33));
    }
    // At 48 ms the delay is 0 instead of 32 ms; from then on p' falls by 15 ms a.
    rig.offer(ms(49), |_| {});
    let after = (BASE - 41.0 / 256.0 * 0.015 - 819.0 / 256.0 * 0.032).max(0.0);
    assert!((rig.probe("base_probability") - after).abs() < 1e-12);
    rig.take(ms(49));
    rig.offer(ms(100_000), |_| {});
    assert_eq!(rig.probe("base_probability"), 0.0);
}

#[test]
fn classic_packets_meet_the_square_and_scalable_ones_a_multiple() {
    // The sum of p'^2 passes 1 with the 91st packet, 2 with the 181st.
    let mut rig = waiting(json!({}), Ecn::NotEct);
    let sent: Vec<_> = (0..198).map(|_| rig.take(ms(33)).unwrap()).collect();
    assert_eq!(rig.record.dropped, [(90, DropReason::Aqm), (180, DropReason::Aqm)]);
    assert_eq!((sent[89], sent[90]), (89, 91));
    // ECT(0) is marked instead.
    let mut rig = waiting(json!({}), Ecn::Ect0);
    (0..200).for_each(|_| assert!(rig.take(ms(33)).is_some()));
    assert_eq!((rig.record.marked.as_slice(), rig.record.dropped.len()), ([90, 180].as_slice(), 0));
    // The sum of 2 p' passes whole numbers with packets 5, 10, 15, 20, 24.
    let mut rig = waiting(json!({}), Ecn::Ect1);
    (0..25).for_each(|_| assert!(rig.take(ms(33)).is_some()));
    assert_eq!(rig.record.marked, [4, 9, 14, 19, 23]);
}

#[test]
fn at_random_the_shares_are_the_same() {
    let mut hits = 0;
    for _ in 0..20 {
        let mut rig = waiting(json!({ "derandomize": false }), Ecn::Ect1);
        rig.rng = forebay_core::Rng::named(hits, "signals");
        (0..900).for_each(|_| assert!(rig.take(ms(33)).is_some()));
        hits += rig.record.marked.len() as u64;
    }
    // 18 000 draws with 0.2105: 3789, standard deviation 55.
    assert!((3_620..3_960).contains(&hits), "{hits}");
}

#[test]
fn in_overload_marks_give_way_to_drops() {
    // With a beta of 40/s, p' is 1 after two updates.
    let overload = |how: &str, ecn| {
        let mut rig = waiting(json!({ "beta": 40.0, "overload": how }), ecn);
        for _ in 0..10 {
            rig.take(ms(33));
        }
        let lost = rig.record.dropped.len();
        (rig.probe("base_probability"), rig.record.marked.len(), lost)
    };
    // All 1001 are dropped but the first, whose sum is not above 1, and the last three, which leave
    // less than 3000 B behind. What is not dropped is marked, if it is ECT(1).
    assert_eq!(overload("drop", Ecn::Ect0), (1.0, 0, 997));
    assert_eq!(overload("drop", Ecn::Ect1), (1.0, 1, 997));
    // p' ends at 1/k: all scalable packets are marked, classic ones with 1/k^2.
    assert_eq!(overload("saturate", Ecn::Ect1), (0.5, 9, 0));
    assert_eq!(overload("saturate", Ecn::Ect0), (0.5, 2, 0));
}

#[test]
fn a_short_queue_is_left_alone() {
    let mut rig = Rig::new(json!({ "kind": "pi2", "beta": 40.0, "derandomize": true }));
    for _ in 0..6 {
        rig.offer(ms(0), |_| {});
    }
    // Packets of 1000 B: 3000 B stay behind the third, the last that can be hit.
    let sent: Vec<_> = std::iter::from_fn(|| rig.take(ms(40))).collect();
    assert_eq!((sent, rig.drops()), (vec![0, 3, 4, 5], vec![1, 2]));
}

#[test]
fn defaults_are_those_of_linux() {
    let effective = Disciplines::builtin().effective(&json!({ "kind": "pi2" }), &SETTING).unwrap();
    let expected = json!({
        "kind": "pi2", "limit": "10000p", "target": "15ms", "t_update": "16ms",
        "alpha": 0.16015625, "beta": 3.19921875, "coupling": 2.0, "overload": "drop",
        "derandomize": false,
    });
    assert_eq!(effective, expected);
    for (field, value) in
        [("coupling", json!(0.5)), ("alpha", json!(0.0)), ("target", json!("0ms"))]
    {
        let block = json!({ "kind": "pi2", field: value });
        assert_eq!(Disciplines::builtin().build(&block, &SETTING).err().unwrap().path, field);
    }
}
