//! A run in parts, each on a thread, is the run on one thread.

mod common;

use common::scenario;
use forebay_core::Rng;
use forebay_sim::{Scenario, summary, tables};
use serde_json::{Value, json};

/// In how many parts a run is, its summary and its tables.
fn run(scenario: &Scenario, seed: u64, threads: usize) -> (usize, Value, Vec<forebay_sim::Table>) {
    let mut run = scenario.run(seed, threads).unwrap_or_else(|error| panic!("{error}"));
    let taken = run.parts();
    // Small budgets, so that it stops and goes on in between.
    while !run.advance(50_000).expect("it fits memory").complete {}
    let mut world = run.whole().expect("nothing is written");
    let summary = summary(scenario, seed, &mut world).whole();
    (taken, summary, tables(scenario, &mut world))
}

/// Differences of a run on `threads` threads.
fn check(tree: &Value, threads: &[usize]) {
    let scenario = scenario(tree);
    let (alone, expected, expected_tables) = run(&scenario, 3, 1);
    assert_eq!(alone, 1);
    for &threads in threads {
        let (taken, found, found_tables) = run(&scenario, 3, threads);
        assert!(taken > 1, "{threads} threads: {tree:#}");
        for (key, value) in expected.as_object().expect("it is a table") {
            assert_eq!(&found[key], value, "{key} on {threads} threads of {tree:#}");
        }
        assert_eq!(found.as_object().unwrap().len(), expected.as_object().unwrap().len());
        same(&found_tables, &expected_tables);
    }
}

/// Tables hold NaN where there is nothing.
fn same(found: &[forebay_sim::Table], expected: &[forebay_sim::Table]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.name, &found.labels), (expected.name, &expected.labels));
        for ((name, found), (other, expected)) in found.columns.iter().zip(&expected.columns) {
            let bits =
                |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!((name, bits(found)), (other, bits(expected)), "{:?}", expected);
        }
    }
}

fn parking_lot(hops: u32, rate: &str) -> Value {
    let bulk = |name: &str, hop: Option<u32>, flows: u32| {
        let mut entry =
            json!({ "name": name, "kind": "bulk", "flows": flows, "start": ["0s", "1s"] });
        if let Some(hop) = hop {
            entry["hop"] = hop.into();
        }
        entry
    };
    let short = (1..=hops).map(|hop| bulk(&format!("hop{hop}"), Some(hop), 4));
    let traffic: Vec<_> = [bulk("long", None, 4)].into_iter().chain(short).collect();
    json!({
        "duration": "6s", "warmup": "1s",
        "tcp": { "congestion": "cubic", "ecn": true },
        "parking_lot": {
            "hops": hops, "rate": rate, "delay": "10ms",
            "queue": { "kind": "red", "limit": "100p", "ecn": true },
        },
        "traffic": traffic,
    })
}

#[test]
fn a_parking_lot_in_parts() {
    check(&parking_lot(6, "20Mbit"), &[2, 3, 5]);
}

#[test]
fn a_dumbbell_in_two() {
    let tree = json!({
        "duration": "4s", "tables": ["transfers", "flow_series"],
        "tcp": { "preset": "linux" },
        "dumbbell": {
            "rate": "200Mbit", "delay": "20ms", "queue": { "kind": "fq-codel", "limit": "1000p" },
        },
        "traffic": [
            { "name": "bulk", "kind": "bulk", "flows": 4, "stop": "3s" },
            { "name": "web", "kind": "web", "flows": 40 },
            { "name": "pages", "kind": "pages", "flows": 10 },
            { "name": "back", "kind": "files", "flows": 5, "direction": "reverse",
              "size": "200KB", "arrivals": "poisson", "interval": "300ms" },
            { "name": "calls", "kind": "voice", "flows": 10 },
        ],
    });
    check(&tree, &[2, 8]);
}

/// Ten nodes in a ring with chords, whose links differ in everything.
fn ring(seed: u64) -> Value {
    let mut rng = Rng::named(seed, "ring");
    let mut links = Vec::new();
    let mut below = |bound: u64| rng.below(bound);
    let chords = (0..4).map(|chord| (chord, chord + 5));
    let ring = (0..10).map(|node| (node, (node + 1) % 10));
    for (from, to) in ring.chain(chords) {
        let queue = match below(4) {
            0 => json!({ "kind": "fifo", "limit": "50p" }),
            1 => json!({ "kind": "codel" }),
            2 => json!({ "kind": "fq-codel" }),
            _ => json!({ "kind": "red", "limit": "80p" }),
        };
        let mut link = json!({
            "name": format!("l{from}-{to}"), "from": format!("n{from}"), "to": format!("n{to}"),
            "rate": format!("{}Mbit", 20 + below(80)), "delay": format!("{}ms", 4 + below(12)),
            "queue": queue,
        });
        match below(4) {
            0 => link["loss"] = json!(0.001),
            1 => link["reorder"] = json!({ "share": 0.01, "delay": "3ms" }),
            _ => {}
        }
        links.push(link);
    }
    let kinds = ["bulk", "web", "files", "voice", "poisson", "pages"];
    let mut traffic = Vec::new();
    for entry in 0..14 {
        let kind = kinds[below(kinds.len() as u64) as usize];
        let from = below(10);
        let to = (from + 1 + below(9)) % 10;
        let mut table = json!({
            "name": format!("t{entry}"), "kind": kind, "flows": 1 + below(6),
            "from": format!("n{from}"), "to": format!("n{to}"), "start": ["0s", "1s"],
        });
        if kind == "poisson" {
            table["rate"] = json!("3Mbit");
        }
        if kind == "files" {
            table["size"] = json!("100KB");
        }
        traffic.push(table);
    }
    traffic.push(json!({
        "name": "always", "kind": "bulk", "flows": 20, "from": "n0", "to": "n5",
    }));
    json!({ "duration": "5s", "warmup": "1s", "link": links, "traffic": traffic })
}

#[test]
fn any_network_in_parts() {
    for seed in 0..4 {
        check(&ring(seed), &[2, 4]);
    }
}

#[test]
fn what_cannot_be_parted_or_would_not_be_faster_takes_one_thread() {
    let mut short = parking_lot(6, "20Mbit");
    short["parking_lot"]["delay"] = json!("0ms");
    let mut changes = parking_lot(6, "20Mbit");
    changes["change"] = json!([{ "at": "2s", "leave": "long" }]);
    for tree in [short, changes, parking_lot(2, "100kbit")] {
        assert_eq!(scenario(&tree).run(1, 2).unwrap().parts(), 1, "{tree:#}");
    }
}
