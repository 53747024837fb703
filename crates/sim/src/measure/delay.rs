//! Delays: exact means, and percentiles to three significant digits.

use forebay_core::Duration;
use hdrhistogram::Histogram;

/// Collects spans of time.
///
/// Counts lie as [`Histogram`] has them for three digits, and become one when they are asked for: to
/// record a span in one costs three times as much, and every packet is recorded three times.
#[derive(Debug, Clone, Default)]
pub struct DelayMeter {
    /// Spans by step, in ticks; as long as the longest span needs.
    counts: Vec<u64>,
    count: u64,
    /// In nanoseconds; of long delays and many packets, more than 64 bits hold.
    total: u128,
    max: u64,
}

/// Resolution of the histogram in nanoseconds: tenths of a microsecond, so that three digits hold from
/// 100 us up.
const TICK: u64 = 100;

/// Steps to twice the value; one is less than a thousandth of what lies in it.
const OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 10;

/// The step that holds `ticks`: its highest eleven bits, and how many follow. The first two octaves'
/// steps are ticks.
#[inline]
fn step(ticks: u64) -> usize {
    let below = (u64::BITS - OCTAVE_BITS - 1) - (ticks | (2 * OCTAVE as u64 - 1)).leading_zeros();
    ((below as usize) << OCTAVE_BITS) + (ticks >> below) as usize
}

/// The least ticks that step `step` holds.
fn least(step: usize) -> u64 {
    let below = (step / OCTAVE).saturating_sub(1);
    ((step - below * OCTAVE) as u64) << below
}

impl DelayMeter {
    /// Adds one span.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        self.count += 1;
        self.total += u128::from(nanos);
        self.max = self.max.max(nanos);
        let step = step(nanos / TICK);
        match self.counts.get_mut(step) {
            Some(count) => *count += 1,
            None => self.grow(step),
        }
    }

    /// The first span of an octave longer than all before.
    #[cold]
    fn grow(&mut self, step: usize) {
        self.counts.resize((step / OCTAVE + 1) * OCTAVE, 0);
        self.counts[step] = 1;
    }

    /// None without spans.
    fn histogram(&self) -> Option<Histogram<u64>> {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        for (step, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.record_n(least(step), *count).expect("the histogram grows with its values");
        }
        (self.count > 0).then_some(histogram)
    }

    /// Number of spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in ms; None without spans, likewise below.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64 * 1e-6)
    }

    /// Longest in ms.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max as f64 * 1e-6)
    }

    /// Quantile `q` (0 to 1) in ms, to three significant digits.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let histogram = self.histogram()?;
        let upper = (histogram.value_at_quantile(q).saturating_mul(TICK)).min(self.max);
        Some(upper as f64 * 1e-6)
    }

    /// The distribution for plots, in steps of a hundredth: (delay in ms, number of spans up to it
    /// and above the step before), in order.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut begin = 0.0;
        let histogram = self.histogram();
        for step in histogram.iter().flat_map(|histogram| histogram.iter_recorded()) {
            let delay = step.value_iterated_to() as f64 * TICK as f64 / 1e6;
            let count = step.count_at_value() as f64;
            match steps.last_mut() {
                Some((end, total)) if delay <= begin * 1.01 => {
                    (*end, *total) = (delay, *total + count)
                }
                _ => {
                    begin = delay;
                    steps.push((delay, count));
                }
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_to_three_digits() {
        let mut meter = DelayMeter::default();
        for millis in 1..=1000 {
            meter.record(Duration::from_millis(millis));
        }
        assert_eq!(meter.mean_ms(), Some(500.5));
        assert_eq!(meter.max_ms(), Some(1000.0));
        let close = |q: f64, want: f64| {
            let got = meter.quantile_ms(q).unwrap();
            assert!((got / want - 1.0).abs() < 1e-3, "{q}: {got}");
        };
        close(0.5, 500.0);
        close(0.99, 990.0);
        assert_eq!(DelayMeter::default().quantile_ms(0.5), None);
        let steps = meter.distribution();
        assert_eq!(steps.iter().map(|(_, count)| count).sum::<f64>(), 1000.0);
        assert!(steps.len() < 400 && steps.is_sorted(), "{} steps", steps.len());
    }

    #[test]
    fn steps_are_the_histograms() {
        let histogram = Histogram::<u64>::new(3).unwrap();
        let edges = (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) - 1, 5 << bits >> 2]);
        for ticks in edges.chain([u64::MAX, 2049, 4097, 123_456_789]) {
            let least = least(step(ticks));
            assert_eq!(least, histogram.lowest_equivalent(ticks), "{ticks}");
            assert_eq!(step(least), step(ticks), "{ticks}");
        }
    }

    #[test]
    fn centuries_are_no_more_than_delays() {
        let mut meter = DelayMeter::default();
        (0..3).for_each(|_| meter.record(Duration::MAX));
        let want = Duration::MAX.as_millis_f64();
        assert_eq!((meter.mean_ms(), meter.quantile_ms(0.5)), (Some(want), Some(want)));
    }
}
