//! Meaning of a scenario: resolved links, queues put on them, identities.

mod common;

use common::scenario;
use forebay_sim::scenario::with_queue;
use forebay_sim::{Registry, Scenario, summary};
use serde_json::{Value, json};
use std::path::Path;

fn base() -> &'static Path {
    Path::new(".")
}

fn dumbbell() -> Value {
    json!({
        "duration": "1s",
        "dumbbell": { "rate": "10Mbit", "delay": "5ms", "queue": { "kind": "fifo" } },
        "traffic": [{ "kind": "bulk" }],
    })
}

fn lot() -> Value {
    json!({
        "duration": "1s",
        "parking_lot": {
            "hops": 3, "rate": "10Mbit", "queue": { "kind": "fifo" },
            "reverse": { "rate": "5Mbit", "queue": { "kind": "codel" } },
            "hop": { "2": { "rate": "2Mbit", "queue": { "kind": "pie" }, "reverse": { "delay": "7ms" } } },
        },
        "traffic": [{ "kind": "bulk", "flows": 2 }, { "kind": "voice", "hop": 2 }],
    })
}

fn graph() -> Value {
    let link = |name: &str, from: &str, to: &str| json!({ "name": name, "from": from, "to": to, "rate": "10Mbit", "queue": { "kind": "fifo" } });
    json!({
        "duration": "1s",
        "link": [link("ab", "a", "b"), link("bc", "b", "c")],
        "traffic": [{ "kind": "web", "from": "a", "to": "c" }],
    })
}

fn resolved(tree: &Value) -> Value {
    scenario(tree).resolve().unwrap()
}

fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a Value> {
    list.as_array().unwrap().iter().map(|entry| &entry[field]).collect()
}

#[test]
fn every_link_of_a_summary_is_resolved_in_its_order_and_takes_a_queue() {
    let taken = json!({ "kind": "gsp" });
    for tree in [dumbbell(), lot(), graph()] {
        let scenario = scenario(&tree);
        let mut world = scenario.world(1).unwrap();
        common::complete(&mut world);
        let summary = summary(&scenario, 1, &mut world).whole();
        let found = resolved(&tree);
        let names = each(&found["links"], "name");
        assert_eq!(names, summary["links"].as_object().unwrap().keys().collect::<Vec<_>>());
        for (index, name) in names.iter().enumerate() {
            let changed =
                with_queue(&tree, base(), name.as_str(), &taken, &Registry::builtin().into())
                    .unwrap();
            let after = resolved(&changed);
            for (other, (before, after)) in found["links"]
                .as_array()
                .unwrap()
                .iter()
                .zip(after["links"].as_array().unwrap())
                .enumerate()
            {
                if other == index {
                    assert_eq!(after["queue"]["kind"], "gsp", "{name}");
                    let path =
                        after["queue_path"].as_str().unwrap().replace("[", "/").replace("]", "");
                    let written = changed.pointer(&format!("/{}", path.replace('.', "/")));
                    assert_eq!(written, Some(&taken), "{name}");
                } else {
                    assert_eq!(after["queue"], before["queue"], "{name}");
                }
            }
        }
    }
}

#[test]
fn without_a_name_the_queue_goes_where_only_one_place_makes_sense() {
    let gsp = json!({ "kind": "gsp" });
    let put = |tree: &Value| with_queue(tree, base(), None, &gsp, &Registry::builtin().into());
    let compared = |tree: &Value| scenario(tree).compared_link(None).unwrap();
    let changed = put(&dumbbell()).unwrap();
    assert_eq!(changed["dumbbell"]["queue"], json!({ "kind": "gsp" }));
    assert_eq!(compared(&dumbbell()), "bottleneck");
    // Every hop forward, those with a queue of their own too; nothing backward.
    let changed = resolved(&put(&lot()).unwrap());
    let kinds: Vec<_> =
        changed["links"].as_array().unwrap().iter().map(|link| &link["queue"]["kind"]).collect();
    assert_eq!(kinds, ["gsp", "codel", "gsp", "codel", "gsp", "codel"]);
    assert_eq!(changed["links"][2]["rate_bps"], 2_000_000);
    assert_eq!(changed["links"][0]["shares_with"], json!(["hop2", "hop3"]));
    assert_eq!(compared(&lot()), "hop1");
    let error = put(&graph()).unwrap_err().to_string();
    assert!(error.starts_with("compare.link: say on which link"), "{error}");
    assert!(error.contains("one of \"ab\", \"bc\""), "{error}");
    let mut chosen = graph();
    chosen["compare"] = json!({ "link": "bc", "disciplines": ["fifo"] });
    assert_eq!(put(&chosen).unwrap()["link"][1]["queue"], json!({ "kind": "gsp" }));
    assert_eq!(compared(&chosen), "bc");
    let registry = Registry::builtin().into();
    let unknown = with_queue(&lot(), base(), Some("hop9"), &json!({ "kind": "gsp" }), &registry);
    let error = unknown.unwrap_err().to_string();
    assert!(error.contains("no link is called \"hop9\"; one of \"hop1\", \"hop2\""), "{error}");
}

#[test]
fn hops_of_a_parking_lot_may_differ() {
    let found = resolved(&lot());
    let links = &found["links"];
    assert_eq!(
        each(links, "name"),
        ["hop1", "hop1-reverse", "hop2", "hop2-reverse", "hop3", "hop3-reverse"]
    );
    let rates = [10, 5, 2, 5, 10, 5].map(|mbit: u64| json!(mbit * 1_000_000));
    assert_eq!(each(links, "rate_bps"), rates.iter().collect::<Vec<_>>());
    assert_eq!(links[3]["delay_s"], 0.007);
    assert_eq!(links[3]["path"], "parking_lot.hop.2.reverse");
    assert_eq!(links[3]["queue_path"], "parking_lot.reverse.queue");
    assert_eq!(links[2]["queue_path"], "parking_lot.hop.2.queue");
    assert_eq!(links[0]["queue_path"], "parking_lot.queue");
    assert_eq!(links[0]["shares_with"], json!(["hop3"]));
    assert_eq!(found["traffic"][1]["links"], json!(["hop2"]));
    let effective = scenario(&lot()).effective().unwrap();
    assert_eq!(effective["parking_lot"]["hop"]["2"]["queue"]["kind"], "pie");
    assert_eq!(scenario(&effective).effective().unwrap(), effective);
}

#[test]
fn a_source_states_how_it_sends_and_by_what_it_is_judged() {
    let tree = json!({
        "duration": "1s",
        "dumbbell": { "rate": { "trace": "fading.trace.gz" } },
        "traffic": [
            { "kind": "pages", "class": "web" },
            { "kind": "adaptive-video" },
            { "kind": "bulk", "direction": "reverse" },
            { "kind": "voice" },
            { "kind": "pcap", "file": "office.pcap.gz", "source": "10.88.1.0/24" },
        ],
    });
    let found = resolved(&tree);
    let traffic = &found["traffic"];
    assert_eq!(each(traffic, "transport"), ["tcp", "tcp", "tcp", "datagrams", "datagrams"]);
    let judged = ["completion", "playback", "goodput", "mos", "delay-and-loss"];
    assert_eq!(each(traffic, "judged_by"), judged);
    assert_eq!(each(traffic, "open_loop"), [false, false, false, false, true]);
    assert_eq!(traffic[0]["class"], "web");
    assert_eq!((&traffic[2]["from"], &traffic[2]["to"]), (&json!("right"), &json!("left")));
    assert_eq!(traffic[2]["links"], json!(["bottleneck-reverse"]));
    assert_eq!(
        found["files"],
        json!([
            { "file": "fading.trace.gz", "path": "dumbbell.rate.trace" },
            { "file": "office.pcap.gz", "path": "traffic[4].file" },
        ])
    );
    assert_eq!(found["links"][0]["rate_bps"], Value::Null);
}

#[test]
fn tcp_counts_for_every_source_that_transfers() {
    for kind in ["pages", "adaptive-video", "bulk", "files", "web"] {
        let tree = |window: u32| {
            json!({
                "duration": "60s",
                "dumbbell": { "rate": "10Mbit", "delay": "20ms", "queue": { "kind": "fifo" } },
                "tcp": { "initial_window": window },
                "traffic": [{ "kind": kind, "flows": 3 }],
            })
        };
        let fingerprint = |tree: &Value| common::run(tree, 1)["fingerprint"].clone();
        let identity = |tree: &Value| scenario(tree).identity().unwrap();
        let (one, forty) = (tree(1), tree(40));
        assert_ne!(fingerprint(&one), fingerprint(&forty), "{kind}");
        assert_ne!(identity(&one), identity(&forty), "{kind}");
        let effective = scenario(&one).effective().unwrap();
        assert_eq!(fingerprint(&effective), fingerprint(&one), "{kind}");
        assert_eq!(identity(&effective), identity(&one), "{kind}");
    }
}

#[test]
fn parameters_of_the_presets_stack_stay_with_the_preset() {
    let stack = |own: Value| {
        let mut tree = dumbbell();
        tree["tcp"] = json!({ "preset": "linux", "stack": { "gso_max_segs": 1 } });
        tree["traffic"][0]["tcp"] = own;
        scenario(&tree).effective().unwrap()["traffic"][0]["tcp"]["stack"].clone()
    };
    assert_eq!(stack(json!({}))["gso_max_segs"], 1);
    assert_eq!(stack(json!({ "preset": "linux" }))["gso_max_segs"], 1);
    assert_eq!(stack(json!({ "preset": "rfc" }))["kind"], "standard");
    assert_eq!(stack(json!({ "preset": "rfc", "stack": "linux-6.1" }))["gso_max_segs"], 65_535);
}

#[test]
fn an_identity_is_of_what_runs() {
    let identity = |tree: &Value| scenario(tree).identity().unwrap();
    let known = identity(&dumbbell());
    assert_eq!(known.len(), 64);
    for (field, value) in [
        ("seed", json!(7)),
        ("title", json!("another")),
        ("compare", json!({ "disciplines": ["fifo", "codel"] })),
        ("tune", json!({ "minimize": "classes.bulk.loss" })),
    ] {
        let mut tree = dumbbell();
        tree[field] = value;
        assert_eq!(identity(&tree), known, "{field}");
    }
    let mut tree = dumbbell();
    tree["dumbbell"]["delay"] = json!("6ms");
    assert_ne!(identity(&tree), known);
}

#[test]
fn an_identity_holds_the_content_of_files() {
    let folder = std::env::temp_dir().join(format!("forebay-identity-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut tree = dumbbell();
    let table = tree["dumbbell"].as_object_mut().unwrap();
    table.insert("rate".into(), json!({ "trace": "link.trace" }));
    let identity = |text: &str| {
        std::fs::write(folder.join("link.trace"), text).unwrap();
        Scenario::read(&tree, &folder, &Registry::builtin().into()).unwrap().identity().unwrap()
    };
    let (one, other) = (identity("1\n2\n"), identity("1\n3\n"));
    assert_ne!(one, other);
    assert_eq!(identity("1\n2\n"), one);
    std::fs::remove_dir_all(&folder).unwrap();
}
