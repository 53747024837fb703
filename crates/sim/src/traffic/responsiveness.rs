//! Probes of responsiveness: at even intervals, a new connection that fetches one byte.
//!
//! These are the foreign probes of draft-ietf-ippm-responsiveness-09 without TLS. The rest of the
//! scenario's traffic makes the working conditions.

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Transfer, Transfers};
use forebay_core::{ConfigError, Duration, Named, Rng, Time, config::require, params};

/// The sender of probes.
pub struct Responsiveness {
    interval: Duration,
    begun: bool,
}

params! {
    /// Parameters of probes of responsiveness.
    pub struct ResponsivenessParams {
        /// Time from the start of a probe to that of the next. A probe takes about 500 B with all
        /// headers; the draft wants probes to take at most 5 % of the capacity. Above 0.
        pub interval: Duration = Duration::from_millis(100),
    }
}

impl Named for Responsiveness {
    type Family = Generator;
    const NAME: &'static str = "responsiveness";
    const SUMMARY: &'static str =
        "probes of responsiveness under load: a handshake and one byte, again and again";
    const SOURCE: &'static str = "draft-ietf-ippm-responsiveness-09, foreign probes";
    const FACTS: Facts = Facts::transfers(JudgedBy::Responsiveness);
    type Params = ResponsivenessParams;

    fn build(params: &ResponsivenessParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        require(params.interval > Duration::ZERO, "interval", || "must be above 0s".into())?;
        Ok(Generator::Transfers(Box::new(Responsiveness {
            interval: params.interval,
            begun: false,
        })))
    }
}

impl Transfers for Responsiveness {
    fn next(&mut self, after: Time, _: &mut Rng) -> Option<Transfer> {
        let wait = if self.begun { self.interval } else { Duration::ZERO };
        self.begun = true;
        Some(Transfer::whole(after + wait, Some(1)))
    }

    fn is_probe(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{refused, transfers};

    #[test]
    fn probes_do_not_wait_for_each_other() {
        let mut rng = Rng::named(1, "probes");
        let mut probes = transfers::<Responsiveness>(&ResponsivenessParams::default());
        let first = probes.next(Time::ZERO, &mut rng).unwrap();
        let second = probes.next(first.at, &mut rng).unwrap();
        assert_eq!((first.at, first.bytes), (Time::ZERO, Some(1)));
        assert_eq!(second.at - first.at, Duration::from_millis(100));
        assert_eq!(probes.completed(second.at, &mut rng), None);
        let never = ResponsivenessParams { interval: Duration::ZERO };
        assert_eq!(refused::<Responsiveness>(&never), "interval");
    }
}
