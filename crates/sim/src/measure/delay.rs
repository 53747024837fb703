//! Delays: exact means, and percentiles to three significant digits.

use forebay_core::Duration;
use hdrhistogram::Histogram;

/// Collects spans of time.
#[derive(Debug, Clone, Default)]
pub struct DelayMeter {
    spans: Spans,
    count: u64,
    /// In nanoseconds. Long delays of many packets need more than 64 bits.
    total: u128,
    max: u64,
}

/// Spans in ticks.
#[derive(Debug, Clone)]
enum Spans {
    /// Single spans. Counts take tens of kilobytes, and of many links most send little.
    Few(Vec<u32>),
    /// Number of spans in each step, up to the longest span. The steps are those of [`Histogram`]
    /// with three digits, and are converted when they are needed: recording a span in a
    /// [`Histogram`] takes three times as long, and every packet is recorded three times.
    Many(Vec<u64>),
}

/// Most spans that are kept as single values.
const FEW: usize = 2048;

/// Resolution of the histogram: tenths of a microsecond, in nanoseconds. So there are three digits
/// from 100 us on.
const TICK: u64 = 100;

/// Steps up to twice the value. Each is less than a thousandth of its values.
const OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 10;

/// The step of `ticks`: its highest eleven bits, and how many follow. In the first two octaves,
/// steps are ticks.
fn step(ticks: u64) -> usize {
    let below = (u64::BITS - OCTAVE_BITS - 1) - (ticks | (2 * OCTAVE as u64 - 1)).leading_zeros();
    ((below as usize) << OCTAVE_BITS) + (ticks >> below) as usize
}

/// The smallest number of ticks in step `step`.
fn least(step: usize) -> u64 {
    let below = (step / OCTAVE).saturating_sub(1);
    ((step - below * OCTAVE) as u64) << below
}

impl Default for Spans {
    fn default() -> Self {
        Spans::Few(Vec::new())
    }
}

impl Spans {
    #[inline]
    fn record(&mut self, ticks: u64) {
        match self {
            Spans::Many(counts) => add(counts, ticks),
            Spans::Few(spans) => match u32::try_from(ticks) {
                Ok(ticks) if spans.len() < FEW => spans.push(ticks),
                _ => self.become_many(ticks),
            },
        }
    }

    #[cold]
    fn become_many(&mut self, ticks: u64) {
        let mut counts = Vec::new();
        if let Spans::Few(spans) = self {
            spans.iter().for_each(|ticks| add(&mut counts, (*ticks).into()));
        }
        add(&mut counts, ticks);
        *self = Spans::Many(counts);
    }

    fn absorb(&mut self, other: &Spans) {
        let counts = match other {
            Spans::Few(spans) => {
                return spans.iter().for_each(|ticks| self.record((*ticks).into()));
            }
            Spans::Many(counts) => counts,
        };
        match self {
            Spans::Few(_) => {
                let few = std::mem::replace(self, Spans::Many(counts.clone()));
                self.absorb(&few);
            }
            Spans::Many(own) => {
                own.resize(own.len().max(counts.len()), 0);
                own.iter_mut().zip(counts).for_each(|(own, more)| *own += more);
            }
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        let mut add = |ticks, count| {
            histogram.record_n(ticks, count).expect("the histogram grows with its values");
        };
        match self {
            Spans::Few(spans) => spans.iter().for_each(|ticks| add((*ticks).into(), 1)),
            Spans::Many(counts) => {
                let steps = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                steps.for_each(|(step, count)| add(least(step), *count));
            }
        }
        histogram
    }
}

#[inline]
fn add(counts: &mut Vec<u64>, ticks: u64) {
    let step = step(ticks);
    match counts.get_mut(step) {
        Some(count) => *count += 1,
        None => grow(counts, step),
    }
}

/// The first span of an octave that is longer than all before.
#[cold]
fn grow(counts: &mut Vec<u64>, step: usize) {
    counts.resize((step / OCTAVE + 1) * OCTAVE, 0);
    counts[step] = 1;
}

impl DelayMeter {
    #[inline]
    pub fn record(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        self.count += 1;
        self.total += u128::from(nanos);
        self.max = self.max.max(nanos);
        self.spans.record(nanos / TICK);
    }

    pub fn absorb(&mut self, other: &DelayMeter) {
        self.count += other.count;
        self.total += other.total;
        self.max = self.max.max(other.max);
        self.spans.absorb(&other.spans);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the spans in ns.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Mean in ms. None without spans, here and below.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64 * 1e-6)
    }

    /// Longest in ms.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max as f64 * 1e-6)
    }

    /// Quantile `q` (0 to 1) in ms, to three significant digits.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        self.quantiles_ms([q])[0]
    }

    /// Several quantiles.
    pub fn quantiles_ms<const N: usize>(&self, quantiles: [f64; N]) -> [Option<f64>; N] {
        if self.count == 0 {
            return [None; N];
        }
        let histogram = self.spans.histogram();
        quantiles.map(|q| {
            let upper = histogram.value_at_quantile(q).saturating_mul(TICK);
            Some(upper.min(self.max) as f64 * 1e-6)
        })
    }

    /// The distribution for plots, in steps of a hundredth: (delay in ms, number of spans up to it
    /// and above the previous step), in order.
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
        // One longer than 32 bits hold is counted at once.
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
    fn what_is_measured_apart_is_as_if_measured_together() {
        for (first, second) in [(10, 20), (10, 5000), (5000, 10), (5000, 6000)] {
            let (mut one, mut other) = (DelayMeter::default(), DelayMeter::default());
            let mut together = DelayMeter::default();
            for span in 0..first + second {
                let delay = Duration::from_micros(span * span % 99_991);
                together.record(delay);
                if span < first { one.record(delay) } else { other.record(delay) }
            }
            one.absorb(&other);
            assert_eq!(one.distribution(), together.distribution());
            let found = |meter: &DelayMeter| (meter.count(), meter.total(), meter.max_ms());
            assert_eq!(found(&one), found(&together));
        }
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
