//! Which Linux it is, and the ticks by which it runs.

use crate::Config;
use forebay_core::{Duration, Time};

/// A version of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Linux2_6_18,
    Linux2_6_26,
    Linux6_1,
}

impl Version {
    pub(super) fn is_2_6(self) -> bool {
        self != Version::Linux6_1
    }
}

/// The host's ticks (jiffies), by which timers run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(super) tick: Duration,
}

impl Clock {
    pub(crate) fn new(config: &Config) -> Self {
        Clock { tick: config.tick }
    }

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

    /// When a timer fires that is set at `now` to go after `span`: at a tick, not before the span
    /// is over. 2.6 counts from the tick before, 6.1 goes one further, and for spans of 63 ticks
    /// and more to every eighth, and so on (`calc_wheel_index`).
    pub(super) fn expiry(self, version: Version, now: Time, span: Duration) -> Time {
        let mut at = self.ticks(now) + self.ticks_up(span);
        if !version.is_2_6() {
            let (mut shift, mut level) = (0, self.ticks_up(span));
            while level >= 63 {
                shift += 3;
                level >>= 3;
            }
            at = ((at >> shift) + 1) << shift;
        }
        Time::ZERO + self.tick.saturating_mul(at)
    }
}

/// The timestamp clock of both: milliseconds (`TCP_TS_HZ`; 2.6 with 1000 ticks a second).
pub(crate) fn stamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
