//! Differentiated services codepoints by name.

use crate::schema_form;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A DS field codepoint, written by name (`"EF"`, `"AF41"`, `"CS5"`, `"LE"`) or as a number from 0
/// to 63.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "Written", into = "String")]
pub struct Codepoint(u8);

/// Names of the codepoints: RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865 (VA), 8622 (LE),
/// 9956 (NQB).
const NAMES: [(&str, u8); 26] = [
    ("DF", 0),
    ("BE", 0),
    ("LE", 1),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
];

impl Codepoint {
    /// The codepoint, 0 to 63.
    pub fn value(self) -> u8 {
        self.0
    }

    fn from_number(number: u64) -> Result<Self, String> {
        if number < 64 {
            Ok(Codepoint(number as u8))
        } else {
            Err(format!("a DSCP is from 0 to 63, got {number}"))
        }
    }
}

impl FromStr for Codepoint {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Codepoint::from_number(number);
        }
        NAMES
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, value)| Codepoint(value))
            .ok_or_else(|| {
                format!(
                    "unknown DSCP \"{text}\"; write a name such as \"EF\", \"AF41\", \"CS5\", \
                     \"LE\" or \"DF\", or a number from 0 to 63"
                )
            })
    }
}

impl fmt::Display for Codepoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.into_iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

/// The two ways in which a file may write a codepoint.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a DSCP such as \"EF\" or a number from 0 to 63")]
enum Written {
    Number(u64),
    Name(String),
}

impl TryFrom<Written> for Codepoint {
    type Error = String;
    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(number) => Codepoint::from_number(number),
            Written::Name(name) => name.parse(),
        }
    }
}

impl From<Codepoint> for String {
    fn from(codepoint: Codepoint) -> String {
        codepoint.to_string()
    }
}

schema_form!(Codepoint, {
    "type": ["string", "integer"],
    "description": "a DSCP by name, such as \"EF\", or a number from 0 to 63",
    "minimum": 0,
    "maximum": 63,
    "examples": ["EF", "AF41", 46],
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_numbers_are_the_standards() {
        for (text, value) in
            [("EF", 46), ("af41", 34), ("AF23", 22), ("CS6", 48), ("LE", 1), ("VA", 44), ("17", 17)]
        {
            assert_eq!(text.parse::<Codepoint>().unwrap().value(), value, "{text}");
        }
        // RFC 2597, section 6: AFxy is 8x + 2y.
        for class in 1..=4_u8 {
            for drop in 1..=3_u8 {
                let codepoint: Codepoint = format!("AF{class}{drop}").parse().unwrap();
                assert_eq!(codepoint.value(), 8 * class + 2 * drop);
            }
        }
    }

    #[test]
    fn files_may_write_either() {
        let read = |value| serde_json::from_value::<Codepoint>(value);
        assert_eq!(read(json!(46)).unwrap(), read(json!("EF")).unwrap());
        assert_eq!(serde_json::to_value(read(json!(46)).unwrap()).unwrap(), json!("EF"));
        assert_eq!(serde_json::to_value(read(json!(3)).unwrap()).unwrap(), json!("3"));
        assert!(read(json!(64)).unwrap_err().to_string().contains("0 to 63"));
        assert!(read(json!("gold")).unwrap_err().to_string().contains("AF41"));
    }
}
