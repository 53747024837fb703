//! Runs with agents that learn: many at once, on arrays that numpy owns.

use crate::{Output, ScenarioError, json, output, refused};
use forebay_core::ConfigError;
use forebay_sim::agent::{Agent, Episode};
use forebay_sim::{Registry, RunError, Scenario};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs that are stepped together.
#[pyclass(frozen)]
pub struct Episodes {
    own: Arc<Registry>,
    agent: Arc<Agent>,
    runs: Mutex<Vec<Option<Episode>>>,
    /// The threads. None if all runs are stepped in the calling thread.
    pool: Option<rayon::ThreadPool>,
}

impl Episodes {
    /// Places for `count` runs with the agent (JSON), stepped by `threads` threads.
    ///
    /// # Errors
    /// The agent is wrong, or there is no memory for so many.
    pub fn new(own: &Arc<Registry>, agent: &str, count: usize, threads: usize) -> PyResult<Self> {
        let agent = Agent::read(&json(agent, "agent")?);
        let agent = agent.map_err(|error| refused(error.within("agent")))?;
        let pool =
            (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
        let pool = pool.transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut runs = Vec::new();
        runs.try_reserve_exact(count).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        runs.resize_with(count, || None);
        Ok(Episodes { own: Arc::clone(own), agent: Arc::new(agent), runs: Mutex::new(runs), pool })
    }

    /// The result of `act` for the run in place `number`.
    fn with<T>(&self, number: usize, act: impl FnOnce(&mut Episode) -> T) -> PyResult<T> {
        let mut runs = self.runs.lock().expect("nothing panics while it is held");
        let run = runs.get_mut(number).and_then(Option::as_mut);
        let none = || PyValueError::new_err("there is no episode; call reset first");
        run.map(act).ok_or_else(none)
    }
}

fn stopped(error: RunError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymethods]
impl Episodes {
    /// Begins the scenario (JSON) in place `number`. Returns the number of agents.
    fn reset(&self, py: Python, number: usize, scenario: &str, base: &str) -> PyResult<usize> {
        let tree = json(scenario, "scenario")?;
        if tree.get("plugins").and_then(|paths| paths.as_array()).is_some_and(|all| !all.is_empty())
        {
            let message = "agents work only with built-in parts; leave the plug-ins out";
            return Err(refused(ConfigError::new("plugins", message)));
        }
        let begin = || {
            let scenario = Scenario::read(&tree, Path::new(base), &self.own)?;
            let run = Episode::new(scenario, &self.agent)?;
            let agents = run.agents();
            let mut runs = self.runs.lock().expect("nothing panics while it is held");
            let many = runs.len();
            let place = runs.get_mut(number);
            *place.ok_or_else(|| ConfigError::new("", format!("there are {many} places")))? =
                Some(run);
            Ok(agents)
        };
        py.detach(begin).map_err(refused)
    }

    /// The observations of the agents in place `number` before they act, one row for each.
    fn begin(&self, number: usize, mut observations: PyReadwriteArray1<f32>) -> PyResult<()> {
        let rows = observations.as_slice_mut()?;
        self.with(number, |run| run.begin(rows))
    }

    /// Every agent of every run acts, and every run advances by a step. Runs that have ended do not
    /// change. Rows are the agents of one run after the other.
    fn step(
        &self,
        py: Python,
        actions: PyReadonlyArray1<f32>,
        mut observations: PyReadwriteArray1<f32>,
        mut rewards: PyReadwriteArray1<f64>,
        mut ended: PyReadwriteArray1<bool>,
    ) -> PyResult<()> {
        let (actions, observations) = (actions.as_slice()?, observations.as_slice_mut()?);
        if let Some(place) = actions.iter().position(|action| action.is_nan()) {
            let what = "is nan; an action is a number from -1 to 1 for each parameter";
            return Err(PyValueError::new_err(format!("action {place} {what}")));
        }
        let (rewards, ended) = (rewards.as_slice_mut()?, ended.as_slice_mut()?);
        py.detach(|| {
            let mut runs = self.runs.lock().expect("nothing panics while it is held");
            let runs: &mut [Option<Episode>] = &mut runs;
            let agents = rewards.len() / runs.len().max(1);
            let (acts, sees) = (self.agent.actions.len(), self.agent.observations.len());
            let fits = agents > 0
                && runs.iter().all(|run| run.as_ref().is_some_and(|run| run.agents() == agents))
                && actions.len() == rewards.len() * acts
                && observations.len() == rewards.len() * sees
                && ended.len() == runs.len();
            if !fits {
                return Err(PyValueError::new_err(
                    "the arrays do not have the size of the episodes",
                ));
            }
            type Row<'a> =
                (&'a mut Option<Episode>, &'a [f32], &'a mut [f32], &'a mut [f64], &'a mut bool);
            let step = |(run, actions, observations, rewards, ended): Row| {
                let Some(run) = run else { return Ok(()) };
                run.step(actions, observations, rewards)?;
                *ended = run.is_complete();
                Ok(())
            };
            let (acts, sees) = (agents * acts, agents * sees);
            let done = match &self.pool {
                None => runs
                    .iter_mut()
                    .zip(actions.chunks(acts))
                    .zip(observations.chunks_mut(sees))
                    .zip(rewards.chunks_mut(agents))
                    .zip(ended)
                    .try_for_each(|((((run, a), o), r), e)| step((run, a, o, r, e))),
                Some(pool) => {
                    let least = runs.len().div_ceil(pool.current_num_threads());
                    pool.install(|| {
                        runs.par_iter_mut()
                            .zip(actions.par_chunks(acts))
                            .zip(observations.par_chunks_mut(sees))
                            .zip(rewards.par_chunks_mut(agents))
                            .zip(ended)
                            .with_min_len(least)
                            .try_for_each(|((((run, a), o), r), e)| step((run, a, o, r, e)))
                    })
                }
            };
            done.map_err(stopped)
        })
    }

    /// Simulated time of the run in place `number`, in ns.
    fn now(&self, number: usize) -> PyResult<u64> {
        self.with(number, |run| run.world().now().as_nanos())
    }

    /// The measures of the complete run in place `number`. Can be called once.
    fn finish(&self, number: usize) -> PyResult<Output> {
        if !self.with(number, |run| run.is_complete())? {
            return Err(PyValueError::new_err("the episode has not ended"));
        }
        let mut runs = self.runs.lock().expect("nothing panics while it is held");
        let mut run = runs[number].take().expect("it was there");
        let (scenario, world) = run.ended();
        Ok(output(scenario, world, 1, || Duration::ZERO))
    }
}
