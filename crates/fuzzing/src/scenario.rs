//! Scenarios: whatever a file says, it is refused with a message or it can run.

use crate::run::{read, registry};
use crate::{generate, meaning};
use arbitrary::Unstructured;
use forebay_sim::{Scenario, scenario};
use serde_json::Value;
use std::sync::OnceLock;

/// Larger scenarios are not built: time, not memory, is short here.
const LARGEST: u64 = 1_000_000;

/// The text of a file.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(tree) = scenario::parse(text) {
        exercise(tree);
    }
}

/// A tree that more or less follows the schema.
pub fn tree(data: &[u8]) {
    if let Ok(tree) = generate::value(schema(), schema(), &mut Unstructured::new(data)) {
        exercise(tree);
    }
}

/// The schema of scenarios.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| scenario::schema(registry()))
}

/// Reads, checks and begins to run what `tree` says.
fn exercise(mut tree: Value) {
    if let Some((scenario, effective)) = runnable(&mut tree) {
        let traffic = effective["traffic"].as_array().map(Vec::len);
        assert_eq!(traffic, Some(scenario.traffic_names().len()));
        meaning::says_the_same(&scenario, &effective);
    }
}

/// The scenario that `tree` says and its effective form, if it is small enough and nothing is wrong
/// with it. What it would write is taken out of it.
pub fn runnable(tree: &mut Value) -> Option<(Scenario, Value)> {
    if !stays_here(tree) {
        return None;
    }
    let scenario = read(tree).ok()?;
    if scenario.footprint().0 > LARGEST {
        return None;
    }
    let effective = scenario.effective().ok()?;
    Some((scenario, effective))
}

/// Leaves out what would be written, and answers whether all that would be read lies under `FILES`.
fn stays_here(tree: &mut Value) -> bool {
    match tree {
        Value::Object(table) => {
            table.remove("pcap");
            table.remove("tcp_trace");
            table.values_mut().all(stays_here)
        }
        Value::Array(values) => values.iter_mut().all(stays_here),
        Value::String(text) => !text.starts_with('/') && !text.contains(".."),
        _ => true,
    }
}
