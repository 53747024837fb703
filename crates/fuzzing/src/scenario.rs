//! Scenarios: whatever a file says, it is refused with a message or it can run.

use crate::generate;
use arbitrary::Unstructured;
use forebay_sim::{Scenario, scenario};
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

/// Larger scenarios are not built: time, not memory, is short here.
const LARGEST: u64 = 1_000_000;
/// Events that a scenario runs for.
const EVENTS: u64 = 2_000;
/// Where the files that a scenario names are looked for.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/files");

/// The text of a file.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(tree) = scenario::parse(text) {
        exercise(tree);
    }
}

/// A tree that more or less follows the schema.
pub fn tree(data: &[u8]) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(scenario::schema);
    if let Ok(tree) = generate::value(schema, schema, &mut Unstructured::new(data)) {
        exercise(tree);
    }
}

/// Reads, checks and begins to run what `tree` says.
fn exercise(mut tree: Value) {
    if !stays_here(&mut tree) {
        return;
    }
    let Ok(scenario) = Scenario::read(&tree, Path::new(FILES)) else { return };
    if scenario.footprint().0 > LARGEST {
        return;
    }
    let Ok(effective) = scenario.effective() else { return };
    assert_eq!(effective["traffic"].as_array().map(Vec::len), Some(scenario.traffic_names().len()));
    // What is effective has been built once.
    let mut world = scenario.world(1).expect("what is effective can be built");
    // A refusal to go on is an answer too.
    if world.advance(EVENTS).is_ok() {
        forebay_sim::summary(&scenario, 1, &mut world).whole();
    }
}

/// Leaves out what would be written, and answers whether all that would be read lies under `FILES`.
fn stays_here(tree: &mut Value) -> bool {
    match tree {
        Value::Object(table) => {
            table.remove("pcap");
            table.values_mut().all(stays_here)
        }
        Value::Array(values) => values.iter_mut().all(stays_here),
        Value::String(text) => !text.starts_with('/') && !text.contains(".."),
        _ => true,
    }
}
