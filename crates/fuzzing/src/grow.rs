//! Scenarios that can run, grown from small ones by whatever the schema allows.

use crate::generate;
use crate::run::{read, registry};
use crate::scenario::{runnable, schema};
use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

/// Changes that are tried on one scenario; many are refused.
const STEPS: u32 = 60;
/// Footprint of what is built many times.
const SMALL: u64 = 10_000;

/// A scenario that can run, and those that it grew from: each differs from the one before it by what
/// `data` says of one place in the schema.
pub fn scenarios(data: &[u8]) -> Vec<Value> {
    let mut u = Unstructured::new(data);
    let mut grown = vec![seedling(&mut u)];
    for _ in 0..STEPS {
        if u.is_empty() {
            break;
        }
        match step(&grown[grown.len() - 1], &mut u) {
            Ok(next) => grown.extend(next),
            Err(_) => break,
        }
    }
    grown
}

/// A small scenario with a few other values, for what is run more than once.
pub(crate) fn small(u: &mut Unstructured) -> Result<Value> {
    let mut tree = seedling(u);
    for _ in 0..u.int_in_range(0..=4)? {
        if let Some(next) = step(&tree, u)?
            && read(&next).is_ok_and(|scenario| scenario.footprint().0 <= SMALL)
        {
            tree = next;
        }
    }
    Ok(tree)
}

/// `tree` with another value at one place of the schema; None if nothing is different, or it cannot run.
fn step(tree: &Value, u: &mut Unstructured) -> Result<Option<Value>> {
    let mut next = tree.clone();
    change(&mut next, schema(), u)?;
    complete(&mut next);
    Ok((next != *tree && runnable(&mut next).is_some()).then_some(next))
}

/// A small scenario of each form, with any sources.
fn seedling(u: &mut Unstructured) -> Value {
    let queue = json!({ "kind": "fifo" });
    let link = |name, from, to| json!({ "name": name, "from": from, "to": to, "rate": "10Mbit", "queue": queue });
    let mut tree = match u.int_in_range(0..=3).unwrap_or(0) {
        0 => json!({ "dumbbell": { "rate": "10Mbit", "queue": queue } }),
        1 => json!({
            "parking_lot": { "rate": "10Mbit", "hops": 3, "queue": queue, "hop": { "2": {} } },
        }),
        2 => json!({ "link": [link("ab", "a", "b"), link("bc", "b", "c")] }),
        _ => json!({
            "link": [link("base", "b", "c")],
            "wireless": { "node": [{ "name": "a", "at": [0, 0] }, { "name": "b", "at": [50, 0] }] },
        }),
    };
    tree["duration"] = json!("1s");
    tree["tcp"] = json!({});
    tree["traffic"] = json!([{ "kind": "bulk" }]);
    complete(&mut tree);
    assert!(runnable(&mut tree).is_some(), "{tree:#}");
    for _ in 0..2 {
        let sources = registry().sources.names();
        let source = u.choose(&sources).unwrap_or(&sources[0]);
        let mut more = tree.clone();
        more["traffic"].as_array_mut().expect("a list").push(json!({ "kind": source }));
        complete(&mut more);
        if runnable(&mut more).is_some() {
            tree = more;
        }
    }
    tree
}

/// Fields without which most entries are refused: a unique name, ends, a file.
pub(crate) fn complete(tree: &mut Value) {
    let has_row = tree.get("dumbbell").is_some() || tree.get("parking_lot").is_some();
    for (index, entry) in tree["traffic"].as_array_mut().into_iter().flatten().enumerate() {
        let Some(entry) = entry.as_object_mut() else { continue };
        entry.entry("name").or_insert_with(|| format!("entry{index}").into());
        if !has_row {
            entry.entry("from").or_insert_with(|| "a".into());
            entry.entry("to").or_insert_with(|| "c".into());
        }
        if entry.get("kind") == Some(&json!("pcap")) {
            entry.entry("file").or_insert_with(|| "small.pcap".into());
        }
    }
}

/// Changes one place of `at`, which follows `form`.
pub(crate) fn change(at: &mut Value, form: &Value, u: &mut Unstructured) -> Result<()> {
    let form = generate::target(form, schema());
    let form = match form["oneOf"].as_array().or_else(|| form["anyOf"].as_array()) {
        Some(options) => {
            let same_kind = |option: &&Value| {
                let option = generate::target(option, schema());
                option["properties"]["kind"]["const"] == at["kind"] && !at["kind"].is_null()
            };
            options.iter().find(same_kind).unwrap_or(u.choose(options)?)
        }
        None => form,
    };
    let form = generate::target(form, schema());
    match at {
        Value::Object(table) if form["properties"].is_object() || table.is_empty() => {
            let known = form["properties"].as_object();
            let names: Vec<_> = known.into_iter().flat_map(|known| known.keys()).collect();
            if names.is_empty() {
                *at = generate::value(form, schema(), u)?;
                return Ok(());
            }
            let name = *u.choose(&names)?;
            let form = &form["properties"][name];
            match table.get_mut(name) {
                Some(inner) if !u.ratio(1, 4)? => change(inner, form, u)?,
                _ => drop(table.insert(name.clone(), generate::value(form, schema(), u)?)),
            }
        }
        Value::Object(table) => {
            let names: Vec<_> = table.keys().cloned().collect();
            let inner = table.get_mut(u.choose(&names)?).expect("it is one of its names");
            change(inner, &form["additionalProperties"], u)?;
        }
        Value::Array(list) => {
            let index = u.int_in_range(0..=list.len())?;
            match list.get_mut(index) {
                Some(inner) => change(inner, &form["items"], u)?,
                None => list.push(generate::value(&form["items"], schema(), u)?),
            }
        }
        _ => *at = generate::value(form, schema(), u)?,
    }
    Ok(())
}
