//! Sources of traffic: datagrams (open loop), transfers over TCP, and endpoints of other protocols.
//!
//! A traffic entry of a scenario names a source (`kind = "voice"`) and gives its parameters;
//! [`builtin`] has all of them. Each flow of an entry has a generator and a random stream. A
//! replayed capture is one generator of many flows.

mod adaptive_video;
mod bulk;
mod bursty;
mod cbr;
mod clock;
mod endpoint;
mod family;
mod files;
mod law;
mod on_off;
mod pages;
mod pcap;
mod poisson;
mod responsiveness;
mod rules;
mod sensing;
mod voice;
mod web;
mod writes;

pub use endpoint::{Account, Completed, Endpoint, Pair};
pub use family::{BuildSite, Facts, Generator, JudgedBy, Transport};
pub(crate) use law::{Law, Variate};
pub use pcap::{Pcap, PcapParams};
pub(crate) use voice::Codec;

use forebay_core::{Duration, Ecn, Packet, Rate, Registry, Rng, Time};

/// The sources of this crate, one line for each.
pub fn builtin() -> Registry<Generator> {
    Registry::default()
        .with::<adaptive_video::AdaptiveVideo>()
        .with::<bulk::Bulk>()
        .with::<bursty::Bursty>()
        .with::<cbr::Cbr>()
        .with::<files::Files>()
        .with::<on_off::OnOff>()
        .with::<pages::Pages>()
        .with::<Pcap>()
        .with::<poisson::Poisson>()
        .with::<responsiveness::Responsiveness>()
        .with::<sensing::Sensing>()
        .with::<voice::Voice>()
        .with::<web::Web>()
        .with::<writes::Writes>()
}

/// One datagram that a source sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Time of sending; not before that of the previous one.
    pub at: Time,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// The flow's number within the source, below [`Datagrams::flows`].
    pub flow: u32,
    /// Marks that replace those of the traffic entry (a replayed capture has its own).
    pub marks: Option<Marks>,
}

/// Properties of a packet for classifiers, beside its length and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// QoS class q.
    pub class: u8,
    /// Precedence p; higher is more important.
    pub precedence: u8,
    /// Drop precedence; higher is dropped first.
    pub drop_precedence: u8,
    /// DS field codepoint, 0 to 63.
    pub dscp: u8,
    /// ECN codepoint of datagrams; TCP sets its own.
    pub ecn: Ecn,
    /// The hosts of sender and receiver; 0 if they are not known.
    pub hosts: [u16; 2],
}

impl Marks {
    /// Marks `packet`.
    #[inline]
    pub fn apply(self, packet: &mut Packet) {
        packet.class = self.class;
        packet.precedence = self.precedence;
        packet.drop_precedence = self.drop_precedence;
        packet.set_dscp(self.dscp);
        packet.set_ecn(self.ecn);
        [packet.source, packet.destination] = self.hosts;
    }
}

/// An open-loop source of datagrams.
pub trait Datagrams: Send {
    /// Number of flows. It never changes.
    fn flows(&self) -> u32 {
        1
    }

    /// The next datagram, at `after` or later. None when the source has ended. `after` is the
    /// source's start at the first call, and then the time of the last datagram.
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram>;
}

/// One transfer over a TCP connection: a new connection, or the user's that has stayed open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Time of its beginning.
    pub at: Time,
    /// Payload bytes, at least 1. None: endless.
    pub bytes: Option<u64>,
    /// Whether the connection stays open for the next transfer.
    pub stays_open: bool,
}

impl Transfer {
    /// A transfer whose connection ends with it.
    pub fn whole(at: Time, bytes: Option<u64>) -> Self {
        Transfer { at, bytes, stays_open: false }
    }
}

/// Media in a transfer: a segment of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// Rate at which it was coded.
    pub rate: Rate,
    /// Length of time for which it plays.
    pub length: Duration,
}

/// A user who transfers data over TCP.
///
/// An open-loop user returns transfers from `next`, and none from `completed`. A closed-loop user returns
/// one from `next`, and then those from `completed`. It returns more from `next` if several of its
/// transfers run at the same time.
pub trait Transfers: Send {
    /// The first transfer, or the next one that does not depend on the end of the last, at `after`
    /// or later. `after` is the user's start at the first call, and then the beginning of the last
    /// transfer. After it has returned None, it is called again only when a transfer from
    /// `completed` has begun.
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Transfer>;

    /// All data of a transfer have arrived. Returns whether this is counted as a completion, with its time
    /// since the beginning of the transfer.
    fn arrived(&mut self) -> bool {
        true
    }

    /// Whether its transfers are probes of responsiveness.
    fn is_probe(&self) -> bool {
        false
    }

    /// Media of the transfer that begins or runs, if somebody watches it.
    fn media(&self) -> Option<Media> {
        None
    }

    /// The transfer that follows the end of one (closed loop), at `now` or later.
    fn completed(&mut self, _now: Time, _rng: &mut Rng) -> Option<Transfer> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::wireless::Track;
    use forebay_core::Named;
    use schemars::SchemaGenerator;
    use serde_json::{Value, json};
    use std::path::Path;

    /// Means over many datagrams of one source.
    pub(crate) struct Sample {
        /// Bytes per second.
        pub rate: f64,
        /// Bytes.
        pub mean_len: f64,
        /// Seconds.
        pub mean_interval: f64,
        /// Coefficient of variation of the intervals.
        pub cv: f64,
    }

    pub(crate) fn sample(source: &mut dyn Datagrams, count: u32) -> Sample {
        let mut rng = Rng::named(2, "sample");
        let n = f64::from(count);
        let first = source.next(Time::ZERO, &mut rng).unwrap().at;
        let (mut at, mut bytes, mut squares) = (first, 0.0, 0.0);
        for _ in 0..count {
            let datagram = source.next(at, &mut rng).unwrap();
            let interval = (datagram.at - at).as_secs_f64();
            squares += interval * interval;
            bytes += f64::from(datagram.len);
            at = datagram.at;
        }
        let secs = (at - first).as_secs_f64();
        let mean_interval = secs / n;
        let variance = squares / n - mean_interval * mean_interval;
        Sample {
            rate: bytes / secs,
            mean_len: bytes / n,
            mean_interval,
            cv: variance.sqrt() / mean_interval,
        }
    }

    pub(crate) fn site() -> BuildSite<'static> {
        BuildSite::nowhere(Path::new("."))
    }

    /// The source of datagrams `N` with these parameters.
    pub(crate) fn datagrams<N>(params: &N::Params) -> Box<dyn Datagrams>
    where
        N: Named<Family = Generator>,
    {
        match N::build(params, &site()).unwrap() {
            Generator::Datagrams(source) => source,
            _ => unreachable!("{} sends datagrams", N::NAME),
        }
    }

    /// The source of transfers `N` with these parameters.
    pub(crate) fn transfers<N>(params: &N::Params) -> Box<dyn Transfers>
    where
        N: Named<Family = Generator>,
    {
        match N::build(params, &site()).unwrap() {
            Generator::Transfers(source) => source,
            _ => unreachable!("{} uses TCP", N::NAME),
        }
    }

    /// The parameter that `N` refuses.
    pub(crate) fn refused<N: Named<Family = Generator>>(params: &N::Params) -> String {
        N::build(params, &site()).err().unwrap().path
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
                Generator::Endpoints(_) => Transport::Own,
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
