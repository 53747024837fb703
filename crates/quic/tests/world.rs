//! QUIC hosts in a world: goodput, fairness, determinism, for quinn's controls and forebay's.

use forebay_quic::Quic;
use forebay_world::{Outcome, World, json};

fn bulk(congestion: &str) -> World {
    World::dumbbell("20Mbit", "10ms")
        .with::<Quic>()
        .queue("fifo", json!({ "limit": "60p" }))
        .traffic(json!({ "name": "quic", "kind": "quic", "congestion": congestion }))
}

/// Payload of a packet of 1480 B with UDP and QUIC headers is 97 % of it at most.
const FULL: std::ops::Range<f64> = 17.5e6..19.5e6;

#[test]
fn bulk_data_fill_the_link_and_repeat() {
    for congestion in ["quinn-cubic", "quinn-new-reno", "cubic", "new-reno"] {
        let outcome = bulk(congestion).check_repeats();
        outcome.goodput("quic", FULL).loss(0.0..0.02);
        let lost = outcome.summary()["flows"][0]["retransmissions"].as_f64();
        assert!(lost > Some(0.0), "{congestion} fills the queue: {lost:?}");
    }
}

#[test]
fn a_seed_changes_the_run_only_through_its_random_numbers() {
    let [one, two] = [1, 2].map(|seed| bulk("quinn-cubic").seed(seed).run());
    assert_ne!(one.fingerprint(), two.fingerprint());
    two.goodput("quic", FULL);
}

#[test]
fn two_flows_share_the_link() {
    let share = |outcome: &Outcome| outcome.share_of("quic");
    let outcome = bulk("quinn-cubic")
        .traffic(json!({ "name": "other", "kind": "quic", "start": "1s" }))
        .duration("60s")
        .warmup("20s")
        .run();
    assert!((0.3..0.7).contains(&share(&outcome)), "{}\n{}", share(&outcome), outcome.picture());
}

#[test]
fn streams_complete() {
    let outcome = World::dumbbell("20Mbit", "10ms")
        .with::<Quic>()
        .traffic(json!({ "name": "quic", "kind": "quic", "streams": 3, "size": "200kB" }))
        .run();
    let completed = outcome.number(&["classes", "quic", "completed"]);
    // 20 Mbit/s are at most 12.5 streams a second; 9 s are measured.
    assert!((80.0..113.0).contains(&completed), "{completed}");
}

#[test]
fn datagrams_have_their_rate() {
    World::dumbbell("20Mbit", "10ms")
        .with::<Quic>()
        .traffic(json!({
            "name": "quic", "kind": "quic", "streams": 0, "datagrams": "2Mbit",
        }))
        .run()
        .goodput("quic", 1.98e6..2.02e6);
}

#[test]
fn what_a_control_lacks_is_said() {
    for (congestion, why) in [("quinn-bbr", "random numbers"), ("bbr", "delivery rates")] {
        let fault = bulk(congestion).try_run().unwrap_err().to_string();
        assert!(fault.contains("congestion") && fault.contains(why), "{fault}");
    }
}
