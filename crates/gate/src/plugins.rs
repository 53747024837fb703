//! The parts that a configuration can name: forebay's disciplines and boxes, and those of plug-ins.

use crate::text::{self, say};
use forebay_core::config::require;
use forebay_core::{ConfigError, Discipline, Registry};
use forebay_disciplines::{Disciplines, Part};
use forebay_middlebox::Middlebox;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Time between two checks of the calls into plug-ins.
const LOOK: Duration = Duration::from_millis(25);
/// Number of checks after which a call is reported.
const LOOKS: u32 = 4;
/// Number of checks after which a command that only looks gives a call up.
const MOST_LOOKS: u32 = 200;

/// The error of a class in Python.
const IN_PYTHON: &str = "a class in Python runs only in simulations; a gate needs a shared \
    library: write it in Rust or C (docs/extending.md)";

/// The parts that a configuration can name.
#[derive(Clone)]
pub struct Parts {
    /// Queue disciplines.
    pub disciplines: Arc<Disciplines>,
    /// Boxes in front of queues.
    pub boxes: Registry<dyn Middlebox>,
    /// The plug-ins with some of these disciplines.
    plugins: Vec<PathBuf>,
}

impl Parts {
    /// These disciplines and boxes.
    pub fn new(disciplines: Disciplines, boxes: Registry<dyn Middlebox>) -> Self {
        Parts { disciplines: disciplines.into(), boxes, plugins: Vec::new() }
    }

    /// The parts of forebay.
    pub fn builtin() -> Self {
        Parts::new(Disciplines::builtin(), forebay_middlebox::builtin())
    }

    /// Adds the disciplines of the plug-ins at `paths`. They are loaded while the process still has
    /// its privileges.
    ///
    /// # Errors
    /// A plug-in cannot be loaded, or a name is taken.
    pub fn with_plugins(&self, paths: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut disciplines = Disciplines::clone(&self.disciplines);
        for (index, path) in paths.iter().enumerate() {
            let refuse = |what| ConfigError::new(format!("plugins[{index}]"), what);
            require(path.is_absolute(), "", || "must be an absolute path".into())
                .map_err(|error| refuse(error.message))?;
            let is_python = path.extension().is_some_and(|extension| extension == "py");
            require(!is_python, "", || IN_PYTHON.into()).map_err(|error| refuse(error.message))?;
            // A gate does not run endpoints, but a scenario's plug-ins may have some.
            for entry in forebay::load(path).map_err(refuse)?.kinds {
                <dyn Discipline as Part>::join(&mut disciplines, entry)
                    .map_err(|error| refuse(error.message))?;
            }
        }
        let plugins = [&self.plugins, paths].concat();
        Ok(Parts { disciplines: disciplines.into(), boxes: self.boxes.clone(), plugins })
    }

    /// Whether there are plug-ins.
    pub fn are_foreign(&self) -> bool {
        !self.plugins.is_empty()
    }

    /// Checks that `paths` are the plug-ins that are loaded, because a running gate loads no
    /// others.
    ///
    /// # Errors
    /// They are not.
    pub fn has_plugins(&self, paths: &[PathBuf]) -> Result<(), ConfigError> {
        require(self.plugins == paths, "plugins", || {
            "cannot change while the gate runs; start it again".into()
        })
    }
}

/// Reports calls that `watch` sees and that do not return for a tenth of a second, from a thread of
/// its own.
///
/// # Errors
/// The thread cannot be started.
pub fn report_late(watch: forebay::Watch) -> io::Result<()> {
    let look = move || loop {
        thread::sleep(LOOK);
        if let Some(late) = watch.look(LOOKS) {
            say(format_args!("{late} for {:?}; all packets wait for it", LOOK * LOOKS));
        }
    };
    thread::Builder::new().name("plug-ins".into()).spawn(look).map(drop)
}

/// Ends the process with `code` if a call into a plug-in that this thread makes from now on does not
/// return for some seconds.
///
/// # Errors
/// The thread that watches cannot be started.
pub fn give_up_late(code: u8) -> io::Result<()> {
    let watch = forebay::Watch::default();
    watch.begin();
    let look = move || loop {
        thread::sleep(LOOK);
        if let Some(late) = watch.look(MOST_LOOKS) {
            text::print(&format!("error: {late}; given up after {:?}\n", LOOK * MOST_LOOKS));
            process::exit(code.into());
        }
    };
    thread::Builder::new().name("plug-ins".into()).spawn(look).map(drop)
}

/// Two configurations are equal if their fields are. Their parts do not count.
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
