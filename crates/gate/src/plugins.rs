//! What a configuration may name: forebay's disciplines and boxes, and the disciplines of plug-ins.

use forebay_core::config::require;
use forebay_core::{ConfigError, Discipline, Registry};
use forebay_disciplines::{Disciplines, Part};
use forebay_middlebox::Middlebox;
use std::path::PathBuf;
use std::sync::Arc;

/// What a configuration may name.
#[derive(Clone)]
pub struct Parts {
    /// Queue disciplines.
    pub disciplines: Arc<Disciplines>,
    /// Boxes in front of queues.
    pub boxes: Registry<dyn Middlebox>,
    /// The plug-ins whose disciplines are among them.
    plugins: Vec<PathBuf>,
}

impl Parts {
    /// These disciplines and boxes.
    pub fn new(disciplines: Disciplines, boxes: Registry<dyn Middlebox>) -> Self {
        Parts { disciplines: disciplines.into(), boxes, plugins: Vec::new() }
    }

    /// What comes with forebay.
    pub fn builtin() -> Self {
        Parts::new(Disciplines::builtin(), forebay_middlebox::builtin())
    }

    /// These, and the disciplines of the plug-ins at `paths`, which are loaded: while the process
    /// still has its privileges.
    ///
    /// # Errors
    /// A plug-in that cannot be loaded, or a name that is taken.
    pub fn with_plugins(&self, paths: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut disciplines = Disciplines::clone(&self.disciplines);
        for (index, path) in paths.iter().enumerate() {
            let refuse = |what| ConfigError::new(format!("plugins[{index}]"), what);
            require(path.is_absolute(), "", || "must be an absolute path".into())
                .map_err(|error| refuse(error.message))?;
            for entry in forebay::load(path).map_err(refuse)?.kinds {
                <dyn Discipline as Part>::join(&mut disciplines, entry)
                    .map_err(|error| refuse(error.message))?;
            }
        }
        let plugins = [&self.plugins, paths].concat();
        Ok(Parts { disciplines: disciplines.into(), boxes: self.boxes.clone(), plugins })
    }

    /// Checks that `paths` are the plug-ins that are loaded: a gate that runs loads no others.
    ///
    /// # Errors
    /// They are not.
    pub fn has_plugins(&self, paths: &[PathBuf]) -> Result<(), ConfigError> {
        require(self.plugins == paths, "plugins", || {
            "cannot change while the gate runs; start it anew".into()
        })
    }
}

/// A configuration is what it says; by what its parts are known is no difference.
impl PartialEq for Parts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parts")
    }
}
