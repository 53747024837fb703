//! The source of traffic "quic".

use crate::application::{HEAD, Sending};
use crate::control::control;
use crate::host::{HostParams, LONGEST, pair};
use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Named, Rate, params};
use forebay_sim::traffic::{BuildSite, Facts, Generator, JudgedBy};
use std::path::Path;

/// Data over QUIC, by the protocol of quinn.
pub struct Quic;

params! {
    /// Parameters of the source of data over QUIC.
    pub struct QuicParams {
        /// Streams at the same time, 0 to 1000. One that is complete is followed by another.
        pub streams: u32 = 1,
        /// Length of a stream, at least 8B; endless if unset.
        pub size: Option<Bytes> = None,
        /// Rate of datagrams (RFC 9221) beside the streams, counted as their payload; none if unset.
        pub datagrams: Option<Rate> = None,
        /// Payload of a datagram, 1B to 1100B.
        pub datagram_size: Bytes = Bytes(1000),
        /// Congestion control: "quinn-cubic" and "quinn-new-reno" are quinn's own; "cubic",
        /// "new-reno" and others that need only acknowledgments and losses are forebay's, with
        /// their usual parameters.
        pub congestion: String = "quinn-cubic".to_owned(),
        /// Bytes that may be in flight on a connection and on each of its streams, 2kB to 1GB. If
        /// unset, quinn's own: 1.25MB on a stream.
        pub window: Option<Bytes> = None,
        /// Longest UDP payload that path MTU discovery tries, 1200B to 65527B. It begins with 1200B.
        pub longest: Bytes = Bytes(LONGEST as u64),
        /// Folder for a qlog file of each end of each connection (draft-ietf-quic-qlog, version 0.3),
        /// called after the connection's first ID. A file that exists is not replaced. A relative
        /// name starts from the scenario's folder. None if unset.
        #[schemars(extend("format" = "path"))]
        pub qlog: Option<String> = None,
    }
}

/// Most streams at the same time.
const STREAMS: u32 = 1000;

fn hosts(params: &QuicParams, base: &Path) -> Result<HostParams, ConfigError> {
    let within = |value: u64, least: u64, most: u64, field: &str| {
        require((least..=most).contains(&value), field, || {
            format!("must be from {least}B to {most}B, got \"{value}B\"")
        })
    };
    require(params.streams <= STREAMS, "streams", || {
        format!("must be at most {STREAMS}, got {}", params.streams)
    })?;
    require(params.streams > 0 || params.datagrams.is_some(), "streams", || {
        "must be above 0 if there are no `datagrams`".into()
    })?;
    if let Some(size) = params.size {
        within(size.0, HEAD, 1 << 60, "size")?;
    }
    if let Some(window) = params.window {
        within(window.0, 2_000, 1_000_000_000, "window")?;
    }
    within(params.datagram_size.0, 1, 1100, "datagram_size")?;
    within(params.longest.0, 1200, 65_527, "longest")?;
    if let Some(rate) = params.datagrams {
        let most = params.datagram_size.0 * 8_000_000;
        require((1..=most).contains(&rate.bps()), "datagrams", || {
            "must be above 0, and at most a datagram each microsecond".into()
        })?;
    }
    Ok(HostParams {
        sending: Sending {
            streams: params.streams,
            bytes: params.size.map(|size| size.0),
            datagrams: params.datagrams.map(|rate| (rate, params.datagram_size.0)),
        },
        controls: control(&params.congestion)?,
        window: params.window.map(|window| window.0 as u32),
        longest: params.longest.0 as u16,
        qlog: params.qlog.as_ref().map(|folder| base.join(folder)),
    })
}

impl Named for Quic {
    type Family = Generator;
    const NAME: &'static str = "quic";
    const SUMMARY: &'static str = "streams and datagrams over QUIC, by the protocol of quinn";
    const SOURCE: &'static str = "quinn-proto 0.11.19; RFC 9000, 9002, 9221";
    const FACTS: Facts = Facts::endpoints(JudgedBy::Goodput);
    type Params = QuicParams;

    fn build(params: &QuicParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        let hosts = hosts(params, site.base_dir)?;
        Ok(Generator::Endpoints(Box::new(move |rng| pair(&hosts, rng))))
    }
}
