//! Datagrams at a constant rate while on, none while off.
//!
//! The interval between datagrams runs on while on and stops while off. So the mean rate is the
//! rate while on times on / (on + off), for any distribution of the times. The source starts on or
//! off at random, in this proportion.

use super::clock::Clock;
use super::family::{BuildSite, Generator};
use super::law::require_length;
use super::{Datagram, Datagrams, Law, Variate};
use crate::course::Course;
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time, config::require, params};

/// An on/off source.
pub struct OnOff {
    len: u32,
    clock: Clock,
    spurts: Spurts,
}

params! {
    /// Parameters of the on/off source.
    pub struct OnOffParams {
        /// Rate of IP packets while on, with their headers, without link overhead: above 0, or how
        /// it changes, as of a link. All flows of the entry follow the same course; in steps,
        /// "0bit" is a pause.
        pub rate: Course<Rate> = Course::Constant(Rate::from_bps(1_000_000)),
        /// Length of the IP packet, including headers. 1 B to 65 535 B.
        pub size: Bytes = Bytes(500),
        /// Mean time on. Above 0, and at least a thousandth of the interval between packets.
        pub on: Duration = Duration::from_millis(500),
        /// Mean time off.
        pub off: Duration = Duration::from_millis(500),
        /// Distribution of times on and off about their means.
        pub times: Law = Law::Exponential,
        /// Shape of Pareto times; many such sources together are self-similar with Hurst parameter
        /// (3 - shape) / 2 (Willinger et al., IEEE/ACM ToN 5(1), 1997). At least 1.01.
        pub shape: f64 = 1.5,
    }
}

/// Alternating times on and off, and the times at which a clock ticks while on.
pub(super) struct Spurts {
    on: Variate,
    off: Variate,
    /// End of the present time on. None before the start.
    until: Option<Time>,
}

impl Spurts {
    /// Times with these means, for ticks of `clock`.
    pub(super) fn new(
        clock: &Clock,
        on: Duration,
        off: Duration,
        times: Law,
        shape: f64,
    ) -> Result<Self, ConfigError> {
        require(on > Duration::ZERO, "on", || "must be above 0s, such as \"500ms\"".into())?;
        // Each time on costs work, also without a datagram in it.
        let interval = clock.longest_interval();
        require(on >= interval / MOST_EMPTY, "on", || {
            format!(
                "must be at least 1/{MOST_EMPTY} of the interval between packets, {interval}; got \
                 \"{on}\""
            )
        })?;
        Ok(Spurts {
            on: Variate::new(times, on.as_secs_f64(), shape)?,
            off: Variate::new(times, off.as_secs_f64(), shape)?,
            until: None,
        })
    }

    /// The time of the clock's next tick; None if there is none.
    #[inline]
    pub(super) fn next(&mut self, after: Time, clock: &mut Clock, rng: &mut Rng) -> Option<Time> {
        let (mut from, mut until) = match self.until {
            Some(until) => (after, until),
            None => self.begin(after, clock, rng),
        };
        loop {
            if let Some(at) = clock.run(from, until) {
                self.until = Some(until);
                return Some(at);
            }
            if clock.is_over(until) {
                return None;
            }
            from = until + span(self.off.draw(rng));
            until = from + span(self.on.draw(rng));
        }
    }

    #[cold]
    fn begin(&mut self, start: Time, clock: &mut Clock, rng: &mut Rng) -> (Time, Time) {
        let share = self.on.mean() / (self.on.mean() + self.off.mean());
        let begin = if rng.chance(share) { start } else { start + span(self.off.residual(rng)) };
        let on = if begin == start { self.on.residual(rng) } else { self.on.draw(rng) };
        clock.set_at_random(begin, rng);
        (begin, begin + span(on))
    }
}

/// Most times on that may pass between two packets, on average.
const MOST_EMPTY: u64 = 1000;

/// A random time in whole nanoseconds, at least one, so that time advances.
fn span(secs: f64) -> Duration {
    Duration::from_secs_f64(secs).max(Duration::from_nanos(1))
}

impl Named for OnOff {
    type Family = Generator;
    const NAME: &'static str = "on-off";
    const SUMMARY: &'static str =
        "datagrams at a constant rate during on times, none during off times";
    const SOURCE: &'static str = "W. Willinger et al., IEEE/ACM ToN 5(1), 1997";
    type Params = OnOffParams;

    fn build(params: &OnOffParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        let len = require_length(params.size.0, "size")?;
        let clock = Clock::new(&params.rate, len, site)?;
        let spurts = Spurts::new(&clock, params.on, params.off, params.times, params.shape)?;
        Ok(Generator::Datagrams(Box::new(OnOff { len, clock, spurts })))
    }
}

impl Datagrams for OnOff {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        let at = self.spurts.next(after, &mut self.clock, rng)?;
        Some(Datagram { at, len: self.len, flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{datagrams, refused, sample};
    use proptest::{prop_assert, proptest};

    #[test]
    fn the_mean_rate_is_the_share_of_time_on() {
        for (times, shape) in [(Law::Fixed, 1.5), (Law::Exponential, 1.5), (Law::Pareto, 2.5)] {
            let params = OnOffParams {
                rate: Course::Constant(Rate::from_bps(800_000)),
                size: Bytes(100),
                on: Duration::from_millis(30),
                off: Duration::from_millis(70),
                times,
                shape,
            };
            // 100 kB/s while on, 30 % of the time.
            let rate = sample(&mut *datagrams::<OnOff>(&params), 400_000).rate;
            assert!((rate / 30_000.0 - 1.0).abs() < 0.015, "{times:?}: {rate}");
        }
    }

    #[test]
    fn fixed_times_send_bursts_of_equal_size() {
        let params = OnOffParams {
            rate: Course::Constant(Rate::from_bps(800_000)),
            size: Bytes(1000),
            on: Duration::from_millis(50),
            off: Duration::from_millis(50),
            times: Law::Fixed,
            shape: 1.5,
        };
        let mut source = datagrams::<OnOff>(&params);
        let mut rng = Rng::named(4, "bursts");
        // One datagram each 10 ms while on: five, then a gap of 60 ms.
        let mut at = source.next(Time::ZERO, &mut rng).unwrap().at;
        let mut gaps = Vec::new();
        for _ in 0..50 {
            let next = source.next(at, &mut rng).unwrap().at;
            gaps.push((next - at).as_nanos() / 1_000_000);
            at = next;
        }
        let first = gaps.iter().position(|gap| *gap == 60).unwrap();
        for (index, gap) in gaps[first..].iter().enumerate() {
            assert_eq!(*gap, if index % 5 == 0 { 60 } else { 10 });
        }
    }

    #[test]
    fn what_would_take_for_ever_is_refused() {
        // 12 000 s between packets of 1500 B.
        let slow = OnOffParams {
            rate: Course::Constant(Rate::from_bps(1)),
            size: Bytes(1500),
            ..Default::default()
        };
        let refuse = |params| refused::<OnOff>(&params);
        assert_eq!(refuse(OnOffParams { on: Duration::from_secs(11), ..slow.clone() }), "on");
        datagrams::<OnOff>(&OnOffParams { on: Duration::from_secs(12), ..slow.clone() });
        // 1500 B a nanosecond are 12 Tbit/s.
        let most = Rate::from_bps(12_000_000_000_000);
        let more = Rate::from_bps(most.bps() + 1);
        assert_eq!(refuse(OnOffParams { rate: Course::Constant(more), ..slow.clone() }), "rate");
        datagrams::<OnOff>(&OnOffParams { rate: Course::Constant(most), ..slow });
    }

    #[test]
    fn a_pause_may_last_beyond_the_end_of_time() {
        let off = Duration::from_nanos(i64::MAX as u64);
        let params = OnOffParams { off, times: Law::Fixed, ..OnOffParams::default() };
        let mut source = datagrams::<OnOff>(&params);
        let mut rng = Rng::named(1, "pauses");
        let mut at = Time::ZERO;
        while let Some(datagram) = source.next(at, &mut rng) {
            at = datagram.at;
        }
    }

    proptest! {
        #[test]
        fn time_goes_forward(on in 100_000_u64..10_000_000, off in 0_u64..10_000_000, seed: u64) {
            let params = OnOffParams {
                on: Duration::from_nanos(on),
                off: Duration::from_nanos(off),
                times: Law::Pareto,
                ..OnOffParams::default()
            };
            let mut source = datagrams::<OnOff>(&params);
            let mut rng = Rng::named(seed, "forward");
            let mut at = Time::from_nanos(1000);
            for _ in 0..20 {
                let next = source.next(at, &mut rng).unwrap().at;
                prop_assert!(next >= at);
                at = next;
            }
        }
    }
}
