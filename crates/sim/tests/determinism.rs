//! Equal seeds give equal runs; components do not disturb each other.

mod common;

use common::run;
use serde_json::{Value, json};

fn busy() -> Value {
    json!({
        "duration": "20s",
        "warmup": "2s",
        "dumbbell": { "rate": "10Mbit", "delay": "10ms", "loss": 0.001, "queue": { "kind": "red" } },
        "traffic": [
            { "name": "bulk", "kind": "bulk", "flows": 4, "start": ["0s", "2s"] },
            { "name": "web", "kind": "web", "flows": 5 },
            { "name": "calls", "kind": "voice", "flows": 3, "start": ["0s", "1s"] },
            { "name": "sensors", "kind": "poisson", "rate": "50kbit", "size": "100B" },
        ],
    })
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_number_of_threads() {
    let first = run(&busy(), 7);
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| run(&busy(), 7))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
    assert_ne!(run(&busy(), 8)["fingerprint"], first["fingerprint"]);
}

#[test]
fn another_flow_does_not_disturb_the_others() {
    let plain = run(&busy(), 3);
    let mut more = busy();
    more["traffic"].as_array_mut().unwrap().insert(
        0,
        json!({
            "name": "extra", "kind": "poisson", "rate": "500kbit", "size": "500B", "flows": 2,
        }),
    );
    let more = run(&more, 3);
    // Open-loop sources send just what they sent without it.
    for class in ["calls", "sensors"] {
        assert_eq!(
            plain["classes"][class]["offered"], more["classes"][class]["offered"],
            "{class}"
        );
    }
    assert_ne!(plain["fingerprint"], more["fingerprint"]);
}

#[test]
fn a_discipline_does_not_change_what_is_offered() {
    let offered = |queue: Value| {
        let mut tree = busy();
        tree["dumbbell"]["queue"] = queue;
        let summary = run(&tree, 5);
        (
            summary["classes"]["calls"]["offered"].clone(),
            summary["classes"]["sensors"]["offered"].clone(),
        )
    };
    assert_eq!(offered(json!({ "kind": "fifo" })), offered(json!({ "kind": "fq-codel" })));
}
