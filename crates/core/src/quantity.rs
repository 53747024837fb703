//! Rates and sizes.

use crate::config::Amount;
use crate::text_form;
use crate::time::Duration;
use crate::units::{Unit, UnitError, unit_string};
use std::fmt;
use std::str::FromStr;

/// A bit rate in bit/s; written `"10Mbit"` or `"10Mb/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// A size in bytes; written `"45KB"` (45 000 B) or `"64KiB"` (65 536 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// Size of a buffer, in packets (`"30p"`) or in bytes (`"45KB"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of IP packets.
    Bytes(u64),
}

/// Length of a queue, as a size (`"5p"`, `"45KB"`) or as the time in which it drains (`"5ms"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Length {
    /// Packets or bytes.
    Size(Limit),
    /// The time in which the queue drains at the rate of its link.
    Time(Duration),
}

const RATES: &[Unit] = &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];
const RATES_READ: &[Unit] = &[
    ("bit", 1.0),
    ("kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];
const SIZES: &[Unit] = &[("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const SIZES_READ: &[Unit] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

unit_string!(Rate, "a rate", "10Mbit", RATES_READ, RATES, "rate");
unit_string!(Bytes, "a size", "45KB", SIZES_READ, SIZES, "bytes");

impl Rate {
    /// A rate of `bits` bit/s.
    pub const fn from_bps(bits: u64) -> Self {
        Rate(bits)
    }

    /// The rate in bit/s.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Time to send `bytes` at this rate, rounded down to the nanosecond.
    ///
    /// # Panics
    /// If the rate is zero; a link's rate is checked when it is built.
    #[inline]
    pub fn transmission(self, bytes: u64) -> Duration {
        Duration::from_nanos((u128::from(bytes) * 8_000_000_000 / u128::from(self.0)) as u64)
    }

    /// Bytes sent in `span` at this rate.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> f64 {
        self.0 as f64 / 8.0 * span.as_secs_f64()
    }
}

impl Limit {
    /// Whether a queue of `packets` and `bytes` has room for one more packet of `len` bytes.
    #[inline]
    pub fn admits(self, packets: usize, bytes: u64, len: u32) -> bool {
        match self {
            Limit::Packets(most) => packets < most as usize,
            Limit::Bytes(most) => bytes + u64::from(len) <= most,
        }
    }

    /// Whether no packet would ever fit.
    pub fn is_zero(self) -> bool {
        matches!(self, Limit::Packets(0) | Limit::Bytes(0))
    }
}

impl Amount for Limit {
    fn is_above_zero(&self) -> bool {
        !self.is_zero()
    }
}

impl FromStr for Limit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let count = ["packets", "packet", "p"].iter().find_map(|unit| trimmed.strip_suffix(unit));
        if let Some(count) = count {
            return count.trim().parse().map(Limit::Packets).map_err(|_| {
                UnitError(format!(
                    "expected a whole number of packets such as \"30p\", got \"{text}\""
                ))
            });
        }
        Bytes::from_str(text).map(|bytes| Limit::Bytes(bytes.0)).map_err(|_| {
            UnitError(format!(
                "expected a buffer size in packets such as \"30p\" or in bytes such as \"45KB\", got \"{text}\""
            ))
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(count) => write!(f, "{count}p"),
            Limit::Bytes(bytes) => Bytes(*bytes).fmt(f),
        }
    }
}

text_form!(Limit, "a buffer size such as \"30p\" or \"45KB\"", {
    "format": "limit",
    "description": "a buffer size in packets such as \"30p\" or in bytes such as \"45KB\"",
    "examples": ["30p", "45KB"],
});

impl FromStr for Length {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Ok(time) = text.parse() {
            return Ok(Length::Time(time));
        }
        text.parse().map(Length::Size).map_err(|_| {
            UnitError(format!(
                "expected a length in packets such as \"30p\", in bytes such as \"45KB\" or in time such as \"5ms\", got \"{text}\""
            ))
        })
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Size(size) => size.fmt(f),
            Length::Time(time) => time.fmt(f),
        }
    }
}

text_form!(Length, "a length such as \"30p\", \"45KB\" or \"5ms\"", {
    "format": "length",
    "description": "a length of a queue: packets such as \"30p\", bytes such as \"45KB\" or a time such as \"5ms\"",
    "examples": ["30p", "45KB", "5ms"],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_read_and_write() {
        assert_eq!("1.5Mbit".parse::<Rate>().unwrap().bps(), 1_500_000);
        assert_eq!("10 Mb/s".parse::<Rate>().unwrap().to_string(), "10Mbit");
        assert_eq!("64KiB".parse::<Bytes>().unwrap().0, 65_536);
        assert_eq!("45KB".parse::<Limit>().unwrap(), Limit::Bytes(45_000));
        assert_eq!("30 packets".parse::<Limit>().unwrap().to_string(), "30p");
        for (written, meant) in [
            ("10Mbps", "10Mbit"),
            ("10 Mbits", "10Mbit"),
            ("2Mbit/sec", "2Mbit"),
            ("3gbps", "3Gbit"),
            ("20mbit", "20Mbit"),
            ("20MBit/s", "20Mbit"),
            ("64kBit", "64kbit"),
        ] {
            let error = written.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(&format!("(did you mean \"{meant}\"?)")), "{error}");
        }
        assert!(!"10MBps".parse::<Rate>().unwrap_err().to_string().contains("mean"));
        assert!("5msec".parse::<Duration>().unwrap_err().to_string().contains("mean \"5ms\""));
        assert!("30.5p".parse::<Limit>().is_err());
    }

    #[test]
    fn a_length_is_a_size_or_a_time() {
        let read = |text: &str| text.parse::<Length>().unwrap();
        assert_eq!(read("5p"), Length::Size(Limit::Packets(5)));
        assert_eq!(read("45KB"), Length::Size(Limit::Bytes(45_000)));
        assert_eq!(read("5ms"), Length::Time(Duration::from_millis(5)));
        for text in ["5p", "45KB", "5ms"] {
            assert_eq!(read(text).to_string(), text);
        }
        for text in ["5", "5Mbit", "-5ms", "p"] {
            let message = text.parse::<Length>().unwrap_err().to_string();
            assert!(message.contains("\"5ms\"") && message.contains(text), "{message}");
        }
    }

    #[test]
    fn transmission_time_is_exact_to_the_nanosecond() {
        let rate = Rate::from_bps(10_000_000);
        assert_eq!(rate.transmission(1507), Duration::from_nanos(1_205_600));
    }
}
