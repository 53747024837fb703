//! Disciplines that are classes in Python.
//!
//! The package loads a class, reads its parameters and makes its instances (`forebay.plugin`). Here
//! an instance becomes a discipline, in the books of any plug-in.

mod desk;
mod discipline;
mod stop;
mod view;
mod words;

pub use desk::Port;
pub use stop::{Stop, stopped};
pub use view::{Fifo, View};

use discipline::Queue;
use forebay::{Foreign, Plugin};
use forebay_core::{Conduct, ConfigError, Discipline, Entry, Recipe, Setting};
use pyo3::prelude::*;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// How a class is named that no file holds.
const CLASS: &str = "class:";

/// Whether a plug-in called `path` is in Python.
pub fn is_one(path: &str) -> bool {
    path.starts_with(CLASS)
        || Path::new(path).extension().is_some_and(|extension| extension == "py")
}

/// The classes of the file `path`, which starts from `base`, or the class that is known by it.
///
/// # Errors
/// It cannot be read or run, holds no discipline, or one that is none.
pub fn load(path: &str, base: &Path) -> Result<Plugin, String> {
    Python::attach(|py| {
        let refuse = |error: PyErr| format!("plug-in {path}: {}", error.value(py));
        let found = words::home(py).and_then(|home| home.call_method1("load", (path, base)));
        let (sha256, classes): (String, Vec<Bound<'_, PyAny>>) =
            found.and_then(|found| found.extract()).map_err(refuse)?;
        let kinds = classes.iter().map(|kind| entry(path, kind)).collect::<PyResult<_>>();
        Ok(Plugin { kinds: kinds.map_err(refuse)?, sha256 })
    })
}

/// What a registry knows of `kind`, a `forebay.plugin.loading.Kind`.
fn entry(path: &str, kind: &Bound<'_, PyAny>) -> PyResult<Entry<dyn Discipline>> {
    let text = |name| kind.getattr(name)?.extract::<String>();
    let is = |name| kind.getattr(name)?.extract::<bool>();
    let (name, schema) = (text("name")?, text("schema")?);
    let who = kind.call_method1("called", (path,))?.extract::<String>()?.into();
    let facts =
        Conduct { keeps_order: is("keeps_order")?, shapes: is("shapes")?, ..Conduct::USUAL };
    let schema = serde_json::from_str(&schema).expect("the package writes JSON");
    let words = [name.into(), text("summary")?.into(), text("source")?.into()];
    Ok(Entry::new(words, facts, Class { who, kind: kind.clone().unbind(), facts, schema }))
}

struct Class {
    who: Arc<str>,
    kind: Py<PyAny>,
    facts: Conduct,
    schema: Map<String, Value>,
}

impl Class {
    /// The place and words of `error`, which the package raised about parameters, or a class did.
    fn refused(py: Python<'_>, error: &PyErr) -> ConfigError {
        let named = error.value(py).getattr("args").and_then(|args| args.extract());
        match named {
            Ok((path, message)) => ConfigError { path, message },
            Err(_) => ConfigError::new("", words::blame(py, error)),
        }
    }
}

impl Recipe<dyn Discipline> for Class {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.schema.clone().into()
    }

    fn effective(&self, block: &Value, _: &Setting) -> Result<Value, ConfigError> {
        Python::attach(|py| {
            let text = self.kind.call_method1(py, "effective", (block.to_string(),));
            let text = text.and_then(|text| text.extract::<String>(py));
            let text = text.map_err(|error| Class::refused(py, &error))?;
            Ok(serde_json::from_str(&text).expect("the package writes JSON"))
        })
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let make = || {
            Python::attach(|py| {
                let place = (block.to_string(), setting.rate.bps(), setting.mtu);
                let made = self.kind.bind(py).call_method1("make", place);
                made.and_then(|made| Queue::of(&made)).map_err(|error| Class::refused(py, &error))
            })
        };
        Ok(Box::new(Foreign::new(&self.who, self.facts, make)?))
    }
}
