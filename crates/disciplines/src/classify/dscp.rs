//! The differentiated services codepoint chooses the queue.
//!
//! Source: RFC 2474 (the field), RFC 4594 (service classes and their codepoints), RFC 5127,
//! section 4 (their aggregation into four), RFC 8622 (lower effort), RFC 5865 (VOICE-ADMIT).
//!
//! | queue | aggregate (RFC 5127) | codepoints of the default table, by precedence |
//! |---|---|---|
//! | 4 | network control | 2: CS6, CS7 |
//! | 3 | real time | 2: EF, VA, CS5, AF41, CS4, CS3; 1: AF42; 0: AF43 |
//! | 2 | assured elastic | 2: CS2, AF31, AF21, AF11; 1: AF32, AF22, AF12; 0: AF33, AF23, AF13 |
//! | 1 | elastic | 1: DF and every codepoint not listed |
//! | 0 | lower effort | 0: LE, CS1 |
//!
//! The precedence, which only rules such as CQ-AQM use, follows the tolerance to loss of each
//! service class in RFC 4594, figure 2 (high: 0, not specified: 1, medium and lower: 2), and within
//! an assured forwarding class the drop precedence (RFC 2597, section 2). If other packets are more
//! important to you, write a table of your own.
//!
//! Deviations
//! - D1: CS1 is served with LE and not with the elastic aggregate. RFC 4594, section 4.10, gives it
//!   to low-priority data, which RFC 8622 moves to LE.
//!
//! Cost: one table look-up per packet.

use super::class::check_queues;
use crate::Classify;
use crate::retune::unchanged;
use forebay_core::config::require;
use forebay_core::{
    Bank, Codepoint, ConfigError, Context, Named, Packet, QueueId, Setting, Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;

/// A queue for each codepoint, by table.
#[derive(PartialEq)]
pub struct Dscp {
    table: [u8; 64],
    /// Precedence of each codepoint. [`AS_IT_CAME`] if the table gives none.
    precedence: [u8; 64],
    queues: usize,
}

const AS_IT_CAME: u8 = u8::MAX;

/// The queue, and the precedence, of packets with a codepoint; written `3`, a queue alone, or
/// `{ queue = 3, precedence = 2 }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a queue such as 3, or { queue = 3, precedence = 2 }")]
pub enum Treatment {
    /// The queue. The packet keeps its precedence.
    Queue(usize),
    /// The queue and the precedence.
    Both(QueueAndPrecedence),
}

/// Queue and precedence of a codepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueAndPrecedence {
    /// The queue; below the number of queues.
    pub queue: usize,
    /// Importance of the content, 0 to 7; higher is more important.
    pub precedence: u8,
}

impl Treatment {
    fn queue(self) -> usize {
        match self {
            Treatment::Queue(queue) | Treatment::Both(QueueAndPrecedence { queue, .. }) => queue,
        }
    }

    fn precedence(self) -> u8 {
        match self {
            Treatment::Queue(_) => AS_IT_CAME,
            Treatment::Both(both) => both.precedence,
        }
    }
}

params! {
    /// Parameters of `dscp`.
    pub struct DscpParams {
        /// Number of queues, 1 to 256.
        pub queues: usize = 5,
        /// Queue, and precedence if one is given, of the codepoints that the table does not list.
        pub default: Treatment = both(1, 1),
        /// Queue of each codepoint, by name or number, below `queues`, and its precedence, 0 to 7:
        /// `{ EF = { queue = 3, precedence = 2 }, AF41 = 2, "1" = 0 }`. A table given replaces the
        /// default one as a whole.
        pub table: BTreeMap<Codepoint, Treatment> = aggregates(),
    }
}

/// Queue, precedence and codepoints.
const AGGREGATES: [(usize, u8, &[&str]); 8] = [
    (0, 0, &["LE", "CS1"]),
    (2, 0, &["AF33", "AF23", "AF13"]),
    (2, 1, &["AF32", "AF22", "AF12"]),
    (2, 2, &["CS2", "AF31", "AF21", "AF11"]),
    (3, 0, &["AF43"]),
    (3, 1, &["AF42"]),
    (3, 2, &["EF", "VA", "CS5", "AF41", "CS4", "CS3"]),
    (4, 2, &["CS6", "CS7"]),
];

fn both(queue: usize, precedence: u8) -> Treatment {
    Treatment::Both(QueueAndPrecedence { queue, precedence })
}

fn aggregates() -> BTreeMap<Codepoint, Treatment> {
    AGGREGATES
        .iter()
        .flat_map(|(queue, p, names)| names.iter().map(|name| (*name, both(*queue, *p))))
        .map(|(name, treatment)| (name.parse().expect("a name of the list"), treatment))
        .collect()
}

impl Dscp {
    /// The classifier with these parameters.
    ///
    /// # Errors
    /// A number of queues that is not from 1 to 256, or an entry whose queue is at or above it.
    pub fn new(params: &DscpParams) -> Result<Self, ConfigError> {
        let queues = params.queues;
        check_queues(queues)?;
        let check = |treatment: Treatment, path: &str| {
            let (queue, precedence) = (treatment.queue(), treatment.precedence());
            require(queue < queues, path, || {
                format!("must be below the number of queues ({queues}), got {queue}")
            })?;
            require(precedence <= 7 || precedence == AS_IT_CAME, path, || {
                format!("the precedence must be 0 to 7, got {precedence}")
            })
        };
        check(params.default, "default")?;
        let mut table = [params.default.queue() as u8; 64];
        let mut precedence = [params.default.precedence(); 64];
        for (codepoint, treatment) in &params.table {
            check(*treatment, &format!("table.{codepoint}"))?;
            table[usize::from(codepoint.value())] = treatment.queue() as u8;
            precedence[usize::from(codepoint.value())] = treatment.precedence();
        }
        Ok(Dscp { table, precedence, queues })
    }
}

impl Named for Dscp {
    type Family = dyn Classify;
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
    fn mark(&self, packet: &mut Packet) {
        let precedence = self.precedence[usize::from(packet.dscp() & 63)];
        if precedence != AS_IT_CAME {
            packet.precedence = precedence;
        }
    }

    #[inline]
    fn queues(&self) -> usize {
        self.queues
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        usize::from(self.table[usize::from(packet.dscp() & 63)])
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
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
    fn precedence_is_read_off_the_codepoint() {
        let read = |params: &DscpParams, name: &str| {
            let mut packet = Packet::new(0, 0, 100);
            packet.set_dscp(name.parse::<Codepoint>().unwrap().value());
            packet.precedence = 6;
            Dscp::new(params).unwrap().mark(&mut packet);
            let precedence = packet.precedence;
            packet.retire();
            precedence
        };
        let standard = DscpParams::default();
        for (precedence, names) in [
            (2, ["CS6", "EF", "VA", "CS5", "AF41", "AF31", "AF11", "CS2"].as_slice()),
            (1, &["DF", "AF12", "AF42", "63"]),
            (0, &["LE", "CS1", "AF13", "AF43"]),
        ] {
            for name in names {
                assert_eq!(read(&standard, name), precedence, "{name}");
            }
        }
        let own = json!({ "queues": 2, "default": 0, "table": {
            "EF": 1, "41": { "queue": 1, "precedence": 4 },
        }});
        let own: DscpParams = config::read(&own).unwrap();
        assert_eq!([read(&own, "EF"), read(&own, "41"), read(&own, "DF")], [6, 4, 6]);
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
        let table = json!({ "EF": { "queue": 1, "precedence": 8 } });
        let params = read(json!({ "queues": 2, "table": table })).unwrap();
        assert_eq!(Dscp::new(&params).err().unwrap().path, "table.EF");
        let wrong = json!({ "EF": { "queue": 1, "importance": 8 } });
        assert!(read(json!({ "table": wrong })).unwrap_err().message.contains("precedence = 2"));
        assert!(read(json!({ "table": { "XY": 0 } })).unwrap_err().message.contains("AF41"));
    }
}
