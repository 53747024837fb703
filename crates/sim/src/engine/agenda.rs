//! The agenda: events, given back in the order of their keys.

use super::event::{Event, Key};

/// An agenda: events in the order of their keys.
///
/// The earliest ones lie in order in a small ring: there are few entries (one a lane, a busy link or a
/// timer, never one a packet), so that most agendas need no more, and what is new is mostly either the
/// first of all or late, so that few have to make room for it. The rest is sorted by time first
/// ([`Later`]).
#[derive(Debug)]
pub struct Agenda {
    /// Entry i is at place `head + i`, modulo the length; all come before those of `later`.
    soon: [Entry; SOON],
    head: usize,
    len: usize,
    later: Later,
}

/// An event, and when it is due.
pub type Entry = (Key, Event);

const SOON: usize = 32;
/// So many of the earliest there are at least, so that who is to come is known.
const FEW: usize = 8;

impl Default for Agenda {
    fn default() -> Self {
        Agenda { soon: [Agenda::NOTHING; SOON], head: 0, len: 0, later: Later::default() }
    }
}

impl Agenda {
    /// An entry of nothing, at the end of time.
    pub const NOTHING: Entry = (Key::NEVER, Event::Sample);

    /// The first entry; one of nothing, if there is none.
    #[inline(always)]
    pub fn first_or_nothing(&self) -> &Entry {
        // What the ring has where it begins is nothing if it is empty.
        &self.soon[self.head % SOON]
    }

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        if self.len > 0 { Some(&self.soon[self.head % SOON]) } else { None }
    }

    /// The event after `count` others, if it is among the earliest.
    #[inline]
    pub fn after(&self, count: usize) -> Option<Event> {
        (count < self.len).then(|| self.soon[(self.head + count) % SOON].1)
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
        if self.len == 0 || (self.len < FEW && !self.later.is_empty()) {
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
        if !self.later.follows(key) {
            return self.later.push((key, event));
        }
        if self.len == SOON {
            let last = self.soon[(self.head + self.len - 1) % SOON];
            if !key.precedes(last.0) {
                return self.later.push((key, event));
            }
            self.len -= 1;
            self.later.push(last);
        }
        self.insert(key, event);
    }

    /// The earliest of those that are later, if there are any, come into the ring, until it is half full.
    #[inline(never)]
    fn refill(&mut self) {
        if self.len == 0 {
            self.soon[self.head % SOON] = Agenda::NOTHING;
        }
        while self.len < SOON / 2
            && let Some(first) = self.later.pop()
        {
            self.soon[(self.head + self.len) % SOON] = first;
            self.len += 1;
        }
    }
}

/// Entries beyond the earliest: a heap, or of very many a heap of those that come next, and the others by
/// slots of time. A heap of 100 000 timers lies in memory that is far away.
#[derive(Debug)]
struct Later {
    /// The present slot; [`EVERY`], as long as there is but the heap.
    slot: u64,
    /// Those of the present slot, and before it.
    near: Heap,
    /// By slot, modulo their number, those of the slots that follow; made when they are first needed.
    slots: Vec<Vec<Entry>>,
    /// Room of slots that had some.
    emptied: Vec<Vec<Entry>>,
    /// Of each slot, whether it has entries: a bit.
    filled: Vec<u64>,
    /// Those of slots beyond.
    far: Heap,
    /// How many entries there are.
    len: usize,
}

/// All slots.
const EVERY: u64 = u64::MAX;

/// Most entries of a heap of all.
const MANY: usize = 256;

/// Slots, of 2^18 ns each: together a second, which most timers are within.
const SLOTS: u64 = 4096;
const SLOT_BITS: u32 = 18;

fn slot(key: Key) -> u64 {
    key.time.as_nanos() >> SLOT_BITS
}

impl Default for Later {
    fn default() -> Self {
        Later {
            slot: EVERY,
            near: Heap::default(),
            slots: Vec::new(),
            emptied: Vec::new(),
            filled: Vec::new(),
            far: Heap::default(),
            len: 0,
        }
    }
}

impl Later {
    #[inline]
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all entries come after `key`.
    fn follows(&self, key: Key) -> bool {
        slot(key) <= self.slot && self.near.first().is_none_or(|first| key.precedes(first.0))
    }

    fn push(&mut self, entry: Entry) {
        self.len += 1;
        self.place(entry);
        if self.len > MANY && self.slot == EVERY {
            self.spread();
        }
    }

    /// Spreads the heap's entries over slots.
    #[cold]
    fn spread(&mut self) {
        self.slots.resize_with(SLOTS as usize, Vec::new);
        self.filled.resize(SLOTS as usize / 64, 0);
        let Heap(entries) = std::mem::take(&mut self.near);
        self.slot = entries.first().map_or(EVERY, |first| slot(first.0));
        entries.into_iter().for_each(|entry| self.place(entry));
    }

    fn place(&mut self, entry: Entry) {
        let slot = slot(entry.0);
        if slot <= self.slot {
            self.near.push(entry);
        } else if slot - self.slot < SLOTS {
            let place = (slot % SLOTS) as usize;
            if self.filled[place / 64] & 1 << (place % 64) == 0 {
                self.slots[place] = self.emptied.pop().unwrap_or_default();
            }
            self.slots[place].push(entry);
            self.filled[place / 64] |= 1 << (place % 64);
        } else {
            self.far.push(entry);
        }
    }

    /// Takes the first entry away.
    fn pop(&mut self) -> Option<Entry> {
        if self.near.is_empty() && self.len > 0 {
            self.approach();
        }
        let first = self.near.pop()?;
        self.len -= 1;
        if self.len == 0 {
            self.slot = EVERY;
        }
        Some(first)
    }

    /// The next slot that has entries is the present one, which had none.
    fn approach(&mut self) {
        if let Some(first) = self.far.first()
            && self.len == self.far.0.len()
        {
            self.slot = slot(first.0);
        } else {
            self.slot = self.next_filled();
            let place = (self.slot % SLOTS) as usize;
            self.filled[place / 64] &= !(1 << (place % 64));
            let mut entries = std::mem::take(&mut self.slots[place]);
            entries.drain(..).for_each(|entry| self.near.push(entry));
            self.emptied.push(entries);
        }
        while self.far.first().is_some_and(|first| slot(first.0) < self.slot + SLOTS)
            && let Some(entry) = self.far.pop()
        {
            self.place(entry);
        }
    }

    /// The first slot after the present one that has entries; there is one.
    fn next_filled(&self) -> u64 {
        let next = self.slot + 1;
        let words = self.filled.len() as u64;
        // The word of the next slot comes twice: first its later bits, at last its earlier ones.
        let mut word = next / 64;
        let mut bits = self.filled[(word % words) as usize] >> (next % 64) << (next % 64);
        while bits == 0 {
            word += 1;
            bits = self.filled[(word % words) as usize];
        }
        word * 64 + u64::from(bits.trailing_zeros())
    }
}

/// An implicit heap with four children a node.
#[derive(Debug, Default)]
struct Heap(Vec<Entry>);

const CHILDREN: usize = 4;

impl Heap {
    #[inline]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    fn first(&self) -> Option<&Entry> {
        self.0.first()
    }

    fn push(&mut self, entry: Entry) {
        let heap = &mut self.0;
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

    /// Takes the first entry away.
    fn pop(&mut self) -> Option<Entry> {
        let first = *self.0.first()?;
        let last = self.0.pop()?;
        let heap = &mut self.0[..];
        let (mut at, mut below) = (0, 1);
        while below < heap.len() {
            let mut child = below;
            for other in below + 1..heap.len().min(below + CHILDREN) {
                if heap[other].0.precedes(heap[child].0) {
                    child = other;
                }
            }
            if last.0.precedes(heap[child].0) {
                break;
            }
            heap[at] = heap[child];
            at = child;
            below = CHILDREN * at + 1;
        }
        if at < heap.len() {
            heap[at] = last;
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Sequence;
    use forebay_core::Time;
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
        fn gives_back_in_order(
            times in proptest::collection::vec((0..50_u64, 0..3_u8), 1..200),
            // From one instant to several turns of the wheel.
            unit in prop::sample::select(vec![1, 1 << 14, 1 << 20, 1 << 27, 1 << 30]),
        ) {
            let mut sequence = Sequence::default();
            let mut agenda = Agenda::default();
            let mut model = Vec::new();
            for (time, pops) in times {
                let key = sequence.key(Time::from_nanos(time * unit), Event::Arrival(0), 0);
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
