//! Access links between hosts and routers.

use forebay_core::{Duration, Rate, Time};

/// Equal access links, one for each host. A link that only one host uses never drops, so the arrival of a
/// packet at the other end is known when it enters, and no event is needed.
#[derive(Debug, Clone, Copy)]
pub struct AccessLink {
    /// Nanoseconds a byte times 2^20, rounded up: 1 Gbit/s is exact.
    cost: u64,
    pub delay: Duration,
    overhead: u32,
}

impl AccessLink {
    /// Links of `rate` that add `overhead` bytes to every packet.
    pub fn new(rate: Rate, delay: Duration, overhead: u32) -> Self {
        let cost = ((8_000_000_000_u128 << 20).div_ceil(u128::from(rate.bps()))) as u64;
        AccessLink { cost, delay, overhead }
    }

    /// Whether every packet (of 20 bytes or more) needs some time.
    pub fn takes_time(&self) -> bool {
        self.delay > Duration::ZERO || (20 * u128::from(self.cost)) >> 20 > 0
    }

    /// Arrival of a packet of `len` bytes that enters at `at`. It waits until the link is free at
    /// `free_at`, which is updated.
    pub fn carry(&self, free_at: &mut Time, at: Time, len: u32) -> Time {
        // A large packet at a few bit/s needs more than 64 bits. WebAssembly multiplies these slowly.
        let bytes = u64::from(len + self.overhead);
        let (high, low) = (self.cost >> 32, self.cost & u64::from(u32::MAX));
        let span = ((bytes * high) << 12) + ((bytes * low) >> 20);
        *free_at = (*free_at).max(at) + Duration::from_nanos(span);
        *free_at + self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serialises_bursts() {
        let link = AccessLink::new(Rate::from_bps(1_000_000_000), Duration::from_micros(100), 0);
        let mut free_at = Time::ZERO;
        assert_eq!(link.carry(&mut free_at, Time::ZERO, 1500).as_nanos(), 112_000);
        assert_eq!(link.carry(&mut free_at, Time::ZERO, 1500).as_nanos(), 124_000);
        assert_eq!(link.carry(&mut free_at, Time::from_nanos(50_000), 1500).as_nanos(), 162_000);
    }

    #[test]
    fn it_may_be_slow() {
        let link = AccessLink::new(Rate::from_bps(1), Duration::ZERO, 1000);
        // 65 535 B and the overhead, 8 s a byte.
        assert_eq!(
            link.carry(&mut Time::from_nanos(0), Time::ZERO, 65_535).as_nanos(),
            532_280_000_000_000
        );
    }

    #[test]
    fn its_time_is_that_of_128_bits() {
        for rate in [1, 7, 64_000, 1_953_125, 1_953_126, 10_000_000, 999_999_999, u64::MAX] {
            for len in [0, 1, 40, 1500, 65_535] {
                let link = AccessLink::new(Rate::from_bps(rate), Duration::ZERO, 1000);
                let found = link.carry(&mut Time::from_nanos(0), Time::ZERO, len).as_nanos();
                let span = (u128::from(len + 1000) * u128::from(link.cost)) >> 20;
                assert_eq!(u128::from(found), span, "{len} B at {rate} bit/s");
            }
        }
    }
}
