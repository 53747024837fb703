//! Boxes in front of links, in whole networks.

mod common;

use common::{number, run};
use serde_json::{Value, json};

/// A low transfer of 15 MB, in whose way a high one of 10 MB comes after two seconds, for eight.
fn interrupted(link: Value) -> Value {
    let mut dumbbell = json!({
        "rate": "10Mbit", "delay": "50ms", "queue": { "kind": "prio", "limit": "240p" },
    });
    dumbbell.as_object_mut().unwrap().extend(link.as_object().unwrap().clone());
    json!({
        "duration": "40s",
        "tcp": {
            "receive_window": "256KiB", "congestion": "rfc2581", "slow_start_after_idle": false,
            "min_rto": "1s",
        },
        "dumbbell": dumbbell,
        "traffic": [
            { "name": "low", "kind": "files", "size": "15MB", "count": 1 },
            { "name": "high", "kind": "files", "size": "10MB", "count": 1, "start": "2s", "q": 1,
              "dscp": "EF", "port": 443 },
        ],
    })
}

#[test]
fn a_frozen_sender_neither_times_out_nor_sends_again() {
    let spq = run(&interrupted(json!({})), 1);
    let aspq = run(&interrupted(json!({ "box": { "kind": "aspq" } })), 1);
    assert!(number(&spq, "classes/low/timeouts") >= 2.0);
    assert_eq!(number(&spq, "classes/low/probes"), 0.0);
    assert_eq!(number(&aspq, "classes/low/timeouts"), 0.0);
    assert_eq!(number(&aspq, "classes/low/retransmissions"), 0.0);
    let probes = number(&aspq, "classes/low/probes");
    assert!((1.0..=4.0).contains(&probes), "{probes}");
    let count = |key: &str| number(&aspq, &format!("boxes/bottleneck/{key}"));
    assert_eq!([count("freezes"), count("releases"), count("made")], [1.0, 1.0, 1.0]);
    assert_eq!(count("probes_answered"), probes);
    // Both have 25 MB through 10 Mbit/s, beside two slow starts of about half a second.
    let end = |summary: &Value| number(summary, "classes/low/mean_completion_s");
    let least = 25e6 * 8.0 / 10e6 * 1500.0 / 1460.0;
    assert!(end(&aspq) - least < 1.0, "{}", end(&aspq));
    assert!(end(&spq) > end(&aspq) + 0.5, "{} {}", end(&spq), end(&aspq));
    assert_eq!(number(&aspq, "classes/high/mean_completion_s").floor(), 8.0);
}

#[test]
fn a_priority_is_told_by_class_codepoint_or_port() {
    for priority in [json!("class"), json!({ "dscp": [["EF"]] }), json!({ "ports": [[443]] })] {
        let guard = json!({ "box": { "kind": "aspq", "priority": priority } });
        let summary = run(&interrupted(guard), 1);
        assert_eq!(number(&summary, "boxes/bottleneck/freezes"), 1.0, "{priority}");
    }
    let wrong = json!({ "box": { "kind": "aspq", "priority": { "ports": [[80]] } } });
    assert_eq!(number(&run(&interrupted(wrong), 1), "boxes/bottleneck/freezes"), 0.0);
}

#[test]
fn datagrams_of_high_priority_freeze_until_they_have_been_silent() {
    let mut tree = interrupted(json!({ "box": { "kind": "aspq", "idle_timeout": "300ms" } }));
    tree["traffic"][1] = json!({
        "name": "high", "kind": "cbr", "rate": "9.5Mbit", "size": "1500B", "start": "2s",
        "stop": "5s", "q": 1,
    });
    let summary = run(&tree, 1);
    assert_eq!(number(&summary, "classes/low/timeouts"), 0.0);
    assert_eq!(number(&summary, "boxes/bottleneck/releases"), 1.0);
    // 15 MB, three seconds, and 300 ms of silence.
    let least = 15e6 * 8.0 / 10e6 * 1500.0 / 1460.0 + 3.3;
    let end = number(&summary, "classes/low/mean_completion_s");
    assert!((0.0..0.5).contains(&(end - least)), "{end} {least}");
}

/// Goodput in bit/s of a low-priority bulk transfer behind the box `guard` and beside the traffic
/// `high`, and the summary.
fn beside(high: &Value, guard: &Value) -> (f64, Value) {
    let mut tree = interrupted(json!({ "box": guard }));
    tree["traffic"] = json!([{ "name": "low", "kind": "bulk" }, high]);
    let summary = run(&tree, 1);
    (number(&summary, "classes/low/goodput_bps"), summary)
}

#[test]
fn a_partial_freeze_uses_what_high_priority_leaves() {
    // Datagrams take half of the link from 2 to 32 s. The box takes the link's rate for its own.
    let high = json!({
        "name": "high", "kind": "cbr", "rate": "5Mbit", "size": "1500B", "start": "2s",
        "stop": "32s", "q": 1,
    });
    let [strict, always, partial] = [
        json!({ "kind": "none" }),
        json!({ "kind": "aspq" }),
        json!({ "kind": "aspq", "freeze": "when-full" }),
    ]
    .map(|guard| {
        let (goodput, summary) = beside(&high, &guard);
        assert_eq!(number(&summary, "classes/low/timeouts"), 0.0, "{guard}");
        assert_eq!(number(&summary, "classes/high/loss"), 0.0, "{guard}");
        goodput
    });
    assert!(always < 0.5 * strict, "{always} {strict}");
    assert!(partial > 0.9 * strict, "{partial} {strict}");
}

#[test]
fn a_partial_freeze_uses_pauses_that_the_idle_timeout_does_not_see() {
    let high = json!({
        "name": "high", "kind": "on-off", "rate": "12Mbit", "size": "1500B", "on": "500ms",
        "off": "500ms", "times": "fixed", "q": 1,
    });
    let (always, _) = beside(&high, &json!({ "kind": "aspq" }));
    assert!(always < 0.2e6, "{always}");
    let (partial, _) = beside(&high, &json!({ "kind": "aspq", "freeze": "when-full" }));
    assert!(partial > 1e6, "{partial}");
}

#[test]
fn strict_priority_ends_the_connection_and_the_controller_saves_it() {
    for (guard, aborted) in [("none", 1.0), ("aspq", 0.0)] {
        let mut tree = interrupted(json!({ "box": { "kind": guard } }));
        tree["tcp"]["max_retransmissions"] = json!(3);
        tree["traffic"][1]["size"] = json!("40MB");
        tree["duration"] = json!("60s");
        let summary = run(&tree, 1);
        assert_eq!(number(&summary, "classes/low/aborted"), aborted, "{guard}");
        assert_eq!(number(&summary, "classes/low/completed"), 1.0 - aborted, "{guard}");
    }
}

#[test]
fn no_box_costs_nothing_and_one_that_has_nothing_to_do_changes_nothing() {
    let plain = run(&interrupted(json!({})), 1);
    let none = run(&interrupted(json!({ "box": { "kind": "none" } })), 1);
    for key in ["fingerprint", "events", "classes"] {
        assert_eq!(plain[key], none[key]);
    }
    let mut same = interrupted(json!({ "box": { "kind": "aspq" } }));
    same["traffic"][1]["q"] = json!(0);
    let mut without = interrupted(json!({}));
    without["traffic"][1]["q"] = json!(0);
    assert_eq!(run(&same, 1)["classes"], run(&without, 1)["classes"]);
}

#[test]
fn a_box_stands_on_either_direction_and_passes_other_flows() {
    // Uploads are held back by the box before the uplink, downloads are not.
    let mut tree = interrupted(json!({ "reverse": { "box": { "kind": "aspq" },
        "queue": { "kind": "prio", "limit": "240p" } } }));
    for (entry, direction) in [(0, "reverse"), (1, "reverse")] {
        tree["traffic"][entry]["direction"] = json!(direction);
    }
    let download = json!({ "name": "other", "kind": "files", "size": "1MB", "count": 1 });
    tree["traffic"].as_array_mut().unwrap().push(download);
    let summary = run(&tree, 1);
    assert_eq!(number(&summary, "boxes/bottleneck-reverse/freezes"), 1.0);
    assert_eq!(number(&summary, "classes/low/timeouts"), 0.0);
    assert!(number(&summary, "classes/other/mean_completion_s") < 3.0);
}
