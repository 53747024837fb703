//! Disciplines, congestion controls, sources of traffic and endpoints that are classes in Python.
//!
//! The package loads a class, reads its parameters and makes its instances (`forebay._plugin`). Here
//! an instance becomes a part of the engine. A discipline gets an account like any plug-in. Faults
//! of the others are reported to the run of their thread ([`fault`]).

mod class;
mod control;
mod desk;
mod discipline;
mod endpoint;
mod fault;
mod port;
mod source;
mod stop;
mod view;
mod words;

pub use control::{Ack, Congestion, Windows};
pub use fault::fault;
pub use port::Port;
pub use source::Stream;
pub use stop::{Stop, stopped};
pub use view::{Fifo, View};

use class::Class;
use control::Control;
use discipline::Queue;
use endpoint::End;
use forebay::{Calls, Foreign, Function};
use forebay_core::{Conduct, ConfigError, Discipline, Entry, Family, Recipe, Setting};
use forebay_sim::traffic::{BuildSite, Endpoint, Facts, Generator, JudgedBy};
use forebay_sim::{Nameable, Registry};
use forebay_tcp::congestion::{CongestionController, Start};
use pyo3::prelude::*;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use source::Sender;
use std::path::Path;
use std::sync::Arc;

/// The name of a class that is not in a file.
const CLASS: &str = "class:";

/// Whether a plug-in called `path` is in Python.
pub fn is_one(path: &str) -> bool {
    path.starts_with(CLASS)
        || Path::new(path).extension().is_some_and(|extension| extension == "py")
}

/// Adds the classes of the file `path`, which starts from `base`, or the class known by this name,
/// to `registry`. Returns the SHA-256 of its content.
///
/// # Errors
/// The file cannot be read or run, contains no part, or a wrong one; or a name is taken.
pub fn join(registry: &mut Registry, path: &str, base: &Path) -> Result<String, String> {
    Python::attach(|py| {
        let refuse = |error: PyErr| format!("plug-in {path}: {}", error.value(py));
        let calls = Calls::of(&format!("plug-in {path}").into());
        let found = calls.during(Function::Load, || {
            words::home(py).and_then(|home| home.call_method1("load", (path, base)))
        });
        let (sha256, classes): (String, Vec<Bound<'_, PyAny>>) =
            found.and_then(|found| found.extract()).map_err(refuse)?;
        for kind in &classes {
            let joined = joined(registry, path, kind).map_err(refuse)?;
            joined.map_err(|error| format!("plug-in {path}: {}", error.message))?;
        }
        Ok(sha256)
    })
}

/// Adds `kind`, a `forebay._plugin.loading.Kind`, to `registry`.
fn joined(
    registry: &mut Registry,
    path: &str,
    kind: &Bound<'_, PyAny>,
) -> PyResult<Result<(), ConfigError>> {
    let text = |name| kind.getattr(name)?.extract::<String>();
    let is = |name| kind.getattr(name)?.extract::<bool>();
    let words = [text("name")?.into(), text("summary")?.into(), text("source")?.into()];
    let class = Arc::new(Class::of(path, kind)?);
    Ok(match text("family")?.as_str() {
        "control" => {
            let facts = <dyn CongestionController as Family>::USUAL;
            Nameable::join(registry, Entry::new(words, facts, Controls(class)))
        }
        "source" => Nameable::join(registry, Entry::new(words, Generator::USUAL, Sources(class))),
        "endpoint" => {
            let facts = Facts::endpoints(JudgedBy::Goodput);
            Nameable::join(registry, Entry::new(words, facts, Endpoints(class)))
        }
        _ => {
            let (keeps_order, shapes) = (is("keeps_order")?, is("shapes")?);
            let facts = Conduct::USUAL.with_order(keeps_order).with_shaping(shapes);
            Nameable::join(registry, Entry::new(words, facts, Disciplines(class, facts)))
        }
    })
}

struct Disciplines(Arc<Class>, Conduct);
struct Controls(Arc<Class>);
struct Sources(Arc<Class>);
struct Endpoints(Arc<Class>);

impl Recipe<dyn Discipline> for Disciplines {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.0.schema()
    }

    fn effective(&self, block: &Value, _: &Setting) -> Result<Value, ConfigError> {
        self.0.effective(block)
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let make = || {
            Python::attach(|py| {
                let place = [("rate", setting.rate.bps()), ("mtu", setting.mtu.into())];
                let made = self.0.make(py, &block.to_string(), &place);
                made.and_then(|made| Queue::of(&made)).map_err(|error| Class::refused(py, &error))
            })
        };
        Ok(Box::new(Foreign::new(&self.0.who, self.1, make)?))
    }
}

impl Recipe<dyn CongestionController> for Controls {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.0.schema()
    }

    fn effective(&self, block: &Value, (): &()) -> Result<Value, ConfigError> {
        self.0.effective(block)
    }

    fn build(&self, block: &Value, (): &()) -> Result<Start, ConfigError> {
        let params = self.0.effective(block)?.to_string();
        let class = Arc::clone(&self.0);
        Ok(Arc::new(move |config| Box::new(Control::start(&class, &params, config))))
    }
}

impl Recipe<Generator> for Sources {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.0.schema()
    }

    fn effective(&self, block: &Value, _: &BuildSite<'_>) -> Result<Value, ConfigError> {
        self.0.effective(block)
    }

    fn build(&self, block: &Value, _: &BuildSite<'_>) -> Result<Generator, ConfigError> {
        Python::attach(|py| {
            let made = self.0.make(py, &block.to_string(), &[]);
            let sender = made.and_then(|made| Sender::of(&self.0, &made));
            let sender = sender.map_err(|error| Class::refused(py, &error))?;
            Ok(Generator::Datagrams(Box::new(sender)))
        })
    }
}

impl Recipe<Generator> for Endpoints {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.0.schema()
    }

    fn effective(&self, block: &Value, _: &BuildSite<'_>) -> Result<Value, ConfigError> {
        self.0.effective(block)
    }

    fn build(&self, block: &Value, _: &BuildSite<'_>) -> Result<Generator, ConfigError> {
        let params = block.to_string();
        let [sender, receiver] = [1, 0].map(|sends| {
            Python::attach(|py| {
                let made = self.0.make(py, &params, &[("sends", sends)]);
                let made = made.and_then(|made| {
                    Ok((made.cast::<Stream>()?.clone().unbind(), End::of(&self.0, &made)?))
                });
                made.map_err(|error| Class::refused(py, &error))
            })
        });
        let ends = [sender?, receiver?];
        Ok(Generator::Endpoints(Box::new(move |mut rng| {
            ends.map(|(stream, end)| {
                stream.get().seed(&mut rng);
                Box::new(end) as Box<dyn Endpoint>
            })
        })))
    }
}
