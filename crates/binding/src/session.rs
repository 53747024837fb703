//! A run that stops where it is told to, to be looked at and changed.

use crate::{Output, advance, in_python, json, output, plugins, refused};
use cpu_time::ThreadTime;
use forebay_core::Time;
use forebay_sim::{Registry, Scenario, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A run under way.
struct Run {
    scenario: Scenario,
    world: World,
    /// Processor time of its steps so far.
    cost: Duration,
}

/// A scenario that is run step by step.
#[pyclass(frozen)]
pub struct Session {
    own: Arc<Registry>,
    base: PathBuf,
    watch: forebay::Watch,
    /// None when it has ended, or could not go on.
    run: Mutex<Option<Run>>,
}

/// What `act` makes of the scenario in `tree`.
fn read(own: &Arc<Registry>, tree: &Value, base: &Path) -> PyResult<Scenario> {
    let registry = plugins::of_scenario(own, tree, base).map_err(refused)?;
    Scenario::read(tree, base, &registry).map_err(refused)
}

impl Session {
    /// The scenario (JSON) at its beginning.
    ///
    /// # Errors
    /// Anything in it that could not run.
    pub fn open(py: Python, own: &Arc<Registry>, scenario: &str, base: &str) -> PyResult<Self> {
        let (tree, base) = (json(scenario, "scenario")?, PathBuf::from(base));
        let watch = forebay::Watch::default();
        let (registry, folder) = (Arc::clone(own), base.clone());
        let open = move || {
            let start = ThreadTime::now();
            let scenario = read(&registry, &tree, &folder)?;
            let world = scenario.world(scenario.table().seed).map_err(refused)?;
            Ok(Run { scenario, world, cost: start.elapsed() })
        };
        let run = py.detach(|| plugins::watched_by(&watch, open))?;
        Ok(Session { own: Arc::clone(own), base, watch, run: Mutex::new(Some(run)) })
    }

    /// What `act` says of the run, which is over if `act` fails.
    fn with<T: Send + 'static>(
        &self,
        py: Python,
        act: impl FnOnce(&mut Run) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        // Nobody waits for another thread with the interpreter's lock in hand.
        let place = || self.run.lock().expect("nothing panics while it is held");
        let mut run = place().take().ok_or_else(|| {
            PyValueError::new_err("the run has ended, or another thread is at it")
        })?;
        let is_foreign = !run.scenario.table().plugins.is_empty();
        let act = move || {
            let start = ThreadTime::now();
            let answer = act(&mut run);
            run.cost += start.elapsed();
            Ok((run, answer))
        };
        let done =
            py.detach(|| if is_foreign { plugins::watched_by(&self.watch, act) } else { act() });
        let (run, answer) = done?;
        *place() = Some(run);
        answer
    }
}

#[pymethods]
impl Session {
    /// The present instant, and the scenario's end, in ns.
    fn times(&self, py: Python) -> PyResult<(u64, u64)> {
        self.with(py, |run| Ok((run.world.now().as_nanos(), run.world.measured().1.as_nanos())))
    }

    /// Goes on for some milliseconds, up to `until_ns` at most; whether that is reached.
    fn advance(&self, py: Python, until_ns: u64) -> PyResult<bool> {
        self.with(py, move |run| {
            let in_python = in_python(&run.scenario);
            Ok(advance(&mut run.world, Time::from_nanos(until_ns), in_python)?.arrived)
        })
    }

    /// Every link, as JSON.
    fn links(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| Ok(run.world.links_now().to_string()))
    }

    /// Every flow, as JSON, and the names of the traffic entries.
    fn flows(&self, py: Python) -> PyResult<(String, Vec<String>)> {
        self.with(py, |run| Ok((run.world.flows_now().to_string(), run.scenario.traffic_names())))
    }

    /// Goes on as another scenario (JSON) says.
    fn change(&self, py: Python, scenario: &str) -> PyResult<()> {
        let (tree, own) = (json(scenario, "scenario")?, Arc::clone(&self.own));
        let base = self.base.clone();
        self.with(py, move |run| {
            let to = read(&own, &tree, &base)?;
            run.scenario.change(&to, &mut run.world).map_err(refused)?;
            run.scenario = to;
            Ok(())
        })
    }

    /// What a run that is complete measured; nothing can be done afterwards.
    fn finish(&self, py: Python) -> PyResult<Output> {
        let found = self.with(py, |run| {
            let cost = run.cost;
            Ok(output(&run.scenario, &mut run.world, || cost))
        })?;
        self.run.lock().expect("nothing panics while it is held").take();
        Ok(found)
    }
}
