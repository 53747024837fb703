//! Datagrams of one size at a constant rate.

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::law::{require_length, require_rate};
use super::{Datagram, Datagrams};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A constant-rate source.
pub struct Cbr {
    clock: Clock,
    len: u32,
    random_phase: bool,
    begun: bool,
}

/// Parameters of the constant-rate source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CbrParams {
    /// Rate of IP packets, with their headers, without link overhead. Above 0.
    pub rate: Rate,
    /// Length of the IP packet, including headers. 1 B to 65 535 B.
    pub size: Bytes,
    /// Whether the first datagram waits for a random part of the interval, so that several flows do
    /// not send at the same time. Otherwise it is sent at the start.
    pub random_phase: bool,
}

impl Default for CbrParams {
    fn default() -> Self {
        CbrParams { rate: Rate::from_bps(1_000_000), size: Bytes(1000), random_phase: true }
    }
}

/// Ticks at intervals of `work` / `rate` nanoseconds. The part below a nanosecond is carried over,
/// so the mean rate is exact.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    work: u64,
    rate: u64,
    remainder: u64,
}

impl Clock {
    /// Ticks at which `len` bytes are sent at `rate`, the field at `path`.
    ///
    /// # Errors
    /// A rate of zero, or of more than a packet per nanosecond.
    pub(crate) fn new(rate: Rate, len: u32, path: &str) -> Result<Self, ConfigError> {
        require_rate(rate, len, path)?;
        Ok(Clock { work: u64::from(len) * 8_000_000_000, rate: rate.bps(), remainder: 0 })
    }

    /// Mean time between ticks.
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_nanos(self.work / self.rate)
    }

    /// Ticks at `interval`.
    pub(crate) fn every(interval: Duration) -> Self {
        Clock { work: interval.as_nanos(), rate: 1, remainder: 0 }
    }

    /// The time until the next tick.
    #[inline]
    pub(crate) fn tick(&mut self) -> Duration {
        let due = self.work + self.remainder;
        self.remainder = due % self.rate;
        Duration::from_nanos(due / self.rate)
    }

    /// A random part of an interval.
    pub(crate) fn phase(&self, rng: &mut Rng) -> Duration {
        Duration::from_nanos((self.work as f64 / self.rate as f64 * rng.uniform()) as u64)
    }
}

impl Cbr {
    /// A source with these parameters.
    ///
    /// # Errors
    /// A rate of zero, or a size that a packet cannot have.
    pub fn new(params: &CbrParams) -> Result<Self, ConfigError> {
        let len = require_length(params.size.0, "size")?;
        let clock = Clock::new(params.rate, len, "rate")?;
        Ok(Cbr { clock, len, random_phase: params.random_phase, begun: false })
    }
}

impl Named for Cbr {
    type Family = Generator;
    const NAME: &'static str = "cbr";
    const SUMMARY: &'static str = "datagrams of one size at a constant rate";
    const SOURCE: &'static str = "RFC 7928, section 5.3";
    const FACTS: Facts = Facts::datagrams(JudgedBy::DelayAndLoss);
    type Params = CbrParams;

    fn build(params: &CbrParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        Ok(Generator::Datagrams(Box::new(Cbr::new(params)?)))
    }
}

impl Datagrams for Cbr {
    #[inline]
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        let wait = if self.begun {
            self.clock.tick()
        } else {
            self.begun = true;
            if self.random_phase { self.clock.phase(rng) } else { Duration::ZERO }
        };
        Some(Datagram { at: after + wait, len: self.len, flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_exact() {
        // 1000 B at 3 Mbit/s is not a whole number of nanoseconds; 3000 of them take 8 s.
        let params = CbrParams { rate: Rate::from_bps(3_000_000), ..CbrParams::default() };
        let mut cbr = Cbr::new(&CbrParams { random_phase: false, ..params }).unwrap();
        let mut rng = Rng::named(1, "cbr");
        let mut at = cbr.next(Time::from_nanos(5), &mut rng).unwrap().at;
        assert_eq!(at, Time::from_nanos(5));
        for _ in 0..3000 {
            let datagram = cbr.next(at, &mut rng).unwrap();
            assert_eq!((datagram.len, datagram.flow, datagram.marks), (1000, 0, None));
            at = datagram.at;
        }
        assert_eq!(at.as_nanos(), 8_000_000_005);
    }

    #[test]
    fn phases_are_spread_over_the_interval() {
        let mut rng = Rng::named(1, "phases");
        // 1000 B at 1 Mbit/s: 8 ms.
        let phases: Vec<f64> = (0..2000)
            .map(|_| {
                let mut cbr = Cbr::new(&CbrParams::default()).unwrap();
                cbr.next(Time::ZERO, &mut rng).unwrap().at.as_secs_f64()
            })
            .collect();
        assert!(phases.iter().all(|phase| *phase < 0.008));
        assert!((phases.iter().sum::<f64>() / 2000.0 - 0.004).abs() < 0.0002);
    }

    #[test]
    fn impossible_packets_are_refused() {
        for size in [0, 65_536] {
            let params = CbrParams { size: Bytes(size), ..CbrParams::default() };
            assert_eq!(Cbr::new(&params).err().unwrap().path, "size");
        }
    }
}
