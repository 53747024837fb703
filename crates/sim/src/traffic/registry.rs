//! Every source of traffic, by name.

use super::{
    AdaptiveVideo, Bulk, Bursty, Cbr, Datagrams, Files, Marks, OnOff, Pages, Pcap, Poisson,
    Sensing, Transfers, Voice, Web, Writes,
};
use crate::wireless::Track;
use forebay_core::{Family, Registry};
use serde::Serialize;
use std::path::Path;

/// What generates one flow of a traffic entry.
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

/// The measure by which a user would judge a source.
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

/// What a source is built from.
#[derive(Debug, Clone, Copy)]
pub struct BuildSite<'a> {
    /// Directory that relative file names start from: the scenario's own.
    pub base_dir: &'a Path,
    /// Marks of the traffic entry, for sources that replace some of them.
    pub marks: Marks,
    /// Where the sender is, if it is a station of the wireless network.
    pub place: Option<&'a Track>,
}

/// What is known of a source beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// How its packets are carried.
    pub transport: Transport,
    /// The measure by which a user judges it.
    pub judged_by: JudgedBy,
}

impl Facts {
    /// A source of datagrams.
    pub const fn datagrams(judged_by: JudgedBy) -> Self {
        Facts { transport: Transport::Datagrams, judged_by }
    }

    /// A source of transfers over TCP.
    pub const fn transfers(judged_by: JudgedBy) -> Self {
        Facts { transport: Transport::Tcp, judged_by }
    }
}

impl Family for Generator {
    const WHAT: &'static str = "source of traffic";
    type Facts = Facts;
    const USUAL: Facts = Facts::datagrams(JudgedBy::DelayAndLoss);
    type Site<'a> = BuildSite<'a>;
    type Built = Generator;
}

/// The sources of this crate, one line for each.
pub fn builtin() -> Registry<Generator> {
    Registry::default()
        .with::<AdaptiveVideo>()
        .with::<Bulk>()
        .with::<Bursty>()
        .with::<Cbr>()
        .with::<Files>()
        .with::<OnOff>()
        .with::<Pages>()
        .with::<Pcap>()
        .with::<Poisson>()
        .with::<Sensing>()
        .with::<Voice>()
        .with::<Web>()
        .with::<Writes>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::SchemaGenerator;
    use serde_json::{Value, json};

    fn site() -> BuildSite<'static> {
        BuildSite { base_dir: Path::new("."), marks: Marks::default(), place: None }
    }

    #[test]
    fn every_source_explains_itself() {
        for entry in &builtin() {
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
        for entry in builtin().iter().filter(|entry| entry.name != "pcap") {
            let whole = entry.effective(&json!({}), &site).unwrap();
            assert_eq!(entry.effective(&whole, &site).unwrap(), whole, "{}", entry.name);
            let transport = match entry.build(&whole, &site).unwrap() {
                Generator::Datagrams(_) => Transport::Datagrams,
                Generator::Transfers(_) => Transport::Tcp,
            };
            assert_eq!(entry.facts.transport, transport, "{}", entry.name);
        }
    }

    #[test]
    fn wrong_blocks_are_refused_with_path_and_remedy() {
        let sources = builtin();
        assert!(
            sources.find("vioce").err().unwrap().message.contains("one of adaptive-video, bulk")
        );
        let cbr = sources.find("cbr").unwrap();
        let refuse = |block: Value| cbr.build(&block, &site()).err().expect("refused").to_string();
        assert!(refuse(json!({"rat": "1Mbit"})).contains("rat"));
        let zero = refuse(json!({"rate": "0bit"}));
        assert!(zero.starts_with("rate: must be above 0"), "{zero}");
    }
}
