//! Decision tables of the mechanisms, and the packets that are dropped from the queue.

use crate::Disciplines;
use crate::fixture::{Rig, SETTING, ms};
use forebay_core::{DropReason, Time, Verdict};
use serde_json::{Value, json};

/// A rig whose averages are the lengths themselves.
fn rig(kind: &str, extra: Value) -> Rig {
    let mut block = json!({ "kind": kind, "weight": 1.0 });
    block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    Rig::new(block)
}

/// Level 0 never, level 1 all at 4 or more and none below (a step: max_p next to nothing).
fn step_at_four() -> Value {
    json!([{}, { "min_th": "3p", "max_th": "4p", "max_p": 1e-12 }])
}

fn offer(rig: &mut Rig, level: u8) -> Verdict {
    rig.offer(Time::ZERO, |packet| packet.drop_precedence = level)
}

fn offer_all(rig: &mut Rig, levels: &[u8]) {
    for level in levels {
        offer(rig, *level);
    }
}

#[test]
fn each_level_loses_by_its_own_curve() {
    // At an average of 30: level 0 nothing, level 1 p_b = 0.05 (a loss of 0.1, see RED), level 2
    // everything.
    let levels = json!([
        {},
        { "min_th": "15p", "max_th": "45p", "max_p": 0.1 },
        { "min_th": "5p", "max_th": "20p", "max_p": 0.5 },
    ]);
    let mut rig = rig("wred", json!({ "levels": levels }));
    offer_all(&mut rig, &[0; 30]);
    let mut losses = [0; 3];
    for turn in 0..60_000 {
        let level = (turn % 3) as u8;
        match offer(&mut rig, level) {
            Verdict::Queued => {
                rig.take(Time::ZERO);
            }
            Verdict::Dropped => losses[usize::from(level)] += 1,
        }
    }
    assert_eq!((losses[0], losses[2]), (0, 20_000));
    assert!((1900..=2100).contains(&losses[1]), "{losses:?}");
}

#[test]
fn precedence_beyond_the_last_level_counts_as_the_last() {
    let mut rig = rig("wred", json!({ "levels": step_at_four() }));
    offer_all(&mut rig, &[0; 4]);
    assert_eq!(offer(&mut rig, 7), Verdict::Dropped);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
}

/// The packet that is dropped when one more arrives at a queue of `queued` out-of-profile and
/// in-profile packets.
fn table(kind: &str, extra: Value, queued: &[u8], arriving: u8) -> Verdict {
    let mut rig = rig(kind, extra);
    // The queue is filled below every threshold: averages are updated at arrivals only.
    offer_all(&mut rig, queued);
    assert_eq!(rig.held(), queued.len());
    offer(&mut rig, arriving)
}

#[test]
fn rio_judges_in_profile_by_in_profile_alone() {
    use Verdict::{Dropped, Queued};
    // Both levels: everything from 4 on, nothing below.
    let same = json!({ "min_th": "3p", "max_th": "4p", "max_p": 1e-12 });
    let levels = || json!({ "levels": [same, same] });
    // Queued: 3 out and 1 in; the whole queue is at 4, the in-profile part at 1.
    assert_eq!(table("wred", levels(), &[1, 1, 1, 0], 0), Dropped);
    assert_eq!(table("rio", levels(), &[1, 1, 1, 0], 0), Queued);
    assert_eq!(table("rio", levels(), &[1, 1, 1, 0], 1), Dropped);
    // Queued: 4 in; now RIO drops in-profile too.
    assert_eq!(table("rio", levels(), &[0, 0, 0, 0], 0), Dropped);
}

#[test]
fn wrt_treats_too_much_in_profile_as_out() {
    use Verdict::{Dropped, Queued};
    let wrt = || json!({ "levels": step_at_four(), "in_profile_th": "2p" });
    // Whole queue at 4, in-profile average 2: not above the threshold.
    assert_eq!(table("wrt", wrt(), &[1, 1, 0, 0], 0), Queued);
    assert_eq!(table("wrt", wrt(), &[1, 1, 0, 0], 1), Dropped);
    // In-profile average 3: treated as out, and the whole queue is at 4.
    assert_eq!(table("wrt", wrt(), &[1, 0, 0, 0], 0), Dropped);
    // In-profile average 3, but the whole queue is below the curve of level 1.
    assert_eq!(table("wrt", wrt(), &[0, 0, 0], 0), Queued);
    // WRED with the same curves never drops level 0.
    assert_eq!(table("wred", json!({ "levels": step_at_four() }), &[0; 30], 0), Queued);
}

#[test]
fn the_in_profile_average_forgets_while_no_such_packet_is_queued() {
    let mut rig = rig(
        "rio",
        json!({ "levels": [{}, { "min_th": "50p", "max_th": "60p", "max_p": 0.1 }],
                "weight": 0.5, "mean_packet": "1000B" }),
    );
    offer_all(&mut rig, &[0, 0, 0]);
    assert_eq!(rig.probe("average_in_profile"), 1.25);
    for _ in 0..3 {
        rig.take(ms(10));
    }
    // The last packet has left at 10.8 ms; one more could be sent until 11.6 ms.
    rig.offer(Time::from_nanos(11_600_000), |_| {});
    assert!((rig.probe("average_in_profile") - 0.625).abs() < 1e-9);
}

fn from_queue(victim: &str) -> Rig {
    rig(
        "wred",
        json!({ "levels": step_at_four(), "drop_strategy": "drop-from-queue", "victim": victim }),
    )
}

#[test]
fn an_in_profile_arrival_pushes_the_last_out_packet_out() {
    let mut rig = from_queue("last");
    offer_all(&mut rig, &[1, 0, 1, 0]);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
    assert_eq!(rig.record.dropped, [(2, DropReason::PushedOut)]);
    // An arriving out-of-profile packet counts as the last one.
    assert_eq!(offer(&mut rig, 1), Verdict::Dropped);
    assert_eq!(rig.record.dropped[1], (5, DropReason::Aqm));
    assert_eq!([rig.take(ms(0)), rig.take(ms(0)), rig.take(ms(0))], [Some(0), Some(1), Some(3)]);
}

#[test]
fn first_takes_every_victim_from_the_queue() {
    let mut rig = from_queue("first");
    offer_all(&mut rig, &[0, 1, 0, 1]);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
    assert_eq!(rig.drops(), [1]);
    // An arriving out-of-profile packet stays; the one queued before it is dropped.
    assert_eq!(offer(&mut rig, 1), Verdict::Queued);
    assert_eq!(rig.drops(), [3]);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
    assert_eq!(rig.drops(), [5]);
    // If no other is queued, the arriving packet is the first.
    assert_eq!(offer(&mut rig, 1), Verdict::Dropped);
    assert_eq!(rig.record.dropped, [(7, DropReason::Aqm)]);
}

#[test]
fn random_takes_any_of_the_level() {
    let mut taken = [0_u32; 6];
    for seed in 0..3000 {
        let mut rig = from_queue("random");
        rig.rng = forebay_core::Rng::named(seed, "victims");
        offer_all(&mut rig, &[1, 0, 1, 1]);
        offer(&mut rig, 0);
        taken[rig.drops()[0] as usize] += 1;
    }
    assert_eq!((taken[1], taken[4], taken[5]), (0, 0, 0));
    // A third each; 4 deviations of sqrt(3000 * 2/9) = 26.
    for count in [taken[0], taken[2], taken[3]] {
        assert!((895..=1105).contains(&count), "{taken:?}");
    }
}

#[test]
fn without_a_victim_one_drop_is_deferred() {
    for victim in ["last", "first", "random"] {
        let mut rig = from_queue(victim);
        offer_all(&mut rig, &[0; 7]);
        assert_eq!((rig.held(), rig.probe("drop_deferred")), (7, 1.0), "{victim}");
        // Three in-profile arrivals found no victim. Only the first out-of-profile packet is dropped.
        assert_eq!(offer(&mut rig, 1), Verdict::Dropped);
        assert_eq!(rig.drops(), [7]);
        assert_eq!(rig.probe("drop_deferred"), 0.0);
    }
}

#[test]
fn without_deferring_the_next_out_packet_is_judged_by_its_own_law() {
    // The queue grows to 30 packets of level 0: they ask the law of level 1 and find no packet of
    // it. Then one of level 1 comes. Its own law has p_b = 0.05, more after some that were passed.
    let levels = json!([{}, { "min_th": "15p", "max_th": "45p", "max_p": 0.1 }]);
    let lost = |strategy: Value| {
        let runs = (0..2000).filter(|seed| {
            let mut extra = json!({ "levels": levels });
            extra.as_object_mut().unwrap().extend(strategy.as_object().unwrap().clone());
            let mut rig = rig("wred", extra);
            rig.rng = forebay_core::Rng::named(*seed, "deferred");
            offer_all(&mut rig, &[0; 30]);
            offer(&mut rig, 1) == Verdict::Dropped
        });
        runs.count()
    };
    let from_queue = "drop-from-queue";
    let arrivals = lost(json!({ "drop_strategy": "drop-arrivals" }));
    let left_out = lost(json!({ "drop_strategy": from_queue, "defer_drop": false }));
    let deferred = lost(json!({ "drop_strategy": from_queue }));
    assert!((70..=130).contains(&arrivals), "{arrivals}");
    assert!((200..=300).contains(&left_out), "{left_out}");
    assert!((1000..=1300).contains(&deferred), "{deferred}");
}

#[test]
fn a_deferred_drop_lapses_with_the_congestion() {
    let mut rig = from_queue("last");
    offer_all(&mut rig, &[0; 6]);
    assert_eq!(rig.probe("drop_deferred"), 1.0);
    for _ in 0..4 {
        rig.take(ms(0));
    }
    assert_eq!(offer(&mut rig, 1), Verdict::Queued);
    assert_eq!(rig.probe("drop_deferred"), 0.0);
}

#[test]
fn a_used_up_level_does_not_make_the_next_one_pay_more_than_its_curve() {
    // Level 2 drops everything from 10 on, level 1 has p_b = 0.05 at 30, level 0 nothing.
    let levels = json!([
        {},
        { "min_th": "15p", "max_th": "45p", "max_p": 0.1 },
        { "min_th": "5p", "max_th": "10p", "max_p": 0.5 },
    ]);
    let mut rig = rig("wred", json!({ "levels": levels, "drop_strategy": "drop-from-queue" }));
    offer_all(&mut rig, &[0; 15]);
    while rig.held() < 30 {
        offer(&mut rig, 1);
    }
    rig.drops();
    // Arrivals of level 1 keep the queue at 30: each loses with its own probability.
    for _ in 0..20_000 {
        if offer(&mut rig, 1) == Verdict::Queued {
            rig.take(Time::ZERO);
        }
    }
    let loss = rig.drops().len();
    assert!((1900..=2100).contains(&loss), "{loss}");
}

#[test]
fn the_law_acts_at_every_arrival_when_dropping_from_the_queue() {
    // The paper's example (section 2.2): an average of 30, level-1 probability 0.05, half of the
    // arrivals in profile. Drop-arrivals acts on the other half only.
    let loss = |strategy: &str| {
        let mut rig = rig("wred", json!({ "drop_strategy": strategy }));
        while rig.held() < 30 {
            let level = (rig.held() % 2) as u8;
            offer(&mut rig, level);
        }
        rig.drops();
        for turn in 0..40_000 {
            offer(&mut rig, (turn % 2) as u8);
            if rig.held() > 30 {
                rig.take(Time::ZERO);
            }
        }
        rig.drops().len()
    };
    // Gaps uniform on 1..=19 among the arrivals that count: one in ten of them is dropped.
    assert!((1900..=2100).contains(&loss("drop-arrivals")));
    assert!((3850..=4150).contains(&loss("drop-from-queue")));
}

#[test]
fn a_full_buffer_pushes_higher_levels_out_first() {
    let mut rig = rig("wred", json!({ "limit": "3p", "drop_strategy": "drop-from-queue" }));
    offer_all(&mut rig, &[1, 0, 1]);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
    assert_eq!(offer(&mut rig, 1), Verdict::Dropped);
    assert_eq!(offer(&mut rig, 0), Verdict::Queued);
    assert_eq!(offer(&mut rig, 0), Verdict::Dropped);
    let reasons: Vec<_> = rig.record.dropped.clone();
    assert_eq!(
        reasons,
        [
            (2, DropReason::PushedOut),
            (4, DropReason::Overflow),
            (0, DropReason::PushedOut),
            (6, DropReason::Overflow)
        ]
    );
}

#[test]
fn wrong_levels_are_refused_with_their_path() {
    let path = |block: Value| Disciplines::builtin().build(&block, &SETTING).err().unwrap().path;
    let level = json!({ "min_th": "15p", "max_th": "45p", "max_p": 0.1 });
    assert_eq!(path(json!({ "kind": "wred", "levels": [] })), "levels");
    assert_eq!(path(json!({ "kind": "wred", "levels": [{}, { "min_th": "5p" }] })), "levels[1]");
    let bytes = json!({ "min_th": "15KB", "max_th": "45KB", "max_p": 0.1 });
    assert_eq!(path(json!({ "kind": "rio", "levels": [level, bytes] })), "levels[1].min_th");
    assert_eq!(path(json!({ "kind": "wrt", "levels": [level] })), "levels");
    assert_eq!(path(json!({ "kind": "wrt", "in_profile_th": "15KB" })), "in_profile_th");
    assert_eq!(path(json!({ "kind": "wred", "weight": 0.0 })), "weight");
    assert_eq!(path(json!({ "kind": "wred", "victim": "middle" })), "victim");
}

#[test]
fn a_short_queue_may_be_spared() {
    // ns-2's REDQueue::enque: nothing is dropped early unless two packets wait (qlen > 1).
    for kind in ["wred", "rio", "wrt"] {
        for strategy in ["drop-arrivals", "drop-from-queue"] {
            for (spare, wanted) in [(false, Verdict::Dropped), (true, Verdict::Queued)] {
                let mut rig = rig(
                    kind,
                    json!({
                        "weight": 0.001, "levels": step_at_four(), "spare_short": spare,
                        "drop_strategy": strategy,
                    }),
                );
                while rig.probe("average_queue") < 5.0 {
                    offer(&mut rig, 0);
                }
                while rig.held() > 1 {
                    rig.take(Time::ZERO);
                }
                assert_eq!(offer(&mut rig, 1), wanted, "{kind}, {strategy}");
                offer_all(&mut rig, &[0; 2]);
                assert_eq!(offer(&mut rig, 1), Verdict::Dropped, "{kind}, {strategy}");
            }
        }
    }
}

#[test]
fn the_first_arrival_of_a_congestion_may_be_spared() {
    for (spare, wanted) in [(false, Verdict::Dropped), (true, Verdict::Queued)] {
        // p_b is next to 1 above three packets.
        let levels = json!([{}, { "min_th": "3p", "max_th": "100p", "max_p": 1e-12 }]);
        let extra = json!({ "levels": levels, "gentle": true, "spare_first": spare });
        let mut rig = rig("wred", extra);
        offer_all(&mut rig, &[0; 199]);
        assert_eq!(offer(&mut rig, 1), wanted);
        assert_eq!(offer(&mut rig, 1), Verdict::Dropped);
    }
}
