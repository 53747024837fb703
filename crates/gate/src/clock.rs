//! The clock: nanoseconds since the gate began. It never goes back.

use forebay_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC since a starting point.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: u64,
    last: u64,
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock {
    /// A clock that starts at zero now.
    #[expect(clippy::new_without_default, reason = "reading a clock is no default")]
    pub fn new() -> Self {
        Clock { begin: monotonic(), last: 0 }
    }

    /// The current time, never before the time of an earlier call.
    #[inline]
    pub fn now(&mut self) -> Time {
        self.last = self.last.max(monotonic() - self.begin);
        Time::from_nanos(self.last)
    }
}
