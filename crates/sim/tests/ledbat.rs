//! LEDBAT (RFC 6817) in whole networks: it keeps its target alone, makes way for TCP in a deep
//! queue, and takes part as TCP does where the queue is kept short of its target.

mod common;

use common::{number, run};
use serde_json::{Value, json};

fn bulk(name: &str, tcp: Value) -> Value {
    json!({ "name": name, "kind": "bulk", "tcp": tcp })
}

fn background(target: &str) -> Value {
    bulk(
        "background",
        json!({
            "congestion": "ledbat",
            "timestamps": true,
            "initial_window": 2,
            "ledbat": { "target": target },
        }),
    )
}

fn measured(queue: Value, traffic: Vec<Value>) -> Value {
    let tree = json!({
        "duration": "80s",
        "warmup": "30s",
        "dumbbell": { "rate": "10Mbit", "delay": "20ms", "queue": queue },
        "traffic": traffic,
    });
    run(&tree, 1)
}

#[test]
fn alone_it_uses_the_link_and_keeps_the_queue_at_its_target() {
    for (target, delay) in [("100ms", 100.0), ("25ms", 25.0)] {
        let summary =
            measured(json!({ "kind": "fifo", "limit": "1000p" }), vec![background(target)]);
        assert!(number(&summary, "links/bottleneck/utilization") > 0.99);
        assert_eq!(number(&summary, "queues/bottleneck/dropped"), 0.0);
        // Its samples end when the acknowledgment of two segments leaves, one transmission of 1.2 ms
        // after the first arrived, with and without a queue alike.
        let waited = number(&summary, "queues/bottleneck/mean_delay_ms");
        assert!((waited - delay).abs() < 3.0, "{waited} at a target of {delay}");
    }
}

fn share(queue: Value) -> f64 {
    let traffic = vec![bulk("tcp", json!({})), background("100ms")];
    let summary = measured(queue, traffic);
    assert!(number(&summary, "links/bottleneck/utilization") > 0.9);
    let goodput = |class: &str| number(&summary, &format!("classes/{class}/goodput_bps"));
    goodput("background") / (goodput("background") + goodput("tcp"))
}

#[test]
fn it_makes_way_for_tcp_that_fills_a_deep_queue() {
    // 300 packets wait 360 ms, more than three times the target, and never less than half of it.
    let share = share(json!({ "kind": "fifo", "limit": "300p" }));
    assert!(share < 0.05, "{share}");
}

#[test]
fn behind_a_short_queue_it_is_as_any_tcp() {
    // The delay never comes near the target, so that only losses hold it back (section 4.2).
    let share = share(json!({ "kind": "codel" }));
    assert!((0.3..0.7).contains(&share), "{share}");
}
