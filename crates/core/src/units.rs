//! Unit strings: how files and messages write times, rates and sizes.
//!
//! A number always has a unit: `"5ms"`, `"10Mbit"`, `"45KB"`. Decimal prefixes are powers of ten
//! (`KB` = 1000 B). Binary prefixes have an `i` (`KiB` = 1024 B).

use std::fmt;

/// The reason why a unit string was refused.
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

/// The digits at the beginning of `text` (with sign and point), and the unit that follows.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+' || c == '_'))
        .unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(split);
    (digits, unit.trim())
}

/// The value of `digits`.
pub(crate) fn number(digits: &str) -> Option<f64> {
    digits.replace('_', "").parse().ok()
}

/// Parses `text`, a non-negative number followed by one of `units`. Returns the value in base
/// units.
///
/// # Errors
/// The number or the unit is not understood, the number is negative, or the value does not fit into
/// 63 bits. The message names what was expected, with an example.
pub(crate) fn parse(
    text: &str,
    what: &str,
    example: &str,
    units: &[Unit],
) -> Result<u64, UnitError> {
    let (digits, unit) = split(text);
    let refuse = |why: String| Err(UnitError(why));
    let Some(number) = number(digits) else {
        return refuse(format!("expected {what} such as \"{example}\", got \"{text}\""));
    };
    let spellings = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return refuse(format!(
            "\"{text}\" has no unit; write {what} such as \"{example}\" (units: {})",
            spellings()
        ));
    }
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let meant = meant(unit, units);
        let meant = meant.map(|name| format!(" (did you mean \"{digits}{name}\"?)"));
        return refuse(format!(
            "unknown unit \"{unit}\" in \"{text}\"{}; write {what} such as \"{example}\" (units: {})",
            meant.unwrap_or_default(),
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
    Ok(exact(digits, *scale as u64))
}

/// The unit that `written` begins with, or the nearest one from which at most one letter differs, in
/// its usual spelling. A large `B` is a byte and never means bits, except in `Bit`.
fn meant<'a>(written: &str, units: &[(&'a str, f64)]) -> Option<&'a str> {
    let begun = units.iter().filter(|(name, _)| written.starts_with(name));
    let is_bytes = |unit: &str| unit.replace("Bit", "bit").contains('B');
    let distance = |name: &str| strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
    let near = |name: &str| {
        written.len() > 2 && distance(name) <= 1 && is_bytes(written) == is_bytes(name)
    };
    let nearest =
        || units.iter().filter(|(name, _)| near(name)).min_by_key(|(name, _)| distance(name));
    let (_, scale) = begun.max_by_key(|(name, _)| name.len()).or_else(nearest)?;
    units.iter().find(|(_, other)| other == scale).map(|(name, _)| *name)
}

/// `digits`, which are not negative, times `scale`, rounded. A double would round values above
/// 2^53.
fn exact(digits: &str, scale: u64) -> u64 {
    let digits = digits.replace(['_', '+', '-'], "");
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    // More digits than these cannot change the rounded value.
    let part = &part[..part.len().min(25)];
    let read = |digits: &str| digits.parse::<u128>().unwrap_or(0);
    let (scale, one) = (u128::from(scale), 10_u128.pow(part.len() as u32));
    (read(whole) * scale + (read(part) * scale + one / 2) / one) as u64
}

/// Writes `value` in the largest unit that keeps it exact with at most three decimals.
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

/// Gives a newtype over `u64` its unit strings: `FromStr`, `Display` and [`text_form`].
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

        $crate::text_form!($type, concat!($what, " such as \"", $example, "\""), {
            "format": $format,
            "description": concat!($what, " with its unit, such as \"", $example, "\""),
            "examples": [$example],
        });

        impl $crate::config::Amount for $type {
            fn is_above_zero(&self) -> bool {
                self.0 > 0
            }
        }
    };
}
pub(crate) use unit_string;

/// Gives a type with `FromStr` and `Display` its form in configurations: serde and JSON Schema.
/// `$expected` says in errors what must be written.
#[macro_export]
macro_rules! text_form {
    ($type:ident, $expected:expr, { $($schema:tt)+ }) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::units::deserialize(deserializer, $expected)
            }
        }

        $crate::schema_form!($type, { "type": "string", $($schema)+ });
    };
}

/// Gives a type its JSON Schema, in which `generator` refers to those of other types.
#[macro_export]
macro_rules! schema_form {
    ($type:ident, $schema:tt) => {
        $crate::schema_form!($type, |_generator| $schema);
    };
    ($type:ident, |$generator:ident| $schema:tt) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
/// Reads a text. For a bare number, the error says how to write it.
///
/// # Errors
/// It is no text, or not one of a `T`.
#[doc(hidden)]
pub fn deserialize<'de, D, T>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr<Err: fmt::Display>,
{
    struct Visitor<T>(&'static str, std::marker::PhantomData<T>);
    impl<T: std::str::FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Visitor<T> {
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
