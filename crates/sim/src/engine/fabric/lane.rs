//! Lanes: packets on their way, in order of arrival, with one pending event for all of them.

use crate::engine::event::Key;
use forebay_core::{Duration, Packet, Rate, Time};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Packets that travel the same stretch of constant delay: a ring with one agenda entry, never one
/// a packet.
///
/// Packets enter nearly in order of arrival; one that overtakes (a short packet behind a long one
/// on parallel access links) is moved forward to its place.
#[derive(Debug, Default)]
pub struct Lane {
    packets: VecDeque<(Key, Packet)>,
    /// Packets that had to wait for their access link while many others were on theirs: all that
    /// enter soon overtake them, so that a heap keeps them until those have entered.
    late: BinaryHeap<Late>,
    /// The hosts' access links, if they are on the stretch.
    pub wire: Option<Wire>,
}

/// How many packets one may overtake in the ring.
const FEW: usize = 32;

impl Lane {
    /// An empty lane.
    pub fn new(wire: Option<Wire>) -> Self {
        Lane { packets: VecDeque::new(), late: BinaryHeap::new(), wire }
    }

    /// Adds a packet that arrives at `key` after waiting for `wait` for its access link; true if it
    /// is now the first, so that the lane needs an agenda entry at `key`.
    #[inline(always)]
    pub fn push(&mut self, key: Key, packet: Packet, wait: Duration) -> bool {
        if wait > Duration::ZERO && self.is_late(key.time, wait) {
            return self.push_late(key, packet);
        }
        if !self.late.is_empty() {
            self.admit_until(key);
        }
        match self.packets.back() {
            Some((last, _)) if key.precedes(*last) => {
                self.packets.push_back((key, packet));
                self.settle(key);
                self.first() == Some(key)
            }
            last => {
                let first = last.is_none();
                self.packets.push_back((key, packet));
                first && (self.late.is_empty() || self.first() == Some(key))
            }
        }
    }

    /// Moves the last packet of the ring, which arrives at `key`, before all that arrive later.
    #[cold]
    fn settle(&mut self, key: Key) {
        let mut at = self.packets.len() - 1;
        while at > 0 && self.packets[at - 1].0 > key {
            self.packets.swap(at - 1, at);
            at -= 1;
        }
    }

    /// Puts the late packets that arrive before `key` into the ring: what enters from now on
    /// overtakes few of them.
    #[cold]
    fn admit_until(&mut self, key: Key) {
        while self.late.peek().is_some_and(|first| first.0 < key)
            && let Some(Late(key, packet)) = self.late.pop()
        {
            self.packets.push_back((key, packet));
            self.settle(key);
        }
    }

    /// Whether more than a few will overtake a packet that arrives at `time` after `wait`: whether
    /// that many lie in the ring within such a span before the time without it.
    #[inline]
    fn is_late(&self, time: Time, wait: Duration) -> bool {
        let len = self.packets.len();
        len > FEW && time.since(self.packets[len - 1 - FEW].0.time) < wait.saturating_mul(2)
    }

    #[cold]
    fn push_late(&mut self, key: Key, packet: Packet) -> bool {
        self.late.push(Late(key, packet));
        self.first() == Some(key)
    }

    /// Whether the agenda entry at `key` is the first packet's, and not stale: then
    /// [`Lane::take`] gives it, and [`Lane::second`] is the key of the entry that the lane needs next.
    #[inline]
    pub fn is_due(&mut self, key: Key) -> bool {
        if !self.late.is_empty() {
            self.bring_forward(key);
        }
        self.packets.front().is_some_and(|(first, _)| *first == key)
    }

    /// A late packet that arrives at `key` goes on into the ring.
    #[cold]
    fn bring_forward(&mut self, key: Key) {
        if self.late.peek().is_some_and(|first| first.0 == key)
            && let Some(Late(key, packet)) = self.late.pop()
        {
            self.packets.push_front((key, packet));
        }
    }

    /// When the packet behind the first of the ring arrives, or a late one before it.
    #[inline]
    pub fn second(&self) -> Option<Key> {
        let next = self.packets.get(1).map(|(key, _)| *key);
        if self.late.is_empty() { next } else { next.into_iter().chain(self.first_late()).min() }
    }

    /// Takes the first packet of the ring.
    #[inline]
    pub fn take(&mut self) -> Option<Packet> {
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    /// When the first packet arrives.
    fn first(&self) -> Option<Key> {
        self.packets.front().map(|(key, _)| *key).into_iter().chain(self.first_late()).min()
    }

    /// When the first of the late packets does.
    fn first_late(&self) -> Option<Key> {
        self.late.peek().map(|late| late.0)
    }

    /// How many packets are on it.
    pub fn count(&self) -> usize {
        self.packets.len() + self.late.len()
    }

    /// Every packet, and when it arrives; not in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, &Packet)> {
        let late = self.late.iter().map(|Late(key, packet)| (key.time, packet));
        self.packets.iter().map(|(key, packet)| (key.time, packet)).chain(late)
    }

    /// The packet of the ring that arrives after `count` others.
    #[inline]
    pub fn after(&self, count: usize) -> Option<&Packet> {
        self.packets.get(count).map(|(_, packet)| packet)
    }
}

/// A packet in the heap: the earliest is the greatest.
#[derive(Debug)]
struct Late(Key, Packet);

impl Ord for Late {
    fn cmp(&self, other: &Late) -> Ordering {
        other.0.cmp(&self.0)
    }
}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        self.0 == other.0
    }
}

impl Eq for Late {}

/// Links of their own for single hosts, all alike: they never drop and nobody else uses them, so
/// that a packet's arrival is known when it enters, and no event is needed.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Nanoseconds a byte times 2^20, rounded up: 1 Gbit/s is exact.
    cost: u64,
    /// Propagation delay.
    pub delay: Duration,
    overhead: u32,
}

impl Wire {
    /// Wires of `rate` that add `overhead` bytes to every packet.
    pub fn new(rate: Rate, delay: Duration, overhead: u32) -> Self {
        let cost = ((8_000_000_000_u128 << 20).div_ceil(u128::from(rate.bps()))) as u64;
        Wire { cost, delay, overhead }
    }

    /// When a packet of `len` bytes that enters at `at` arrives at the other end of the wire that
    /// is free at `free_at`; it waits if that is later.
    #[inline]
    pub fn carry(&self, free_at: &mut Time, at: Time, len: u32) -> Time {
        // A large packet at a few bit/s needs more than 64 bits.
        let span = (u128::from(len + self.overhead) * u128::from(self.cost)) >> 20;
        *free_at = (*free_at).max(at) + Duration::from_nanos(span as u64);
        *free_at + self.delay
    }
}

/// Retires what is still on its way when a run is dropped.
impl Drop for Lane {
    fn drop(&mut self) {
        let late = self.late.drain().map(|Late(_, packet)| packet);
        let packets = self.packets.drain(..).map(|(_, packet)| packet).chain(late);
        packets.for_each(|packet| {
            packet.retire();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Event, Sequence};

    #[test]
    fn a_packet_that_overtakes_arrives_first_and_the_old_entry_is_stale() {
        let mut sequence = Sequence::default();
        let mut lane = Lane::default();
        let late = sequence.key(Time::from_nanos(10), Event::Arrival(0), 0);
        let early = sequence.key(Time::from_nanos(5), Event::Arrival(0), 0);
        assert!(lane.push(late, Packet::new(1, 0, 100), Duration::ZERO));
        assert!(lane.push(early, Packet::new(2, 0, 100), Duration::ZERO));
        assert!(lane.is_due(early));
        assert_eq!((lane.second(), lane.take().unwrap().retire()), (Some(late), 2));
        assert!(!lane.is_due(early) && lane.is_due(late));
        assert_eq!((lane.second(), lane.take().unwrap().retire()), (None, 1));
    }

    #[test]
    fn packets_arrive_in_order_whoever_was_late() {
        let mut sequence = Sequence::default();
        let mut lane = Lane::default();
        let mut keys = Vec::new();
        for id in 0..500_u32 {
            // Every seventh is overtaken by those of the next 90 ns.
            let wait = if id % 7 == 0 { 90 } else { 0 };
            let time = u64::from(id) + wait;
            let key = sequence.key(Time::from_nanos(time), Event::Arrival(0), 0);
            let first = keys.iter().all(|(other, _)| key < *other);
            assert_eq!(lane.push(key, Packet::new(id, 0, 100), Duration::from_nanos(wait)), first);
            keys.push((key, id));
            if id % 3 == 2 {
                check_first(&mut lane, &mut keys);
            }
        }
        while !keys.is_empty() {
            check_first(&mut lane, &mut keys);
        }
    }

    fn check_first(lane: &mut Lane, keys: &mut Vec<(Key, u32)>) {
        keys.sort();
        let (first, id) = keys.remove(0);
        assert!(lane.is_due(first));
        assert_eq!(lane.second(), keys.first().map(|(key, _)| *key));
        assert_eq!(lane.take().unwrap().retire(), id);
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
