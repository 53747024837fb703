//! Numbers computed by hand from the functions of `sch_cake.c`.

use crate::Disciplines;
use crate::fixture::{Rig, SETTING, ms};
use forebay_core::{DropReason, Ecn};
use serde_json::{Value, json};

fn cobalt(extra: Value) -> Rig {
    let mut block = json!({ "kind": "cobalt" });
    block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    Rig::new(block)
}

/// Two packets come and one leaves every millisecond from 0 to `end`; when which id was dropped or
/// marked.
fn growing(rig: &mut Rig, end: u64, ecn: Ecn) -> Vec<u64> {
    let mut signals = Vec::new();
    for now in 0..end {
        for _ in 0..2 {
            rig.offer(ms(now), |packet| packet.set_ecn(ecn));
        }
        let before = rig.record.dropped.len() + rig.record.marked.len();
        rig.take(ms(now));
        let after = rig.record.dropped.len() + rig.record.marked.len();
        signals.extend((before..after).map(|_| now));
    }
    signals
}

#[test]
fn signals_come_at_the_instants_of_the_control_law() {
    // Packet n comes at n/2 ms and leaves at n ms: the twelfth, at 11 ms, waited for 6 ms, the first above
    // 5 ms. The first signal is due at once and comes with the next packet; then 100/sqrt(2),
    // 100/sqrt(3), 100/2 ms and so on after 11 ms and each other. A packet is dropped, so that the one
    // after it leaves in the same millisecond.
    let mut rig = cobalt(json!({}));
    assert_eq!(growing(&mut rig, 320, Ecn::NotEct), [12, 82, 140, 190, 235, 275, 313]);
    // With ECN the same instants, and marks: no packet is lost.
    let mut rig = cobalt(json!({}));
    assert_eq!(growing(&mut rig, 320, Ecn::Ect0), [12, 82, 140, 190, 235, 275, 313]);
    assert_eq!((rig.record.marked.len(), rig.record.dropped.len()), (7, 0));
    assert_eq!(rig.probe("count"), 8.0);
    // A later congested time begins an interval after its first late packet.
    while rig.held() > 0 {
        rig.take(ms(330));
    }
    rig.offer(ms(9_000), |_| {});
    rig.take(ms(9_000));
    rig.record.marked.clear();
    for now in 10_000..10_150 {
        for _ in 0..2 {
            rig.offer(ms(now), |packet| packet.set_ecn(Ecn::Ect0));
        }
        rig.take(ms(now));
        assert_eq!(rig.record.marked.is_empty(), now < 10_111, "{now}");
    }
}

#[test]
fn the_count_falls_at_the_same_pace_and_is_not_forgotten() {
    let mut rig = cobalt(json!({}));
    growing(&mut rig, 320, Ecn::Ect0);
    // drop_next is 312.8 + 100/sqrt(8) = 348.2 ms. All leave now but the last.
    while rig.held() > 1 {
        rig.take(ms(320));
    }
    assert_eq!(rig.probe("count"), 8.0);
    // A packet that did not wait, at 400 ms: steps of 37.8 and 40.8 ms lead past it: the count is 6.
    rig.take(ms(320));
    rig.offer(ms(400), |_| {});
    rig.offer(ms(400), |_| {});
    rig.take(ms(400));
    assert_eq!(rig.probe("count"), 6.0);
}

#[test]
fn four_packets_of_the_largest_size_are_acceptable_on_a_slow_link() {
    // At 10 Mbit/s they take 4.8 ms; at 1 Mbit/s 48 ms.
    let mut rig = cobalt(json!({}));
    // An outage does not change the link's packet time.
    for rate in [1_000_000, 0] {
        rig.discipline.set_link_rate(ms(0), forebay_core::Rate::from_bps(rate));
    }
    // The 97th packet, at 97 ms, waited for 49 ms.
    assert_eq!(growing(&mut rig, 250, Ecn::NotEct)[0], 98);
}

#[test]
fn blue_rises_at_overflows_and_falls_when_the_queue_runs_empty() {
    let mut rig = cobalt(json!({ "limit": "2p", "increment": 0.25, "decrement": 0.125 }));
    for now in [10, 10, 10, 12, 16] {
        rig.offer(ms(now), |packet| packet.set_ecn(Ecn::Ect1));
    }
    // Overflows at 10, 12 and 16 ms: that at 12 is within 5 ms of the first.
    assert_eq!(rig.record.dropped, [2, 3, 4].map(|id| (id, DropReason::Overflow)));
    assert_eq!(rig.probe("blue_probability"), 0.5);
    while rig.take(ms(30)).is_some() {}
    assert_eq!(rig.probe("blue_probability"), 0.375);
    // BLUE drops packets whether they are ECN-capable or not.
    let mut rig = cobalt(json!({ "limit": "3000p", "increment": 0.25 }));
    for _ in 0..3001 {
        rig.offer(ms(10), |packet| packet.set_ecn(Ecn::Ect1));
    }
    while rig.held() > 1 {
        rig.take(ms(11));
    }
    let lost = rig.record.dropped.len();
    assert!((680..820).contains(&lost), "{lost}");
}

#[test]
fn defaults_are_those_of_linux() {
    let effective =
        Disciplines::builtin().effective(&json!({ "kind": "cobalt" }), &SETTING).unwrap();
    let expected = json!({
        "kind": "cobalt", "limit": "1000p", "target": "5ms", "interval": "100ms",
        "increment": 0.00390625, "decrement": 0.000244140625,
    });
    assert_eq!(effective, expected);
    let block = json!({ "kind": "cobalt", "increment": 2.0 });
    assert_eq!(Disciplines::builtin().build(&block, &SETTING).err().unwrap().path, "increment");
}
