//! The order of things: events and the queue that gives them back in order.

use crate::wireless::Wake;
use forebay_core::Time;

/// What happens. Each carries the index of whom it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A link's rate changes by schedule.
    RateChange(u32),
    /// A link is free to send its next packet.
    LinkFree(u32),
    /// The first packet of a lane arrives.
    Arrival(u32),
    /// A TCP sender's timer: retransmission, persist or pacing.
    SenderTimer(u32),
    /// A TCP receiver's timer: delayed acknowledgment.
    ReceiverTimer(u32),
    /// A box wants to be asked what it has to send.
    GuardTimer(u32),
    /// A datagram source sends.
    Datagram(u32),
    /// A scheduled transfer begins.
    Transfer(u32),
    /// The endless transfer of a connection ends.
    End(u32),
    /// The receiver of a connection that is over takes no more.
    Closed(u32),
    /// The same, where its sender is in another part of the network. Not counted: the sender's is.
    Forgotten(u32),
    /// Something in the wireless network.
    Wireless(Wake),
    /// The warm-up ends: measurements begin.
    WarmupEnd,
    /// A point of every time series is due.
    Sample,
}

impl Event {
    /// Order among events of the same instant: a link's new rate holds for what leaves then; a
    /// place that a departure frees is there for what arrives then; timers and sources follow; a
    /// measurement sees the instant's end, and the warm-up ends after a point that is due with it.
    fn rank(self) -> u64 {
        match self {
            Event::RateChange(_) => 0,
            Event::LinkFree(_) => 1,
            Event::Arrival(_) | Event::Wireless(Wake::FrameEnd(_)) => 2,
            Event::Wireless(_) => 3,
            Event::SenderTimer(_) => 4,
            Event::ReceiverTimer(_) => 5,
            Event::GuardTimer(_) => 6,
            Event::Datagram(_) => 7,
            Event::Transfer(_) => 8,
            Event::End(_) => 9,
            Event::Closed(_) | Event::Forgotten(_) => 10,
            Event::Sample => 11,
            Event::WarmupEnd => 12,
        }
    }
}

/// An event's place: time, then rank, then whose it is, then the order in which events were scheduled.
///
/// Whose it is comes first, so that the order does not depend on when an event was scheduled relative
/// to those of others: parts of a network that are computed apart have the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When.
    pub time: Time,
    /// Rank in the upper four bits, whose it is in 26, sequence below.
    order: u64,
}

/// Bits of the sequence. Two events of one party at one instant are never so far apart.
const SEQUENCE: u32 = 34;
/// Bits of rank and sequence.
const RANK: u32 = 60;

impl Key {
    /// Whether it comes before `other`: `<`, as one comparison of 128 bits.
    #[inline]
    pub fn precedes(self, other: Key) -> bool {
        let whole = |key: Key| u128::from(key.time.as_nanos()) << 64 | u128::from(key.order);
        whole(self) < whole(other)
    }
}

/// An agenda: events in the order of their keys.
///
/// The earliest ones lie in order in a small ring: there are few entries (one a lane, a busy link or a
/// timer, never one a packet), so that most agendas need no more, and what is new is mostly either the
/// first of all or late, so that few have to make room for it. The rest is an implicit heap with four
/// children a node: with 100 000 timers it has half the levels of a binary one.
#[derive(Debug)]
pub struct Agenda {
    /// Entry i is at place `head + i`, modulo the length; all come before those of `later`.
    soon: [(Key, Event); SOON],
    head: usize,
    len: usize,
    later: Vec<(Key, Event)>,
}

const SOON: usize = 32;
const CHILDREN: usize = 4;

/// Numbers events in the order of their scheduling.
#[derive(Debug, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The key of the next event scheduled. `whose` it is: a stop, a link or a user, below 2^26.
    #[inline]
    pub fn key(&mut self, time: Time, event: Event, whose: u32) -> Key {
        debug_assert!(whose < 1 << (RANK - SEQUENCE), "{whose}");
        self.0 += 1;
        let sequence = self.0 & ((1 << SEQUENCE) - 1);
        Key { time, order: event.rank() << RANK | u64::from(whose) << SEQUENCE | sequence }
    }
}

impl Default for Agenda {
    fn default() -> Self {
        let nothing = (Key { time: Time::MAX, order: u64::MAX }, Event::Sample);
        Agenda { soon: [nothing; SOON], head: 0, len: 0, later: Vec::new() }
    }
}

impl Agenda {
    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&(Key, Event)> {
        if self.len > 0 { Some(&self.soon[self.head % SOON]) } else { None }
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, key: Key, event: Event) {
        if self.later.is_empty() && self.len < SOON {
            self.insert(key, event);
        } else {
            self.push_to_many(key, event);
        }
    }

    /// Takes the first entry away.
    #[inline]
    pub fn pop(&mut self) {
        self.head = (self.head + 1) % SOON;
        self.len -= 1;
        if self.len == 0 && !self.later.is_empty() {
            self.refill();
        }
    }

    /// Puts an entry among the earliest, which have room.
    #[inline]
    fn insert(&mut self, key: Key, event: Event) {
        if self.len > 0 && key.precedes(self.soon[self.head % SOON].0) {
            self.head = (self.head + SOON - 1) % SOON;
            self.soon[self.head] = (key, event);
            self.len += 1;
            return;
        }
        // The first one, if there is one, stays where it is.
        let mut place = self.head + self.len;
        self.len += 1;
        while place > self.head + 1 {
            let before = self.soon[(place - 1) % SOON];
            if !key.precedes(before.0) {
                break;
            }
            self.soon[place % SOON] = before;
            place -= 1;
        }
        self.soon[place % SOON] = (key, event);
    }

    /// Adds an entry where the ring is full, or not all.
    #[inline(never)]
    fn push_to_many(&mut self, key: Key, event: Event) {
        if self.later.first().is_some_and(|first| !key.precedes(first.0)) {
            return self.push_later((key, event));
        }
        if self.len == SOON {
            let last = self.soon[(self.head + self.len - 1) % SOON];
            if !key.precedes(last.0) {
                return self.push_later((key, event));
            }
            self.len -= 1;
            self.push_later(last);
        }
        self.insert(key, event);
    }

    /// The earliest of those that are later come into the ring, which is empty: half of what it holds.
    #[inline(never)]
    fn refill(&mut self) {
        while self.len < SOON / 2
            && let Some(&first) = self.later.first()
        {
            self.soon[(self.head + self.len) % SOON] = first;
            self.len += 1;
            self.pop_later();
        }
    }

    /// Adds an entry to the heap.
    fn push_later(&mut self, entry: (Key, Event)) {
        let heap = &mut self.later;
        let mut at = heap.len();
        heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !entry.0.precedes(heap[parent].0) {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = entry;
    }

    /// Takes the first entry of the heap away.
    fn pop_later(&mut self) {
        let Some(last) = self.later.pop() else { return };
        let heap = &mut self.later[..];
        let (mut at, mut first) = (0, 1);
        while first < heap.len() {
            let mut child = first;
            for other in first + 1..heap.len().min(first + CHILDREN) {
                if heap[other].0.precedes(heap[child].0) {
                    child = other;
                }
            }
            if last.0.precedes(heap[child].0) {
                break;
            }
            heap[at] = heap[child];
            at = child;
            first = CHILDREN * at + 1;
        }
        if at < heap.len() {
            heap[at] = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instant_is_ordered_by_rank_then_party_then_sequence() {
        let mut sequence = Sequence::default();
        let mut agenda = Agenda::default();
        let now = Time::from_nanos(5);
        let events = [
            (Event::Sample, 0),
            (Event::Arrival(3), 8),
            (Event::Arrival(2), 7),
            (Event::Arrival(1), 7),
            (Event::LinkFree(0), 9),
        ];
        for (event, whose) in events {
            agenda.push(sequence.key(now, event, whose), event);
        }
        let mut order = Vec::new();
        while let Some(&(_, event)) = agenda.first() {
            order.push(event);
            agenda.pop();
        }
        assert_eq!(
            order,
            [
                Event::LinkFree(0),
                Event::Arrival(2),
                Event::Arrival(1),
                Event::Arrival(3),
                Event::Sample
            ]
        );
    }

    proptest! {
        #[test]
        fn gives_back_in_order(times in proptest::collection::vec((0..50_u64, 0..3_u8), 1..200)) {
            let mut sequence = Sequence::default();
            let mut agenda = Agenda::default();
            let mut model = Vec::new();
            for (time, pops) in times {
                let key = sequence.key(Time::from_nanos(time), Event::Arrival(0), 0);
                if pops == 0 && agenda.first().is_some() {
                    model.sort();
                    prop_assert_eq!(agenda.first().unwrap().0, model.remove(0));
                    agenda.pop();
                }
                agenda.push(key, Event::Arrival(0));
                model.push(key);
            }
            model.sort();
            for key in model {
                prop_assert_eq!(agenda.first().unwrap().0, key);
                agenda.pop();
            }
            prop_assert!(agenda.first().is_none());
        }
    }
}
