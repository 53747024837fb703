//! Points in time and spans of time, in whole nanoseconds.

use crate::units::{Unit, unit_string};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time: nanoseconds since the run (or the gate) began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Time(u64);

/// A span of time in nanoseconds; written `"5ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

const SPANS: &[Unit] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const SPANS_READ: &[Unit] =
    &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)];

unit_string!(Duration, "a time", "5ms", SPANS_READ, SPANS, "duration");

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event; "never".
    pub const MAX: Time = Time(u64::MAX);

    /// The time `nanos` nanoseconds after the beginning.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Time(nanos)
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning; for statistics, never for ordering.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// A span of zero.
    pub const ZERO: Duration = Duration(0);
    /// The longest span.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// A span of `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * 1_000_000_000)
    }

    /// A span of `secs` seconds, rounded to the nanosecond; a negative or undefined value gives zero.
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        // `as` saturates, and maps NaN and negative values to zero.
        Duration((secs * 1e9 + 0.5) as u64)
    }

    /// The span in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This span minus `other`, at least zero.
    #[inline]
    pub fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// This span times `factor`, at most the longest span.
    #[inline]
    pub fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl From<std::time::Duration> for Duration {
    /// A span beyond [`Duration::MAX`], 584 years, becomes that.
    fn from(span: std::time::Duration) -> Self {
        Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for std::time::Duration {
    fn from(span: Duration) -> Self {
        std::time::Duration::from_nanos(span.0)
    }
}

impl From<std::time::Duration> for Time {
    /// The time so long after the beginning, for instance `Time::from(start.elapsed())` with an
    /// [`std::time::Instant`].
    fn from(since: std::time::Duration) -> Self {
        Time(Duration::from(since).0)
    }
}

impl From<Time> for std::time::Duration {
    /// The span since the beginning.
    fn from(time: Time) -> Self {
        std::time::Duration::from_nanos(time.0)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    /// Saturates at [`Time::MAX`], so "never" remains "never".
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// # Panics
    /// In debug builds, if `earlier` is later. [`Time::since`] saturates instead.
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_the_standard_library_are_spans() {
        let span = std::time::Duration::new(2, 5);
        assert_eq!(Duration::from(span), Duration::from_nanos(2_000_000_005));
        assert_eq!(std::time::Duration::from(Duration::from_nanos(2_000_000_005)), span);
        assert_eq!(std::time::Duration::from(Time::from(span)), span);
        assert_eq!(Duration::from(std::time::Duration::MAX), Duration::MAX);
    }

    #[test]
    fn spans_read_and_write_the_same() {
        for (text, nanos, canonical) in [
            ("5ms", 5_000_000, "5ms"),
            ("1.5 s", 1_500_000_000, "1.5s"),
            ("460us", 460_000, "460us"),
            ("2min", 120_000_000_000, "120s"),
            ("0ms", 0, "0ns"),
            ("1234567ns", 1_234_567, "1234.567us"),
            (".0000014999ms", 1, "1ns"),
            ("+1_000.0005us", 1_000_001, "1000.001us"),
            // More than a double holds.
            ("21301841939381.527us", 21_301_841_939_381_527, "21301841939381.527us"),
        ] {
            let span: Duration = text.parse().unwrap();
            assert_eq!(span.as_nanos(), nanos);
            assert_eq!(span.to_string(), canonical);
            assert_eq!(canonical.parse::<Duration>().unwrap(), span);
        }
    }

    #[test]
    fn wrong_spans_say_what_to_write() {
        for text in ["5", "-5ms", "1-2ms", "_ms", "-ms", "5 parsecs", "", "ms", "1.2.3s"] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains("5ms") || error.contains("negative"), "{text}: {error}");
        }
    }
}
