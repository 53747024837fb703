//! Lazy links against eager ones: all links of a run that is watched are eager, and watching changes
//! nothing.

mod common;

use common::{complete, scenario};
use forebay_core::{Duration, Rng, Time};
use forebay_sim::{World, summary, tables};
use serde_json::{Value, json};

/// Draws one of `values`.
fn one<'a>(rng: &mut Rng, values: &'a [Value]) -> &'a Value {
    &values[rng.below(values.len() as u64) as usize]
}

/// A line of nodes with links both ways, whose equal delays, lengths and rates make many events fall
/// on one instant, and traffic across parts of it.
fn network(rng: &mut Rng) -> Value {
    let hops = 1 + rng.below(4);
    let delays = ["1ms", "2ms", "2ms", "100us", "0ms", "7ms"].map(Value::from);
    let rates = ["1Mbit", "2Mbit", "2Mbit", "8Mbit"].map(Value::from);
    let queues = [
        json!({ "kind": "fifo", "limit": "9p" }),
        json!({ "kind": "fifo", "limit": "9p" }),
        json!({ "kind": "codel" }),
        json!({ "kind": "fq-codel", "queues": 16 }),
        json!({ "kind": "cake", "bandwidth": "900kbit" }),
        json!({ "kind": "red", "limit": "30p" }),
    ];
    let links: Vec<Value> = (0..hops)
        .map(|hop| {
            let mut link = json!({
                "name": format!("l{hop}"), "from": format!("n{hop}"), "to": format!("n{}", hop + 1),
                "rate": one(rng, &rates), "delay": one(rng, &delays),
                "queue": one(rng, &queues),
            });
            if rng.below(6) == 0 {
                link["loss"] = 0.02.into();
            }
            link
        })
        .collect();
    let kinds = [
        json!({ "kind": "bulk" }),
        json!({ "kind": "bulk" }),
        json!({ "kind": "web" }),
        json!({ "kind": "cbr", "rate": "400kbit", "size": "1000B" }),
        json!({ "kind": "poisson", "rate": "600kbit", "size": "500B" }),
    ];
    let traffic: Vec<Value> = (0..2 + rng.below(4))
        .map(|number| {
            let (one_end, other) = (rng.below(hops + 1), rng.below(hops + 1));
            let (from, to) = if one_end == other { (0, hops) } else { (one_end, other) };
            let mut entry = one(rng, &kinds).clone();
            entry["name"] = format!("t{number}").into();
            entry["flows"] = (1 + rng.below(3)).into();
            entry["from"] = format!("n{from}").into();
            entry["to"] = format!("n{to}").into();
            entry
        })
        .collect();
    let mut network = json!({
        "duration": "4s", "warmup": "1s", "sample": "50ms", "link": links, "traffic": traffic,
    });
    let first = if rng.below(2) == 0 { chain(rng, &mut network) } else { "link.l0" };
    if rng.below(3) == 0 {
        network["change"] = json!([
            { "at": "1500ms", "set": { format!("{first}.rate"): "3Mbit" } },
            { "at": "2s", "set": { format!("{first}.delay"): one(rng, &delays) } },
            { "at": "2s", "leave": "t0" },
        ]);
    }
    network
}

/// Makes links and ends of `network` a chain of equal links, with hosts of its own for every flow.
fn chain(rng: &mut Rng, network: &mut Value) -> &'static str {
    let mut link = network["link"][0].clone();
    let hops = network["link"].as_array().unwrap().len();
    for field in ["name", "from", "to"] {
        link.as_object_mut().unwrap().remove(field);
    }
    let delay = one(rng, &["0ms", "1ms", "100us"].map(Value::from)).clone();
    link["access"] = json!({ "rate": "10Mbit", "delay": delay });
    link["hops"] = hops.into();
    for entry in network["traffic"].as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("from");
        entry.remove("to");
        if rng.below(2) == 0 {
            entry.insert("hop".into(), (1 + rng.below(hops as u64)).into());
        }
    }
    network.as_object_mut().unwrap().remove("link");
    network["parking_lot"] = link;
    "parking_lot"
}

/// The summary, and every column of the tables as bits, as they hold NaN where there is nothing.
fn results(tree: &Value, seed: u64, prepare: impl FnOnce(&mut World)) -> (Value, Vec<Vec<u64>>) {
    let scenario = scenario(tree);
    let mut world = scenario.world(seed).unwrap_or_else(|error| panic!("{error}"));
    prepare(&mut world);
    complete(&mut world);
    let summary = summary(&scenario, seed, &mut world).whole();
    let tables = tables(&scenario, &mut world);
    let columns = tables.iter().flat_map(|table| &table.columns);
    let bits = columns.map(|(_, values)| values.iter().map(|value| value.to_bits()).collect());
    (summary, bits.collect())
}

#[test]
fn lazy_links_do_the_same_as_eager_ones() {
    let mut rng = Rng::named(1, "networks");
    for seed in 0..60 {
        let tree = network(&mut rng);
        let lazy = results(&tree, seed, |_| {});
        let watched = results(&tree, seed, |world| world.watch(None, Duration::from_millis(100)));
        assert_eq!(lazy, watched, "{tree:#}");
        // In steps, at whose ends everybody may look at a link.
        let steps = results(&tree, seed, |world| {
            for step in 1..40 {
                let until = Time::ZERO + Duration::from_millis(97 * step);
                while !world.advance_to(until, 50).unwrap().arrived {}
            }
        });
        assert_eq!(lazy, steps, "{tree:#}");
    }
}
