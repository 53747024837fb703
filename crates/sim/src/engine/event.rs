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
    /// A link that is looked at late is looked at.
    CatchUp(u32),
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
    /// Order among events of the same instant: what a link has sent that is looked at late may arrive
    /// then; a link's new rate holds for what leaves then; a
    /// place that a departure frees is there for what arrives then; timers and sources follow; a
    /// measurement sees the instant's end, and the warm-up ends after a point that is due with it.
    fn rank(self) -> u64 {
        match self {
            Event::CatchUp(_) => 0,
            Event::RateChange(_) => 1,
            Event::LinkFree(_) => 2,
            Event::Arrival(_) | Event::Wireless(Wake::FrameEnd(_)) => 3,
            Event::Wireless(_) => 4,
            Event::SenderTimer(_) => 5,
            Event::ReceiverTimer(_) => 6,
            Event::GuardTimer(_) => 7,
            Event::Datagram(_) => 8,
            Event::Transfer(_) => 9,
            Event::End(_) => 10,
            Event::Closed(_) | Event::Forgotten(_) => 11,
            Event::Sample => 12,
            Event::WarmupEnd => 13,
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
    /// That of nothing: after all others.
    pub const NEVER: Key = Key { time: Time::MAX, order: u64::MAX };

    /// A time by itself, of what has no entry in an agenda.
    #[inline]
    pub fn at(time: Time) -> Key {
        Key { time, order: 0 }
    }

    /// That of the event of `whose` at `time`, if it has no equal in an agenda.
    #[inline(always)]
    pub fn of(time: Time, event: Event, whose: u32) -> Key {
        debug_assert!(whose < 1 << (RANK - SEQUENCE), "{whose}");
        Key { time, order: event.rank() << RANK | u64::from(whose) << SEQUENCE }
    }

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
        self.0 += 1;
        let Key { order, .. } = Key::of(time, event, whose);
        Key { time, order: order | self.0 & ((1 << SEQUENCE) - 1) }
    }
}

/// What has happened so far: how many events, their fingerprint, and data packets delivered.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    fingerprint: u64,
    /// Data packets delivered.
    pub packets: u64,
    events: u64,
}

impl Tally {
    /// Nothing yet; the fingerprint begins as `fingerprint`.
    pub fn new(fingerprint: u64) -> Self {
        Tally { fingerprint, ..Tally::default() }
    }

    /// Counts an event at `time`, and adds it and `whose` it is to the fingerprint: a sum, so that parts
    /// of a network may be computed apart.
    #[inline]
    pub fn note(&mut self, time: Time, whose: u32) {
        self.events += 1;
        let mixed = (time.as_nanos() ^ u64::from(whose) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
    }

    /// Adds what has happened elsewhere.
    pub fn absorb(&mut self, other: Tally) {
        self.events += other.events;
        self.packets += other.packets;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }

    /// (fingerprint, events, data packets delivered).
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.fingerprint, self.events, self.packets)
    }
}

impl Default for Agenda {
    fn default() -> Self {
        Agenda { soon: [Agenda::NOTHING; SOON], head: 0, len: 0, later: Vec::new() }
    }
}

impl Agenda {
    /// An entry of nothing, at the end of time.
    pub const NOTHING: (Key, Event) = (Key::NEVER, Event::Sample);

    /// The first entry; one of nothing, if there is none.
    #[inline(always)]
    pub fn first_or_nothing(&self) -> &(Key, Event) {
        // What the ring has where it begins is nothing if it is empty.
        &self.soon[self.head % SOON]
    }

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
        if self.len == 0 {
            self.refill();
        }
    }

    /// Takes the first entry away and adds another.
    #[inline(always)]
    pub fn replace_first(&mut self, key: Key, event: Event) {
        if !self.later.is_empty() {
            return self.replace_first_of_many(key, event);
        }
        let (mut place, last) = (self.head, self.head + self.len - 1);
        while place < last {
            let next = self.soon[(place + 1) % SOON];
            if key.precedes(next.0) {
                break;
            }
            self.soon[place % SOON] = next;
            place += 1;
        }
        self.soon[place % SOON] = (key, event);
    }

    #[inline(never)]
    fn replace_first_of_many(&mut self, key: Key, event: Event) {
        self.pop();
        self.push(key, event);
    }

    /// Takes away all entries but those of events that `stays` answers true for.
    pub fn retain(&mut self, stays: impl Fn(Event) -> bool) {
        let mut entries = Vec::new();
        while let Some(&entry) = self.first() {
            entries.push(entry);
            self.pop();
        }
        for (key, event) in entries.into_iter().filter(|(_, event)| stays(*event)) {
            self.push(key, event);
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

    /// The earliest of those that are later, if there are any, come into the ring, which is empty: half of
    /// what it holds.
    #[inline(never)]
    fn refill(&mut self) {
        self.soon[self.head % SOON] = Agenda::NOTHING;
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
