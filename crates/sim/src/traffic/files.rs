//! Files over TCP, each on a connection of its own.
//!
//! Files arrive in three ways: `sequential` (closed loop: the next file begins when the last has
//! arrived), `fixed` and `poisson` (open loop: files begin regardless of the earlier ones, so an
//! overloaded link carries more and more of them at once).

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Law, Transfer, Transfers, Variate};
use crate::course::{Course, Schedule};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rng, Time, config::require, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user who transfers files.
pub struct Files {
    size: Variate,
    arrivals: Arrivals,
    interval: Schedule<Duration>,
    /// Files still to come. None: endless.
    left: Option<u64>,
    begun: bool,
}

/// Arrivals of files: the beginnings of their transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// `interval` after the last file has arrived.
    #[default]
    Sequential,
    /// `interval` after the start of the last one.
    Fixed,
    /// After an exponential time with mean `interval` from the start of the last one. For the first
    /// one, it counts from the user's start.
    Poisson,
}

params! {
    /// Parameters of file transfers.
    pub struct FilesParams {
        /// Mean size of a file, payload bytes. Above 0.
        pub size: Bytes = Bytes(1_000_000),
        /// Distribution of sizes about their mean.
        pub sizes: Law = Law::Fixed,
        /// Shape of Pareto sizes: the lower, the heavier the tail (1.2 is usual for files on the
        /// web). At least 1.01.
        pub shape: f64 = 1.2,
        /// Beginning of a file.
        pub arrivals: Arrivals = Arrivals::Sequential,
        /// Time between files: from end to start for sequential arrivals (think time), otherwise
        /// from start to start and above 0; or how it changes, as of a link's delay. The value
        /// counts that holds when the time begins. All flows of the entry follow the same course.
        pub interval: Course<Duration> = Course::Constant(Duration::ZERO),
        /// Number of files; endless if unset. At least 1.
        pub count: Option<u64> = None,
    }
}

impl Files {
    fn transfer(&mut self, at: Time, rng: &mut Rng) -> Option<Transfer> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        Some(Transfer::whole(at, Some(((self.size.draw(rng) + 0.5) as u64).max(1))))
    }
}

impl Named for Files {
    type Family = Generator;
    const NAME: &'static str = "files";
    const SUMMARY: &'static str =
        "files over TCP from `from` to `to`, one after another or at given or random times";
    const SOURCE: &'static str = "RFC 7928, section 5.1";
    const FACTS: Facts = Facts::transfers(JudgedBy::Completion);
    type Params = FilesParams;

    fn build(params: &FilesParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        require(params.size.0 > 0, "size", || "must be above 0B, got \"0B\"".into())?;
        require(params.count != Some(0), "count", || {
            "must be at least 1, got 0; leave it out for files without end".into()
        })?;
        let interval = site.schedule(&params.interval, "interval", |interval, field| {
            let fits = params.arrivals == Arrivals::Sequential || interval > Duration::ZERO;
            require(fits, field, || {
                "must be above 0s for fixed and poisson arrivals, such as \"500ms\"; or write \
                 arrivals = \"sequential\""
                    .into()
            })
        })?;
        Ok(Generator::Transfers(Box::new(Files {
            size: Variate::new(params.sizes, params.size.0 as f64, params.shape)?,
            arrivals: params.arrivals,
            interval,
            left: params.count,
            begun: false,
        })))
    }
}

impl Transfers for Files {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Transfer> {
        let first = !std::mem::replace(&mut self.begun, true);
        let wait = match self.arrivals {
            Arrivals::Sequential if first => Duration::ZERO,
            Arrivals::Sequential => return None,
            Arrivals::Fixed if first => Duration::ZERO,
            Arrivals::Fixed => self.interval.at(after),
            Arrivals::Poisson => {
                Duration::from_secs_f64(rng.exponential(self.interval.at(after).as_secs_f64()))
            }
        };
        self.transfer(after + wait, rng)
    }

    fn completed(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer> {
        if self.arrivals != Arrivals::Sequential {
            return None;
        }
        self.transfer(now + self.interval.at(now), rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{refused, transfers};

    fn files(params: FilesParams) -> (Box<dyn Transfers>, Rng) {
        (transfers::<Files>(&params), Rng::named(1, "files"))
    }

    #[test]
    fn sequential_files_wait_for_the_last() {
        let (mut user, mut rng) = files(FilesParams {
            interval: Course::Constant(Duration::from_secs(2)),
            count: Some(2),
            ..FilesParams::default()
        });
        let first = user.next(Time::ZERO, &mut rng).unwrap();
        assert_eq!((first.at, first.bytes), (Time::ZERO, Some(1_000_000)));
        assert_eq!(user.next(first.at, &mut rng), None);
        let end = Time::ZERO + Duration::from_secs(5);
        assert_eq!(user.completed(end, &mut rng).unwrap().at, end + Duration::from_secs(2));
        assert_eq!(user.completed(end, &mut rng), None);
    }

    #[test]
    fn fixed_arrivals_are_a_clock() {
        let (mut user, mut rng) = files(FilesParams {
            arrivals: Arrivals::Fixed,
            interval: Course::Constant(Duration::from_millis(500)),
            ..FilesParams::default()
        });
        let mut at = Time::ZERO;
        for index in 0..4 {
            at = user.next(at, &mut rng).unwrap().at;
            assert_eq!(at, Time::ZERO + Duration::from_millis(500 * index));
        }
        assert_eq!(user.completed(at, &mut rng), None);
    }

    #[test]
    fn poisson_arrivals_and_pareto_sizes_have_their_means() {
        let (mut user, mut rng) = files(FilesParams {
            size: Bytes(12_000),
            sizes: Law::Pareto,
            shape: 2.5,
            arrivals: Arrivals::Poisson,
            interval: Course::Constant(Duration::from_millis(10)),
            ..FilesParams::default()
        });
        let n = 100_000;
        let (mut at, mut bytes, mut least) = (Time::ZERO, 0, u64::MAX);
        for _ in 0..n {
            let file = user.next(at, &mut rng).unwrap();
            (at, bytes, least) =
                (file.at, bytes + file.bytes.unwrap(), least.min(file.bytes.unwrap()));
        }
        assert!((at.as_secs_f64() / 1000.0 - 1.0).abs() < 0.015, "{}", at.as_secs_f64());
        assert!((bytes as f64 / f64::from(n) / 12_000.0 - 1.0).abs() < 0.02);
        // The scale of a Pareto law: mean (shape - 1) / shape = 7200.
        assert_eq!(least, 7200);
    }

    #[test]
    fn wrong_parameters_name_the_field() {
        let refuse = |params| refused::<Files>(&params);
        let base = FilesParams::default;
        assert_eq!(refuse(FilesParams { size: Bytes(0), ..base() }), "size");
        assert_eq!(refuse(FilesParams { count: Some(0), ..base() }), "count");
        assert_eq!(refuse(FilesParams { arrivals: Arrivals::Poisson, ..base() }), "interval");
        assert_eq!(refuse(FilesParams { sizes: Law::Pareto, shape: 1.0, ..base() }), "shape");
    }
}
