//! Profiles at the senders' edge, and what is measured of losses and levels.

mod common;

use common::{complete, number, run, scenario};
use forebay_sim::tables;
use serde_json::{Value, json};

/// Two entries of a 4 Mbit/s flow each and a TCP, into 10 Mbit/s that never drop level 0.
fn two_senders(profile: Value) -> Value {
    let cbr = |name| {
        json!({
            "name": name, "kind": "cbr", "rate": "4Mbit", "size": "1000B", "profile": "edge",
            "start": ["0s", "10ms"],
        })
    };
    let wred = json!({ "kind": "wred", "drop_strategy": "drop-from-queue" });
    json!({
        "duration": "20s",
        "warmup": "4s",
        "dumbbell": { "rate": "10Mbit", "delay": "5ms", "queue": wred },
        "profile": { "edge": profile },
        "traffic": [cbr("a"), cbr("b"), { "name": "bulk", "kind": "bulk", "drop_precedence": 1 }],
    })
}

#[test]
fn a_profile_meters_all_that_name_it_or_each_flow() {
    for (per, wanted) in [("aggregate", 3.0), ("flow", 6.0)] {
        let profile = json!({ "kind": "token-bucket", "rate": "3Mbit", "per": per });
        let summary = run(&two_senders(profile), 1);
        // Acknowledgments are of level 0, but go the other way.
        let level =
            |level| number(&summary, &format!("queues/bottleneck/drop_precedence/{level}/offered"));
        let in_profile = level(0) * 8000.0 / 16.0 / 1e6;
        assert!((in_profile - wanted).abs() < 0.02, "{per}: {in_profile}");
        let offered = number(&summary, "queues/bottleneck/offered");
        assert_eq!(level(0) + level(1), offered);
        let lost =
            |level| number(&summary, &format!("queues/bottleneck/drop_precedence/{level}/dropped"));
        assert_eq!(lost(0), 0.0);
        assert_eq!(lost(1), number(&summary, "queues/bottleneck/dropped"));
        assert!(lost(1) > 50.0);
    }
}

#[test]
fn a_sender_without_a_profile_runs_as_if_there_were_none() {
    let mut tree = two_senders(json!({ "kind": "tsw", "rate": "3Mbit" }));
    for entry in tree["traffic"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("profile");
    }
    let with = run(&tree, 1);
    tree.as_object_mut().unwrap().remove("profile");
    assert_eq!(with["fingerprint"], run(&tree, 1)["fingerprint"]);
}

#[test]
fn the_effective_scenario_has_the_profile_and_runs_alike() {
    let tree = two_senders(json!({ "kind": "car", "rate": "3Mbit" }));
    let whole = scenario(&tree).effective().unwrap();
    let wanted = json!({
        "kind": "car", "rate": "3Mbit", "burst": "562.5KB", "extended_burst": "1.125MB",
        "per": "aggregate",
    });
    assert_eq!(whole["profile"]["edge"], wanted);
    assert_eq!(run(&whole, 2)["fingerprint"], run(&tree, 2)["fingerprint"]);
}

#[test]
fn tail_drop_on_a_clock_loses_every_third_packet() {
    // 15 Mbit/s into 10: of one regular flow exactly one packet in three is lost, by itself.
    let tree = json!({
        "duration": "4s",
        "warmup": "1s",
        "dumbbell": { "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "10p" } },
        "traffic": [{ "name": "clock", "kind": "cbr", "rate": "15Mbit", "size": "1000B" }],
    });
    let summary = run(&tree, 1);
    let of = |path: &str| number(&summary, &format!("classes/clock/{path}"));
    assert_eq!(of("loss_period/octaves/1"), of("dropped"));
    assert_eq!(of("loss_period/count"), of("dropped"));
    assert_eq!(of("loss_distance/octaves/3-4"), of("dropped") - 1.0);
    assert!((of("loss_distance/mean") - 3.0).abs() < 0.01);
}

#[test]
fn every_loss_is_in_one_period_wherever_it_is_dropped() {
    for victim in ["last", "first", "random"] {
        let mut tree = two_senders(json!({ "kind": "tsw", "rate": "3Mbit" }));
        tree["dumbbell"]["queue"]["victim"] = json!(victim);
        let summary = run(&tree, 1);
        for class in ["a", "b", "bulk"] {
            let of = |path: &str| number(&summary, &format!("classes/{class}/{path}"));
            let lost = of("loss_period/count") * of("loss_period/mean");
            assert!((lost - of("dropped")).abs() < 1e-6, "{victim} {class}");
            assert_eq!(of("loss_distance/count"), of("dropped") - 1.0, "{victim} {class}");
        }
    }
}

#[test]
fn a_queue_s_variables_are_summed_up_over_what_is_measured() {
    let mut tree = two_senders(json!({ "kind": "tsw", "rate": "3Mbit" }));
    tree["sample"] = json!("1s");
    let scenario = scenario(&tree);
    let mut world = scenario.world(1).unwrap();
    complete(&mut world);
    let summary = forebay_sim::summary(&scenario, 1, &mut world).whole();
    let table =
        tables(&scenario, &mut world).into_iter().find(|table| table.name == "queue").unwrap();
    let (_, values) = table.columns.iter().find(|(name, _)| name == "average_queue").unwrap();
    let measured = &values[4..];
    assert_eq!((values.len(), measured.len()), (20, 16));
    let mean = measured.iter().sum::<f64>() / 16.0;
    let variance = measured.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / 16.0;
    let of =
        |name: &str| number(&summary, &format!("queues/bottleneck/variables/average_queue/{name}"));
    assert!((of("mean") - mean).abs() < 1e-9 && mean > 10.0);
    assert!((of("std") - variance.sqrt()).abs() < 1e-9 && of("std") > 0.0);
    assert_eq!(of("max"), measured.iter().copied().fold(0.0, f64::max));
}
