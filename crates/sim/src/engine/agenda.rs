//! The agenda: events in the order of their keys.

use super::calendar::{Calendar, Timed};
use super::event::{Event, Key};
use forebay_core::Time;

/// Events in the order of their keys.
///
/// The earliest ones are sorted in a small ring, the others are in a calendar queue. Most agendas fit
/// into the ring: they have one entry for each pipe, busy link or timer, not for each packet. A new
/// entry is mostly either the first of all or among the last, so few entries have to move for it.
#[derive(Debug)]
pub struct Agenda {
    /// Entry i is at place `head + i`, modulo the length. All come before those of `later`.
    soon: [Entry; SOON],
    head: usize,
    len: usize,
    later: Calendar<Entry, SLOT_BITS>,
}

pub type Entry = (Key, Event);

impl Timed for Entry {
    fn time(&self) -> Time {
        self.0.time
    }

    fn precedes(&self, other: &Self) -> bool {
        self.0.precedes(other.0)
    }
}

const SOON: usize = 32;
/// Least number of entries in the ring if there are more in the calendar: prefetching looks ahead.
const FEW: usize = 8;
/// Slots of 2^18 ns. All together are a second, longer than most timers.
const SLOT_BITS: u32 = 18;

impl Default for Agenda {
    fn default() -> Self {
        Agenda { soon: [Agenda::NOTHING; SOON], head: 0, len: 0, later: Calendar::default() }
    }
}

impl Agenda {
    /// An entry after all others, for no event.
    pub const NOTHING: Entry = (Key::NEVER, Event::Sample);

    /// The first entry, or [`Agenda::NOTHING`].
    #[inline(always)]
    pub fn first_or_nothing(&self) -> &Entry {
        // An empty ring has `NOTHING` at its head.
        &self.soon[self.head % SOON]
    }

    pub fn first(&self) -> Option<&Entry> {
        if self.len > 0 { Some(&self.soon[self.head % SOON]) } else { None }
    }

    /// The event after `count` others, if it is in the ring.
    pub fn after(&self, count: usize) -> Option<Event> {
        (count < self.len).then(|| self.soon[(self.head + count) % SOON].1)
    }

    #[inline]
    pub fn push(&mut self, key: Key, event: Event) {
        if self.later.is_empty() && self.len < SOON {
            self.insert(key, event);
        } else {
            self.push_to_many(key, event);
        }
    }

    /// Removes the first entry.
    #[inline]
    pub fn pop(&mut self) {
        self.head = (self.head + 1) % SOON;
        self.len -= 1;
        if self.len == 0 || (self.len < FEW && !self.later.is_empty()) {
            self.refill();
        }
    }

    /// Removes the first entry and adds another.
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

    /// Removes all entries whose events do not stay.
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

    /// Adds an entry to the ring, which has room.
    #[inline]
    fn insert(&mut self, key: Key, event: Event) {
        if self.len > 0 && key.precedes(self.soon[self.head % SOON].0) {
            self.head = (self.head + SOON - 1) % SOON;
            self.soon[self.head] = (key, event);
            self.len += 1;
            return;
        }
        // It does not come before the first one.
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

    /// Adds an entry when the ring is full, or the calendar has entries.
    #[inline(never)]
    fn push_to_many(&mut self, key: Key, event: Event) {
        if self.later.first().is_some_and(|first| !key.precedes(first.0)) {
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

    /// Moves the first entries of the calendar into the ring, until it is half full.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Sequence;
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
