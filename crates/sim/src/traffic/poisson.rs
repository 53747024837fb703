//! Datagrams at exponential intervals.

use super::clock::Clock;
use super::family::{BuildSite, Generator};
use super::law::require_length;
use super::{Datagram, Datagrams, Law, Variate};
use crate::course::Course;
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time, params};

/// A Poisson source.
pub struct Poisson {
    clock: Clock,
    size: Variate,
}

params! {
    /// Parameters of the Poisson source.
    pub struct PoissonParams {
        /// Mean rate of IP packets, with their headers, without link overhead: above 0, or how it
        /// changes, as of a link. All flows of the entry follow the same course; in steps, "0bit"
        /// is a pause.
        pub rate: Course<Rate> = Course::Constant(Rate::from_bps(1_000_000)),
        /// Mean length of the IP packet, including headers. 1 B to 65 535 B.
        pub size: Bytes = Bytes(1000),
        /// Distribution of lengths about their mean; exponential ones make a link an M/M/1 queue.
        pub sizes: Law = Law::Fixed,
        /// Shape of Pareto lengths. At least 1.01.
        pub shape: f64 = 1.5,
    }
}

impl Named for Poisson {
    type Family = Generator;
    const NAME: &'static str = "poisson";
    const SUMMARY: &'static str = "datagrams at exponential intervals, of one or of random sizes";
    const SOURCE: &'static str = "L. Kleinrock, Queueing Systems, volume 1, section 2.4";
    type Params = PoissonParams;

    fn build(params: &PoissonParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        let len = require_length(params.size.0, "size")?;
        let clock = Clock::new(&params.rate, len, site)?;
        let size = Variate::new(params.sizes, f64::from(len), params.shape)?;
        Ok(Generator::Datagrams(Box::new(Poisson { clock, size })))
    }
}

impl Datagrams for Poisson {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        let bits = self.size.mean() * 8.0;
        self.clock.set(after, |rate| Duration::from_secs_f64(rng.exponential(bits / rate)));
        let at = self.clock.run(after, Time::MAX)?;
        Some(Datagram { at, len: self.size.draw_length(rng), flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{Sample, datagrams, sample};

    #[test]
    fn intervals_are_exponential_with_the_mean_rate() {
        let mut source = datagrams::<Poisson>(&PoissonParams::default());
        let Sample { rate, mean_interval, cv, .. } = sample(&mut *source, 200_000);
        assert!((rate / 125_000.0 - 1.0).abs() < 0.01, "{rate}");
        assert!((mean_interval / 0.008 - 1.0).abs() < 0.01, "{mean_interval}");
        assert!((cv - 1.0).abs() < 0.01, "{cv}");
    }

    #[test]
    fn random_sizes_keep_the_rate() {
        let params = PoissonParams {
            rate: Course::Constant(Rate::from_bps(4_000_000)),
            size: Bytes(500),
            sizes: Law::Exponential,
            ..PoissonParams::default()
        };
        let Sample { rate, mean_len, .. } = sample(&mut *datagrams::<Poisson>(&params), 300_000);
        assert!((rate / 500_000.0 - 1.0).abs() < 0.01, "{rate}");
        assert!((mean_len / 500.0 - 1.0).abs() < 0.01, "{mean_len}");
    }
}
