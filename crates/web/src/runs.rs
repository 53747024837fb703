//! Runs from beginning to end.

use forebay_core::ConfigError;
use forebay_sim::{RunError, Scenario, Table, World, summary, tables};
use forebay_stage::Stop;
use serde_json::{Map, Value, json};

/// Events between two looks at whether a run is complete, about 100 ms.
const SLICE: u64 = 200_000;

fn broken(error: RunError) -> ConfigError {
    ConfigError::new("", error.0)
}

/// The summary of a whole run, with the scenario's own seed unless one is given.
///
/// # Errors
/// The scenario cannot run.
pub(crate) fn whole(scenario: &Scenario, seed: Option<u64>) -> Result<Value, Stop> {
    let seed = seed.unwrap_or(scenario.table().seed);
    let mut world = scenario.world(seed)?;
    while !world.advance(SLICE).map_err(broken)?.complete {}
    Ok(summary(scenario, seed, &mut world).whole())
}

/// A run that has begun.
pub(crate) struct Begun {
    scenario: Scenario,
    world: World,
    /// Names of the tables that are wanted.
    wanted: Vec<String>,
    share: f64,
}

impl Begun {
    /// A run at its beginning, of whose tables those of the names in `wanted` are wanted.
    ///
    /// # Errors
    /// The scenario cannot run.
    pub(crate) fn of(scenario: Scenario, wanted: Vec<String>) -> Result<Self, Stop> {
        let world = scenario.world(scenario.table().seed)?;
        Ok(Begun { scenario, world, wanted, share: 0.0 })
    }

    /// Share of the simulated time that has passed.
    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// Goes on for a slice. Returns what was measured, as JSON, when the run is complete.
    ///
    /// # Errors
    /// The run cannot go on.
    pub(crate) fn advance(&mut self) -> Result<Option<String>, Stop> {
        let state = self.world.advance(SLICE).map_err(broken)?;
        self.share = state.share;
        if !state.complete {
            return Ok(None);
        }
        let seed = self.scenario.table().seed;
        let summary = summary(&self.scenario, seed, &mut self.world).whole();
        let made = tables(&self.scenario, &mut self.world);
        let wanted = made.iter().filter(|table| self.wanted.iter().any(|name| name == table.name));
        let tables: Vec<_> = wanted.map(shown).collect();
        Ok(Some(json!({ "summary": summary, "tables": tables }).to_string()))
    }
}

/// Name, labels and columns.
fn shown(table: &Table) -> Value {
    let labels = table.labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
    let columns = table.columns.iter().map(|(name, values)| (name.clone(), json!(values)));
    json!([table.name, labels.collect::<Map<_, _>>(), columns.collect::<Map<_, _>>()])
}
