//! Bursty data: a Markov chain of two states, bursty and quiet.
//!
//! Sizes are exponential. So are the intervals, with a mean for each state. After each datagram the
//! state changes with a probability for each state.
//!
//! With the defaults the mean interval is 5.37 ms and the rate 18.6 kB/s, which the source states as
//! about 20. Its coefficient of variation of 4.0 holds for exponential intervals within each state
//! (3.85) and not for constant ones (2.6).

use super::family::{BuildSite, Generator};
use super::law::require_length;
use super::{Datagram, Datagrams, Law, Variate};
use forebay_core::config::{positive_share, require};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rng, Time, params};

/// A two-state source.
pub struct Bursty {
    size: Variate,
    bursty: State,
    quiet: State,
    is_bursty: bool,
    begun: bool,
}

struct State {
    /// Mean interval, seconds.
    interval: f64,
    leave: f64,
}

params! {
    /// Parameters of bursty data.
    pub struct BurstyParams {
        /// Mean length of the IP packet, including headers. 1 B to 65 535 B.
        pub size: Bytes = Bytes(100),
        /// Mean interval in the bursty state. Above 0.
        pub bursty_interval: Duration = Duration::from_micros(460),
        /// Mean interval in the quiet state. Above 0.
        pub quiet_interval: Duration = Duration::from_millis(46),
        /// Probability that the bursty state ends with a datagram. Above 0, at most 1.
        pub to_quiet: f64 = 0.011,
        /// Probability that the quiet state ends with a datagram. Above 0, at most 1.
        pub to_bursty: f64 = 0.091,
    }
}

impl Named for Bursty {
    type Family = Generator;
    const NAME: &'static str = "bursty";
    const SUMMARY: &'static str = "datagrams of random size from a two-state Markov chain";
    const SOURCE: &'static str = "CQ-AQM, bursty data source";
    type Params = BurstyParams;

    fn build(params: &BurstyParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        let len = require_length(params.size.0, "size")?;
        let state = |interval: Duration, of: &str, leave: f64, end: &str| {
            require(interval > Duration::ZERO, of, || "must be above 0s, such as \"1ms\"".into())?;
            positive_share(end, leave)?;
            Ok(State { interval: interval.as_secs_f64(), leave })
        };
        Ok(Generator::Datagrams(Box::new(Bursty {
            size: Variate::new(Law::Exponential, f64::from(len), 0.0)?,
            bursty: state(params.bursty_interval, "bursty_interval", params.to_quiet, "to_quiet")?,
            quiet: state(params.quiet_interval, "quiet_interval", params.to_bursty, "to_bursty")?,
            is_bursty: false,
            begun: false,
        })))
    }
}

impl Datagrams for Bursty {
    #[inline]
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        if self.begun {
            let leave = if self.is_bursty { self.bursty.leave } else { self.quiet.leave };
            self.is_bursty ^= rng.chance(leave);
        } else {
            // The probability of a state is the share of time in it.
            let bursty = self.bursty.interval * self.quiet.leave;
            let quiet = self.quiet.interval * self.bursty.leave;
            self.is_bursty = rng.chance(bursty / (bursty + quiet));
            self.begun = true;
        }
        let state = if self.is_bursty { &self.bursty } else { &self.quiet };
        let at = after + Duration::from_secs_f64(rng.exponential(state.interval));
        Some(Datagram { at, len: self.size.draw_length(rng), flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{Sample, datagrams, refused, sample};

    #[test]
    fn rate_and_variation_are_the_papers() {
        // The chain is in the bursty state for 0.091 / 0.102 of the datagrams: intervals have a
        // mean of 5.3710 ms, a second moment of 456.77 ms^2 and so a variation of 3.852.
        let mut source = datagrams::<Bursty>(&BurstyParams::default());
        let Sample { rate, mean_len, mean_interval, cv } = sample(&mut *source, 3_000_000);
        assert!((mean_len / 100.0 - 1.0).abs() < 0.005, "{mean_len}");
        assert!((mean_interval / 0.005_371 - 1.0).abs() < 0.015, "{mean_interval}");
        assert!((rate / 18_618.0 - 1.0).abs() < 0.015, "{rate}");
        assert!((cv - 3.852).abs() < 0.05, "{cv}");
    }

    #[test]
    fn impossible_probabilities_are_refused() {
        for to_quiet in [0.0, 1.5, f64::NAN] {
            let params = BurstyParams { to_quiet, ..BurstyParams::default() };
            assert_eq!(refused::<Bursty>(&params), "to_quiet");
        }
    }
}
