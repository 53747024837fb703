//! Delays: exact means, and percentiles to three significant digits.

use forebay_core::Duration;
use hdrhistogram::Histogram;
use std::borrow::Cow;

/// Collects spans of time.
#[derive(Debug, Clone, Default)]
pub struct DelayMeter {
    spans: Spans,
    count: u64,
    /// In nanoseconds; of long delays and many packets, more than 64 bits hold.
    total: u128,
    max: u64,
}

/// Spans in microseconds and tenths, so that three digits hold from 100 us up.
#[derive(Debug, Clone)]
enum Spans {
    /// Each by itself: a histogram has tens of kilobytes, and most of many links send little.
    Few(Vec<u32>),
    Many(Box<Histogram<u64>>),
}

/// Most spans that are kept each by itself.
const FEW: usize = 2048;

/// Resolution of the histogram: 100 ns.
const TICK: u64 = 100;

impl Default for Spans {
    fn default() -> Self {
        Spans::Few(Vec::new())
    }
}

impl Spans {
    #[inline]
    fn record(&mut self, ticks: u64) {
        match self {
            Spans::Many(histogram) => add(histogram, ticks),
            Spans::Few(spans) => match u32::try_from(ticks) {
                Ok(ticks) if spans.len() < FEW => spans.push(ticks),
                _ => self.become_many(ticks),
            },
        }
    }

    #[cold]
    fn become_many(&mut self, ticks: u64) {
        let mut histogram = self.histogram().into_owned();
        add(&mut histogram, ticks);
        *self = Spans::Many(Box::new(histogram));
    }

    fn histogram(&self) -> Cow<'_, Histogram<u64>> {
        match self {
            Spans::Many(histogram) => Cow::Borrowed(histogram),
            Spans::Few(spans) => {
                let mut histogram = Histogram::new(3).expect("three digits are allowed");
                spans.iter().for_each(|ticks| add(&mut histogram, u64::from(*ticks)));
                Cow::Owned(histogram)
            }
        }
    }
}

#[inline]
fn add(histogram: &mut Histogram<u64>, ticks: u64) {
    histogram.record(ticks).expect("the histogram grows with its values");
}

impl DelayMeter {
    /// Adds one span.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        self.count += 1;
        self.total += u128::from(nanos);
        self.max = self.max.max(nanos);
        self.spans.record(nanos / TICK);
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
        if self.count == 0 {
            return None;
        }
        let upper =
            (self.spans.histogram().value_at_quantile(q).saturating_mul(TICK)).min(self.max);
        Some(upper as f64 * 1e-6)
    }

    /// The distribution for plots, in steps of a hundredth: (delay in ms, number of spans up to it
    /// and above the step before), in order.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut begin = 0.0;
        for step in self.spans.histogram().iter_recorded() {
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
    fn few_spans_and_many_say_the_same() {
        let (mut few, mut many) = (DelayMeter::default(), DelayMeter::default());
        // One longer than 32 bits hold makes a histogram at once.
        many.record(Duration::from_secs(1000));
        few.record(Duration::from_secs(400));
        for micros in (0..FEW as u64 - 1).map(|step| step * step % 40_009) {
            few.record(Duration::from_micros(micros));
            many.record(Duration::from_micros(micros));
        }
        assert!(matches!((&few.spans, &many.spans), (Spans::Few(_), Spans::Many(_))));
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            assert_eq!(few.quantile_ms(q), many.quantile_ms(q), "{q}");
        }
        let [before, beside] = [&few, &many].map(DelayMeter::distribution);
        assert_eq!(before[..before.len() - 1], beside[..beside.len() - 1]);
        few.record(Duration::ZERO);
        assert!(matches!(few.spans, Spans::Many(_)));
        assert_eq!(few.distribution().iter().map(|(_, count)| count).sum::<f64>(), 2049.0);
    }

    #[test]
    fn centuries_are_no_more_than_delays() {
        let mut meter = DelayMeter::default();
        (0..3).for_each(|_| meter.record(Duration::MAX));
        let want = Duration::MAX.as_millis_f64();
        assert_eq!((meter.mean_ms(), meter.quantile_ms(0.5)), (Some(want), Some(want)));
    }
}
