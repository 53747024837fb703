//! An application that writes to one TCP connection by a schedule. The connection sends what it
//! has, and then waits.
//!
//! A connection whose application has nothing to send is application-limited: its window and rate
//! say less about the path (RFC 7661; draft-ietf-ccwg-bbr, section 4.1).

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Transfer, Transfers};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rng, Time, config::require, params};

/// An application with a schedule.
pub struct Writes {
    writes: Vec<(Duration, Bytes)>,
    /// Number of writes that have been made.
    made: usize,
    start: Time,
}

params! {
    /// Parameters of an application with a schedule.
    pub struct WritesParams {
        /// When, from the flow's start on, how much is written, payload bytes:
        /// `[["0s", "2MB"], ["5s", "10KB"]]`, in order of time. The connection stays open until all
        /// have been written.
        pub writes: Vec<(Duration, Bytes)> = vec![(Duration::ZERO, Bytes(1_000_000))],
    }
}

impl Named for Writes {
    type Family = Generator;
    const NAME: &'static str = "writes";
    const SUMMARY: &'static str =
        "data that an application writes to one TCP connection, by schedule";
    const SOURCE: &'static str = "RFC 7661, section 4";
    const FACTS: Facts = Facts::transfers(JudgedBy::Goodput);
    type Params = WritesParams;

    fn build(params: &WritesParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        let writes = &params.writes;
        let schedule = || "needs at least one time and size, such as [[\"0s\", \"1MB\"]]".into();
        require(!writes.is_empty(), "writes", schedule)?;
        require(writes.iter().all(|(_, size)| size.0 > 0), "writes", || {
            "must all be above 0B".into()
        })?;
        require(writes.is_sorted_by(|(a, _), (b, _)| a < b), "writes", || {
            "must be in order of time, no two at the same".into()
        })?;
        Ok(Generator::Transfers(Box::new(Writes {
            writes: writes.clone(),
            made: 0,
            start: Time::ZERO,
        })))
    }
}

impl Transfers for Writes {
    fn next(&mut self, after: Time, _: &mut Rng) -> Option<Transfer> {
        if self.made == 0 {
            self.start = after;
        }
        let (at, size) = *self.writes.get(self.made)?;
        self.made += 1;
        let stays_open = self.made < self.writes.len();
        Some(Transfer { at: self.start + at, bytes: Some(size.0), stays_open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{refused, transfers};

    fn schedule(writes: &[(u64, u64)]) -> WritesParams {
        let writes = writes.iter().map(|&(ms, size)| (Duration::from_millis(ms), Bytes(size)));
        WritesParams { writes: writes.collect() }
    }

    #[test]
    fn the_connection_ends_with_the_last_write() {
        let mut application = transfers::<Writes>(&schedule(&[(0, 1000), (5, 20)]));
        let mut rng = Rng::named(1, "writes");
        let start = Time::from_nanos(7);
        let first = application.next(start, &mut rng);
        assert_eq!(first, Some(Transfer { at: start, bytes: Some(1000), stays_open: true }));
        let second = application.next(start, &mut rng);
        let at = start + Duration::from_millis(5);
        assert_eq!(second, Some(Transfer { at, bytes: Some(20), stays_open: false }));
        assert_eq!(application.next(at, &mut rng), None);
    }

    #[test]
    fn impossible_schedules_are_refused() {
        for writes in [&[][..], &[(0, 0)], &[(5, 1), (5, 1)], &[(5, 1), (4, 1)]] {
            assert_eq!(refused::<Writes>(&schedule(writes)), "writes", "{writes:?}");
        }
    }
}
