//! Unit strings: how times, rates and sizes are written in files and messages.
//!
//! A number never stands without its unit: `"5ms"`, `"10Mbit"`, `"45KB"`.
//! Decimal prefixes are powers of ten (`KB` = 1000 B), binary ones carry an `i` (`KiB` = 1024 B).

use std::fmt;

/// Why a unit string was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError(pub String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}

/// One accepted unit: its spelling and its size in base units.
pub(crate) type Unit = (&'static str, f64);

/// The number with which `text` begins, if it does, and the unit that follows.
pub(crate) fn split(text: &str) -> (Option<f64>, &str) {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    (number.replace('_', "").parse().ok(), unit.trim())
}

/// Parses `text` as a non-negative number followed by one of `units`; the answer is in base units.
///
/// # Errors
/// Names what was expected, with an example, when the number or the unit is not understood, the
/// number is negative, or the value does not fit 63 bits.
pub(crate) fn parse(
    text: &str,
    what: &str,
    example: &str,
    units: &[Unit],
) -> Result<u64, UnitError> {
    let (number, unit) = split(text);
    let refuse = |why: String| Err(UnitError(why));
    let number = match number {
        Some(value) => value,
        None => {
            return refuse(format!("expected {what} such as \"{example}\", got \"{text}\""));
        }
    };
    let spellings = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return refuse(format!(
            "\"{text}\" has no unit; write {what} such as \"{example}\" (units: {})",
            spellings()
        ));
    }
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return refuse(format!(
            "unknown unit \"{unit}\" in \"{text}\"; write {what} such as \"{example}\" (units: {})",
            spellings()
        ));
    };
    let value = number * scale;
    if value < 0.0 {
        return refuse(format!("must not be negative, got \"{text}\""));
    }
    if value > i64::MAX as f64 {
        return refuse(format!("\"{text}\" is too large"));
    }
    // Beyond 2^53 a double skips whole numbers.
    let exact = if value < 9e15 { None } else { decimal(text, *scale) };
    Ok(exact.unwrap_or(value.round() as u64))
}

/// The number that `text` begins with, at most three decimals, times `scale`.
fn decimal(text: &str, scale: f64) -> Option<u64> {
    let digits = text.trim().trim_end_matches(|c: char| !c.is_ascii_digit());
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = if part.len() <= 3 { format!("{part:0<3}") } else { return None };
    let thousandths = format!("{whole}{part}").parse::<u128>().ok()?;
    u64::try_from(thousandths.checked_mul(scale as u128)? / 1000).ok()
}

/// Writes `value` with the largest unit that keeps it exact to at most three decimals.
pub(crate) fn format(value: u64, units: &[Unit], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = units[0].0;
    for (name, scale) in units.iter().rev() {
        let size = *scale as u64;
        if size > 1 && value >= size && u128::from(value) * 1000 % u128::from(size) == 0 {
            let thousandths = (u128::from(value) * 1000 / u128::from(size)) as u64;
            let (whole, part) = (thousandths / 1000, thousandths % 1000);
            if part == 0 {
                return write!(f, "{whole}{name}");
            }
            let digits = format!("{part:03}");
            return write!(f, "{whole}.{}{name}", digits.trim_end_matches('0'));
        }
    }
    write!(f, "{value}{base}")
}

/// Gives a newtype over `u64` its unit strings: `FromStr`, `Display`, serde and JSON Schema.
macro_rules! unit_string {
    ($type:ident, $what:literal, $example:literal, $read:expr, $write:expr, $format:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::units::UnitError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::units::parse(text, $what, $example, $read).map($type)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::units::format(self.0, $write, f)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::units::deserialize(deserializer, concat!($what, " such as \"", $example, "\""))
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "format": $format,
                    "description": concat!($what, " with its unit, such as \"", $example, "\""),
                    "examples": [$example],
                })
            }
        }
    };
}
pub(crate) use unit_string;

/// Reads a unit string, and answers a bare number with how to write it.
pub(crate) fn deserialize<'de, D, T>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr<Err = UnitError>,
{
    struct Visitor<T>(&'static str, std::marker::PhantomData<T>);
    impl<T: std::str::FromStr<Err = UnitError>> serde::de::Visitor<'_> for Visitor<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Visitor(expected, std::marker::PhantomData))
}
