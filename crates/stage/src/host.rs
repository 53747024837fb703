//! The program around a stage.

use crate::run::Run;
use forebay_core::ConfigError;
use forebay_sim::Registry;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It is wrong, as these words say.
    Refused(String),
    /// The host ends, and what takes long with it.
    Ended,
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Stop::Refused(error.to_string())
    }
}

/// A refusal in these words.
pub(crate) fn refuse<T>(words: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Refused(words.into()))
}

/// The program around a stage: its registry, and how code of others is run.
pub trait Host: Send + Sync {
    /// The registry for the scenario `tree`, with its plug-ins, whose paths start from `base`.
    ///
    /// # Errors
    /// A plug-in cannot be loaded.
    fn registry(&self, tree: &Value, base: &Path) -> Result<Arc<Registry>, ConfigError>;

    /// Does `act`, in which code of `plugins` may run.
    ///
    /// # Errors
    /// Those of `act`, or a call into a plug-in that does not return.
    fn guard<T: Send + 'static>(
        &self,
        plugins: &[String],
        act: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop>;

    /// What code of others has done wrong in this thread since the last call.
    fn fault(&self) -> Option<String> {
        None
    }

    /// The host for a run of its own.
    #[must_use]
    fn anew(&self) -> Self;

    /// Whether what takes long is to be left.
    fn has_ended(&self) -> bool {
        false
    }
}

/// The answer of `act` for a run, in which code of plug-ins may run. The run is lost if a call into
/// a plug-in does not return.
///
/// # Errors
/// As [`Host::guard`]; what `act` refuses is beside the run.
pub fn with_run<H: Host + Clone + 'static, T: Send + 'static>(
    host: &H,
    mut run: Run,
    act: impl FnOnce(&mut Run) -> Result<T, ConfigError> + Send + 'static,
) -> Result<(Run, Result<T, ConfigError>), Stop> {
    let plugins = run.scenario.table().plugins.clone();
    let own = host.clone();
    host.guard(&plugins, move || {
        let answer = act(&mut run);
        let answer = own.fault().map_or(answer, |fault| Err(ConfigError::new("", fault)));
        Ok((run, answer))
    })
}

/// A host without plug-ins, such as a web page.
#[derive(Clone)]
pub struct Alone(pub Arc<Registry>);

impl Host for Alone {
    fn registry(&self, tree: &Value, _: &Path) -> Result<Arc<Registry>, ConfigError> {
        match tree.get("plugins").and_then(Value::as_array) {
            Some(files) if !files.is_empty() => Err(ConfigError::new(
                "plugins",
                "cannot be loaded here; run it with forebay itself",
            )),
            _ => Ok(Arc::clone(&self.0)),
        }
    }

    fn guard<T: Send + 'static>(
        &self,
        _: &[String],
        act: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop> {
        act()
    }

    fn anew(&self) -> Self {
        self.clone()
    }
}
