//! Delays: exact means, and percentiles to three significant digits.

use forebay_core::Duration;
use hdrhistogram::Histogram;

/// Collects spans of time.
#[derive(Debug, Clone, Default)]
pub struct DelayMeter {
    /// In microseconds and tenths, so that three digits hold from 100 us up; made at first use.
    histogram: Option<Box<Histogram<u64>>>,
    count: u64,
    /// In nanoseconds; of long delays and many packets, more than 64 bits hold.
    total: u128,
    max: u64,
}

/// Resolution of the histogram: 100 ns.
const TICK: u64 = 100;

impl DelayMeter {
    /// Adds one span.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        self.count += 1;
        self.total += u128::from(nanos);
        self.max = self.max.max(nanos);
        self.histogram
            .get_or_insert_with(|| Box::new(Histogram::new(3).expect("three digits are allowed")))
            .record(nanos / TICK)
            .expect("the histogram grows with its values");
    }

    /// Number of spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in ns.
    pub fn total(&self) -> u128 {
        self.total
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
        let histogram = self.histogram.as_ref()?;
        let upper = (histogram.value_at_quantile(q).saturating_mul(TICK)).min(self.max);
        Some(upper as f64 * 1e-6)
    }

    /// The distribution for plots, in steps of a hundredth: (delay in ms, number of spans up to it
    /// and above the step before), in order.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut begin = 0.0;
        let recorded = self.histogram.iter().flat_map(|histogram| histogram.iter_recorded());
        for step in recorded {
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
    fn centuries_are_no_more_than_delays() {
        let mut meter = DelayMeter::default();
        (0..3).for_each(|_| meter.record(Duration::MAX));
        let want = Duration::MAX.as_millis_f64();
        assert_eq!((meter.mean_ms(), meter.quantile_ms(0.5)), (Some(want), Some(want)));
    }
}
