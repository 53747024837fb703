//! Quantities of any dimension. They use the same unit strings as the fields, for code that does
//! not know in which field a quantity stands.

use crate::units::{self, UnitError};
use crate::{Bytes, Duration, Limit, Rate};
use serde::{Deserialize, Serialize};

/// The dimension of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// A span of time, in s.
    Time,
    /// A bit rate, in bit/s.
    Rate,
    /// A size, in bytes.
    Size,
    /// A number of packets.
    Packets,
}

/// A quantity written as text, and its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity<'a> {
    /// Its dimension.
    pub dimension: Dimension,
    /// The value in base units, rounded as a field rounds it: whole nanoseconds, bit/s, bytes,
    /// packets.
    pub value: f64,
    /// Symbol of the base unit: "s", "bit/s", "B" or "p".
    pub base_unit: &'static str,
    /// The number as written.
    pub number: f64,
    /// The unit as written.
    pub unit: &'a str,
}

impl Dimension {
    const ALL: [Dimension; 4] =
        [Dimension::Time, Dimension::Rate, Dimension::Size, Dimension::Packets];

    /// Symbol of the base unit.
    pub const fn base_unit(self) -> &'static str {
        match self {
            Dimension::Time => "s",
            Dimension::Rate => "bit/s",
            Dimension::Size => "B",
            Dimension::Packets => "p",
        }
    }

    /// The value of `text` in base units.
    fn value(self, text: &str) -> Result<f64, UnitError> {
        Ok(match self {
            Dimension::Time => text.parse::<Duration>()?.as_secs_f64(),
            Dimension::Rate => text.parse::<Rate>()?.bps() as f64,
            Dimension::Size => text.parse::<Bytes>()?.0 as f64,
            Dimension::Packets => match text.parse::<Limit>()? {
                Limit::Packets(count) => f64::from(count),
                Limit::Bytes(_) => {
                    let message =
                        format!("expected a number of packets such as \"30p\", got \"{text}\"");
                    return Err(UnitError(message));
                }
            },
        })
    }

    /// `value`, in base units, as a field shows it: `0.005` s is `"5ms"`.
    ///
    /// # Errors
    /// The value is negative, is not finite, or does not fit into 63 bits.
    pub fn format(self, value: f64) -> Result<String, UnitError> {
        let scaled = if self == Dimension::Time { value * 1e9 } else { value };
        let most = if self == Dimension::Packets { f64::from(u32::MAX) } else { i64::MAX as f64 };
        if !(0.0..=most).contains(&scaled) {
            return Err(UnitError(format!("must be from 0 to {most}, got {value}")));
        }
        let whole = scaled.round() as u64;
        Ok(match self {
            Dimension::Time => Duration::from_nanos(whole).to_string(),
            Dimension::Rate => Rate::from_bps(whole).to_string(),
            Dimension::Size => Bytes(whole).to_string(),
            Dimension::Packets => Limit::Packets(whole as u32).to_string(),
        })
    }
}

impl<'a> Quantity<'a> {
    /// Reads `text`, a number and its unit, as a field of this dimension would. Without a
    /// dimension, the unit decides.
    ///
    /// # Errors
    /// The message of a field. Without a dimension: that no field understands it.
    pub fn parse(text: &'a str, dimension: Option<Dimension>) -> Result<Self, UnitError> {
        let (digits, unit) = units::split(text);
        let found = match dimension {
            Some(dimension) => (dimension, dimension.value(text)?),
            None => {
                let known = |dimension: Dimension| Some((dimension, dimension.value(text).ok()?));
                Dimension::ALL.into_iter().find_map(known).ok_or_else(|| {
                    UnitError(format!(
                        "expected a time such as \"5ms\", a rate such as \"10Mbit\", a size such as \
                         \"45KB\" or packets such as \"30p\", got \"{text}\""
                    ))
                })?
            }
        };
        let (dimension, value) = found;
        let number = units::number(digits)
            .ok_or_else(|| UnitError(format!("\"{text}\" does not begin with a number")))?;
        Ok(Quantity { dimension, value, base_unit: dimension.base_unit(), number, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_unit_says_the_dimension() {
        for (text, dimension, value, number, unit) in [
            ("5ms", Dimension::Time, 0.005, 5.0, "ms"),
            ("1.5Mbit", Dimension::Rate, 1.5e6, 1.5, "Mbit"),
            (" 64 KiB", Dimension::Size, 65_536.0, 64.0, "KiB"),
            ("10p", Dimension::Packets, 10.0, 10.0, "p"),
            ("2 packets", Dimension::Packets, 2.0, 2.0, "packets"),
            ("1_000 b/s", Dimension::Rate, 1000.0, 1000.0, "b/s"),
        ] {
            let found = Quantity::parse(text, None).unwrap();
            let base_unit = dimension.base_unit();
            assert_eq!(found, Quantity { dimension, value, base_unit, number, unit }, "{text}");
            assert_eq!(Quantity::parse(text, Some(dimension)).unwrap(), found);
        }
    }

    #[test]
    fn what_no_field_takes_is_no_quantity() {
        for text in ["1e3kbit", "20%", "5", "-5ms", "2.5p", "Mbit", "", "10Mbps", "nan s"] {
            assert!(Quantity::parse(text, None).is_err(), "{text}");
        }
        let error = Quantity::parse("5ms", Some(Dimension::Rate)).unwrap_err();
        assert!(error.0.contains("Gbit"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in 0u64..1 << 50, which in 0usize..4) {
            let dimension = Dimension::ALL[which];
            let value = match dimension {
                Dimension::Time => nanos as f64 / 1e9,
                Dimension::Packets => (nanos >> 20) as f64,
                _ => nanos as f64,
            };
            let text = dimension.format(value).unwrap();
            prop_assert_eq!(Quantity::parse(&text, Some(dimension)).unwrap().value, value);
        }
    }
}
