//! A scenario as written.

use crate::host::{Host, Stop, refuse};
use forebay_core::{ConfigError, Dimension, Quantity};
use forebay_sim::{Scenario, scenario};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What changes, as `[[change]]` has it, without its instant.
pub(crate) type Entry = Map<String, Value>;

/// Tables for comparing, tuning and learning, which a run ignores.
const BESIDE: [&str; 3] = ["compare", "tune", "agent"];

/// A scenario as written: links, queues, traffic and changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The document.
    pub tree: Value,
    /// What messages call it, usually the file's name.
    pub name: String,
    /// Folder from which relative file names inside the scenario start.
    pub base: PathBuf,
}

impl Written {
    /// `error` with the name of the scenario.
    pub(crate) fn named(&self, stop: impl Into<Stop>) -> Stop {
        match stop.into() {
            Stop::Refused(words) => {
                let name = format!("{}: ", self.name);
                let words = words.strip_prefix(&name).unwrap_or(&words);
                Stop::Refused(format!("{name}{words}"))
            }
            ended => ended,
        }
    }

    /// Its plug-ins.
    pub(crate) fn plugins(&self) -> Vec<String> {
        plugins(&self.tree)
    }

    /// The answer of `ask` to the scenario.
    pub(crate) fn asked<H: Host + Clone + 'static, T: Send + 'static>(
        &self,
        host: &H,
        ask: impl FnOnce(Scenario) -> Result<T, ConfigError> + Send + 'static,
    ) -> Result<T, Stop> {
        let (own, within) = (self.clone(), host.clone());
        let read = move || {
            let registry = within.registry(&own.tree, &own.base)?;
            Ok(ask(Scenario::read(&own.tree, &own.base, &registry)?)?)
        };
        host.guard(&self.plugins(), read).map_err(|stop| self.named(stop))
    }

    /// What it means: see [`Scenario::resolve`].
    pub(crate) fn resolved<H: Host + Clone + 'static>(&self, host: &H) -> Result<Value, Stop> {
        self.asked(host, |scenario| scenario.resolve())
    }

    /// A copy with the discipline of a lane on a link, and the lane's `box` in front of it.
    pub(crate) fn with_lane<H: Host + Clone + 'static>(
        &self,
        host: &H,
        mut lane: Map<String, Value>,
        link: &str,
    ) -> Result<Self, Stop> {
        lane.remove("label");
        let block = lane.remove("box");
        let (own, within, link) = (self.clone(), host.clone(), link.to_owned());
        let put = move || {
            let registry = within.registry(&own.tree, &own.base)?;
            let queue = Value::Object(lane);
            let mut tree =
                scenario::with_queue(&own.tree, &own.base, Some(&link), &queue, &registry)?;
            if let Some(block) = block {
                let resolved = Scenario::read(&tree, &own.base, &registry)?.resolve()?;
                let path = link_of(&resolved, &link).map_or("", |link| text(&link["path"]));
                scenario::path::set(&mut tree, &format!("{path}.box"), block)?;
            }
            Ok(tree)
        };
        let tree = host.guard(&self.plugins(), put).map_err(|stop| self.named(stop))?;
        Ok(Written { tree, ..self.clone() })
    }

    /// A copy with one more `[[change]]`, in order of time.
    ///
    /// # Errors
    /// The instant of another change is no time.
    pub(crate) fn with_change(&self, at_ns: u64, entry: &Entry) -> Result<Self, Stop> {
        let mut changed = self.clone();
        let changes = &mut changed.tree["change"];
        if changes.is_null() {
            *changes = json!([]);
        }
        let Some(changes) = changes.as_array_mut() else {
            return Err(self.named(Stop::Refused("change: must be a list".into())));
        };
        let mut place = changes.len();
        while place > 0 && nanoseconds(&changes[place - 1]["at"])? > at_ns {
            place -= 1;
        }
        let mut table = Map::from_iter([("at".to_owned(), instant(at_ns).into())]);
        table.extend(entry.clone());
        changes.insert(place, Value::Object(table));
        Ok(changed)
    }

    /// A copy without its changes, and these: instant in ns, and what changes.
    ///
    /// # Errors
    /// An instant is no time.
    pub(crate) fn without_changes(&self) -> Result<(Self, Vec<(u64, Entry)>), Stop> {
        let mut plain = self.clone();
        let changes = plain.tree.as_object_mut().and_then(|tree| tree.remove("change"));
        let Some(Value::Array(changes)) = changes else { return Ok((plain, Vec::new())) };
        let each = changes.into_iter().map(|change| {
            let Value::Object(mut entry) = change else {
                return Err(self.named(Stop::Refused("change: must be a list of tables".into())));
            };
            let at = entry.remove("at").unwrap_or_default();
            Ok((nanoseconds(&at).map_err(|stop| self.named(stop))?, entry))
        });
        let changes = each.collect::<Result<_, Stop>>()?;
        Ok((plain, changes))
    }

    /// A copy without the tables that one run ignores.
    pub(crate) fn bare(mut self) -> Self {
        if let Some(tree) = self.tree.as_object_mut() {
            tree.retain(|field, _| !BESIDE.contains(&field.as_str()));
        }
        self
    }

    /// The document as TOML; what is null is left out, as TOML has no such value.
    ///
    /// # Errors
    /// A number does not fit.
    pub(crate) fn to_toml(&self) -> Result<String, Stop> {
        let mut tree = self.tree.clone();
        drop_null(&mut tree);
        toml::to_string(&tree).map_err(|error| self.named(Stop::Refused(error.to_string())))
    }
}

/// The plug-ins that a document names.
pub fn plugins(tree: &Value) -> Vec<String> {
    let files = tree.get("plugins").map(list).unwrap_or_default();
    files.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect()
}

fn drop_null(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, inner| !inner.is_null());
            fields.values_mut().for_each(drop_null);
        }
        Value::Array(values) => {
            values.retain(|inner| !inner.is_null());
            values.iter_mut().for_each(drop_null);
        }
        _ => {}
    }
}

/// A text of a document of ours.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The list of a document of ours.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is resolved of the link that results call `name`.
pub(crate) fn link_of<'a>(resolved: &'a Value, name: &str) -> Option<&'a Value> {
    list(&resolved["links"]).iter().find(|link| link["name"] == name)
}

/// A time such as "100ms" in nanoseconds.
pub(crate) fn nanoseconds(value: &Value) -> Result<u64, Stop> {
    let Some(text) = value.as_str() else {
        return refuse(format!("expected a time such as \"100ms\", got {value}"));
    };
    match Quantity::parse(text, Some(Dimension::Time)) {
        Ok(found) => Ok((found.value * 1e9).round() as u64),
        Err(error) => refuse(error.to_string()),
    }
}

/// An instant as a scenario writes it, without loss, such as "2s" or "1500ms".
pub(crate) fn instant(at_ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)];
    let fits = units.into_iter().find(|(_, size): &(_, u64)| at_ns.is_multiple_of(*size));
    let (unit, size) = fits.unwrap_or(("ns", 1));
    format!("{}{unit}", at_ns / size)
}
