//! Every source of traffic, by name.

use super::{
    AdaptiveVideo, Bulk, Bursty, Cbr, Datagrams, Files, Marks, OnOff, Pages, Pcap, Poisson,
    Sensing, Transfers, Voice, Web,
};
use crate::wireless::Track;
use forebay_core::{ConfigError, config};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::path::Path;

/// What one flow of a traffic entry runs on.
pub enum Generator {
    /// Datagrams, open loop.
    Datagrams(Box<dyn Datagrams>),
    /// Transfers over TCP.
    Transfers(Box<dyn Transfers>),
}

/// How the packets of a source are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP connections.
    Tcp,
    /// Datagrams.
    Datagrams,
}

/// By which measure a user would judge what the network makes of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// Mean opinion score of calls.
    Mos,
    /// Time in which a file or page is complete.
    Completion,
    /// Goodput of transfers that have no end, or whose size follows the goodput.
    Goodput,
    /// Delay and loss of datagrams.
    DelayAndLoss,
}

/// What a source builds for each flow: `Box<dyn Datagrams>` or `Box<dyn Transfers>`.
pub trait Flow {
    /// How its packets are carried.
    const TRANSPORT: Transport;
    /// The flow, whichever of the two it is.
    fn generator(self) -> Generator;
}

impl Flow for Box<dyn Datagrams> {
    const TRANSPORT: Transport = Transport::Datagrams;
    fn generator(self) -> Generator {
        Generator::Datagrams(self)
    }
}

impl Flow for Box<dyn Transfers> {
    const TRANSPORT: Transport = Transport::Tcp;
    fn generator(self) -> Generator {
        Generator::Transfers(self)
    }
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
    /// By what a user judges it.
    const JUDGED_BY: JudgedBy;
    /// Whether it sends datagrams or transfers data over TCP.
    type Flow: Flow;
    /// Its parameters, the one home of their defaults; every field's doc comment gives meaning,
    /// unit, range and source.
    type Params: Serialize + DeserializeOwned + JsonSchema;

    /// Fills in the defaults that depend on other parameters.
    fn resolve(_params: &mut Self::Params) {}

    /// The capture file that it replays, if it does.
    fn capture(_params: &Self::Params) -> Option<&str> {
        None
    }

    /// Checks the (resolved) parameters and builds one flow's generator.
    ///
    /// # Errors
    /// Names the field that is out of range, and the range; or the file, and the remedy.
    fn build(params: &Self::Params, site: &BuildSite) -> Result<Self::Flow, ConfigError>;
}

/// One registered source.
#[derive(Debug)]
pub struct Entry {
    /// What a scenario writes as `kind = "..."`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, section, standard or data that it follows.
    pub source: &'static str,
    /// How its packets are carried.
    pub transport: Transport,
    /// By what a user judges it.
    pub judged_by: JudgedBy,
    schema: fn(&mut SchemaGenerator) -> Schema,
    effective: fn(&Value) -> Result<Value, ConfigError>,
    capture: fn(&Value) -> Result<Option<String>, ConfigError>,
    build: fn(&Value, &BuildSite) -> Result<Generator, ConfigError>,
}

/// The line that registers `S`.
const fn entry<S: Source>() -> Entry {
    Entry {
        name: S::NAME,
        summary: S::SUMMARY,
        source: S::SOURCE,
        transport: S::Flow::TRANSPORT,
        judged_by: S::JUDGED_BY,
        schema: |generator| S::Params::json_schema(generator),
        effective: |block| {
            Ok(serde_json::to_value(resolved::<S>(block)?).expect("parameters are plain data"))
        },
        capture: |block| Ok(S::capture(&resolved::<S>(block)?).map(str::to_owned)),
        build: |block, site| Ok(S::build(&resolved::<S>(block)?, site)?.generator()),
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

    /// Names of the parameters.
    pub fn fields(&self) -> Vec<String> {
        let schema = self.schema(&mut SchemaGenerator::default());
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    }

    /// The capture file that a source with the parameters in `block` replays, if it does.
    ///
    /// # Errors
    /// As [`Entry::effective`].
    pub fn capture(&self, block: &Value) -> Result<Option<String>, ConfigError> {
        (self.capture)(block)
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

/// The source called `kind`.
///
/// # Errors
/// There is none, with those that there are.
pub fn find(kind: &str) -> Result<&'static Entry, ConfigError> {
    SOURCES.iter().find(|entry| entry.name == kind).ok_or_else(|| {
        let names: Vec<_> = SOURCES.iter().map(|entry| entry.name).collect();
        ConfigError::new("kind", config::unknown("source of traffic", kind, &names))
    })
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
        assert!(find("vioce").err().unwrap().message.contains("one of adaptive-video, bulk"));
        let cbr = find("cbr").unwrap();
        let refuse = |block: Value| cbr.build(&block, &site()).err().expect("refused").to_string();
        assert!(refuse(json!({"rat": "1Mbit"})).contains("rat"));
        let zero = refuse(json!({"rate": "0bit"}));
        assert!(zero.starts_with("rate: must be above 0"), "{zero}");
    }
}
