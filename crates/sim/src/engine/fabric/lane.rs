//! Lanes: packets on their way, in order of arrival, with one pending event for all of them.

use super::ring::Ring;
use crate::engine::event::Key;
use crate::engine::later::{Later, Timed};
use forebay_core::{Duration, Rate, Time, fetch};

/// Packets that travel the same stretch of constant delay: a ring with one agenda entry, never one
/// a packet. It has their handles.
///
/// Packets enter nearly in order of arrival; one that overtakes (a short packet behind a long one
/// on parallel access links) is moved forward to its place.
#[derive(Debug)]
pub struct Lane {
    packets: Ring<(Key, u32)>,
    /// The latest arrival of any that was in the ring.
    last: Time,
    /// Packets that had to wait for their access link while many others were on theirs: all that
    /// enter soon overtake them, so that they are kept here until those have entered.
    late: Later<Late, LATE_BITS>,
    /// Of the last of these; they begin anew after 2^32.
    number: u32,
    /// Whether it leads into another part of the network.
    is_beyond: bool,
    /// Whether it does not, and no packet is late.
    is_simple: bool,
    /// The hosts' access links, if they are on the stretch.
    pub wire: Option<Wire>,
    /// The link at its end, if that is looked at late: then there is no agenda entry for it.
    pub link: Option<u32>,
}

/// How many packets one may overtake in the ring.
const FEW: usize = 32;

/// Slots of 2^12 ns: a few of 10 Gbit/s' packets fit, and all together are longer than most wait.
const LATE_BITS: u32 = 12;

impl Lane {
    /// An empty lane.
    pub fn new(wire: Option<Wire>, is_beyond: bool) -> Self {
        let packets = Ring::default();
        let (last, late) = (Time::ZERO, Later::default());
        Lane { packets, last, late, number: 0, is_beyond, is_simple: !is_beyond, wire, link: None }
    }

    /// Whether a packet may be [appended](Lane::append), if it waits for its access link or not.
    #[inline(always)]
    pub fn is_plain(&self, waits: bool) -> bool {
        self.is_simple && (self.packets.len() <= FEW || !waits)
    }

    /// Adds the packet with handle `id`, which arrives at `key` and overtakes few; true if it is now the
    /// first of the ring.
    #[inline(always)]
    pub fn append(&mut self, key: Key, id: u32) -> bool {
        let first = self.packets.is_empty();
        self.packets.push_back((key, id));
        if key.time <= self.last {
            return self.settle(key);
        }
        self.last = key.time;
        first
    }

    /// Adds the packet with handle `id`, which arrives at `key` after waiting for `wait` for its access
    /// link; true if it is now the first, so that the lane needs an agenda entry at `key`.
    pub fn push(&mut self, key: Key, id: u32, wait: Duration) -> bool {
        if wait > Duration::ZERO && self.is_late(key.time, wait) {
            return self.push_late(key, id);
        }
        if !self.late.is_empty() {
            self.admit_until(key);
        }
        self.append(key, id) && (self.late.is_empty() || self.first() == Some(key))
    }

    /// Moves the last packet of the ring, which arrives at `key`, before all that arrive later; whether it
    /// is the first then.
    #[cold]
    fn settle(&mut self, key: Key) -> bool {
        let mut at = self.packets.len() - 1;
        while at > 0 && self.packets.get(at - 1).is_some_and(|before| before.0 > key) {
            self.packets.swap(at - 1, at);
            at -= 1;
        }
        at == 0
    }

    /// Puts the late packets that arrive before `key`, or then, into the ring: what enters from now on
    /// overtakes few of them.
    #[cold]
    fn admit_until(&mut self, key: Key) {
        while self.late.first().is_some_and(|first| first.key <= key)
            && let Some(Late { key, id, .. }) = self.late.pop()
        {
            self.packets.push_back((key, id));
            self.settle(key);
            self.last = self.last.max(key.time);
        }
        self.is_simple = !self.is_beyond && self.late.is_empty();
    }

    /// Whether more than a few will overtake a packet that arrives at `time` after `wait`: whether
    /// that many lie in the ring within such a span before the time without it.
    #[inline]
    fn is_late(&self, time: Time, wait: Duration) -> bool {
        let before = self.packets.len().checked_sub(1 + FEW).and_then(|at| self.packets.get(at));
        before.is_some_and(|(key, _)| time.since(key.time) < wait.saturating_mul(2))
    }

    #[cold]
    fn push_late(&mut self, key: Key, id: u32) -> bool {
        self.number = self.number.wrapping_add(1);
        self.late.push(Late { key, number: self.number, id });
        self.is_simple = false;
        self.first() == Some(key)
    }

    /// Takes the first packet, if the agenda entry at `key` is its, and not stale, and tells the key of
    /// the entry that the lane needs next.
    #[inline(always)]
    pub fn take_due(&mut self, key: Key) -> Option<(u32, Option<Key>)> {
        if !self.late.is_empty() {
            self.bring_forward(key);
        }
        let &(first, id) = self.packets.front()?;
        if first != key {
            return None;
        }
        self.packets.pop_front();
        let next = self.packets.front().map(|(key, _)| *key);
        Some((id, if self.late.is_empty() { next } else { self.first() }))
    }

    /// A late packet that arrives at `key` goes on into the ring.
    #[cold]
    fn bring_forward(&mut self, key: Key) {
        // Those of the same instant in the ring entered before it.
        if self.packets.front().is_none_or(|(front, _)| key < *front)
            && self.late.first().is_some_and(|first| first.key == key)
            && let Some(Late { key, id, .. }) = self.late.pop()
        {
            self.packets.push_front((key, id));
            self.last = self.last.max(key.time);
            self.is_simple = !self.is_beyond && self.late.is_empty();
        }
    }

    /// Takes the first packet, if it arrives before `limit`, and tells when.
    #[inline(always)]
    pub fn take_before(&mut self, limit: Time) -> Option<(Time, u32)> {
        if !self.late.is_empty()
            && let Some(key) = self.first()
        {
            self.bring_forward(key);
        }
        let &(Key { time, .. }, id) = self.packets.front()?;
        if time >= limit {
            return None;
        }
        self.packets.pop_front();
        Some((time, id))
    }

    /// The same, without its place among those of one instant; the end of time, if there is none.
    #[inline(always)]
    pub fn first_time(&self) -> Time {
        if !self.late.is_empty() {
            return self.first().map_or(Time::MAX, |key| key.time);
        }
        self.packets.front().map_or(Time::MAX, |(key, _)| key.time)
    }

    /// When the first packet arrives.
    #[inline]
    pub fn first(&self) -> Option<Key> {
        let first = self.packets.front().map(|(key, _)| *key);
        if self.late.is_empty() { first } else { first.into_iter().chain(self.first_late()).min() }
    }

    /// When the first of the late packets does.
    fn first_late(&self) -> Option<Key> {
        self.late.first().map(|late| late.key)
    }

    /// How many packets are on it.
    pub fn count(&self) -> usize {
        self.packets.len() + self.late.len()
    }

    /// Every packet, and when it arrives; not in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, u32)> {
        let late = self.late.iter().map(|late| (late.key.time, late.id));
        self.packets.iter().map(|(key, id)| (key.time, *id)).chain(late)
    }

    /// The packet of the ring that arrives after `count` others.
    #[inline]
    pub fn after(&self, count: usize) -> Option<u32> {
        self.packets.get(count).map(|(_, id)| *id)
    }

    /// Fetches the place of that packet.
    #[inline]
    pub fn fetch(&self, count: usize) {
        self.packets.get(count).into_iter().for_each(fetch);
    }
}

/// A packet that is late.
#[derive(Debug, Clone, Copy)]
struct Late {
    key: Key,
    /// Those of one instant go on in the order in which they came.
    number: u32,
    id: u32,
}

impl Timed for Late {
    #[inline]
    fn time(&self) -> Time {
        self.key.time
    }

    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        let is_earlier = || (self.number.wrapping_sub(other.number) as i32) < 0;
        self.key.precedes(other.key) || (self.key == other.key && is_earlier())
    }
}

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

    /// Whether a packet is never there in the instant in which it enters: it has 20 bytes or more.
    pub fn takes_time(&self) -> bool {
        self.delay > Duration::ZERO || (20 * u128::from(self.cost)) >> 20 > 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Event, Sequence};
    use crate::engine::fabric::Target;

    #[test]
    fn a_packet_that_overtakes_arrives_first_and_the_old_entry_is_stale() {
        let mut sequence = Sequence::default();
        let mut lane = Lane::new(None, false);
        let late = sequence.key(Time::from_nanos(10), Event::Arrival(0), 0);
        let early = sequence.key(Time::from_nanos(5), Event::Arrival(0), 0);
        assert!(lane.push(late, 1, Duration::ZERO));
        assert!(lane.push(early, 2, Duration::ZERO));
        assert_eq!(lane.take_due(early), Some((2, Some(late))));
        assert_eq!(lane.take_due(early), None);
        assert_eq!(lane.take_due(late), Some((1, None)));
    }

    #[test]
    fn a_lane_and_where_it_leads_are_two_cache_lines() {
        assert_eq!(size_of::<(Lane, Target)>(), 128);
    }

    #[test]
    fn packets_arrive_in_order_whoever_was_late() {
        let mut sequence = Sequence::default();
        let mut lane = Lane::new(None, false);
        let mut keys = Vec::new();
        for id in 0..500_u32 {
            // Every seventh is overtaken by those of the next 90 ns.
            let wait = if id % 7 == 0 { 90 } else { 0 };
            let time = u64::from(id) + wait;
            let key = sequence.key(Time::from_nanos(time), Event::Arrival(0), 0);
            let first = keys.iter().all(|(other, _)| key < *other);
            assert_eq!(lane.push(key, id, Duration::from_nanos(wait)), first);
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
        let next = keys.first().map(|(key, _)| *key);
        assert_eq!(lane.take_due(first), Some((id, next)));
        assert_eq!(lane.first(), next);
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
