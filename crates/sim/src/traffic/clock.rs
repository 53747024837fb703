//! The clock of a source, whose rate may vary.

use super::family::BuildSite;
use super::law::require_rate;
use crate::course::{Course, Schedule};
use forebay_core::{ConfigError, Duration, Rate, Rng, Time, config::require};

/// Ticks whenever the work of a packet is done: `work` / rate nanoseconds after the tick before, if
/// the rate does not change in between. The part below a nanosecond is carried over, so the mean rate
/// is exact.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    /// Bits times 1e9, so that a nanosecond at 1 bit/s is one unit.
    work: u64,
    /// Work that is left until the next tick.
    left: u64,
    rate: Schedule<Rate>,
}

impl Clock {
    /// Ticks at which `len` bytes are sent at `rate`, the parameter `rate` of a source.
    pub(super) fn new(
        rate: &Course<Rate>,
        len: u32,
        site: &BuildSite,
    ) -> Result<Self, ConfigError> {
        let rate = site.schedule(rate, "rate", |rate, path| require_rate(rate, len, path))?;
        require(rate.values().iter().any(|rate| rate.bps() > 0), "rate", || {
            "must hold a rate greater than 0".into()
        })?;
        Ok(Clock { work: u64::from(len) * 8_000_000_000, left: 0, rate })
    }

    /// Ticks at `interval`.
    pub(super) fn every(interval: Duration) -> Self {
        Clock { work: interval.as_nanos(), left: 0, rate: Schedule::Constant(Rate::from_bps(1)) }
    }

    /// Longest time between ticks, pauses apart.
    pub(super) fn longest_interval(&self) -> Duration {
        let rates = self.rate.values().into_iter().map(Rate::bps).filter(|rate| *rate > 0);
        Duration::from_nanos(self.work / rates.min().unwrap_or(1))
    }

    /// Sets the next tick to `wait` after `now`, if the rate does not change until then; `wait` gets the rate
    /// in bit/s.
    pub(super) fn set(&mut self, now: Time, wait: impl FnOnce(f64) -> Duration) {
        // During a pause, the time is that at 1 bit/s.
        let rate = self.rate.at(now).bps().max(1);
        self.left = wait(rate as f64).as_nanos().saturating_mul(rate);
    }

    /// Sets the next tick to a random part of an interval after `now`.
    pub(super) fn set_at_random(&mut self, now: Time, rng: &mut Rng) {
        let work = self.work as f64;
        self.set(now, |rate| Duration::from_nanos((work / rate * rng.uniform()) as u64));
    }

    /// Runs from `from` to the next tick, but stops at `until`; None if that is first.
    #[inline]
    pub(super) fn run(&mut self, from: Time, until: Time) -> Option<Time> {
        let mut at = from;
        loop {
            let (rate, end) = self.rate.span(at);
            let (rate, end) = (rate.bps(), end.min(until));
            let span = (end - at).as_nanos();
            if let Some(wait) = self.left.checked_div(rate)
                && wait < span
            {
                self.left = self.work + self.left % rate;
                return Some(at + Duration::from_nanos(wait));
            }
            self.left -= rate * span;
            at = end;
            if at == until {
                return None;
            }
        }
    }

    /// Whether no tick comes from `now` on.
    pub(super) fn is_over(&self, now: Time) -> bool {
        now == Time::MAX || self.rate.span(now) == (Rate::from_bps(0), Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::config;
    use serde_json::{Value, json};
    use std::path::Path;

    fn clock(rate: Value) -> Result<Clock, ConfigError> {
        let rate: Course<Rate> = config::read(&rate).unwrap();
        let span = Duration::from_secs(10);
        let site = BuildSite { name: "load", span, ..BuildSite::nowhere(Path::new(".")) };
        Clock::new(&rate, 1000, &site)
    }

    fn ticks(mut clock: Clock, until_ms: u64) -> Vec<u64> {
        let until = Time::ZERO + Duration::from_millis(until_ms);
        let mut at = Time::ZERO;
        let mut ticks = Vec::new();
        while let Some(tick) = clock.run(at, until) {
            ticks.push(tick.as_nanos() / 1000);
            at = tick;
        }
        ticks
    }

    #[test]
    fn work_goes_on_across_steps_and_rests_in_pauses() {
        // 8 ms a packet, then none for 20 ms, then 4 ms a packet; again after 40 ms.
        let steps = json!([["0s", "1Mbit"], ["12ms", "0bit"], ["32ms", "2Mbit"]]);
        let clock = clock(json!({ "steps": steps, "period": "40ms" })).unwrap();
        // At 12 ms half a packet is left, and 2 Mbit/s do it in 2 ms; so is it at 40 ms.
        assert_eq!(ticks(clock, 60), [0, 8000, 34_000, 38_000, 44_000]);
    }

    #[test]
    fn a_source_ends_when_its_rate_stays_zero() {
        let clock = clock(json!({ "steps": [["0s", "1Mbit"], ["12ms", "0bit"]] })).unwrap();
        let pause = Time::ZERO + Duration::from_millis(12);
        assert!(clock.is_over(pause) && !clock.is_over(Time::ZERO));
        assert_eq!(ticks(clock, 1000), [0, 8000]);
    }

    #[test]
    fn drawn_rates_have_their_mean() {
        let rate = json!({ "draw": ["1Mbit", "3Mbit"], "every": "10ms" });
        let count = ticks(clock(rate).unwrap(), 10_000).len();
        // 2 Mbit/s for 10 s are 2500 packets; the standard error of 1000 draws is 3 %.
        assert!((2250..2750).contains(&count), "{count}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |rate| clock(rate).err().unwrap().to_string();
        assert!(refused(json!("0bit")).starts_with("rate: must be above 0"));
        assert!(
            refused(json!({ "steps": [["1s", "1Mbit"]] })).starts_with("rate.steps: must begin")
        );
        let zeros = refused(json!({ "steps": [["0s", "0bit"]] }));
        assert_eq!(zeros, "rate: must hold a rate greater than 0");
        let missing = refused(json!({ "trace": "missing.trace" }));
        assert!(missing.starts_with("rate.trace: ./missing.trace"), "{missing}");
        let drawn = refused(json!({ "draw": ["0bit"], "every": "1s" }));
        assert!(drawn.starts_with("rate.draw: must be above 0"), "{drawn}");
    }
}
