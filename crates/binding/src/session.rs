//! A run that stops where the caller wants, to be looked at and changed.

use crate::host::{Native, raised};
use crate::{Output, json, output, refused};
use cpu_time::ThreadTime;
use forebay_core::{ConfigError, Time};
use forebay_sim::Registry;
use forebay_stage::{Host, Run, plugins, with_run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A scenario that is run step by step.
#[pyclass(frozen)]
pub struct Session {
    host: Native,
    base: PathBuf,
    /// With the processor time of its steps so far. None if the run has ended or has failed.
    run: Mutex<Option<(Run, Duration)>>,
}

impl Session {
    /// The scenario (JSON) at its beginning.
    ///
    /// # Errors
    /// The scenario cannot run.
    pub fn open(py: Python, own: &Arc<Registry>, scenario: &str, base: &str) -> PyResult<Self> {
        let (tree, base) = (json(scenario, "scenario")?, PathBuf::from(base));
        let (host, plugins) = (Native::new(own, Arc::default()), plugins(&tree));
        let (within, folder) = (host.clone(), base.clone());
        let open = move || {
            let start = ThreadTime::now();
            let registry = within.registry(&tree, &folder)?;
            Ok((Run::open(&tree, &folder, &registry)?, start.elapsed()))
        };
        let run = py.detach(|| host.guard(&plugins, open)).map_err(raised)?;
        Ok(Session { host, base, run: Mutex::new(Some(run)) })
    }

    /// The result of `act` for the run. The run is over if a call into a plug-in does not return.
    fn with<T: Send + 'static>(
        &self,
        py: Python,
        act: impl FnOnce(&mut Run) -> Result<T, ConfigError> + Send + 'static,
    ) -> PyResult<T> {
        self.with_cost(py, |run, _| act(run))
    }

    /// As [`Session::with`], with the processor time so far.
    fn with_cost<T: Send + 'static>(
        &self,
        py: Python,
        act: impl FnOnce(&mut Run, Duration) -> Result<T, ConfigError> + Send + 'static,
    ) -> PyResult<T> {
        // A thread must not wait for another while it holds the interpreter's lock.
        let place = || self.run.lock().expect("nothing panics while it is held");
        let (run, cost) = place().take().ok_or_else(|| {
            PyValueError::new_err("the run has ended, or another thread is using it")
        })?;
        let act = move |run: &mut Run| {
            let start = ThreadTime::now();
            Ok((act(run, cost), cost + start.elapsed()))
        };
        let (run, done) = py.detach(|| with_run(&self.host, run, act)).map_err(raised)?;
        let (answer, cost) = match done {
            Ok(done) => done,
            Err(fault) => (Err(fault), cost),
        };
        *place() = Some((run, cost));
        answer.map_err(refused)
    }
}

#[pymethods]
impl Session {
    /// The current time and the end of the scenario, in ns.
    fn times(&self, py: Python) -> PyResult<(u64, u64)> {
        self.with(py, |run| Ok(run.times()))
    }

    /// Advances for some milliseconds, at most to `until_ns`. Returns whether that is reached.
    fn advance(&self, py: Python, until_ns: u64) -> PyResult<bool> {
        self.with(py, move |run| Ok(run.advance(Time::from_nanos(until_ns))?.arrived))
    }

    /// Advances to the next time at which a packet joins or leaves the watched queue, or for some
    /// milliseconds. Returns whether that time is reached.
    fn advance_to_packet(&self, py: Python) -> PyResult<bool> {
        self.with(py, Run::advance_to_packet)
    }

    /// Watches the queue of a link, with a point of the series every `grain_ns`. Only at the
    /// beginning.
    fn watch(&self, py: Python, link: Option<String>, grain_ns: u64) -> PyResult<()> {
        let grain = forebay_core::Duration::from_nanos(grain_ns.max(1));
        self.with(py, move |run| run.watch(link.as_deref(), grain))
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
        self.with(py, Run::instant)
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
        let (tree, host) = (json(scenario, "scenario")?, self.host.clone());
        let base = self.base.clone();
        self.with(py, move |run| {
            let registry = host.registry(&tree, &base)?;
            run.change(&tree, &base, &registry)
        })
    }

    /// The measures of a complete run. No other method can be called afterwards.
    fn finish(&self, py: Python) -> PyResult<Output> {
        let found =
            self.with_cost(py, |run, cost| Ok(output(&run.scenario, &mut run.world, 1, || cost)))?;
        self.run.lock().expect("nothing panics while it is held").take();
        Ok(found)
    }
}
