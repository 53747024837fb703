//! The capacity of a link: a constant rate, a schedule of rates, or recorded opportunities to send.

use crate::{Duration, Rate, Time};

/// The times at which a link can send. The remainder of each transmission time below a nanosecond
/// is carried over, so mean rates are exact.
#[derive(Debug, Clone)]
pub enum Capacity {
    /// One constant rate.
    Constant {
        /// Bit/s, above 0.
        rate: Rate,
        /// Remainder of the last division, in units of 1/rate nanoseconds.
        remainder: u64,
        /// The time that the last packet took. Most packets have the length of the one before, and
        /// a division takes longer than everything else here.
        last: Transmission,
    },
    /// Rates that hold from given times on.
    Steps {
        /// (from, rate), in order, the first at time zero. A rate of zero is an outage.
        steps: Vec<(Time, Rate)>,
        /// The current step.
        current: usize,
        /// Length of the cycle after which the steps repeat. None: the last rate holds to the end.
        period: Option<Duration>,
    },
    /// Recorded opportunities to send, as in mahimahi. At each of these times up to `quantum` bytes
    /// leave. What a packet does not use is left to the next one in the same busy period.
    Opportunities {
        /// Times within one period, in order.
        instants: Vec<Time>,
        /// Length of the trace; it repeats.
        period: Duration,
        /// Bytes of one opportunity.
        quantum: u32,
        /// Opportunities used so far, counted from time zero.
        used: u64,
        /// Bytes that remain of the last opportunity.
        left: u32,
    },
}

/// The time that a number of bytes takes at some rate: whole nanoseconds, and the remainder in
/// units of 1/rate nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transmission {
    bytes: u32,
    nanos: u64,
    rest: u64,
}

impl Transmission {
    #[inline(never)]
    fn new(bytes: u32, rate: Rate) -> Self {
        let bits = u64::from(bytes) * 8_000_000_000;
        Transmission { bytes, nanos: bits / rate.bps(), rest: bits % rate.bps() }
    }
}

impl Capacity {
    /// A constant rate.
    pub fn constant(rate: Rate) -> Self {
        Capacity::Constant { rate, remainder: 0, last: Transmission::default() }
    }

    /// Rates that hold from given times on, repeated after `period` if it is given.
    ///
    /// # Panics
    /// If `steps` is empty or does not begin at zero.
    pub fn steps(steps: Vec<(Time, Rate)>, period: Option<Duration>) -> Self {
        assert!(steps.first().is_some_and(|(from, _)| *from == Time::ZERO));
        Capacity::Steps { steps, current: 0, period }
    }

    /// Recorded opportunities of `quantum` bytes, repeated after `period`.
    ///
    /// # Panics
    /// If there is no opportunity, or the last is later than the period.
    pub fn opportunities(instants: Vec<Time>, period: Duration, quantum: u32) -> Self {
        assert!(instants.last().is_some_and(|last| last.as_nanos() <= period.as_nanos()));
        Capacity::Opportunities { instants, period, quantum, used: 0, left: 0 }
    }

    /// The end of a transmission of `bytes` that begins at `start`. Calls must be in order of time,
    /// and a transmission must not begin before the previous one has ended.
    #[inline]
    pub fn finish(&mut self, start: Time, bytes: u32) -> Time {
        match self {
            Capacity::Constant { rate, remainder, last } => {
                if last.bytes != bytes {
                    *last = Transmission::new(bytes, *rate);
                }
                let mut nanos = last.nanos;
                *remainder += last.rest;
                if *remainder >= rate.bps() {
                    *remainder -= rate.bps();
                    nanos += 1;
                }
                start + Duration::from_nanos(nanos)
            }
            Capacity::Steps { steps, current, period } => {
                finish_by_steps(steps, current, *period, start, bytes)
            }
            Capacity::Opportunities { instants, period, quantum, used, left } => {
                finish_by_opportunities(instants, *period, *quantum, used, left, start, bytes)
            }
        }
    }

    /// Changes to a constant `rate` from `now` on, without notice in advance. What could be sent
    /// until then still counts as capacity.
    pub fn change(&mut self, now: Time, rate: Rate) {
        let mut steps = match std::mem::replace(self, Capacity::constant(rate)) {
            Capacity::Constant { rate, .. } => vec![(Time::ZERO, rate)],
            Capacity::Steps { steps, period: None, .. } => steps,
            _ => return,
        };
        steps.truncate(steps.partition_point(|(from, _)| *from < now));
        steps.push((now, rate));
        *self = Capacity::steps(steps, None);
    }

    /// The same by a clock that is `by` ahead, as if cycles had gone on before its beginning, and the
    /// first rate if it has no cycles.
    pub fn later(self, by: Duration) -> Self {
        // The places of a cycle after it has been turned by `by`.
        let turned = |at: Time, period: Duration| {
            Time::from_nanos(
                (at.as_nanos() + by.as_nanos() % period.as_nanos()) % period.as_nanos(),
            )
        };
        match self {
            Capacity::Constant { .. } => self,
            Capacity::Steps { mut steps, period: None, .. } => {
                steps[1..].iter_mut().for_each(|(from, _)| *from += by);
                Capacity::steps(steps, None)
            }
            Capacity::Steps { steps, period: Some(period), .. } => {
                // A step after the end of the cycle never comes.
                let kept =
                    steps.into_iter().filter(|(from, _)| from.as_nanos() < period.as_nanos());
                let mut steps: Vec<_> =
                    kept.map(|(from, rate)| (turned(from, period), rate)).collect();
                steps.sort_by_key(|(from, _)| *from);
                // The last one goes on into the next cycle.
                let (_, rate) = steps[steps.len() - 1];
                if steps[0].0 > Time::ZERO {
                    steps.insert(0, (Time::ZERO, rate));
                }
                Capacity::steps(steps, Some(period))
            }
            Capacity::Opportunities { instants, period, quantum, .. } => {
                let mut instants: Vec<_> =
                    instants.into_iter().map(|at| turned(at, period)).collect();
                instants.sort();
                Capacity::opportunities(instants, period, quantum)
            }
        }
    }

    /// The rate now. For a trace, its mean rate.
    pub fn rate(&self, now: Time) -> Rate {
        match self {
            Capacity::Constant { rate, .. } => *rate,
            Capacity::Steps { steps, period, .. } => {
                let at = phase(now, *period).1;
                steps[steps.partition_point(|(from, _)| *from <= at) - 1].1
            }
            Capacity::Opportunities { instants, period, quantum, .. } => {
                let bits = instants.len() as f64 * f64::from(*quantum) * 8.0;
                Rate::from_bps((bits / period.as_secs_f64()).round() as u64)
            }
        }
    }

    /// Bits that could be sent from `from` to `until`. Utilization is measured against this.
    pub fn bits_between(&self, from: Time, until: Time) -> f64 {
        match self {
            Capacity::Constant { rate, .. } => rate.bps() as f64 * (until - from).as_secs_f64(),
            Capacity::Steps { steps, period, .. } => {
                let before = |time| work_before(steps, *period, time);
                before(until).saturating_sub(before(from)) as f64 / 1e9
            }
            Capacity::Opportunities { instants, period, quantum, .. } => {
                let count = |time| index_at_or_after(instants, *period, time);
                (count(until) - count(from)) as f64 * f64::from(*quantum) * 8.0
            }
        }
    }

    /// The next time after `now` at which the schedule changes the rate, if there is one.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        let Capacity::Steps { steps, period, .. } = self else { return None };
        let (cycle, at) = phase(now, *period);
        let next = steps.partition_point(|(from, _)| *from <= at);
        match (steps.get(next), period) {
            (Some((from, _)), _) => Some(cycle + from.since(Time::ZERO)),
            (None, Some(period)) => Some(cycle + *period),
            (None, None) => None,
        }
    }
}

/// The beginning of the cycle at `now`, and the time since then.
fn phase(now: Time, period: Option<Duration>) -> (Time, Time) {
    match period {
        None => (Time::ZERO, now),
        Some(period) => {
            let into = now.as_nanos() % period.as_nanos();
            (Time::from_nanos(now.as_nanos() - into), Time::from_nanos(into))
        }
    }
}

/// Bits that could be sent before `time`, times 1e9.
fn work_before(steps: &[(Time, Rate)], period: Option<Duration>, time: Time) -> u128 {
    let within_cycle = |time: Time| -> u128 {
        let ends = steps[1..].iter().map(|(from, _)| *from).chain([Time::MAX]);
        let spans = steps.iter().zip(ends).map(|((from, rate), end)| {
            u128::from(rate.bps()) * u128::from(end.min(time).since(*from).as_nanos())
        });
        spans.sum()
    };
    let (cycle, into) = phase(time, period);
    let cycles = period.map_or(0, |period| cycle.as_nanos() / period.as_nanos());
    let whole = period.map_or(0, |period| within_cycle(Time::ZERO + period));
    u128::from(cycles) * whole + within_cycle(into)
}

fn finish_by_steps(
    steps: &[(Time, Rate)],
    current: &mut usize,
    period: Option<Duration>,
    start: Time,
    bytes: u32,
) -> Time {
    // Bits times 1e9, so that a nanosecond at 1 bit/s is one unit.
    let mut work = u128::from(bytes) * 8_000_000_000;
    let mut at = start;
    loop {
        let (cycle, into) = phase(at, period);
        if steps[*current].0 > into {
            *current = 0;
        }
        while steps.get(*current + 1).is_some_and(|(from, _)| *from <= into) {
            *current += 1;
        }
        let rate = u128::from(steps[*current].1.bps());
        let end = match (steps.get(*current + 1), period) {
            (Some((from, _)), _) => cycle + from.since(Time::ZERO),
            (None, Some(period)) => cycle + period,
            (None, None) => Time::MAX,
        };
        let room = rate * u128::from((end - at).as_nanos());
        if room >= work {
            if rate == 0 {
                return Time::MAX;
            }
            return at + Duration::from_nanos(work.div_ceil(rate) as u64);
        }
        if end == Time::MAX {
            return Time::MAX;
        }
        work -= room;
        at = end;
        if let (None, Some(period)) = (steps.get(*current + 1), period) {
            // A packet may take many cycles: skip those that it uses up.
            let cycle = work_before(steps, None, Time::ZERO + period);
            let whole = (work - 1).checked_div(cycle).unwrap_or(0);
            work -= whole * cycle;
            at += period.saturating_mul(whole as u64);
        }
    }
}

/// Number of opportunities before `time`.
fn index_at_or_after(instants: &[Time], period: Duration, time: Time) -> u64 {
    let cycles = time.as_nanos() / period.as_nanos();
    let into = Time::from_nanos(time.as_nanos() % period.as_nanos());
    cycles * instants.len() as u64 + instants.partition_point(|at| *at < into) as u64
}

fn finish_by_opportunities(
    instants: &[Time],
    period: Duration,
    quantum: u32,
    used: &mut u64,
    left: &mut u32,
    start: Time,
    bytes: u32,
) -> Time {
    let instant = |index: u64| {
        let n = instants.len() as u64;
        instants[(index % n) as usize] + period * (index / n)
    };
    // An opportunity that passed while the link was idle is lost.
    if *used == 0 || instant(*used - 1) < start {
        *left = 0;
        *used = (*used).max(index_at_or_after(instants, period, start));
    }
    let mut need = bytes;
    loop {
        let take = need.min(*left);
        *left -= take;
        need -= take;
        if need == 0 {
            return start.max(instant(used.saturating_sub(1)));
        }
        *used += 1;
        *left = quantum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn constant_rate_loses_no_fraction() {
        // 1507 B at 7 Mbit/s is not a whole number of nanoseconds; a million of them are exact.
        let mut capacity = Capacity::constant(Rate::from_bps(7_000_000));
        let end = (0..1_000_000).fold(Time::ZERO, |at, _| capacity.finish(at, 1507));
        assert_eq!(end.as_nanos(), 1_507_000_000 * 8_000 / 7);
    }

    #[test]
    fn a_step_acts_in_the_middle_of_a_packet() {
        let steps = vec![(ms(0), Rate::from_bps(8_000_000)), (ms(10), Rate::from_bps(800_000))];
        let mut capacity = Capacity::steps(steps, Some(Duration::from_millis(20)));
        // 1000 B take 1 ms at 8 Mbit/s: half at the old rate, half at a tenth of it.
        let half = ms(10).since(Time::ZERO).saturating_sub(Duration::from_micros(500));
        assert_eq!(capacity.finish(Time::ZERO + half, 1000), ms(15));
        assert_eq!(capacity.next_change(ms(15)), Some(ms(20)));
        assert_eq!(capacity.rate(ms(25)).bps(), 8_000_000);
        assert_eq!(capacity.bits_between(ms(0), ms(40)), 2.0 * (80_000.0 + 8_000.0));
    }

    #[test]
    fn cycles_far_shorter_than_a_packet_and_than_a_run_cost_nothing() {
        // 8 and 0 Mbit/s in turn, each for a nanosecond: 4 Mbit/s.
        let nanos = Time::from_nanos;
        let steps = vec![(nanos(0), Rate::from_bps(8_000_000)), (nanos(1), Rate::from_bps(0))];
        let mut capacity = Capacity::steps(steps, Some(Duration::from_nanos(2)));
        // 8000 bits take a million cycles, and the last one's second half is not waited for.
        assert_eq!(capacity.finish(ms(0), 1000), nanos(1_999_999));
        assert_eq!(capacity.finish(nanos(1_999_999), 1000), nanos(3_999_999));
        assert_eq!(capacity.bits_between(ms(0), ms(1_000_000_000)), 4e12);
        assert_eq!(capacity.bits_between(nanos(1), nanos(2)), 0.0);
    }

    #[test]
    fn a_capacity_by_a_clock_that_is_ahead_is_the_same() {
        let rates = vec![(ms(0), Rate::from_bps(8_000_000)), (ms(7), Rate::from_bps(800_000))];
        let by = Duration::from_millis(33);
        for capacity in [
            Capacity::constant(Rate::from_bps(3_000_000)),
            Capacity::steps(rates.clone(), None),
            Capacity::steps(rates, Some(Duration::from_millis(20))),
            Capacity::opportunities(
                vec![ms(1), ms(2), ms(2), ms(9)],
                Duration::from_millis(10),
                1500,
            ),
        ] {
            let (mut here, mut there) = (capacity.clone(), capacity.later(by));
            let mut at = ms(0);
            for bytes in [1000, 1500, 40, 900, 1500, 1500, 7000, 1] {
                let end = here.finish(at, bytes);
                assert_eq!(there.finish(at + by, bytes), end + by, "{here:?}");
                at = end + Duration::from_micros(u64::from(bytes));
            }
            let (from, until) = (ms(3), ms(50));
            let bits = there.bits_between(from + by, until + by);
            assert_eq!(here.bits_between(from, until), bits);
        }
    }

    #[test]
    fn an_outage_waits_for_the_next_step() {
        let steps = vec![(ms(0), Rate::from_bps(0)), (ms(10), Rate::from_bps(8_000_000))];
        let mut capacity = Capacity::steps(steps, None);
        assert_eq!(capacity.finish(ms(2), 1000), ms(11));
    }

    #[test]
    fn opportunities_carry_within_a_busy_period_and_are_lost_when_idle() {
        let instants = vec![ms(1), ms(2), ms(2), ms(5)];
        let mut capacity = Capacity::opportunities(instants, Duration::from_millis(10), 1500);
        assert_eq!(capacity.finish(ms(0), 1000), ms(1));
        assert_eq!(capacity.finish(ms(1), 500), ms(1));
        assert_eq!(capacity.finish(ms(1), 3000), ms(2));
        assert_eq!(capacity.finish(ms(6), 1500), ms(11));
        assert_eq!(capacity.bits_between(ms(0), ms(20)), 8.0 * 1500.0 * 8.0);
    }
}
