//! Reading a scenario whose files lie beside this crate, and the beginning of its run.

use forebay_core::ConfigError;
use forebay_sim::{Registry, Scenario};
use serde_json::Value;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Events that a scenario runs for.
const EVENTS: u64 = 2_000;
/// The folder of the files that a scenario names.
pub const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/files");

/// The registry.
pub fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::builtin().into())
}

/// Reads a scenario, whose files lie beside this crate.
///
/// # Errors
/// The first fault that is found in it.
pub fn read(tree: &Value) -> Result<Scenario, ConfigError> {
    Scenario::read(tree, Path::new(FILES), registry())
}

/// The beginning of a run: its events, packets and fingerprint, and its summary; None if it would
/// not go on.
pub fn begin(scenario: &Scenario) -> Option<(impl PartialEq + Clone + Debug + use<>, Value)> {
    // The effective scenario has been built once already.
    let mut world = scenario.world(1).expect("what is effective can be built");
    // A run may end with an error.
    world.advance(EVENTS).ok()?;
    let summary = forebay_sim::summary(scenario, 1, &mut world).whole();
    Some((world.counts(), summary))
}
