//! Disciplines of shared libraries beside the built-in ones.

use forebay_core::{ConfigError, Discipline};
use forebay_sim::{Nameable, Registry};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, LazyLock};

static BUILTIN: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::builtin()));

/// What can be named with the plug-ins at `paths`; relative ones start from `base`.
///
/// # Errors
/// A plug-in that cannot be loaded, or a name that is taken; the path is that of a scenario.
pub fn registry(paths: &[String], base: &Path) -> Result<Arc<Registry>, ConfigError> {
    if paths.is_empty() {
        return Ok(Arc::clone(&BUILTIN));
    }
    let mut registry = Registry::clone(&BUILTIN);
    for (index, path) in paths.iter().enumerate() {
        let place = format!("plugins[{index}]");
        let plugin = forebay::load(&base.join(path));
        let plugin = plugin.map_err(|what| ConfigError::new(&place, what))?;
        registry.plugins.insert(path.clone(), plugin.sha256);
        for entry in plugin.kinds {
            <dyn Discipline as Nameable>::join(&mut registry, entry).map_err(|error| {
                ConfigError::new(&place, format!("plug-in {path}: {}", error.message))
            })?;
        }
    }
    Ok(Arc::new(registry))
}

/// What the scenario `tree` can name.
///
/// # Errors
/// As [`registry`].
pub fn of_scenario(tree: &Value, base: &Path) -> Result<Arc<Registry>, ConfigError> {
    let paths = tree.get("plugins").map(|given| {
        forebay_core::config::read::<Vec<String>>(given).map_err(|error| error.within("plugins"))
    });
    registry(&paths.transpose()?.unwrap_or_default(), base)
}

/// The conformance suite on every discipline of a plug-in: its name, and what it did against which
/// contract, if it did.
#[pyfunction]
pub fn check_plugin(py: Python, path: &str) -> PyResult<Vec<(String, Option<String>)>> {
    py.detach(|| {
        let plugin = forebay::load(Path::new(path)).map_err(crate::ScenarioError::new_err)?;
        let check = |entry: &_| forebay_conformance::check(entry, &json!({})).err();
        Ok(plugin.kinds.iter().map(|entry| (entry.name.to_string(), check(entry))).collect())
    })
}
