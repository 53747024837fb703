//! Lanes: packets on their way, in order of arrival, with one pending event for all of them.

use super::event::Key;
use forebay_core::{Packet, Time};
use std::collections::VecDeque;

/// Packets that travel the same stretch of constant delay: a ring with one agenda entry, never one
/// a packet.
///
/// Packets enter nearly in order of arrival; one that overtakes (a short packet behind a long one
/// on parallel access links) is moved forward to its place.
#[derive(Debug, Default)]
pub struct Lane {
    packets: VecDeque<(Key, Packet)>,
    /// The hosts' access links, if they are on the stretch.
    pub wire: Option<Wire>,
    /// Key of the agenda entry that stands for this lane; earlier entries are stale.
    armed: Option<Key>,
}

impl Lane {
    /// An empty lane.
    pub fn new(wire: Option<Wire>) -> Self {
        Lane { packets: VecDeque::new(), wire, armed: None }
    }

    /// Adds a packet that arrives at `key`; true if it is now the first, so that the lane needs an
    /// agenda entry at `key`.
    #[inline]
    pub fn push(&mut self, key: Key, packet: Packet) -> bool {
        self.packets.push_back((key, packet));
        let mut at = self.packets.len() - 1;
        while at > 0 && self.packets[at - 1].0 > key {
            self.packets.swap(at - 1, at);
            at -= 1;
        }
        if at == 0 {
            self.armed = Some(key);
        }
        at == 0
    }

    /// Takes the first packet, if the agenda entry at `key` is not stale; the second answer is the
    /// key of the entry that the lane needs next.
    #[inline]
    pub fn pop(&mut self, key: Key) -> Option<(Packet, Option<Key>)> {
        if self.armed != Some(key) {
            return None;
        }
        let (_, packet) = self.packets.pop_front().expect("an armed lane holds a packet");
        self.armed = self.packets.front().map(|(next, _)| *next);
        Some((packet, self.armed))
    }
}

/// Links of their own for single hosts, all alike: they never drop and nobody else uses them, so
/// that a packet's arrival is known when it enters, and no event is needed.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Nanoseconds a byte times 2^20, rounded up: 1 Gbit/s is exact.
    cost: u64,
    delay: forebay_core::Duration,
    overhead: u32,
}

impl Wire {
    /// Wires of `rate` that add `overhead` bytes to every packet.
    pub fn new(rate: forebay_core::Rate, delay: forebay_core::Duration, overhead: u32) -> Self {
        let cost = ((8_000_000_000_u128 << 20).div_ceil(u128::from(rate.bps()))) as u64;
        Wire { cost, delay, overhead }
    }

    /// When a packet of `len` bytes that enters at `at` arrives at the other end of the wire that
    /// is free at `free_at`.
    #[inline]
    pub fn carry(&self, free_at: &mut Time, at: Time, len: u32) -> Time {
        // A large packet at a few bit/s needs more than 64 bits.
        let span = (u128::from(len + self.overhead) * u128::from(self.cost)) >> 20;
        *free_at = (*free_at).max(at) + forebay_core::Duration::from_nanos(span as u64);
        *free_at + self.delay
    }
}

/// Retires what is still on its way when a run is dropped.
impl Drop for Lane {
    fn drop(&mut self) {
        for (_, packet) in self.packets.drain(..) {
            packet.retire();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, Sequence};
    use super::*;
    use forebay_core::{Duration, Rate};

    #[test]
    fn a_packet_that_overtakes_arrives_first_and_the_old_entry_is_stale() {
        let mut sequence = Sequence::default();
        let mut lane = Lane::default();
        let late = sequence.key(Time::from_nanos(10), Event::Arrival(0));
        let early = sequence.key(Time::from_nanos(5), Event::Arrival(0));
        assert!(lane.push(late, Packet::new(1, 0, 100)));
        assert!(lane.push(early, Packet::new(2, 0, 100)));
        let (packet, next) = lane.pop(early).unwrap();
        assert_eq!((packet.retire(), next), (2, Some(late)));
        assert!(lane.pop(early).is_none());
        let (packet, next) = lane.pop(late).unwrap();
        assert_eq!((packet.retire(), next), (1, None));
    }

    #[test]
    fn a_wire_serialises_bursts() {
        let wire = Wire::new(Rate::from_bps(1_000_000_000), Duration::from_micros(100), 0);
        let mut free_at = Time::ZERO;
        assert_eq!(wire.carry(&mut free_at, Time::ZERO, 1500).as_nanos(), 112_000);
        assert_eq!(wire.carry(&mut free_at, Time::ZERO, 1500).as_nanos(), 124_000);
        assert_eq!(wire.carry(&mut free_at, Time::from_nanos(50_000), 1500).as_nanos(), 162_000);
    }

    #[test]
    fn a_wire_may_be_slow() {
        let wire = Wire::new(Rate::from_bps(1), Duration::ZERO, 1000);
        // 65 535 B and the overhead, 8 s a byte.
        assert_eq!(
            wire.carry(&mut Time::from_nanos(0), Time::ZERO, 65_535).as_nanos(),
            532_280_000_000_000
        );
    }
}
