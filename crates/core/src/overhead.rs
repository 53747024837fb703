//! What a link adds to a packet.

use crate::{Bytes, ConfigError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Bytes that a link adds to every IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overhead(pub u32);

/// Flag, header, protocol and check sequence.
const PPP: u32 = 7;
/// Preamble 8, header 14, check sequence 4, gap 12.
const ETHERNET: u32 = 38;

impl FromStr for Overhead {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "none" => Ok(Overhead(0)),
            "ppp" => Ok(Overhead(PPP)),
            "ethernet" => Ok(Overhead(ETHERNET)),
            _ => match text.parse::<Bytes>() {
                Ok(Bytes(bytes)) if bytes <= 1000 => Ok(Overhead(bytes as u32)),
                _ => Err(ConfigError::new(
                    "",
                    format!(
                        "expected \"none\", \"ppp\", \"ethernet\" or a size of at most 1KB such as \
                         \"7B\", got \"{text}\""
                    ),
                )),
            },
        }
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("none"),
            PPP => f.write_str("ppp"),
            ETHERNET => f.write_str("ethernet"),
            bytes => Bytes(u64::from(bytes)).fmt(f),
        }
    }
}

impl Serialize for Overhead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Overhead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Overhead {
    fn schema_name() -> Cow<'static, str> {
        "Overhead".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "\"none\", \"ppp\" (7 B), \"ethernet\" (38 B) or a size such as \"7B\"",
            "examples": ["none", "ppp", "ethernet", "7B"],
        })
    }
}
