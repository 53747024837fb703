//! Loads that vary: courses of sources.

mod common;

use common::{number, run, scenario};
use serde_json::{Value, json};

/// 20 s of one source on 20 Mbit/s, with `field` as `value`.
fn load(kind: &str, field: &str, value: &Value) -> Value {
    let mut tree = json!({
        "duration": "20s",
        "tables": ["flow_series"],
        "dumbbell": { "rate": "20Mbit", "delay": "5ms" },
        "traffic": [{ "name": "load", "kind": kind }],
    });
    tree["traffic"][0][field] = value.clone();
    if kind == "files" {
        tree["traffic"][0]["arrivals"] = json!("poisson");
        tree["traffic"][0]["size"] = json!("20KB");
    }
    tree
}

#[test]
fn a_course_of_one_value_is_that_value() {
    for (kind, field, value) in [
        ("cbr", "rate", "3Mbit"),
        ("poisson", "rate", "3Mbit"),
        ("on-off", "rate", "3Mbit"),
        ("files", "interval", "50ms"),
    ] {
        let fingerprint = |value: Value| run(&load(kind, field, &value), 1)["fingerprint"].clone();
        let constant = fingerprint(json!(value));
        for course in [
            json!({ "steps": [["0s", value], ["3s", value]], "period": "4s" }),
            json!({ "draw": [value], "every": "700ms" }),
        ] {
            assert_eq!(fingerprint(course.clone()), constant, "{kind}: {course}");
        }
    }
}

#[test]
fn the_load_follows_its_course() {
    // 2 Mbit/s for 5 s, none for 5 s, 6 Mbit/s for 10 s: 8.75 MB of IP packets of 1000 B.
    let steps = json!({ "steps": [["0s", "2Mbit"], ["5s", "0bit"], ["10s", "6Mbit"]] });
    for (kind, spread) in [("cbr", 0.001), ("poisson", 0.05)] {
        let summary = run(&load(kind, "rate", &steps), 3);
        let sent = number(&summary, "classes/load/offered");
        assert!((sent / 8750.0 - 1.0).abs() < spread, "{kind}: {sent}");
    }
    let pause = json!({ "steps": [["0s", "2Mbit"], ["5s", "0bit"]] });
    let summary = run(&load("cbr", "rate", &pause), 1);
    assert!((1249.0..=1251.0).contains(&number(&summary, "classes/load/offered")));
    // On half of the time.
    let summary = run(&load("on-off", "rate", &steps), 3);
    let sent = number(&summary, "classes/load/offered");
    assert!((sent / 8750.0 - 1.0).abs() < 0.25, "{sent}");
    // 100 files in the first 10 s, and 25 after.
    let steps = json!({ "steps": [["0s", "100ms"], ["10s", "400ms"]] });
    let files = number(&run(&load("files", "interval", &steps), 1), "classes/load/completed");
    assert!((90.0..=160.0).contains(&files), "{files}");
}

#[test]
fn a_trace_of_a_load_is_a_file_of_the_scenario() {
    let folder = std::env::temp_dir().join(format!("forebay-loads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("load.trace");
    let tree = load("poisson", "rate", &json!({ "trace": file }));
    std::fs::write(&file, "0s 2Mbit\n5s 0bit\n10s 6Mbit\n").unwrap();
    let steps = json!({ "steps": [["0s", "2Mbit"], ["5s", "0bit"], ["10s", "6Mbit"]] });
    let by_steps = run(&load("poisson", "rate", &steps), 1);
    assert_eq!(run(&tree, 1)["fingerprint"], by_steps["fingerprint"]);
    let found = &scenario(&tree).resolve().unwrap();
    assert_eq!(found["files"], json!([{ "file": file, "path": "traffic[0].rate.trace" }]));
    assert_eq!(found["traffic"][0]["open_loop"], false);
    let before = scenario(&tree).identity().unwrap();
    std::fs::write(&file, "0s 2Mbit\n5s 0bit\n10s 7Mbit\n").unwrap();
    assert_ne!(scenario(&tree).identity().unwrap(), before);
    std::fs::write(&file, "0s 2Mbit\n5s two\n").unwrap();
    let message = scenario(&tree).effective().unwrap_err().to_string();
    assert!(message.starts_with("traffic[0].rate.trace: "), "{message}");
    assert!(message.contains("load.trace: line 2: "), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn flows_of_an_entry_share_its_draws_and_seeds_change_them() {
    let mut tree = load("cbr", "rate", &json!({ "draw": ["1Mbit", "4Mbit"], "every": "1s" }));
    tree["traffic"][0]["flows"] = json!(2);
    let offered = |seed| -> Vec<f64> {
        let summary = run(&tree, seed);
        let flows = summary["flows"].as_array().unwrap();
        flows.iter().map(|flow| flow["delivered_bytes"].as_f64().unwrap()).collect()
    };
    let (one, other) = (offered(1), offered(2));
    assert!((one[0] - one[1]).abs() < 3000.0, "{one:?}");
    assert!((one[0] - other[0]).abs() > 3000.0, "{one:?} {other:?}");
}

#[test]
fn wrong_courses_are_refused() {
    for (field, course, expected) in [
        ("rate", json!("0bit"), "traffic[0].rate: must be above 0"),
        ("rate", json!({ "steps": [] }), "traffic[0].rate.steps: must begin"),
        ("rate", json!({ "steps": [["0s", "0bit"]] }), "traffic[0].rate: must hold a rate"),
        ("rate", json!({ "draw": ["0bit"], "every": "1s" }), "traffic[0].rate.draw: must be above"),
        ("rate", json!({ "trace": "no.trace" }), "traffic[0].rate.trace: "),
        ("rate", json!({ "stops": [] }), "traffic[0].rate.stops: unknown field"),
    ] {
        let base = std::path::Path::new(".");
        let registry = forebay_sim::Registry::builtin().into();
        let tree = load("cbr", field, &course);
        let read = forebay_sim::Scenario::read(&tree, base, &registry);
        let error = read.and_then(|scenario| scenario.effective()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{course}: {error}");
    }
    let mut tree = load("cbr", "rate", &json!({ "draw": ["1Mbit"], "every": "1ns" }));
    tree["traffic"][0]["flows"] = json!(3);
    let registry = forebay_sim::Registry::builtin().into();
    let read = forebay_sim::Scenario::read(&tree, std::path::Path::new("."), &registry);
    let error = read.err().unwrap().to_string();
    assert!(error.starts_with("traffic[0].rate.every: 60000000000 draws"), "{error}");
    let closed = load("files", "interval", &json!({ "steps": [["0s", "0s"]] }));
    let error = scenario(&closed).effective().unwrap_err().to_string();
    assert!(error.starts_with("traffic[0].interval.steps: must be above 0s"), "{error}");
}
