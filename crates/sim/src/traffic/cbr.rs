//! Datagrams of one size at regular intervals.

use super::clock::Clock;
use super::family::{BuildSite, Generator};
use super::law::require_length;
use super::{Datagram, Datagrams};
use crate::course::Course;
use forebay_core::{Bytes, ConfigError, Named, Rate, Rng, Time, params};

/// A constant-rate source.
pub struct Cbr {
    clock: Clock,
    len: u32,
    random_phase: bool,
    begun: bool,
}

params! {
    /// Parameters of the constant-rate source.
    pub struct CbrParams {
        /// Rate of IP packets, with their headers, without link overhead: above 0, or how it
        /// changes, as of a link. All flows of the entry follow the same course; in steps, "0bit"
        /// is a pause.
        pub rate: Course<Rate> = Course::Constant(Rate::from_bps(1_000_000)),
        /// Length of the IP packet, including headers. 1 B to 65 535 B.
        pub size: Bytes = Bytes(1000),
        /// Whether the first datagram waits for a random part of the interval, so that several
        /// flows do not send at the same time. Otherwise it is sent at the start.
        pub random_phase: bool = true,
    }
}

impl Named for Cbr {
    type Family = Generator;
    const NAME: &'static str = "cbr";
    const SUMMARY: &'static str = "datagrams of one size at a constant rate";
    const SOURCE: &'static str = "RFC 7928, section 5.3";
    type Params = CbrParams;

    fn build(params: &CbrParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        let len = require_length(params.size.0, "size")?;
        let clock = Clock::new(&params.rate, len, site)?;
        let random_phase = params.random_phase;
        Ok(Generator::Datagrams(Box::new(Cbr { clock, len, random_phase, begun: false })))
    }
}

impl Datagrams for Cbr {
    #[inline]
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        if !std::mem::replace(&mut self.begun, true) && self.random_phase {
            self.clock.set_at_random(after, rng);
        }
        let at = self.clock.run(after, Time::MAX)?;
        Some(Datagram { at, len: self.len, flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{datagrams, refused};

    #[test]
    fn the_rate_is_exact() {
        // 1000 B at 3 Mbit/s is not a whole number of nanoseconds; 3000 of them take 8 s.
        let params =
            CbrParams { rate: Course::Constant(Rate::from_bps(3_000_000)), ..CbrParams::default() };
        let mut cbr = datagrams::<Cbr>(&CbrParams { random_phase: false, ..params });
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
                let mut cbr = datagrams::<Cbr>(&CbrParams::default());
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
            assert_eq!(refused::<Cbr>(&params), "size");
        }
    }
}
