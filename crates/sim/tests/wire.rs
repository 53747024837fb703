//! What a link does to packets beside its queue: losses by schedule, packets held back, ECN codepoints
//! changed; and
//! connections whose application writes by schedule.

mod common;

use common::{number, run};
use serde_json::{Value, json};

/// 10 Mbit/s, a packet of 1500 B in 1.2 ms, and a round trip of 20.4 ms.
fn link(traffic: Value) -> Value {
    json!({
        "duration": "30s",
        "warmup": "10s",
        "dumbbell": { "rate": "10Mbit", "delay": "10ms", "queue": { "kind": "fifo" } },
        "traffic": [traffic],
    })
}

#[test]
fn losses_follow_their_schedule() {
    let mut tree = link(json!({ "name": "udp", "kind": "cbr", "rate": "5Mbit", "size": "500B" }));
    tree["dumbbell"]["loss"] = json!({ "steps": [["0s", 0.5], ["10s", 0.0], ["20s", 0.1]] });
    // A tenth of the second half of what is measured: four standard deviations are 0.006.
    let loss = number(&run(&tree, 1), "classes/udp/loss");
    assert!((loss - 0.05).abs() < 0.006, "{loss}");
    tree["dumbbell"]["loss"] = json!({ "steps": [["0s", 1.0], ["5s", 0.0]] });
    assert_eq!(number(&run(&tree, 1), "classes/udp/loss"), 0.0);
    tree["dumbbell"]["loss"]["period"] = json!("10s");
    let loss = number(&run(&tree, 1), "classes/udp/loss");
    assert!((loss - 0.5).abs() < 0.001, "{loss}");
}

#[test]
fn a_course_in_a_file_is_that_of_its_steps() {
    let folder = std::env::temp_dir().join(format!("forebay-course-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = [
        ("rate.trace", "0s 10Mbit\n2s 3Mbit\n", json!([["0s", "10Mbit"], ["2s", "3Mbit"]])),
        ("delay.trace", "0s 10ms\n3s 20ms\n", json!([["0s", "10ms"], ["3s", "20ms"]])),
        ("loss.trace", "0s 0\n4s 0.1\n", json!([["0s", 0], ["4s", 0.1]])),
    ];
    let (mut from_files, mut from_steps) = (link(json!({ "kind": "bulk" })), json!(null));
    for (file, text, steps) in files {
        std::fs::write(folder.join(file), text).unwrap();
        let field = file.trim_end_matches(".trace");
        if from_steps.is_null() {
            from_steps = from_files.clone();
        }
        let path = folder.join(file).to_str().unwrap().to_owned();
        from_files["dumbbell"][field] = json!({ "trace": path, "period": "5s" });
        from_steps["dumbbell"][field] = json!({ "steps": steps, "period": "5s" });
    }
    assert_eq!(run(&from_files, 1)["fingerprint"], run(&from_steps, 1)["fingerprint"]);
    // A constant link is another.
    let constant = link(json!({ "kind": "bulk" }));
    assert_ne!(run(&constant, 1)["fingerprint"], run(&from_steps, 1)["fingerprint"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn draws_of_loss_have_their_mean() {
    let mut tree = link(json!({ "name": "udp", "kind": "cbr", "rate": "5Mbit", "size": "500B" }));
    tree["dumbbell"]["loss"] = json!({ "draw": [0.0, 0.4], "every": "10ms" });
    // 2000 draws of 0.2 with a standard deviation of 0.2: four of the mean are 0.018.
    let loss = number(&run(&tree, 1), "classes/udp/loss");
    assert!((loss - 0.2).abs() < 0.02, "{loss}");
}

#[test]
fn held_packets_come_later_and_nothing_is_lost() {
    let mut tree = link(json!({ "name": "udp", "kind": "cbr", "rate": "5Mbit", "size": "500B" }));
    let plain = run(&tree, 1);
    tree["dumbbell"]["reorder"] = json!({ "share": 0.1, "delay": "7ms" });
    let held = run(&tree, 1);
    assert_eq!(number(&held, "classes/udp/loss"), 0.0);
    // Four standard deviations of a tenth of 25 000 packets are 0.05 ms of mean delay.
    let more =
        number(&held, "classes/udp/mean_delay_ms") - number(&plain, "classes/udp/mean_delay_ms");
    assert!((more - 0.7).abs() < 0.06, "{more}");
    let tail =
        number(&held, "classes/udp/p99_delay_ms") - number(&plain, "classes/udp/p99_delay_ms");
    assert!((tail - 7.0).abs() < 0.2, "{tail}");
    // A share of none is another scenario and the same run: the stream is the reordering's own.
    tree["dumbbell"]["reorder"] = json!({ "share": 0.0, "delay": "7ms" });
    tree["dumbbell"]["loss"] = json!(0.01);
    let none = run(&tree, 1);
    tree["dumbbell"].as_object_mut().unwrap().remove("reorder");
    assert_eq!(none["fingerprint"], run(&tree, 1)["fingerprint"]);
}

#[test]
fn a_policer_drops_what_finds_no_tokens_and_delays_nothing() {
    let mut tree = link(json!({ "name": "udp", "kind": "cbr", "rate": "5Mbit", "size": "500B" }));
    let plain = run(&tree, 1);
    tree["dumbbell"]["police"] = json!({ "rate": "4Mbit", "burst": "5KB" });
    let policed = run(&tree, 1);
    // A fifth of the rate is beyond the contract; the bucket is empty when measuring begins.
    assert!((number(&policed, "classes/udp/loss") - 0.2).abs() < 0.001);
    assert_eq!(
        number(&policed, "classes/udp/max_delay_ms"),
        number(&plain, "classes/udp/max_delay_ms")
    );
    // With a bucket for more than ten seconds of excess, nothing is lost within ten seconds.
    tree["dumbbell"]["police"] = json!({ "rate": "4Mbit", "burst": "1.3MB" });
    tree["warmup"] = json!("0s");
    tree["duration"] = json!("10s");
    assert_eq!(number(&run(&tree, 1), "classes/udp/loss"), 0.0);
}

/// Two hops, of which the second marks whatever may be marked and waits for more than 1 ms.
fn hops(remark: Value, traffic: Value) -> Value {
    let mut hop = json!({ "1": { "rate": "100Mbit" } });
    if !remark.is_null() {
        hop["1"]["remark"] = remark;
    }
    json!({
        "duration": "30s",
        "warmup": "10s",
        "parking_lot": {
            "hops": 2,
            "rate": "10Mbit",
            "delay": "5ms",
            "queue": { "kind": "fifo" },
            "hop": { "1": hop["1"], "2": { "queue": { "kind": "step", "threshold": "1ms" } } },
        },
        "traffic": [traffic],
    })
}

#[test]
fn datagrams_have_the_codepoint_that_their_entry_names() {
    let mut udp = json!({ "name": "udp", "kind": "cbr", "rate": "11Mbit", "size": "500B" });
    let marked = |summary: &Value| number(summary, "classes/udp/marked");
    assert_eq!(marked(&run(&hops(Value::Null, udp.clone()), 1)), 0.0);
    for ecn in ["ect0", "ect1"] {
        udp["ecn"] = json!(ecn);
        assert!(marked(&run(&hops(Value::Null, udp.clone()), 1)) > 10_000.0, "{ecn}");
        // What is not named stays; what the wire makes of it is what the next queue sees.
        let other = if ecn == "ect0" { "ect1" } else { "ect0" };
        let stays = run(&hops(json!({ other: "not-ect" }), udp.clone()), 1);
        assert!(marked(&stays) > 10_000.0, "{ecn}");
        assert_eq!(marked(&run(&hops(json!({ ecn: "not-ect" }), udp.clone()), 1)), 0.0, "{ecn}");
    }
}

#[test]
fn a_hop_that_sets_ce_is_a_mark_to_the_sender_and_none_to_the_meters() {
    let flow = json!({ "name": "bulk", "kind": "bulk", "tcp": { "ecn": true } });
    let mut tree = hops(Value::Null, flow);
    tree["parking_lot"]["hop"]["2"] = json!({ "queue": { "kind": "fifo", "limit": "50p" } });
    let goodput = |tree: &Value| number(&run(tree, 1), "classes/bulk/goodput_bps");
    assert!(goodput(&tree) > 9e6);
    // Every packet is marked: one window reduction a round trip, down to a segment a timeout.
    tree["parking_lot"]["hop"]["1"]["remark"] = json!({ "ect0": "ce" });
    assert!(goodput(&tree) < 2e6);
    assert_eq!(number(&run(&tree, 1), "classes/bulk/marked"), 0.0);
    // The reverse direction has none unless it names one; acknowledgments are not ECN-capable.
    tree["parking_lot"]["hop"]["1"]["remark"] = json!({ "not-ect": "ce" });
    assert!(goodput(&tree) > 9e6);
}

#[test]
fn three_packets_that_overtake_look_like_a_loss() {
    // At most two packets overtake within 2 ms, eight within 10 ms (RFC 5681, section 3.2).
    let mut tree = link(json!({ "name": "bulk", "kind": "bulk" }));
    tree["tcp"] = json!({ "max_window": 20 });
    let plain = number(&run(&tree, 1), "classes/bulk/goodput_bps");
    for (delay, repeats) in [("2ms", false), ("10ms", true)] {
        tree["dumbbell"]["reorder"] = json!({ "share": 0.01, "delay": delay });
        let summary = run(&tree, 1);
        assert_eq!(number(&summary, "links/bottleneck/wire_lost"), 0.0);
        let retransmissions = number(&summary, "classes/bulk/retransmissions");
        assert_eq!(retransmissions > 0.0, repeats, "{delay}: {retransmissions}");
        let goodput = number(&summary, "classes/bulk/goodput_bps") / plain;
        assert_eq!(goodput < 0.95, repeats, "{delay}: {goodput}");
    }
}

#[test]
fn what_is_written_by_schedule_shares_a_connection() {
    let writes = json!([["0s", "1MB"], ["15s", "300KB"], ["16s", "200KB"]]);
    let summary = run(&link(json!({ "name": "app", "kind": "writes", "writes": writes })), 1);
    // Of one transfer, whose end is that of its connection.
    assert_eq!(number(&summary, "classes/app/completed"), 1.0);
    let seconds = number(&summary, "classes/app/mean_completion_s");
    assert!((16.1..16.5).contains(&seconds), "{seconds}");
    // What was written after the warm-up, in 20 s.
    assert_eq!(number(&summary, "classes/app/goodput_bps"), 500e3 * 8.0 / 20.0);
}
