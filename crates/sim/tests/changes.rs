//! Changes while a scenario runs, and worlds that are watched.

mod common;

use forebay_core::{Duration, Time};
use forebay_sim::{Scenario, World};
use serde_json::{Value, json};

fn tree(changes: Value) -> Value {
    json!({
        "duration": "4s",
        "dumbbell": {
            "rate": "5Mbit", "delay": "5ms", "loss": 0.01,
            "police": { "rate": "4900kbit", "burst": "30KB" },
            "queue": { "kind": "prio", "limit": "20p" },
        },
        "traffic": [
            { "name": "bulk", "kind": "bulk", "flows": 3 },
            { "name": "calls", "kind": "voice", "q": 1, "flows": 12 },
        ],
        "change": changes,
    })
}

fn scenario(changes: Value) -> Scenario {
    common::scenario(&tree(changes))
}

fn complete(world: &mut World) -> u64 {
    while !world.advance(10_000).unwrap().complete {}
    world.counts().0
}

#[test]
fn a_change_that_is_planned_is_one_that_is_made() {
    let changes = json!([
        { "at": "1s", "set": { "dumbbell.queue": { "kind": "codel" } } },
        { "at": "1s", "join": { "name": "late", "kind": "cbr", "rate": "1Mbit" } },
        { "at": "2s", "leave": "bulk" },
    ]);
    let planned = complete(&mut scenario(changes.clone()).world(1).unwrap());
    let mut known = scenario(json!([]));
    let mut world = known.world(1).unwrap();
    for (count, at) in [(2, 1), (3, 2)] {
        let at = Time::ZERO + Duration::from_secs(at);
        while !world.advance_to(at, 1000).unwrap().arrived {}
        let to = scenario(json!(changes.as_array().unwrap()[..count]));
        known.go_on(&to, &mut world).unwrap();
        known = to;
    }
    assert_eq!(complete(&mut world), planned);
    assert_ne!(planned, complete(&mut scenario(json!([])).world(1).unwrap()));
}

#[test]
fn the_effective_scenario_with_changes_runs_as_the_file_does() {
    let lot = json!({
        "rate": "5Mbit", "delay": "5ms", "hops": 3, "queue": { "kind": "codel" },
        "hop": { "2": { "loss": 0.01 } },
    });
    let dumbbell = json!({
        "rate": "5Mbit", "delay": "5ms", "queue": { "kind": "pie" },
        "reverse": { "queue": { "kind": "fifo", "limit": "20p" } },
    });
    let cases = [
        ("parking_lot", lot.clone(), json!([{ "queue.target": "20ms" }])),
        ("parking_lot", lot.clone(), json!([{ "rate": "2Mbit" }, { "queue.ecn": true }])),
        ("parking_lot", lot, json!([{ "hop.1.queue": { "kind": "fifo" } }, { "queue": null }])),
        ("dumbbell", dumbbell.clone(), json!([{ "rate": "2Mbit", "delay": "9ms" }])),
        // A value that is equal to the present one is no change.
        ("dumbbell", dumbbell.clone(), json!([{ "queue.target": "15ms" }])),
        ("dumbbell", dumbbell, json!([{ "rate": "500kbit" }, { "queue.alpha": 0.3 }])),
    ];
    for (table, links, sets) in cases {
        let at = |fields: &Value| -> Value {
            let fields = fields.as_object().unwrap().iter();
            fields.map(|(field, value)| (format!("{table}.{field}"), value.clone())).collect()
        };
        let sets = sets.as_array().unwrap().iter().enumerate();
        let changes = sets
            .map(|(index, fields)| json!({ "at": format!("{}s", index + 1), "set": at(fields) }));
        let mut tree = json!({
            "duration": "4s",
            "traffic": [{ "kind": "bulk", "flows": 3, "tcp": { "ecn": true } }],
            "change": changes.collect::<Vec<_>>(),
        });
        tree[table] = links;
        let file = common::scenario(&tree);
        let effective = common::scenario(&file.effective().unwrap());
        assert_eq!(effective.effective().unwrap(), file.effective().unwrap());
        let run = |scenario: &Scenario| complete(&mut scenario.world(1).unwrap());
        assert_eq!(run(&effective), run(&file), "{}", tree["change"]);
    }
}

/// Delivered payload of the flows of `bulk`, in bytes, with `stop` or without.
fn delivered(stop: Option<&str>) -> (u64, Value) {
    let mut tree = tree(json!([]));
    tree["traffic"][0]["stop"] = json!(stop);
    tree["traffic"].as_array_mut().unwrap().truncate(1);
    let mut world = common::scenario(&tree).world(1).unwrap();
    complete(&mut world);
    let flows = world.flows_now();
    (
        flows
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| flow["delivered_bytes"].as_u64().unwrap())
            .sum(),
        flows,
    )
}

#[test]
fn an_endless_transfer_ends_when_it_is_to_stop() {
    let ((whole, open), (half, ended)) = (delivered(None), delivered(Some("2s")));
    let share = half as f64 / whole as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
    let connections = |flows: &Value| flows[0]["connections"].as_u64().unwrap();
    assert_eq!((connections(&open), connections(&ended)), (1, 0));
}

#[test]
fn what_has_been_cannot_change() {
    let known = scenario(json!([{ "at": "1s", "leave": "bulk" }]));
    let mut world = known.world(1).unwrap();
    while !world.advance_to(Time::ZERO + Duration::from_secs(2), 1000).unwrap().arrived {}
    let before = world.counts();
    for (changes, said) in [
        (json!([]), "changes in the past cannot be edited"),
        (json!([{ "at": "1s", "leave": "calls" }]), "changes in the past cannot be edited"),
        (
            json!([{ "at": "1s", "leave": "bulk" }, { "at": "1500ms", "leave": "calls" }]),
            "change[1].at: must be at 2s or later, got \"1.5s\"",
        ),
    ] {
        let error = known.go_on(&scenario(changes), &mut world).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(world.counts(), before);
}

#[test]
fn watching_changes_nothing_and_shows_what_is_there() {
    let changes = json!([{ "at": "2s", "set": { "dumbbell.queue": { "kind": "codel" } } }]);
    let plain = complete(&mut scenario(changes.clone()).world(7).unwrap());
    let mut world = scenario(changes).world(7).unwrap();
    world.watch(Some(0), Duration::from_millis(10));
    let mut waited = 0;
    for instant in 1..400_u64 {
        let until = Time::ZERO + Duration::from_millis(10 * instant);
        while !world.advance_to(until, 100).unwrap().arrived {}
        let picture: Value = serde_json::from_str(&format!("{{{}}}", world.picture(5))).unwrap();
        let queues = picture["queues"].as_array().unwrap();
        let total: u64 = queues.iter().map(|queue| queue["total"].as_u64().unwrap()).sum();
        assert_eq!(total, picture["total"].as_u64().unwrap());
        let backlog = world.links_now()["bottleneck"]["packets"].as_u64().unwrap();
        assert_eq!(total, backlog);
        let shown: usize =
            queues.iter().map(|each| each["packets"].as_array().unwrap().len()).sum();
        assert_eq!(shown as u64, total.min(5));
        if instant < 200 && queues.len() == 2 {
            // Strict priority serves the higher class first.
            assert!(queues[0]["id"].as_u64() > queues[1]["id"].as_u64());
        }
        waited = waited.max(total);
    }
    assert!(waited > 5);
    assert_eq!(complete(&mut world), plain);
    let mut ends = std::collections::BTreeMap::new();
    for number in 1..8_000 {
        let Some(story) = world.story(number) else { break };
        let steps = story["steps"].as_array().unwrap();
        let at: Vec<_> = steps.iter().map(|step| step["at_ns"].as_u64().unwrap()).collect();
        assert!(at.is_sorted(), "{story}");
        let last = steps.last().unwrap();
        let end = format!("{} {}", last["what"].as_str().unwrap(), last["why"].as_str().unwrap());
        *ends.entry(end).or_insert(0) += 1;
    }
    for end in ["delivered ", "dropped aqm", "dropped policed", "lost "] {
        assert!(ends.contains_key(end), "{ends:?}");
    }
}

#[test]
fn the_series_counts_what_the_run_counts() {
    let mut world = scenario(json!([])).world(3).unwrap();
    world.watch(Some(0), Duration::from_millis(50));
    complete(&mut world);
    let (count, text) = world.points(0);
    assert_eq!(count, 80);
    let points: Vec<Value> = serde_json::from_str(&text).unwrap();
    let bytes: f64 = points
        .iter()
        .flat_map(|point| point["bps"].as_array().unwrap().clone())
        .map(|rate| rate.as_f64().unwrap() * 0.05 / 8.0)
        .sum();
    let dropped: u64 = points
        .iter()
        .flat_map(|point| point["dropped"].as_object().unwrap().values().cloned())
        .map(|count| count.as_u64().unwrap())
        .sum();
    let link = &world.links_now()["bottleneck"];
    assert_eq!(link["dropped"].as_u64().unwrap(), dropped);
    let sent = link["sent_bytes"].as_f64().unwrap();
    assert!(bytes < sent && bytes > 0.95 * sent, "{bytes} of {sent}");
    // Three flows of their own, and twelve calls as one.
    assert_eq!(points[0]["bps"].as_array().unwrap().len(), 4);
    let (last, rest) = world.points(79);
    assert_eq!((last, rest), (80, format!("[{}]", points[79])));
}
