//! The overhead of a link.

use crate::text_form;
use crate::{Bytes, ConfigError};
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

text_form!(Overhead, "\"none\", \"ppp\", \"ethernet\" or a size such as \"7B\"", {
    "description": "\"none\", \"ppp\" (7 B), \"ethernet\" (38 B) or a size such as \"7B\"",
    "examples": ["none", "ppp", "ethernet", "7B"],
});
