//! Every source of traffic, by name.

use super::{
    AdaptiveVideo, Bulk, Bursty, Cbr, Datagrams, Files, Marks, OnOff, Pages, Pcap, Poisson,
    Sensing, Transfers, Voice, Web,
};
use crate::wireless::Track;
use forebay_core::{ConfigError, config};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::path::Path;

/// What one flow of a traffic entry runs on.
pub enum Generator {
    /// Datagrams, open loop.
    Datagrams(Box<dyn Datagrams>),
    /// Transfers over TCP.
    Transfers(Box<dyn Transfers>),
}

/// Where a source is built.
#[derive(Debug, Clone, Copy)]
pub struct BuildSite<'a> {
    /// Directory that relative file names start from: the scenario's own.
    pub base_dir: &'a Path,
    /// Marks of the traffic entry, for sources that replace some of them.
    pub marks: Marks,
    /// Where the sender is, if it is a station of the wireless network.
    pub place: Option<&'a Track>,
}

/// Something that a traffic entry can name.
pub trait Source {
    /// What a scenario writes as `kind = "..."`.
    const NAME: &'static str;
    /// One line for lists.
    const SUMMARY: &'static str;
    /// Paper, section, standard or data that it follows.
    const SOURCE: &'static str;
    /// Its parameters, the one home of their defaults; every field's doc comment gives meaning,
    /// unit, range and source.
    type Params: Serialize + DeserializeOwned + JsonSchema;

    /// Fills in the defaults that depend on other parameters.
    fn resolve(_params: &mut Self::Params) {}

    /// Checks the (resolved) parameters and builds one flow's generator.
    ///
    /// # Errors
    /// Names the field that is out of range, and the range; or the file, and the remedy.
    fn build(params: &Self::Params, site: &BuildSite) -> Result<Generator, ConfigError>;
}

/// One registered source.
pub struct Entry {
    /// What a scenario writes as `kind = "..."`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, section, standard or data that it follows.
    pub source: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
    effective: fn(&Value) -> Result<Value, ConfigError>,
    build: fn(&Value, &BuildSite) -> Result<Generator, ConfigError>,
}

/// The line that registers `S`.
const fn entry<S: Source>() -> Entry {
    Entry {
        name: S::NAME,
        summary: S::SUMMARY,
        source: S::SOURCE,
        schema: |generator| S::Params::json_schema(generator),
        effective: |block| {
            Ok(serde_json::to_value(resolved::<S>(block)?).expect("parameters are plain data"))
        },
        build: |block, site| S::build(&resolved::<S>(block)?, site),
    }
}

fn resolved<S: Source>(block: &Value) -> Result<S::Params, ConfigError> {
    let mut params = config::read(block)?;
    S::resolve(&mut params);
    Ok(params)
}

impl Entry {
    /// JSON Schema of the parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// The parameters in `block` (an object without `kind`) with every default filled in.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    pub fn effective(&self, block: &Value) -> Result<Value, ConfigError> {
        (self.effective)(block)
    }

    /// Builds one flow's generator from `block` (an object without `kind`).
    ///
    /// # Errors
    /// As [`Entry::effective`], values out of range, and files that cannot be used.
    pub fn build(&self, block: &Value, site: &BuildSite) -> Result<Generator, ConfigError> {
        (self.build)(block, site)
    }
}

/// The sources.
pub static SOURCES: &[Entry] = &[
    entry::<AdaptiveVideo>(),
    entry::<Bulk>(),
    entry::<Bursty>(),
    entry::<Cbr>(),
    entry::<Files>(),
    entry::<OnOff>(),
    entry::<Pages>(),
    entry::<Pcap>(),
    entry::<Poisson>(),
    entry::<Sensing>(),
    entry::<Voice>(),
    entry::<Web>(),
];

/// Builds one flow's generator from `block`: `kind` and that source's parameters.
///
/// # Errors
/// An unknown kind or field, a value out of range or an unusable file, with its path inside `block`.
pub fn build(block: &Map<String, Value>, site: &BuildSite) -> Result<Generator, ConfigError> {
    let (entry, params) = choose(block)?;
    entry.build(&params, site)
}

/// `block` (`kind` and that source's parameters) with every default filled in.
///
/// # Errors
/// An unknown kind or field, or a value of the wrong form, with its path inside `block`.
pub fn effective(block: &Map<String, Value>) -> Result<Map<String, Value>, ConfigError> {
    let (entry, params) = choose(block)?;
    let mut whole = Map::from_iter([("kind".to_owned(), Value::from(entry.name))]);
    if let Value::Object(params) = entry.effective(&params)? {
        whole.extend(params);
    }
    Ok(whole)
}

/// The entry that `block.kind` names, and the rest of the block.
fn choose(block: &Map<String, Value>) -> Result<(&'static Entry, Value), ConfigError> {
    let names = || SOURCES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    let mut params = block.clone();
    let kind = params.remove("kind").unwrap_or_default();
    let Some(name) = kind.as_str() else {
        return Err(ConfigError::new(
            "kind",
            format!("expected a source of traffic, one of {}", names()),
        ));
    };
    let entry = SOURCES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        ConfigError::new(
            "kind",
            format!("unknown source of traffic \"{name}\"; one of {}", names()),
        )
    })?;
    Ok((entry, Value::Object(params)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn site() -> BuildSite<'static> {
        BuildSite { base_dir: Path::new("."), marks: Marks::default(), place: None }
    }

    #[test]
    fn names_are_in_order_and_every_source_explains_itself() {
        assert!(SOURCES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for entry in SOURCES {
            assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
            let schema = entry.schema(&mut SchemaGenerator::default());
            let properties = schema.get("properties").and_then(Value::as_object);
            for (field, form) in properties.into_iter().flatten() {
                let described = form.get("description").is_some_and(|text| !text.is_null());
                assert!(described, "{}.{field} has no doc comment", entry.name);
            }
        }
    }

    #[test]
    fn what_is_effective_builds_the_same() {
        let place = Track::fixed(Default::default());
        let site = BuildSite { place: Some(&place), ..site() };
        for entry in SOURCES.iter().filter(|entry| entry.name != "pcap") {
            let whole = entry.effective(&json!({})).unwrap();
            assert_eq!(entry.effective(&whole).unwrap(), whole, "{}", entry.name);
            assert!(entry.build(&whole, &site).is_ok(), "{}", entry.name);
        }
    }

    #[test]
    fn wrong_blocks_are_refused_with_path_and_remedy() {
        let refuse = |block: Value| {
            build(block.as_object().unwrap(), &site()).err().expect("refused").to_string()
        };
        assert!(refuse(json!({})).contains("one of adaptive-video, bulk"));
        assert!(refuse(json!({"kind": "vioce"})).contains("unknown source of traffic \"vioce\""));
        assert!(refuse(json!({"kind": "cbr", "rat": "1Mbit"})).contains("rat"));
        let zero = refuse(json!({"kind": "cbr", "rate": "0bit"}));
        assert!(zero.starts_with("rate: must be above 0"), "{zero}");
    }
}
