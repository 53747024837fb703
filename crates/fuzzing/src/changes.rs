//! Changes while a scenario runs: those that a file plans are those that a session makes.

use crate::grow::{self, change, complete};
use crate::run::read;
use crate::scenario::{runnable, schema};
use crate::{generate, meaning};
use arbitrary::{Result, Unstructured};
use forebay_core::{Duration, Time};
use forebay_sim::{Scenario, World};
use serde_json::{Map, Value, json};

/// Changes that are tried on one scenario; many are refused.
const TRIED: usize = 8;
/// Events from one change to the next; a run with more is given up.
const EVENTS: u64 = 2_000;
/// From one change to the next, and from the last one to the end of a comparison.
const LONGEST_GAP: u64 = 100_000_000;

/// A scenario, and what changes in it, from the input.
pub fn changes(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(&mut Unstructured::new(data));
}

fn exercise(u: &mut Unstructured) -> Result<()> {
    let mut tree = grow::small(u)?;
    let mut at = 0;
    for _ in 0..TRIED {
        if u.is_empty() {
            break;
        }
        at += u.int_in_range(0..=LONGEST_GAP)?;
        let mut next = tree.clone();
        let dated = dated(&tree, at, u)?;
        let table = next.as_object_mut().expect("a scenario is a table");
        let changes = table.entry("change").or_insert_with(|| json!([]));
        changes.as_array_mut().into_iter().for_each(|changes| changes.push(dated.clone()));
        if runnable(&mut next).is_some() {
            tree = next;
        }
    }
    let Some((scenario, effective)) = runnable(&mut tree) else { return Ok(()) };
    meaning::says_the_same(&scenario, &effective);
    compare(&tree, &scenario);
    Ok(())
}

/// A change at `at` ns.
fn dated(tree: &Value, at: u64, u: &mut Unstructured) -> Result<Value> {
    let at = format!("{at}ns");
    let entries: Vec<_> = tree["traffic"].as_array().into_iter().flatten().collect();
    Ok(match u.int_in_range(0..=7)? {
        0 => {
            let name = u.choose(&entries)?["name"].clone();
            json!({ "at": at, "leave": name })
        }
        1 | 2 => {
            let mut entry = json!({ "traffic": [u.choose(&entries)?] });
            entry["traffic"][0]["name"] = json!(at);
            let form = &schema()["properties"]["traffic"]["items"];
            change(&mut entry["traffic"][0], form, u)?;
            complete(&mut entry);
            json!({ "at": at, "join": entry["traffic"][0] })
        }
        _ => {
            let mut set = Map::new();
            for _ in 0..u.int_in_range(1..=2)? {
                let (path, value) = field(tree, u)?;
                set.insert(path, value);
            }
            json!({ "at": at, "set": set })
        }
    })
}

/// A field of a link, by its path, and what it becomes.
fn field(tree: &Value, u: &mut Unstructured) -> Result<(String, Value)> {
    let mut places = Vec::new();
    for row in ["dumbbell", "parking_lot"] {
        if tree.get(row).is_some() {
            places.push(row.to_owned());
            places.push(format!("{row}.reverse"));
        }
    }
    if tree.get("parking_lot").is_some() {
        places.push("parking_lot.hop.\"2\"".into());
    }
    for (index, link) in tree["link"].as_array().into_iter().flatten().enumerate() {
        places.push(format!("link[{index}]"));
        places.extend(link["name"].as_str().map(|name| format!("link.\"{name}\"")));
    }
    let place = u.choose(&places)?;
    // All links have these.
    let fields = ["rate", "delay", "loss", "queue", "queue.limit", "overhead"];
    let field = *u.choose(&fields)?;
    let form = match field {
        "queue.limit" => json!({ "$ref": "#/$defs/Limit" }),
        name => schema()["$defs"]["LinkTable"]["properties"][name].clone(),
    };
    Ok((format!("{place}.{field}"), generate::value(&form, schema(), u)?))
}

/// The run of `scenario`, and one that is told of each change when its time has come, are the same.
fn compare(tree: &Value, scenario: &Scenario) {
    let list = tree["change"].as_array().cloned().unwrap_or_default();
    let until = |count: usize| {
        let at = &scenario.table().change[count].at;
        Time::ZERO + *at
    };
    let Some(last) = list.len().checked_sub(1).map(until) else { return };
    let end = last + Duration::from_nanos(LONGEST_GAP);
    let told = |count: usize| {
        let mut tree = tree.clone();
        tree["change"] = json!(list[..count]);
        read(&tree).unwrap_or_else(|error| panic!("{error}\n{tree:#}"))
    };
    let mut known = told(0);
    let mut world = known.world(1).expect("what is effective can be built");
    for count in 0..list.len() {
        if !goes_on(&mut world, until(count)) {
            return;
        }
        let next = told(count + 1);
        let made = known.go_on(&next, &mut world);
        made.unwrap_or_else(|error| panic!("planned, it runs: {error}\n{tree:#}"));
        known = next;
    }
    if !goes_on(&mut world, end) {
        return;
    }
    let mut planned = scenario.world(1).expect("what is effective can be built");
    let arrived = (0..=list.len()).any(|_| goes_on(&mut planned, end));
    assert!(arrived, "planned, it does not come as far: {tree:#}");
    assert_eq!(planned.counts(), world.counts(), "{tree:#}");
}

/// Whether `world` comes to `until` within its events.
fn goes_on(world: &mut World, until: Time) -> bool {
    world.advance_to(until, EVENTS).is_ok_and(|progress| progress.arrived)
}
