//! The differentiated services codepoint decides.
//!
//! Source: RFC 2474 (the field), RFC 4594 (service classes and their codepoints), RFC 5127,
//! section 4 (their aggregation into four), RFC 8622 (lower effort), RFC 5865 (VOICE-ADMIT).
//!
//! | queue | aggregate (RFC 5127) | codepoints of the default table |
//! |---|---|---|
//! | 4 | network control | CS6, CS7 |
//! | 3 | real time | EF, VA, CS5, AF41-AF43, CS4, CS3 |
//! | 2 | assured elastic | CS2, AF31-AF33, AF21-AF23, AF11-AF13 |
//! | 1 | elastic | DF and every codepoint not listed |
//! | 0 | lower effort | LE, CS1 |
//!
//! Deviations
//! - D1: CS1 is served with LE and not with the elastic aggregate: RFC 4594, section 4.10, gives it
//!   to low-priority data, which RFC 8622 moves to LE.
//!
//! Cost: one table look-up a packet.

use super::class::check_queues;
use crate::Classify;
use crate::registry::Named;
use forebay_core::config::require;
use forebay_core::{Bank, Codepoint, ConfigError, Context, Packet, QueueId, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A queue for each codepoint, by table.
pub struct Dscp {
    table: [u8; 64],
    queues: usize,
}

/// Parameters of `dscp`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DscpParams {
    /// Number of queues, 1 to 256.
    pub queues: usize,
    /// Queue of the codepoints that the table does not list; below `queues`.
    pub default: usize,
    /// Queue of each codepoint, by name or number: `{ EF = 3, AF41 = 2, "1" = 0 }`; each below
    /// `queues`. A table given replaces the default one as a whole.
    pub table: BTreeMap<Codepoint, usize>,
}

const AGGREGATES: [(usize, &[&str]); 4] = [
    (0, &["LE", "CS1"]),
    (2, &["CS2", "AF31", "AF32", "AF33", "AF21", "AF22", "AF23", "AF11", "AF12", "AF13"]),
    (3, &["EF", "VA", "CS5", "AF41", "AF42", "AF43", "CS4", "CS3"]),
    (4, &["CS6", "CS7"]),
];

impl Default for DscpParams {
    fn default() -> Self {
        let table = AGGREGATES
            .iter()
            .flat_map(|(queue, names)| names.iter().map(|name| (*name, *queue)))
            .map(|(name, queue)| (name.parse().expect("a name of the list"), queue))
            .collect();
        DscpParams { queues: 5, default: 1, table }
    }
}

impl Dscp {
    /// The classifier with these parameters.
    ///
    /// # Errors
    /// A number of queues that is not from 1 to 256, or an entry at or above it.
    pub fn new(params: &DscpParams) -> Result<Self, ConfigError> {
        let queues = params.queues;
        check_queues(queues)?;
        let check = |queue: usize, path: &str| {
            require(queue < queues, path, || {
                format!("must be below the number of queues ({queues}), got {queue}")
            })
        };
        check(params.default, "default")?;
        let mut table = [params.default as u8; 64];
        for (codepoint, queue) in &params.table {
            check(*queue, &format!("table.{codepoint}"))?;
            table[usize::from(codepoint.value())] = *queue as u8;
        }
        Ok(Dscp { table, queues })
    }
}

impl Named<dyn Classify> for Dscp {
    const NAME: &'static str = "dscp";
    const SUMMARY: &'static str = "a queue for each codepoint, by table";
    const SOURCE: &'static str = "RFC 4594; RFC 5127, section 4; RFC 8622";
    type Params = DscpParams;

    fn build(params: &DscpParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(Dscp::new(params)?))
    }
}

impl Classify for Dscp {
    #[inline]
    fn queues(&self) -> usize {
        self.queues
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        usize::from(self.table[usize::from(packet.dscp() & 63)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::config;
    use serde_json::json;

    /// Codepoints as RFC 4594, figure 3, and RFC 8622 print them, in binary.
    #[test]
    fn names_have_the_values_of_the_rfcs() {
        for (name, value) in [
            ("CS6", 0b110_000),
            ("EF", 0b101_110),
            ("CS5", 0b101_000),
            ("AF41", 0b100_010),
            ("AF42", 0b100_100),
            ("AF43", 0b100_110),
            ("CS4", 0b100_000),
            ("AF31", 0b011_010),
            ("CS3", 0b011_000),
            ("AF23", 0b010_110),
            ("CS2", 0b010_000),
            ("AF12", 0b001_100),
            ("DF", 0),
            ("CS1", 0b001_000),
            ("LE", 0b000_001),
            ("VA", 0b101_100),
            ("63", 63),
        ] {
            let codepoint: Codepoint = name.parse().unwrap();
            assert_eq!(codepoint.value(), value, "{name}");
            assert_eq!(codepoint.to_string(), name);
        }
        assert!("AF51".parse::<Codepoint>().is_err());
        assert!("64".parse::<Codepoint>().is_err());
    }

    #[test]
    fn the_default_table_ranks_the_aggregates() {
        let dscp = Dscp::new(&DscpParams::default()).unwrap();
        let queue =
            |name: &str| dscp.table[usize::from(name.parse::<Codepoint>().unwrap().value())];
        assert!(queue("CS6") > queue("EF"));
        assert!(queue("EF") > queue("AF31"));
        assert!(queue("AF31") > queue("DF"));
        assert!(queue("DF") > queue("LE"));
        assert_eq!(queue("63"), queue("DF"));
    }

    #[test]
    fn a_wrong_table_is_refused_by_path() {
        let read = |value| config::read::<DscpParams>(&value);
        let params = read(json!({ "queues": 2, "table": { "EF": 1, "46": 1, "1": 0 } })).unwrap();
        assert_eq!(params.table.len(), 2);
        let params = read(json!({ "queues": 2, "table": { "EF": 2 } })).unwrap();
        assert_eq!(Dscp::new(&params).err().unwrap().path, "table.EF");
        let params = read(json!({ "queues": 1, "table": {} })).unwrap();
        assert_eq!(Dscp::new(&params).err().unwrap().path, "default");
        assert!(read(json!({ "table": { "XY": 0 } })).unwrap_err().message.contains("AF41"));
    }
}
