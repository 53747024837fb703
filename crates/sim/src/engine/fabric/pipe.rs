//! Pipes: packets in flight, in order of arrival.

use super::access::AccessLink;
use super::ring::Ring;
use crate::engine::calendar::{Calendar, Timed};
use crate::engine::event::Key;
use forebay_core::{Duration, Time};

/// The end of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The queue of a link.
    Link(u32),
    /// A box, on the way into the queue of its link.
    BoxForward(u32),
    /// A box, on the way from the reverse of its link to the next stop.
    BoxBackward(u32),
    /// The wireless network, for the crossing of this number.
    Air(u32),
    /// The host at the end of the path.
    Host,
}

/// Packets in flight from one place to another. The arrival of a packet is known when it enters, so only
/// the first one needs an entry in the agenda.
///
/// Packets enter nearly in order of arrival. One that overtakes others (a short packet after a long one on
/// parallel access links) is moved to its place. One that many will overtake, because its own access link
/// is busy, is kept apart until they have entered.
#[derive(Debug)]
#[repr(align(64))]
pub struct Pipe {
    pub target: Target,
    /// Arrivals and handles of packets, in order.
    packets: Ring<(Key, u32)>,
    /// The latest arrival of all packets that were in the ring.
    last: Time,
    /// Packets that many are likely to overtake.
    overtaken: Calendar<Overtaken, SLOT_BITS>,
    /// Number of the last of these, modulo 2^32.
    number: u32,
    /// Whether it leads into another part of the network.
    is_beyond: bool,
    /// Whether it leads to a lazy link.
    pub is_lazy: bool,
    /// The hosts' access links, if packets cross them on the way.
    pub access: Option<AccessLink>,
}

/// Most packets that one may overtake in the ring.
const FEW: usize = 32;

/// Slots of 2^12 ns, for a few packets of 10 Gbit/s. All together are longer than most waits.
const SLOT_BITS: u32 = 12;

impl Pipe {
    pub fn new(target: Target, access: Option<AccessLink>, is_beyond: bool) -> Self {
        Pipe {
            target,
            packets: Ring::default(),
            last: Time::ZERO,
            overtaken: Calendar::default(),
            number: 0,
            is_beyond,
            is_lazy: false,
            access,
        }
    }

    /// Whether a packet, which `waits` for its access link or does not, may be [appended](Pipe::append).
    #[inline(always)]
    pub fn is_plain(&self, waits: bool) -> bool {
        self.overtaken.is_empty() && !self.is_beyond && (self.packets.len() <= FEW || !waits)
    }

    /// Adds packet `id`, which arrives at `key` and overtakes few. True if it is now the first of the ring.
    #[inline(always)]
    pub fn append(&mut self, key: Key, id: u32) -> bool {
        let first = self.packets.is_empty();
        self.packets.push_back((key, id));
        if key.time <= self.last {
            return self.sort_last(key, id);
        }
        self.last = key.time;
        first
    }

    /// Adds packet `id`, which arrives at `key` and waited for `wait` for its access link. True if it is
    /// now the first, so that the pipe needs an agenda entry at `key`.
    pub fn push(&mut self, key: Key, id: u32, wait: Duration) -> bool {
        if wait > Duration::ZERO && self.will_be_overtaken(key.time, wait) {
            self.number = self.number.wrapping_add(1);
            self.overtaken.push(Overtaken { key, number: self.number, id });
            return self.first() == Some(key);
        }
        while self.overtaken.first().is_some_and(|first| first.key <= key)
            && let Some(Overtaken { key, id, .. }) = self.overtaken.pop()
        {
            // Packets that enter from now on overtake few of these.
            self.packets.push_back((key, id));
            self.sort_last(key, id);
            self.last = self.last.max(key.time);
        }
        self.append(key, id) && (self.overtaken.is_empty() || self.first() == Some(key))
    }

    /// Moves the last packet of the ring before all that arrive later. True if it is now the first.
    #[cold]
    fn sort_last(&mut self, key: Key, id: u32) -> bool {
        let mut at = self.packets.len() - 1;
        while let Some(&before) = at.checked_sub(1).and_then(|before| self.packets.get(before))
            && key.precedes(before.0)
        {
            self.packets.set(at, before);
            at -= 1;
        }
        self.packets.set(at, (key, id));
        at == 0
    }

    /// Whether many will overtake a packet that arrives at `time` after waiting for `wait`. This is assumed
    /// if more than a few in the ring arrive less than twice `wait` before it.
    fn will_be_overtaken(&self, time: Time, wait: Duration) -> bool {
        let before = self.packets.len().checked_sub(1 + FEW).and_then(|at| self.packets.get(at));
        before.is_some_and(|(key, _)| time.since(key.time) < wait.saturating_mul(2))
    }

    /// Takes the first packet, for which there is an agenda entry at `key`. Also returns the key of the
    /// next entry that the pipe needs. None if the entry is stale.
    #[inline(always)]
    pub fn take_due(&mut self, key: Key) -> Option<(u32, Option<Key>)> {
        if !self.overtaken.is_empty() {
            self.rejoin(key);
        }
        let &(first, id) = self.packets.front()?;
        if first != key {
            return None;
        }
        self.packets.pop_front();
        let next = self.packets.front().map(|(key, _)| *key);
        Some((id, if self.overtaken.is_empty() { next } else { self.first() }))
    }

    /// Takes the first packet, if it arrives before `limit`, with its arrival.
    #[inline(always)]
    pub fn take_before(&mut self, limit: Time) -> Option<(Time, u32)> {
        if !self.overtaken.is_empty()
            && let Some(key) = self.first()
        {
            self.rejoin(key);
        }
        let &(Key { time, .. }, id) = self.packets.front()?;
        if time >= limit {
            return None;
        }
        self.packets.pop_front();
        Some((time, id))
    }

    /// Moves the packet that arrives at `key` to the front of the ring, if it is kept apart.
    #[cold]
    fn rejoin(&mut self, key: Key) {
        // Packets with the same key in the ring entered before it.
        if self.packets.front().is_none_or(|(front, _)| key < *front)
            && self.overtaken.first().is_some_and(|first| first.key == key)
            && let Some(Overtaken { key, id, .. }) = self.overtaken.pop()
        {
            self.packets.push_front((key, id));
            self.last = self.last.max(key.time);
        }
    }

    /// Arrival of the first packet; the end of time without any.
    #[inline(always)]
    pub fn first_time(&self) -> Time {
        if !self.overtaken.is_empty() {
            return self.first().map_or(Time::MAX, |key| key.time);
        }
        self.packets.front().map_or(Time::MAX, |(key, _)| key.time)
    }

    /// Key of the first packet.
    #[inline]
    pub fn first(&self) -> Option<Key> {
        let first = self.packets.front().map(|(key, _)| *key);
        if self.overtaken.is_empty() {
            return first;
        }
        first.into_iter().chain(self.overtaken.first().map(|packet| packet.key)).min()
    }

    pub fn count(&self) -> usize {
        self.packets.len() + self.overtaken.len()
    }

    /// Arrivals and handles of all packets, not in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, u32)> {
        let overtaken = self.overtaken.iter().map(|packet| (packet.key.time, packet.id));
        self.packets.iter().map(|(key, id)| (key.time, *id)).chain(overtaken)
    }

    /// Place in the ring of the packet that arrives after `count` others.
    pub fn place(&self, count: usize) -> Option<&(Key, u32)> {
        self.packets.get(count)
    }
}

/// A packet that is kept apart, because many overtake it.
#[derive(Debug, Clone, Copy)]
struct Overtaken {
    key: Key,
    /// Packets with equal keys stay in the order in which they entered.
    number: u32,
    id: u32,
}

impl Timed for Overtaken {
    fn time(&self) -> Time {
        self.key.time
    }

    fn precedes(&self, other: &Self) -> bool {
        let is_earlier = || (self.number.wrapping_sub(other.number) as i32) < 0;
        self.key.precedes(other.key) || (self.key == other.key && is_earlier())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Event, Sequence};

    #[test]
    fn a_packet_that_overtakes_arrives_first_and_the_old_entry_is_stale() {
        let mut sequence = Sequence::default();
        let mut pipe = Pipe::new(Target::Host, None, false);
        let late = sequence.key(Time::from_nanos(10), Event::Arrival(0), 0);
        let early = sequence.key(Time::from_nanos(5), Event::Arrival(0), 0);
        assert!(pipe.push(late, 1, Duration::ZERO));
        assert!(pipe.push(early, 2, Duration::ZERO));
        assert_eq!(pipe.take_due(early), Some((2, Some(late))));
        assert_eq!(pipe.take_due(early), None);
        assert_eq!(pipe.take_due(late), Some((1, None)));
    }

    #[test]
    fn a_pipe_has_two_cache_lines() {
        assert_eq!(size_of::<Pipe>(), 128);
    }

    #[test]
    fn packets_arrive_in_order_whoever_was_overtaken() {
        let mut sequence = Sequence::default();
        let mut pipe = Pipe::new(Target::Host, None, false);
        let mut keys = Vec::new();
        for id in 0..500_u32 {
            // Every seventh is overtaken by those of the next 90 ns.
            let wait = if id % 7 == 0 { 90 } else { 0 };
            let time = u64::from(id) + wait;
            let key = sequence.key(Time::from_nanos(time), Event::Arrival(0), 0);
            let first = keys.iter().all(|(other, _)| key < *other);
            assert_eq!(pipe.push(key, id, Duration::from_nanos(wait)), first);
            keys.push((key, id));
            if id % 3 == 2 {
                check_first(&mut pipe, &mut keys);
            }
        }
        while !keys.is_empty() {
            check_first(&mut pipe, &mut keys);
        }
    }

    fn check_first(pipe: &mut Pipe, keys: &mut Vec<(Key, u32)>) {
        keys.sort();
        let (first, id) = keys.remove(0);
        let next = keys.first().map(|(key, _)| *key);
        assert_eq!(pipe.take_due(first), Some((id, next)));
        assert_eq!(pipe.first(), next);
    }
}
