//! Prague (draft-briscoe-iccrg-prague-congestion-control) with accurate feedback (RFC 9768) through a
//! dual queue (RFC 9332): it takes as much as a CUBIC flow beside it and waits a millisecond.

mod common;

use common::{number, run};
use serde_json::{Value, json};

fn flow(name: &str, tcp: Value) -> Value {
    json!({ "name": name, "kind": "bulk", "tcp": tcp })
}

fn prague() -> Value {
    flow(
        "prague",
        json!({ "congestion": "prague", "ecn": true, "accurate_ecn": true, "timestamps": true }),
    )
}

fn measured(rtt_ms: u64, traffic: Vec<Value>) -> Value {
    let tree = json!({
        "duration": "60s",
        "warmup": "20s",
        "dumbbell": {
            "rate": "40Mbit",
            "delay": format!("{}ms", rtt_ms / 2),
            "queue": { "kind": "dualpi2" },
        },
        "traffic": traffic,
    });
    run(&tree, 1)
}

/// No more than a millisecond waits in the low-latency queue, on an average and 99 times of 100.
fn waits_little(summary: &Value, rtt_ms: u64) {
    let of = |name: &str| number(summary, &format!("classes/prague/{name}"));
    // A packet takes 0.3 ms on the link, and 0.3 ms on its way to it.
    let path = rtt_ms as f64 / 2.0 + 0.6;
    assert!(of("mean_wait_ms") < 1.0, "{}", of("mean_wait_ms"));
    assert!(of("p99_delay_ms") - path < 1.5, "{}", of("p99_delay_ms"));
    assert!(of("dropped") == 0.0 && of("marked") > 1000.0);
}

#[test]
fn a_dual_queue_gives_it_the_rate_of_cubic_and_a_millisecond() {
    for rtt_ms in [10, 20, 40] {
        let cubic = flow("cubic", json!({ "congestion": "cubic", "timestamps": true }));
        let summary = measured(rtt_ms, vec![prague(), cubic]);
        assert!(number(&summary, "links/bottleneck/utilization") > 0.99);
        waits_little(&summary, rtt_ms);
        // CUBIC waits the 15 ms that the classic queue is kept at, which takes part of its rate.
        assert!(number(&summary, "classes/cubic/mean_wait_ms") > 10.0);
        let goodput = |class: &str| number(&summary, &format!("classes/{class}/goodput_bps"));
        let ratio = goodput("prague") / goodput("cubic");
        assert!((0.5..2.1).contains(&ratio), "{ratio} at {rtt_ms} ms");
    }
}

#[test]
fn alone_it_uses_the_link() {
    for rtt_ms in [10, 40] {
        let summary = measured(rtt_ms, vec![prague()]);
        let used = number(&summary, "links/bottleneck/utilization");
        assert!(used > 0.98, "{used} at {rtt_ms} ms");
        waits_little(&summary, rtt_ms);
    }
}

#[test]
fn after_a_timeout_it_begins_with_slow_start() {
    // Slow start fills 300 ms of queue, loses a thousand packets and times out.
    let tree = json!({
        "duration": "60s",
        "warmup": "20s",
        "dumbbell": { "rate": "40Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "1000p" } },
        "traffic": [
            prague(),
            { "name": "reno", "kind": "bulk", "start": "500ms", "tcp": { "timestamps": true } },
        ],
    });
    let summary = run(&tree, 1);
    let goodput = |class: &str| number(&summary, &format!("classes/{class}/goodput_bps"));
    assert!(goodput("prague") > 2e6, "{}", goodput("prague"));
}

#[test]
fn behind_a_queue_that_drops_it_is_as_any_tcp() {
    let tree = json!({
        "duration": "60s",
        "warmup": "20s",
        "dumbbell": { "rate": "10Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "50p" } },
        "traffic": [prague(), flow("reno", json!({ "timestamps": true }))],
    });
    let summary = run(&tree, 1);
    let goodput = |class: &str| number(&summary, &format!("classes/{class}/goodput_bps"));
    let ratio = goodput("prague") / goodput("reno");
    assert!((0.4..2.5).contains(&ratio), "{ratio}");
    assert!(number(&summary, "classes/prague/dropped") > 10.0);
    assert_eq!(number(&summary, "classes/prague/marked"), 0.0);
}
