//! Scenarios: whatever a file says, it is refused with a message or it can run.

use crate::{generate, meaning};
use arbitrary::Unstructured;
use forebay_core::ConfigError;
use forebay_sim::{Registry, Scenario, scenario};
use serde_json::Value;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Larger scenarios are not built: time, not memory, is short here.
const LARGEST: u64 = 1_000_000;
/// Events that a scenario runs for.
const EVENTS: u64 = 2_000;
/// Where the files that a scenario names are looked for.
pub const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/files");

/// What scenarios name.
pub fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::builtin().into())
}

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

/// Reads a scenario, whose files lie beside this crate.
///
/// # Errors
/// What is wrong with it.
pub fn read(tree: &Value) -> Result<Scenario, ConfigError> {
    Scenario::read(tree, Path::new(FILES), registry())
}

/// The beginning of a run: its events, packets and fingerprint, and its summary; None if it would
/// not go on.
pub fn begin(scenario: &Scenario) -> Option<(impl PartialEq + Debug, Value)> {
    // What is effective has been built once.
    let mut world = scenario.world(1).expect("what is effective can be built");
    // A refusal to go on is an answer too.
    world.advance(EVENTS).ok()?;
    let summary = forebay_sim::summary(scenario, 1, &mut world).whole();
    Some((world.counts(), summary))
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
