//! The ticks of a Linux host's clock, and the timers that run at them.

use super::Version;
use forebay_core::{Duration, Time};

/// The host's ticks (jiffies), at which timers run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    pub(super) tick: Duration,
}

impl Clock {
    pub(super) fn ticks(self, now: Time) -> u64 {
        now.as_nanos() / self.tick.as_nanos()
    }

    pub(super) fn ticks_up(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.tick.as_nanos())
    }

    pub(super) fn per_second(self) -> u64 {
        1_000_000_000 / self.tick.as_nanos()
    }

    pub(super) fn round_up(self, span: Duration) -> Duration {
        self.tick.saturating_mul(self.ticks_up(span))
    }

    /// When a timer fires that is set at `now` to expire after `span`. `queued` is when it would
    /// fire, or has fired, if it was set before. Timers fire at a tick, not before the span is
    /// over. 2.6 counts from the previous tick. 6.1 adds one, and for spans of 63 ticks and more
    /// fires only at every eighth tick, and so on (`calc_wheel_index`).
    ///
    /// Of the timers of one tick, 6.1 fires the long ones first, and within a level of its wheel
    /// the last queued first (`collect_expired_timers`, `hlist_add_head`). A timer that is set
    /// again for the same slot keeps its place (`__mod_timer`). Here they fire nanoseconds apart,
    /// in that order.
    pub(super) fn expiry(self, version: Version, now: Time, span: Duration, queued: Time) -> Time {
        let at = self.ticks(now) + self.ticks_up(span);
        if version.is_2_6() {
            return Time::ZERO + self.tick.saturating_mul(at);
        }
        let (mut level, mut rest) = (0_u64, self.ticks_up(span));
        while rest >= 63 {
            level += 1;
            rest >>= 3;
        }
        let slot = ((at >> (3 * level)) + 1) << (3 * level);
        let tick = Time::ZERO + self.tick.saturating_mul(slot);
        let rank = TURN * (2_u64.saturating_sub(level));
        let place = tick + Duration::from_nanos(rank);
        if queued > now && queued >= place && queued.since(place).as_nanos() < TURN {
            return queued;
        }
        let waits = tick.since(now).as_nanos() >> (18 + 3 * level.min(2));
        place + Duration::from_nanos(waits.min(TURN - 1))
    }
}

/// Nanoseconds within a tick in which the timers of one level fire.
const TURN: u64 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_one_tick_fire_in_the_order_of_the_wheel() {
        let clock = Clock { tick: Duration::from_millis(4) };
        let expiry = |now: u64, span: u64, queued: Time| {
            let at = |ms| Time::ZERO + Duration::from_millis(ms);
            clock.expiry(Version::Linux6_1, at(now), Duration::from_millis(span), queued)
        };
        let tick = |at: Time| at.as_nanos() / 4_000_000;
        // 100 ticks from the 156th on are of the second level, in steps of eight: the 264th.
        let far = expiry(624, 400, Time::ZERO);
        // Of the first level: 60 and 30 ticks, from the 203rd and the 233rd.
        let [early, late] = [(812, 240), (932, 120)].map(|(at, span)| expiry(at, span, Time::ZERO));
        assert_eq!([far, early, late].map(tick), [264; 3]);
        assert!(far < late && late < early);
        // Set again for the same tick it keeps its place, for another it does not.
        assert_eq!(expiry(932, 120, early), early);
        assert_eq!(tick(expiry(936, 120, early)), 265);
        assert!(expiry(932, 120, far) > far);
        // Queued at this very moment, or fired: it is set anew.
        assert_eq!(expiry(932, 120, Time::ZERO + Duration::from_millis(932)), late);
    }

    #[test]
    fn two_point_six_fires_at_the_tick_itself() {
        let clock = Clock { tick: Duration::from_millis(1) };
        let now = Time::ZERO + Duration::from_micros(10_500);
        let at = clock.expiry(Version::Linux2_6_18, now, Duration::from_millis(200), Time::ZERO);
        assert_eq!(at, Time::ZERO + Duration::from_millis(210));
    }
}
