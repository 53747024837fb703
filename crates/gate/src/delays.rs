//! Percentiles of times, in little memory.

use forebay_core::Duration;

/// Buckets for each doubling of the time.
const EACH: u32 = 4;
/// The finest time that is told apart, in nanoseconds.
const FINEST: u64 = 16_000;
/// Buckets up to 16 s; longer times are in the last one.
const BUCKETS: usize = 81;
/// Times after which all counts are halved, so that old ones are forgotten.
const MOST: u16 = 1 << 15;

/// The last times, in buckets, four for each doubling from 16 us to 16 s. A histogram with more
/// digits for each of 10 000 circuits would take tens of megabytes.
#[derive(Debug, Clone)]
pub struct Delays {
    counts: [u16; BUCKETS],
    /// The sum of the counts.
    total: u16,
    longest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Delays { counts: [0; BUCKETS], total: 0, longest: Duration::ZERO }
    }
}

impl Delays {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        if self.total == MOST {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
        let units = time.as_nanos() / FINEST;
        let bucket = match units.checked_ilog2() {
            None => 0,
            Some(doublings) => {
                let quarter = ((units << 2) >> doublings) & 3;
                (1 + EACH * doublings + quarter as u32) as usize
            }
        };
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.total += 1;
        self.longest = self.longest.max(time);
    }

    /// The time below which `share` of the last ones are, between 16 000 and 32 000 of them if there
    /// were so many. It is too high by less than a quarter. None if there was no time yet.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = (share * f64::from(self.total)).ceil().max(1.0) as u16;
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        let edge = match bucket as u32 {
            0 => FINEST,
            after => {
                let (doublings, quarter) = ((after - 1) / EACH, (after - 1) % EACH);
                ((FINEST * u64::from(EACH + quarter + 1)) << doublings) / u64::from(EACH)
            }
        };
        Some(Duration::from_nanos(edge).min(self.longest))
    }

    /// The longest of all times, exactly.
    pub fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_a_quarter_too_high_at_most() {
        for micros in [1, 15, 16, 17, 100, 5_000, 123_456, 15_000_000] {
            let (mut delays, exact) = (Delays::default(), Duration::from_micros(micros));
            (0..90).for_each(|_| delays.add(exact));
            (0..10).for_each(|_| delays.add(Duration::from_nanos(100_000_000_000)));
            let found = delays.quantile(0.9).unwrap().as_nanos() as f64 / exact.as_nanos() as f64;
            assert!(micros < 16 || (1.0..=1.25).contains(&found), "{micros}: {found}");
            assert_eq!(delays.quantile(1.0).unwrap().as_nanos(), 16_000 << 20);
        }
        assert_eq!(Delays::default().quantile(0.99), None);
    }

    #[test]
    fn old_times_are_forgotten() {
        let mut delays = Delays::default();
        let mut add = |count, millis| {
            (0..count).for_each(|_| delays.add(Duration::from_millis(millis)));
            delays.quantile(0.99).unwrap().as_millis_f64()
        };
        assert!(add(1_000_000, 100) >= 100.0);
        // After five halvings, the old ones are less than a hundredth.
        assert!(add(32_768 * 5, 1) < 1.25);
        assert_eq!(delays.longest(), Duration::from_millis(100));
    }
}
