//! The stacks with laws of their own form: the standards', and four versions of Linux.

use super::linux::{Linux26Params, LinuxParams, Version};
use super::standard::{Standard, StandardParams};
use super::{Abilities, Host, Stack};
use crate::LossRecovery;
use forebay_core::config::require;
use forebay_core::{ConfigError, Named};

impl Named for Standard {
    type Family = Stack;
    const NAME: &'static str = "standard";
    const SUMMARY: &'static str = "the rules of the RFCs, for every congestion control";
    const SOURCE: &'static str = "RFC 5681, 6298, 6582, 6675, 9293";
    const FACTS: Abilities = Abilities::ALL;
    type Params = StandardParams;

    fn build(params: &StandardParams, _: &()) -> Result<Host, ConfigError> {
        let growth = params.growth_per_ack.unwrap_or(1);
        require(growth >= 1, "growth_per_ack", || format!("must be at least 1, got {growth}"))?;
        Ok(Host::Standard(params.clone()))
    }
}

/// Parameters that Linux of today lacks.
const LACKS: &[&str] = &["quick_acks"];

/// A version as a part of the registry.
macro_rules! version {
    ($version:ident, $params:ident, $name:literal, $summary:literal, $congestion:expr, $lacks:expr) => {
        #[doc = $summary]
        #[derive(Debug)]
        pub struct $version;

        impl Named for $version {
            type Family = Stack;
            const NAME: &'static str = concat!("linux-", $name);
            const SUMMARY: &'static str = $summary;
            const SOURCE: &'static str = concat!("Linux ", $name, ", net/ipv4");
            const FACTS: Abilities = Abilities {
                recovery: &[LossRecovery::Sack],
                congestion: $congestion,
                lacks: $lacks,
            };
            type Params = $params;

            fn build(params: &$params, _: &()) -> Result<Host, ConfigError> {
                let params = LinuxParams::from(*params);
                params.check()?;
                Ok(Host::Linux(Version::$version, params))
            }
        }
    };
}

/// The controls that 2.6 has.
const OLD: Option<&[&str]> = Some(&["cubic", "new-reno"]);
/// Parameters that 2.6 lacks.
const OLD_LACKS: &[&str] = &["accurate_ecn", "hystart", "pacing", "quick_acks"];

version!(
    Linux2_6_18,
    Linux26Params,
    "2.6.18",
    "Linux 2.6.18 (2006): forward acknowledgment, rate halving",
    OLD,
    OLD_LACKS
);
version!(
    Linux2_6_26,
    Linux26Params,
    "2.6.26",
    "Linux 2.6.26 (2008): as 2.6.18, with F-RTO",
    OLD,
    OLD_LACKS
);
version!(
    Linux6_1,
    LinuxParams,
    "6.1",
    "Linux 6.1 (2022): RACK, tail loss probes, proportional rate reduction",
    None,
    LACKS
);
version!(
    Linux6_12,
    LinuxParams,
    "6.12",
    "Linux 6.12 (2024): as 6.1, with buffers that fill up and windows by measured memory",
    None,
    LACKS
);
