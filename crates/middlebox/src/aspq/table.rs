//! A table of flows with a limited size, and the levels that are in use.

use super::flow::Flow;
use crate::FiveTuple;
use std::collections::BTreeMap;

/// Index of a flow. It is used again after the flow has ended.
pub(super) type Slot = u32;

const NONE: Slot = Slot::MAX;

/// Neighbours in a list; [`NONE`] at its ends.
#[derive(Debug, Clone, Copy)]
struct Links {
    before: Slot,
    after: Slot,
}

/// Flows by five-tuple, in order of the last packet. It is a balanced tree, so an attacker cannot
/// choose addresses that slow it down, and nothing depends on a random hash.
#[derive(Debug, Clone)]
pub(super) struct Table {
    places: Vec<(Flow, Links)>,
    free: Vec<Slot>,
    by_key: BTreeMap<FiveTuple, Slot>,
    oldest: Slot,
    newest: Slot,
    most: usize,
}

impl Table {
    /// An empty table for `most` flows.
    pub(super) fn new(most: usize) -> Self {
        Table {
            places: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            oldest: NONE,
            newest: NONE,
            most,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The flow to remove before another is added. None while there is room.
    pub(super) fn surplus(&self) -> Option<Slot> {
        (self.len() >= self.most).then_some(self.oldest)
    }

    pub(super) fn find(&self, key: &FiveTuple) -> Option<Slot> {
        self.by_key.get(key).copied()
    }

    pub(super) fn get(&self, slot: Slot) -> &Flow {
        &self.places[slot as usize].0
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Flow {
        &mut self.places[slot as usize].0
    }

    pub(super) fn insert(&mut self, flow: Flow) -> Slot {
        let links = Links { before: NONE, after: NONE };
        let key = flow.key;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = (flow, links);
                slot
            }
            None => {
                self.places.push((flow, links));
                (self.places.len() - 1) as Slot
            }
        };
        self.by_key.insert(key, slot);
        self.append(slot);
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        self.unlink(slot);
        self.by_key.remove(&self.places[slot as usize].0.key);
        self.free.push(slot);
    }

    /// A packet of the flow was seen, so the flow is now the newest.
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.newest != slot {
            self.unlink(slot);
            self.append(slot);
        }
    }

    fn append(&mut self, slot: Slot) {
        let before = std::mem::replace(&mut self.newest, slot);
        self.places[slot as usize].1 = Links { before, after: NONE };
        match before {
            NONE => self.oldest = slot,
            before => self.places[before as usize].1.after = slot,
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let Links { before, after } = self.places[slot as usize].1;
        match before {
            NONE => self.oldest = after,
            before => self.places[before as usize].1.after = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.places[after as usize].1.before = before,
        }
    }
}

/// The number of members of each of 256 levels, and the highest level with a member.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    counts: [u32; 256],
    used: [u64; 4],
}

impl Levels {
    pub(super) fn new() -> Self {
        Levels { counts: [0; 256], used: [0; 4] }
    }

    pub(super) fn add(&mut self, level: u8) {
        self.counts[usize::from(level)] += 1;
        self.used[usize::from(level / 64)] |= 1 << (level % 64);
    }

    pub(super) fn remove(&mut self, level: u8) {
        let count = &mut self.counts[usize::from(level)];
        *count -= 1;
        if *count == 0 {
            self.used[usize::from(level / 64)] &= !(1 << (level % 64));
        }
    }

    /// The highest level with a member.
    #[inline]
    pub(super) fn highest(&self) -> Option<u8> {
        let word = self.used.iter().rposition(|word| *word != 0)?;
        Some(word as u8 * 64 + 63 - self.used[word].leading_zeros() as u8)
    }

    pub(super) fn total(&self) -> u32 {
        self.counts.iter().sum()
    }
}
