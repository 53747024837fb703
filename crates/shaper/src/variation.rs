//! Links whose rate, delay or loss vary: as an emulation is told of them, and their wire.

use forebay_core::{Capacity, ConfigError, Duration, Rate, Rng, Schedule, Time, config};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a link does in one run.
#[derive(Debug, Clone)]
pub struct Variation {
    /// What it can carry.
    pub capacity: Capacity,
    /// Propagation delay.
    pub delay: Schedule<Duration>,
    /// Share of packets that are lost on the wire at random.
    pub loss: Schedule<f64>,
    /// Of its random numbers.
    pub seed: u64,
}

/// A variation in whole numbers: times and delays in ns, rates in bit/s.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    rate: Rates,
    delay: Steps<u64>,
    loss: Steps<f64>,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Rates {
    Steps(Steps<u64>),
    Opportunities { instants: Vec<u64>, period: u64, quantum: u32 },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps<T> {
    steps: Vec<(u64, T)>,
    period: Option<u64>,
}

impl<T: Copy> Steps<T> {
    fn of<U: Copy>(schedule: &Schedule<U>, number: impl Fn(U) -> T) -> Self {
        match schedule {
            Schedule::Constant(value) => Steps { steps: vec![(0, number(*value))], period: None },
            Schedule::Steps { steps, period } => {
                let steps = steps.iter().map(|(from, value)| (from.as_nanos(), number(*value)));
                Steps { steps: steps.collect(), period: period.map(Duration::as_nanos) }
            }
        }
    }

    fn schedule<U: Copy>(self, value: impl Fn(T) -> U) -> Result<Schedule<U>, ConfigError> {
        let in_order = self.steps.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        let begins = self.steps.first().is_some_and(|(from, _)| *from == 0);
        config::require(in_order && begins && self.period != Some(0), "steps", || {
            "must be in order from 0 on".into()
        })?;
        let number = |(from, number): (u64, T)| (Time::from_nanos(from), value(number));
        let steps: Vec<_> = self.steps.into_iter().map(number).collect();
        Ok(match (&steps[..], self.period) {
            ([(_, value)], None) => Schedule::Constant(*value),
            _ => Schedule::Steps { steps, period: self.period.map(Duration::from_nanos) },
        })
    }
}

impl Variation {
    /// It as plain values; [`Variation::read`] reads them.
    pub fn plain(&self) -> Value {
        let rates = |schedule| Rates::Steps(Steps::of(&schedule, Rate::bps));
        let rate = match &self.capacity {
            Capacity::Constant { rate, .. } => rates(Schedule::Constant(*rate)),
            Capacity::Steps { steps, period, .. } => {
                rates(Schedule::Steps { steps: steps.clone(), period: *period })
            }
            Capacity::Opportunities { instants, period, quantum, .. } => Rates::Opportunities {
                instants: instants.iter().map(|at| at.as_nanos()).collect(),
                period: period.as_nanos(),
                quantum: *quantum,
            },
        };
        json!(Written {
            rate,
            delay: Steps::of(&self.delay, Duration::as_nanos),
            loss: Steps::of(&self.loss, |share| share),
            seed: self.seed,
        })
    }

    /// Reads what [`Variation::plain`] has made.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(plain: &Value) -> Result<Self, ConfigError> {
        let Written { rate, delay, loss, seed } = config::read(plain)?;
        let capacity = match rate {
            Rates::Steps(steps) => match steps.schedule(Rate::from_bps)? {
                Schedule::Constant(rate) => Capacity::constant(rate),
                Schedule::Steps { steps, period } => Capacity::steps(steps, period),
            },
            Rates::Opportunities { instants, period, quantum } => {
                let within = instants.last().is_some_and(|last| *last <= period);
                config::require(within && period > 0 && quantum > 0, "rate", || {
                    "must have opportunities within the period".into()
                })?;
                let instants = instants.into_iter().map(Time::from_nanos).collect();
                Capacity::opportunities(instants, Duration::from_nanos(period), quantum)
            }
        };
        let (delay, loss) = (delay.schedule(Duration::from_nanos)?, loss.schedule(|share| share)?);
        Ok(Variation { capacity, delay, loss, seed })
    }

    /// The wire of link `name`, by a clock that says `zero` at time zero.
    pub fn wire(&self, name: &str, zero: Time) -> Wire {
        Wire {
            delay: self.delay.clone(),
            loss: self.loss.clone(),
            rng: Rng::named(self.seed, &format!("wire/{name}")),
            zero,
        }
    }
}

/// What a packet meets after the queue.
#[derive(Debug, Clone)]
pub struct Wire {
    delay: Schedule<Duration>,
    loss: Schedule<f64>,
    rng: Rng,
    zero: Time,
}

impl Wire {
    /// The arrival of a packet whose last bit leaves at `done_at`; None if it is lost. To be called for
    /// every packet, in their order. Packets do not overtake each other if the caller keeps it.
    pub fn carry(&mut self, done_at: Time) -> Option<Time> {
        let at = Time::from_nanos(done_at.as_nanos().saturating_sub(self.zero.as_nanos()));
        let loss = self.loss.at(at);
        // In an outage without end, the packet is lost, too.
        if done_at == Time::MAX || (loss > 0.0 && self.rng.chance(loss)) {
            return None;
        }
        Some(done_at + self.delay.at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn varying(capacity: Capacity) -> Variation {
        Variation {
            capacity,
            delay: Schedule::Steps {
                steps: vec![(ms(0), Duration::from_millis(5)), (ms(10), Duration::from_millis(2))],
                period: Some(Duration::from_millis(20)),
            },
            loss: Schedule::Constant(0.25),
            seed: 7,
        }
    }

    #[test]
    fn a_variation_is_read_as_it_was_written() {
        let steps = vec![(ms(0), Rate::from_bps(1_000_001)), (ms(3), Rate::from_bps(0))];
        for capacity in [
            Capacity::constant(Rate::from_bps(3)),
            Capacity::steps(steps.clone(), None),
            Capacity::steps(steps, Some(Duration::from_millis(9))),
            Capacity::opportunities(vec![ms(1), ms(4)], Duration::from_millis(4), 1504),
        ] {
            let written = varying(capacity).plain();
            let read = Variation::read(&written).unwrap();
            assert_eq!(read.plain(), written);
            assert_eq!(read.delay.at(ms(31)), Duration::from_millis(2));
        }
    }

    #[test]
    fn what_is_no_variation_is_refused() {
        let good = varying(Capacity::constant(Rate::from_bps(3))).plain();
        for (field, value) in [
            ("delay", json!({ "steps": [], "period": null })),
            ("delay", json!({ "steps": [[1, 5]], "period": null })),
            ("loss", json!({ "steps": [[0, 0.1], [9, 0.2], [5, 0.1]], "period": null })),
            ("loss", json!({ "steps": [[0, 0.1]], "period": 0 })),
            ("rate", json!({ "instants": [], "period": 5, "quantum": 1 })),
            ("rate", json!({ "instants": [6], "period": 5, "quantum": 1 })),
            ("seed", json!("x")),
            ("more", json!(1)),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert!(Variation::read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wire_loses_its_share_whatever_the_clock_says() {
        let variation = varying(Capacity::constant(Rate::from_bps(3)));
        let (mut here, mut there) = (variation.wire("a", ms(0)), variation.wire("a", ms(1234)));
        let mut lost = 0;
        for step in 0..4000 {
            let at = ms(step);
            let arrival = here.carry(at);
            let by = Duration::from_millis(1234);
            assert_eq!(there.carry(at + by), arrival.map(|at| at + by));
            let delay = if step % 20 < 10 { 5 } else { 2 };
            assert!(arrival.is_none_or(|arrival| arrival == at + Duration::from_millis(delay)));
            lost += u32::from(arrival.is_none());
        }
        // Four standard deviations of a binomial.
        assert!((1000_u32).abs_diff(lost) < 110, "{lost}");
        assert_eq!(here.carry(Time::MAX), None);
    }
}
