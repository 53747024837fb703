//! The program around runs and stages: plug-ins, watched by another thread.

use crate::python;
use crate::{Cancelled, ScenarioError, plugins};
use forebay_core::ConfigError;
use forebay_sim::Registry;
use forebay_stage::{Host, Stop};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A registry, the watch over the calls into plug-ins of a run, and a flag that ends what takes long.
#[derive(Clone)]
pub struct Native {
    own: Arc<Registry>,
    watch: forebay::Watch,
    ends: Arc<AtomicBool>,
}

impl Native {
    /// With the registry `own`; `ends` is set by another thread.
    pub fn new(own: &Arc<Registry>, ends: Arc<AtomicBool>) -> Self {
        Native { own: Arc::clone(own), watch: forebay::Watch::default(), ends }
    }
}

impl Host for Native {
    fn registry(&self, tree: &Value, base: &Path) -> Result<Arc<Registry>, ConfigError> {
        plugins::of_scenario(&self.own, tree, base)
    }

    fn guard<T: Send + 'static>(
        &self,
        plugins: &[String],
        act: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop> {
        if plugins.is_empty() {
            return act();
        }
        // Each call of a part in Python would wait for the interpreter's lock otherwise.
        let in_python = plugins.iter().any(|path| python::is_one(path));
        let act = move || {
            let answer = if in_python { Python::attach(|_| act()) } else { act() };
            answer.map_err(raised)
        };
        plugins::watched_by(&self.watch, act).map_err(stopped)
    }

    fn fault(&self) -> Option<String> {
        python::fault()
    }

    fn anew(&self) -> Self {
        Native { watch: forebay::Watch::default(), ..self.clone() }
    }

    fn has_ended(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

/// The exception for what was not done.
pub fn raised(stop: Stop) -> PyErr {
    match stop {
        Stop::Refused(words) => ScenarioError::new_err(words),
        Stop::Ended => Cancelled::new_err("it has ended"),
    }
}

/// What was not done, as an exception says.
fn stopped(error: PyErr) -> Stop {
    Python::attach(|py| {
        if error.is_instance_of::<Cancelled>(py) {
            return Stop::Ended;
        }
        Stop::Refused(error.value(py).to_string())
    })
}
