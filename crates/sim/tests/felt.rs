//! What people feel: a video's picture, and round trips under load.

mod common;

use common::{number, run};
use serde_json::{Value, json};

fn home(queue: Value, traffic: &[Value]) -> Value {
    json!({
        "duration": "60s", "warmup": "30s",
        "link": [{ "name": "down", "from": "net", "to": "home", "rate": "20Mbit", "delay": "20ms",
                   "queue": queue }],
        "traffic": traffic,
    })
}

fn bulk() -> Value {
    json!({ "name": "load", "kind": "bulk", "from": "net", "to": "home", "flows": 3, "start": "1s" })
}

fn video() -> Value {
    json!({ "name": "video", "kind": "adaptive-video", "from": "net", "to": "home" })
}

fn probes() -> Value {
    json!({ "name": "probes", "kind": "responsiveness", "from": "net", "to": "home" })
}

#[test]
fn a_video_that_still_fills_its_buffer_is_no_better_than_its_highest_rate() {
    let tree = home(json!({ "kind": "fifo" }), &[video()]);
    let mut early = tree.clone();
    early["warmup"] = json!("1s");
    for (tree, filling) in [(tree, false), (early, true)] {
        let found = run(&tree, 1);
        let goodput = number(&found, "classes/video/goodput_bps");
        assert_eq!(goodput > 6e6, filling, "{goodput}");
        assert!(number(&found, "classes/video/rendition_bps") <= 6e6);
        assert!(number(&found, "classes/video/qoe_bps") <= 6e6);
        assert_eq!(number(&found, "classes/video/stall_ratio"), 0.0);
    }
}

#[test]
fn beside_downloads_a_fair_queue_gives_a_better_picture() {
    let found = |queue| run(&home(queue, &[video(), bulk()]), 1);
    let [fifo, fair] =
        [found(json!({ "kind": "fifo", "limit": "1000p" })), found(json!({ "kind": "fq-codel" }))];
    let of = |found: &Value| number(found, "classes/video/qoe_bps");
    assert!(of(&fair) > of(&fifo), "{} {}", of(&fair), of(&fifo));
    assert_eq!(fair["classes"]["load"]["qoe_bps"], Value::Null);
    assert_eq!(fair["flows"][0]["qoe_bps"], fair["classes"]["video"]["qoe_bps"]);
}

#[test]
fn an_idle_link_has_the_round_trips_of_its_propagation() {
    let idle = run(&home(json!({ "kind": "fifo" }), &[probes()]), 1);
    // 40 ms and the transmission of two small packets.
    let rpm = number(&idle, "classes/probes/rpm");
    assert!((1490.0..=1500.0).contains(&rpm), "{rpm}");
    let loaded = |queue| run(&home(queue, &[probes(), bulk()]), 1);
    let [fifo, fair] = [loaded(json!({ "kind": "fifo" })), loaded(json!({ "kind": "fq-codel" }))]
        .map(|found| number(&found, "classes/probes/rpm"));
    assert!(fifo < 0.5 * rpm && fair > 0.8 * rpm, "{fifo} {fair} {rpm}");
}

#[test]
fn delay_variation_leaves_propagation_out() {
    let call = json!({ "name": "game", "kind": "cbr", "from": "net", "to": "home",
                       "rate": "48kbit", "size": "100B" });
    let found = run(&home(json!({ "kind": "fifo", "limit": "200p" }), &[call, bulk()]), 1);
    let of = |key: &str| number(&found, &format!("classes/game/{key}"));
    let variation = of("p99_delay_variation_ms");
    // All that is left out is the propagation and the transmission, even of a standing queue.
    let left_out = of("p99_delay_ms") - variation;
    assert!((20.0..21.0).contains(&left_out), "{left_out} of {variation}");
}
