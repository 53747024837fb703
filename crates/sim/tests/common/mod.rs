//! Running small scenarios.
#![allow(dead_code, reason = "not every test file uses every helper")]

use forebay_sim::{Registry, Scenario, World, summary};
use serde_json::Value;
use std::path::Path;

/// The scenario of `tree`, whose files are in the folder of the examples.
pub fn scenario(tree: &Value) -> Scenario {
    let base = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    Scenario::read(tree, base, &Registry::builtin().into())
        .unwrap_or_else(|error| panic!("{error}\n{tree:#}"))
}

/// Runs `world` to its end.
pub fn complete(world: &mut World) {
    while !world.advance(1_000_000).expect("it fits memory").complete {}
}

/// The summary of one run.
pub fn run(tree: &Value, seed: u64) -> Value {
    let scenario = scenario(tree);
    let mut world = scenario.world(seed).unwrap_or_else(|error| panic!("{error}"));
    complete(&mut world);
    summary(&scenario, seed, &mut world).whole()
}

/// `part.of.summary` as a number.
pub fn number(summary: &Value, path: &str) -> f64 {
    let found = path.split('/').fold(summary, |at, key| &at[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}"))
}
