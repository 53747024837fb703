//! A table of limited size that tells whether a flow is small or slow.
//!
//! Each flow has a leaky bucket: its volume drains at the allowed rate, and every packet adds its
//! bytes. A flow is *light* while its volume stays within the allowed one: it has sent little, or
//! slowly. The volume is limited to twice the allowed one. So a heavy flow that stops sending is
//! light again after at most twice the allowed volume over the rate.
//!
//! Flows are found in sets of four, by hash. A new flow takes the place of the one in its set that
//! has sent nothing for the longest time, and begins light.

use forebay_core::{Bytes, Rate, Time};

const WAYS: usize = 4;
/// Units of volume in a byte: bit/s times nanoseconds.
const BYTE: u64 = 8_000_000_000;

/// Leaky buckets of the most recent flows.
pub(super) struct FlowMeter {
    flows: Vec<Flow>,
    rate: u64,
    volume: u64,
}

#[derive(Clone, Copy)]
struct Flow {
    key: Option<u32>,
    volume: u64,
    seen: Time,
}

impl FlowMeter {
    /// A table for about `flows` flows, each of which may send `volume` at once and `rate` in the
    /// long run.
    pub(super) fn new(rate: Rate, volume: Bytes, flows: u32) -> Self {
        let sets = (flows as usize).div_ceil(WAYS).max(1);
        let empty = Flow { key: None, volume: 0, seen: Time::ZERO };
        FlowMeter { flows: vec![empty; sets * WAYS], rate: rate.bps(), volume: volume.0 * BYTE }
    }

    /// Counts a packet. Returns whether its flow is light, including this packet.
    #[inline]
    pub(super) fn is_light(&mut self, flow: u32, len: u32, now: Time) -> bool {
        let sets = (self.flows.len() / WAYS) as u64;
        // Fibonacci hashing: the simulator's flow numbers are consecutive.
        let hash = u64::from(flow.wrapping_mul(0x9e37_79b9));
        let first = ((hash * sets) >> 32) as usize * WAYS;
        let set = &mut self.flows[first..first + WAYS];
        let way = set.iter().position(|entry| entry.key == Some(flow)).unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|way| (set[*way].key.is_some(), set[*way].seen));
            let oldest = oldest.expect("a set is not empty");
            set[oldest] = Flow { key: Some(flow), volume: 0, seen: now };
            oldest
        });
        let entry = &mut set[way];
        let drained = self.rate.saturating_mul(now.since(entry.seen).as_nanos());
        entry.seen = now;
        entry.volume = entry.volume.saturating_sub(drained) + u64::from(len) * BYTE;
        let light = entry.volume <= self.volume;
        entry.volume = entry.volume.min(2 * self.volume);
        light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Duration;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_flow_is_light_while_small_or_slow() {
        // 8 kbit/s drain 1 B a ms.
        let mut meter = FlowMeter::new(Rate::from_bps(8_000), Bytes(3000), 16);
        assert!(meter.is_light(7, 1500, ms(0)));
        assert!(meter.is_light(7, 1500, ms(0)));
        assert!(!meter.is_light(7, 1, ms(0)), "3001 B at once");
        assert!(meter.is_light(8, 1500, ms(0)), "another flow");
        for _ in 0..10 {
            assert!(!meter.is_light(7, 1500, ms(1)));
        }
        // Capped at 6000 B: light again when 4500 B have drained.
        assert!(!meter.is_light(7, 1500, ms(4499)));
        assert!(meter.is_light(7, 1500, ms(9000)));
        let mut slow = FlowMeter::new(Rate::from_bps(8_000), Bytes(3000), 16);
        assert!((0..1000).all(|n| slow.is_light(1, 1000, ms(n * 1000))));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_silent() {
        let mut meter = FlowMeter::new(Rate::from_bps(1), Bytes(100), 4);
        assert!(!meter.is_light(0, 200, ms(0)));
        assert!((1..4).all(|flow| !meter.is_light(flow, 200, ms(1))));
        assert!(!meter.is_light(0, 1, ms(2)), "still known");
        assert!(meter.is_light(9, 1, ms(3)), "takes the place of flow 1");
        assert!(!meter.is_light(0, 1, ms(4)));
        assert!(meter.is_light(1, 1, ms(5)), "begins anew");
        assert_eq!(meter.flows.len(), 4);
    }
}
