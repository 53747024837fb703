//! Traffic profiles: markers at the senders' edge.

use super::grammar::Per;
use crate::Registry;
use crate::engine::Conditioner;
use forebay_core::{ConfigError, Registry as Parts, Rng, config};
use forebay_middlebox::marker::Marker;
use serde_json::{Map, Value};

/// A profile that traffic entries may name.
#[derive(Debug, Clone)]
pub struct NamedProfile {
    name: String,
    /// Its marker, as a scenario writes it, with every default filled in.
    marker: Value,
    per: Per,
}

impl NamedProfile {
    /// Reads the table called `name`: `per`, `kind` and that kind's parameters.
    pub fn read(name: &str, table: &Value, registry: &Registry) -> Result<Self, ConfigError> {
        let read = || {
            let mut table: Map<String, Value> = config::read(table)?;
            let per = table.remove("per").map(|per| config::read(&per)).transpose();
            let per = per.map_err(|error: ConfigError| error.within("per"))?.unwrap_or_default();
            let marker = registry.markers.effective(&Value::Object(table), &())?;
            registry.markers.build(&marker, &())?;
            Ok(NamedProfile { name: name.to_owned(), marker, per })
        };
        read().map_err(|error: ConfigError| error.within(&format!("profile.{name}")))
    }

    /// Its name, and its table with every default filled in.
    pub fn effective(&self) -> (String, Value) {
        let mut table = self.marker.clone();
        table["per"] = serde_json::json!(self.per);
        (self.name.clone(), table)
    }
}

/// The conditioners of a world. They are made when flows need them.
pub struct Conditioners<'a> {
    profiles: &'a [NamedProfile],
    markers: &'a Parts<dyn Marker>,
    seed: u64,
    /// The conditioner of each profile that is metered as an aggregate.
    shared: Vec<Option<u32>>,
    /// Conditioners made so far. Flows hold indices into them.
    pub made: Vec<Conditioner>,
}

impl<'a> Conditioners<'a> {
    /// No conditioners yet.
    pub fn new(profiles: &'a [NamedProfile], markers: &'a Parts<dyn Marker>, seed: u64) -> Self {
        let shared = vec![None; profiles.len()];
        Conditioners { profiles, markers, seed, shared, made: Vec::new() }
    }

    /// Index of the conditioner of flow `flow` (whose name is unique) in profile `name`.
    pub fn of(&mut self, name: &str, flow: &str) -> Result<u32, ConfigError> {
        let at =
            self.profiles.iter().position(|profile| profile.name == name).ok_or_else(|| {
                let names: Vec<_> = self.profiles.iter().map(|each| each.name.as_str()).collect();
                let message = match names.as_slice() {
                    [] => format!("there is no profile \"{name}\"; give a [profile.{name}] table"),
                    names => format!("there is no profile \"{name}\"; one of {}", names.join(", ")),
                };
                ConfigError::new("profile", message)
            })?;
        let NamedProfile { marker, per, .. } = &self.profiles[at];
        let stream = match (per, self.shared[at]) {
            (Per::Aggregate, Some(known)) => return Ok(known),
            (Per::Aggregate, None) => format!("profile/{name}"),
            (Per::Flow, _) => format!("profile/{name}/{flow}"),
        };
        let index = self.made.len() as u32;
        self.shared[at] = Some(index);
        let rng = Rng::named(self.seed, &stream);
        self.made.push(Conditioner { marker: self.markers.build(marker, &())?, rng });
        Ok(index)
    }
}
