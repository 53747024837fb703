//! Reading configurations: an error has one clear message with the path and the remedy.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use std::fmt;
use std::ops::RangeInclusive;

/// An error in a configuration, with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// A dotted path (`link.queue.target`). Empty if the whole is wrong.
    pub path: String,
    /// The fault and its remedy.
    pub message: String,
}

impl ConfigError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError { path: path.into(), message: message.into() }
    }

    /// The error with `outer` in front of its path.
    pub fn within(self, outer: &str) -> Self {
        let path = match (outer.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (false, true) => outer.to_owned(),
            (false, false) if self.path.starts_with('[') => format!("{outer}{}", self.path),
            (false, false) => format!("{outer}.{}", self.path),
        };
        ConfigError { path, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ConfigError {}

/// Reads `value` as a `T`.
///
/// # Errors
/// Names the path inside `value` and what was expected there.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, ConfigError> {
    let parse = |value: &Value| serde_path_to_error::deserialize::<_, T>(value);
    parse(value).map_err(|fault| described(fault, value, &|other| parse(other).err()))
}

/// serde's error, with the path.
type Fault = serde_path_to_error::Error<serde_json::Error>;

/// The `fault` of `value` in plain words; `refused` is what serde finds wrong with another value. This
/// is not generic, as the types that are read are many.
fn described(
    fault: Fault,
    value: &Value,
    refused: &dyn Fn(&Value) -> Option<Fault>,
) -> ConfigError {
    let path = fault.path().to_string();
    let path = if path == "." { String::new() } else { path };
    let place = fault.path().clone();
    let mut message = fault.into_inner().to_string();
    if message.ends_with(NO_NAME)
        && let Some(names) = names(value, &place, refused)
    {
        message = message.replace(NO_NAME, &format!(", expected one of {names}"));
    }
    ConfigError { path, message: reworded(message) }
}

/// The end of serde's message about a value that should be one of several names and is no text.
const NO_NAME: &str = ", expected string or map";

/// The names that are allowed at `place` of `value`. serde tells them only for a text that is none of
/// them.
fn names(value: &Value, place: &Path, refused: &dyn Fn(&Value) -> Option<Fault>) -> Option<String> {
    let mut other = value.clone();
    let at = place.iter().try_fold(&mut other, |at, segment| match segment {
        Segment::Map { key } => at.get_mut(key),
        Segment::Seq { index } => at.get_mut(index),
        _ => None,
    });
    *at? = Value::from("");
    let message = refused(&other)?.into_inner().to_string();
    let (_, names) = message.strip_prefix("unknown variant ")?.split_once(", expected ")?;
    Some(quoted(names).collect::<Vec<_>>().join(", "))
}

/// The words between backquotes.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// serde's message in plain words: an unknown name gets a suggestion, a wrong value the values that
/// are allowed.
fn reworded(message: String) -> String {
    for (beginning, what) in [("unknown field `", "field"), ("unknown variant `", "value")] {
        let named = message.strip_prefix(beginning).and_then(|rest| rest.split_once('`'));
        if let Some((written, expected)) = named {
            let known: Vec<_> = quoted(expected).collect();
            return unknown(what, written, &known);
        }
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    let mismatch = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|beginning| message.strip_prefix(beginning)?.split_once(", expected "));
    match mismatch {
        Some((count, expected)) if message.starts_with("invalid length ") => {
            format!("must be {}, got a list of {count}", wanted(expected))
        }
        Some((given, expected)) => format!("must be {}, got {}", wanted(expected), found(given)),
        None => message,
    }
}

/// serde's name of a type, in words.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "a tuple of size 2" => "a list of 2",
        "fewer elements in array" => "a shorter list",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// A value as serde reports it, in the form in which a file writes it.
fn found(given: &str) -> &str {
    match given {
        "map" => "a table",
        "sequence" => "a list",
        "null" | "unit value" => "nothing",
        _ => match given.split_once('`') {
            Some((_, value)) => value.trim_end_matches('`'),
            None => given.strip_prefix("string ").unwrap_or(given),
        },
    }
}

/// A message that `written` is not one of the `known` names, with the name that was probably meant.
pub fn unknown(what: &str, written: &str, known: &[&str]) -> String {
    let meant = nearest(written, known).map(|name| format!(" (did you mean \"{name}\"?)"));
    let known = match known {
        [] => "there is none".to_owned(),
        known => format!("one of {}", known.join(", ")),
    };
    format!("unknown {what} \"{written}\"{}; {known}", meant.unwrap_or_default())
}

/// The known name that differs from `written` in the fewest letters, if these are few. Letters may
/// be changed, added, left out or exchanged; one more where the beginnings are equal.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = written.to_lowercase();
    let distance = |name: &&str| strsim::osa_distance(&written, &name.to_lowercase());
    let nearest = *known.iter().min_by_key(|name| distance(name))?;
    let begins_alike = written.chars().zip(nearest.chars()).take(3).filter(|(a, b)| a == b).count();
    let most = (nearest.chars().count() / 3).clamp(1, 3) + begins_alike / 3;
    (distance(&nearest) <= most).then_some(nearest)
}

/// Checks that `ok` holds for the field at `path`.
///
/// # Errors
/// Returns `path` and the message, if it does not.
pub fn require(ok: bool, path: &str, message: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError::new(path, message())) }
}

/// Checks that `value` of the field at `path` is above 0.
///
/// # Errors
/// Returns `path`, if it is not.
pub fn above_zero<T: Amount>(path: &str, value: T) -> Result<(), ConfigError> {
    require(value.is_above_zero(), path, || {
        let quote = if T::IS_TEXT { "\"" } else { "" };
        format!("must be above 0, got {quote}{value}{quote}")
    })
}

/// Refuses numbers that are infinite or not a number, which are null in the tree of a TOML text.
///
/// # Errors
/// Returns the path of the first.
pub fn finite(tree: &Value) -> Result<(), ConfigError> {
    match tree {
        Value::Null => Err(ConfigError::new("", "must be a finite number")),
        Value::Array(values) => values.iter().enumerate().try_for_each(|(place, value)| {
            finite(value).map_err(|error| error.within(&format!("[{place}]")))
        }),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, value)| finite(value).map_err(|error| error.within(name))),
        _ => Ok(()),
    }
}

/// Checks that the share `value` of the field at `path` is above 0 and at most 1.
///
/// # Errors
/// Returns `path`, if it is not.
pub fn positive_share(path: &str, value: f64) -> Result<(), ConfigError> {
    require(value > 0.0 && value <= 1.0, path, || {
        format!("must be above 0 and at most 1, got {value}")
    })
}

/// Checks that `value` of the field at `path` is within `range`.
///
/// # Errors
/// Returns `path` and the range, if it is not.
pub fn within<T: PartialOrd + fmt::Display>(
    path: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    require(range.contains(&value), path, || {
        format!("must be {} to {}, got {value}", range.start(), range.end())
    })
}

/// A quantity that may have to be above 0.
pub trait Amount: fmt::Display {
    /// Whether configurations write it as a text.
    const IS_TEXT: bool = true;

    /// Whether it is above 0, and finite.
    fn is_above_zero(&self) -> bool;
}

impl Amount for f64 {
    const IS_TEXT: bool = false;

    fn is_above_zero(&self) -> bool {
        *self > 0.0 && self.is_finite()
    }
}

/// The number 1, a default of fields.
pub fn one<T: From<u8>>() -> T {
    1.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form is of interest")]
    struct Table {
        #[serde(default)]
        target: u8,
        #[serde(default)]
        interval: Option<Way>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Way {
        NewReno,
        Cubic,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let refuse = |value| read::<Table>(&value).unwrap_err().to_string();
        assert_eq!(
            refuse(json!({ "tagret": 1 })),
            "tagret: unknown field \"tagret\" (did you mean \"target\"?); one of target, interval"
        );
        let kinds = ["adaptive-video", "bulk", "voice"];
        assert!(unknown("source", "voip", &kinds).contains("(did you mean \"voice\"?)"));
        assert!(!unknown("source", "vpn", &kinds).contains("mean"));
        assert_eq!(
            refuse(json!({ "colour": 1 })),
            "colour: unknown field \"colour\"; one of target, interval"
        );
        assert_eq!(
            refuse(json!({ "interval": "Cubik" })),
            "interval: unknown value \"Cubik\" (did you mean \"cubic\"?); one of new-reno, cubic"
        );
        for value in [json!(true), json!(1), json!(["cubic"])] {
            let error = refuse(json!({ "interval": value }));
            assert!(error.starts_with("interval: must be one of new-reno, cubic, got "), "{error}");
        }
        let pair = |value| read::<Vec<(u8, Way)>>(&value).unwrap_err().to_string();
        assert_eq!(pair(json!([[1]])), "[0]: must be a list of 2, got a list of 1");
        assert_eq!(pair(json!([[1, "cubic", 3]])), "[0]: must be a shorter list, got a list of 3");
        assert_eq!(pair(json!([[1, 2]])), "[0][1]: must be one of new-reno, cubic, got 2");
        assert_eq!(
            refuse(json!({ "target": -1 })),
            "target: must be a whole number from 0 to 255, got -1"
        );
        assert_eq!(
            refuse(json!({ "target": "5" })),
            "target: must be a whole number from 0 to 255, got \"5\""
        );
        assert_eq!(
            refuse(json!({ "target": [] })),
            "target: must be a whole number from 0 to 255, got a list"
        );
        let nothing = read::<Nothing>(&json!({ "a": 1 })).unwrap_err().to_string();
        assert_eq!(nothing, "a: unknown field \"a\"; there is none");
    }
}
