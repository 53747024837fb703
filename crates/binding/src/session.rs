//! A run that stops where the caller wants, to be looked at and changed.

use crate::{Output, SLICE, ScenarioError, advance, in_python, json, output, plugins, refused};
use cpu_time::ThreadTime;
use forebay_core::Time;
use forebay_sim::{Progress, Registry, Scenario, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A run in progress.
struct Run {
    scenario: Scenario,
    world: World,
    /// Whether anything has happened since the last change. If so, the next change must be at a
    /// later time.
    has_moved: bool,
    /// Processor time of its steps so far.
    cost: Duration,
}

impl Run {
    /// Advances by a slice, at most to `until`.
    fn advance(&mut self, until: Time) -> PyResult<Progress> {
        self.has_moved = true;
        let slice = if self.world.is_watched() { SLICE / 20 } else { SLICE };
        advance(&mut self.world, until, slice, in_python(&self.scenario))
    }
}

/// A scenario that is run step by step.
#[pyclass(frozen)]
pub struct Session {
    own: Arc<Registry>,
    base: PathBuf,
    watch: forebay::Watch,
    /// None if the run has ended or has failed.
    run: Mutex<Option<Run>>,
}

/// The scenario in `tree`. Parts that are equal in the `known` one are not read again.
fn read(
    own: &Arc<Registry>,
    tree: &Value,
    base: &Path,
    known: Option<&Scenario>,
) -> PyResult<Scenario> {
    let registry = plugins::of_scenario(own, tree, base).map_err(refused)?;
    Scenario::read_after(known, tree, base, &registry).map_err(refused)
}

impl Session {
    /// The scenario (JSON) at its beginning.
    ///
    /// # Errors
    /// The scenario cannot run.
    pub fn open(py: Python, own: &Arc<Registry>, scenario: &str, base: &str) -> PyResult<Self> {
        let (tree, base) = (json(scenario, "scenario")?, PathBuf::from(base));
        let watch = forebay::Watch::default();
        let (registry, folder) = (Arc::clone(own), base.clone());
        let open = move || {
            let start = ThreadTime::now();
            let scenario = read(&registry, &tree, &folder, None)?;
            let world = scenario.world(scenario.table().seed).map_err(refused)?;
            Ok(Run { scenario, world, has_moved: true, cost: start.elapsed() })
        };
        let run = py.detach(|| plugins::watched_by(&watch, open))?;
        Ok(Session { own: Arc::clone(own), base, watch, run: Mutex::new(Some(run)) })
    }

    /// The result of `act` for the run. The run is over if `act` fails.
    fn with<T: Send + 'static>(
        &self,
        py: Python,
        act: impl FnOnce(&mut Run) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        // A thread must not wait for another while it holds the interpreter's lock.
        let place = || self.run.lock().expect("nothing panics while it is held");
        let mut run = place().take().ok_or_else(|| {
            PyValueError::new_err("the run has ended, or another thread is using it")
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
    /// The current time and the end of the scenario, in ns.
    fn times(&self, py: Python) -> PyResult<(u64, u64)> {
        self.with(py, |run| Ok((run.world.now().as_nanos(), run.world.measured().1.as_nanos())))
    }

    /// Advances for some milliseconds, at most to `until_ns`. Returns whether that is reached.
    fn advance(&self, py: Python, until_ns: u64) -> PyResult<bool> {
        self.with(py, move |run| Ok(run.advance(Time::from_nanos(until_ns))?.arrived))
    }

    /// Advances to the next time at which a packet joins or leaves the watched queue, or for some
    /// milliseconds. Returns whether that time is reached.
    fn advance_to_packet(&self, py: Python) -> PyResult<bool> {
        self.with(py, |run| {
            run.has_moved = true;
            let state = run.world.advance_to_packet(SLICE / 20);
            Ok(state.map_err(|error| ScenarioError::new_err(error.to_string()))?.arrived)
        })
    }

    /// Watches the queue of a link, with a point of the series every `grain_ns`. Only at the
    /// beginning.
    fn watch(&self, py: Python, link: Option<String>, grain_ns: u64) -> PyResult<()> {
        self.with(py, move |run| {
            let link = link.map(|name| run.scenario.link(&name)).transpose().map_err(refused)?;
            let grain = forebay_core::Duration::from_nanos(grain_ns.max(1));
            run.world.watch(link.map(|link| link as u32), grain);
            Ok(())
        })
    }

    /// The participants of what is shown, as JSON.
    fn shown(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| Ok(run.world.shown().to_string()))
    }

    /// Packets that wait and packets in transit, as the fields of a JSON object.
    fn picture(&self, py: Python, most: usize) -> PyResult<String> {
        self.with(py, move |run| Ok(run.world.picture(most)))
    }

    /// The number of points of the series, and those from `first` on, as a JSON list.
    fn points(&self, py: Python, first: usize) -> PyResult<(usize, String)> {
        self.with(py, move |run| Ok(run.world.points(first)))
    }

    /// The history of a packet, as JSON. None if it is not kept.
    fn story(&self, py: Python, number: u64) -> PyResult<Option<String>> {
        self.with(py, move |run| Ok(run.world.story(number).map(|story| story.to_string())))
    }

    /// Every link, as JSON.
    fn links(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| Ok(run.world.links_now().to_string()))
    }

    /// Every flow, as JSON, and the names of the traffic entries.
    fn flows(&self, py: Python) -> PyResult<(String, Vec<String>)> {
        self.with(py, |run| Ok((run.world.flows_now().to_string(), run.scenario.traffic_names())))
    }

    /// The fingerprint so far.
    fn fingerprint(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| Ok(format!("{:016x}", run.world.counts().0)))
    }

    /// The current time in ns, prepared for a change: everything that happens at this time has
    /// happened. It is the next nanosecond if something has happened after a change at this one.
    fn instant(&self, py: Python) -> PyResult<u64> {
        self.with(py, |run| {
            let now = run.world.now();
            if run.has_moved {
                while !run.advance(now)?.arrived {}
                let made = run.scenario.changes_made(&run.world);
                let last = run.scenario.table().change[..made].last();
                if last.is_some_and(|last| Time::ZERO + last.at == now) {
                    let next = Time::from_nanos(now.as_nanos() + 1);
                    while !run.advance(next)?.arrived {}
                }
            }
            Ok(run.world.now().as_nanos())
        })
    }

    /// The present scenario, as JSON.
    fn scenario(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| {
            let made = run.scenario.changes_made(&run.world);
            Ok(run.scenario.tree_after(made).to_string())
        })
    }

    /// Continues as another scenario (JSON): the same one with other changes from `instant` on.
    fn change(&self, py: Python, scenario: &str) -> PyResult<()> {
        let (tree, own) = (json(scenario, "scenario")?, Arc::clone(&self.own));
        let base = self.base.clone();
        self.with(py, move |run| {
            let to = read(&own, &tree, &base, Some(&run.scenario))?;
            run.scenario.go_on(&to, &mut run.world).map_err(refused)?;
            (run.scenario, run.has_moved) = (to, false);
            Ok(())
        })
    }

    /// The measures of a complete run. No other method can be called afterwards.
    fn finish(&self, py: Python) -> PyResult<Output> {
        let found = self.with(py, |run| {
            let cost = run.cost;
            Ok(output(&run.scenario, &mut run.world, 1, || cost))
        })?;
        self.run.lock().expect("nothing panics while it is held").take();
        Ok(found)
    }
}
