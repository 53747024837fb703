//! The simulator's time as instants of the standard library, which quinn wants.

use forebay_core::Time;
use std::sync::OnceLock;
use std::time::Instant;

/// The instant that stands for time zero, the same for all. Nothing depends on which one it is: quinn only
/// takes differences.
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "there is no other way to make an instant")]
    *ORIGIN.get_or_init(Instant::now)
}

/// The instant that stands for `time`.
pub fn instant(time: Time) -> Instant {
    origin() + std::time::Duration::from_nanos(time.as_nanos())
}

/// The time for which `instant` stands.
pub fn time(instant: Instant) -> Time {
    let since = instant.saturating_duration_since(origin());
    Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
