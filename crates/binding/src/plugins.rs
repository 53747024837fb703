//! Plug-ins, as shared libraries or Python classes, in addition to the engine's own parts.

use crate::python::{self, Stop};
use crate::{ScenarioError, endpoint};
use forebay_core::{ConfigError, Discipline, Entry};
use forebay_sim::{Nameable, Registry};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::any::Any;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two checks of the calls into plug-ins.
const LOOK: Duration = Duration::from_millis(250);
/// Number of checks after which a call is given up. It is large, so that a call on a machine that
/// was stopped or is busy is not given up by mistake.
const LOOKS: u32 = 20;

/// The registry `own`, with the plug-ins at `paths`. Relative paths start from `base`.
///
/// # Errors
/// A plug-in cannot be loaded, or a name is taken. The path in the error is that of a scenario.
pub fn registry(
    own: &Arc<Registry>,
    paths: &[String],
    base: &Path,
) -> Result<Arc<Registry>, ConfigError> {
    if paths.is_empty() {
        return Ok(Arc::clone(own));
    }
    let mut registry = Registry::clone(own);
    for (index, path) in paths.iter().enumerate() {
        let joined = join(&mut registry, path, base);
        let sha256 = joined.map_err(|what| ConfigError::new(format!("plugins[{index}]"), what))?;
        registry.plugins.insert(path.clone(), sha256);
    }
    Ok(Arc::new(registry))
}

/// Adds the parts of the plug-in at `path`, which starts from `base`, to `registry`. Returns the
/// SHA-256 of its content.
fn join(registry: &mut Registry, path: &str, base: &Path) -> Result<String, String> {
    if python::is_one(path) {
        return python::join(registry, path, base);
    }
    let plugin = forebay::load(&base.join(path))?;
    let refuse = |error: ConfigError| format!("plug-in {path}: {}", error.message);
    for entry in plugin.kinds {
        <dyn Discipline as Nameable>::join(registry, entry).map_err(refuse)?;
    }
    for kind in plugin.endpoints {
        Nameable::join(registry, endpoint::entry(kind)).map_err(refuse)?;
    }
    Ok(plugin.sha256)
}

/// The registry for the scenario `tree`.
///
/// # Errors
/// As [`registry`].
pub fn of_scenario(
    own: &Arc<Registry>,
    tree: &Value,
    base: &Path,
) -> Result<Arc<Registry>, ConfigError> {
    let paths = tree.get("plugins").map(|given| {
        forebay_core::config::read::<Vec<String>>(given).map_err(|error| error.within("plugins"))
    });
    registry(own, &paths.transpose()?.unwrap_or_default(), base)
}

/// The result of `act`, which runs in a thread of its own. The thread is abandoned if a call into a
/// plug-in does not return.
///
/// # Errors
/// Those of `act`, or such a call.
pub fn watched<T: Send + 'static>(
    act: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    watched_by(&forebay::Watch::default(), act)
}

/// As [`watched`], with queues that were made earlier under the same watch.
///
/// # Errors
/// As [`watched`].
pub fn watched_by<T: Send + 'static>(
    watch: &forebay::Watch,
    act: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let answer = in_thread(watch, Box::new(|| Ok(Box::new(act()?))))?;
    Ok(*answer.downcast().expect("it is what the act returned"))
}

/// What an act returns, of any type: thread and channel are compiled once, not for each act.
type Answer = PyResult<Box<dyn Any + Send>>;

/// As [`watched_by`].
fn in_thread(watch: &forebay::Watch, act: Box<dyn FnOnce() -> Answer + Send>) -> Answer {
    let stop = Arc::<Stop>::default();
    let (sender, receiver) = channel();
    let begun = (watch.clone(), Arc::clone(&stop));
    let run = move || {
        begun.0.begin();
        begun.1.begin();
        // Python makes a state for a thread that attaches and ends it when that detaches. Attached
        // here, the thread keeps one for all calls into classes.
        let answer = Python::attach(|py| py.detach(act));
        // The receiver is gone if the call was given up.
        let _ = sender.send(answer);
    };
    let thread = thread::Builder::new().name("forebay-plugins".into()).spawn(run)?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(late) = watch.look(LOOKS) {
            let span = LOOK * LOOKS;
            let late = || ScenarioError::new_err(format!("{late}; given up after {span:?}"));
            stop.stop();
            // The exception of the stopped call names the line.
            let answer = receiver.recv_timeout(LOOK * 4);
            return Err(answer.ok().and_then(Result::err).unwrap_or_else(late));
        }
    }
    resume_unwind(thread.join().expect_err("it has ended without an answer"))
}

/// Runs the conformance suite on every discipline of a plug-in. Returns for each its name, and the
/// contract that it broke and how, if it broke one.
#[pyfunction]
pub fn check_plugin(py: Python, path: String) -> PyResult<Vec<(String, Option<String>)>> {
    let check = move || {
        let mut registry = Registry::default();
        join(&mut registry, &path, Path::new("")).map_err(ScenarioError::new_err)?;
        let kinds = registry.disciplines.every_kind();
        // A scenario would refuse a name that is taken.
        let check = |entry: &Entry<dyn Discipline>| {
            let taken = Nameable::join(&mut Registry::builtin(), entry.clone());
            let taken = taken.map_err(|error| format!("{}; choose another name", error.message));
            taken.and_then(|()| forebay_conformance::check(entry, &json!({}))).err()
        };
        let found = kinds.iter().map(|entry| (entry.name.to_string(), check(entry))).collect();
        python::stopped(None).map_or(Ok(found), |late| Err(ScenarioError::new_err(late)))
    };
    py.detach(|| watched(check))
}
