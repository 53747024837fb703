//! The disciplines that queues may name: forebay's, and those of plug-ins.

use forebay_core::config::require;
use forebay_core::{ConfigError, Discipline};
use forebay_disciplines::{Disciplines, Part};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The plug-ins of this process, and all disciplines: those of forebay and theirs.
static DISCIPLINES: OnceLock<(Vec<PathBuf>, Arc<Disciplines>)> = OnceLock::new();

/// The disciplines that queues may name.
pub fn disciplines() -> &'static Arc<Disciplines> {
    &DISCIPLINES.get_or_init(|| (Vec::new(), Disciplines::builtin().into())).1
}

/// Loads the plug-ins of the configuration, as long as the process still has its privileges: once.
///
/// # Errors
/// A plug-in that cannot be loaded, a name that is taken, or other plug-ins than at the start.
pub fn load_plugins(paths: &[PathBuf]) -> Result<(), ConfigError> {
    if let Some((known, _)) = DISCIPLINES.get() {
        return require(known == paths, "plugins", || {
            "cannot change while the gate runs; start it anew".into()
        });
    }
    let mut disciplines = Disciplines::builtin();
    for (index, path) in paths.iter().enumerate() {
        let refuse = |what| ConfigError::new(format!("plugins[{index}]"), what);
        require(path.is_absolute(), "", || "must be an absolute path".into())
            .map_err(|error| refuse(error.message))?;
        for entry in forebay::load(path).map_err(refuse)? {
            <dyn Discipline as Part>::join(&mut disciplines, entry)
                .map_err(|error| refuse(error.message))?;
        }
    }
    // Another thread may have been faster, with the same.
    let _ = DISCIPLINES.set((paths.to_vec(), disciplines.into()));
    Ok(())
}
