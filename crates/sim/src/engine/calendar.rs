//! A calendar queue: entries in the order of their times (R. Brown, "Calendar Queues: A Fast O(1) Priority
//! Queue Implementation for the Simulation Event Set Problem", CACM 31(10), 1988).
//!
//! Only the entries of the present slot of time are a heap. The others are not sorted within their slots.
//! A heap of 100 000 entries would not fit into caches.

use forebay_core::Time;

/// An entry of a calendar.
pub trait Timed: Copy {
    fn time(&self) -> Time;

    /// Whether it comes before `other`. An earlier time comes first.
    fn precedes(&self, other: &Self) -> bool;
}

/// A calendar queue. A slot of time is 2^`BITS` ns.
#[derive(Debug)]
pub struct Calendar<E, const BITS: u32> {
    /// The first entries, if there are any.
    near: Heap<E>,
    /// The others. Allocated when there are many.
    beyond: Option<Box<Slots<E>>>,
}

/// Entries after the present slot.
#[derive(Debug)]
struct Slots<E> {
    /// The present slot, or [`EVERY`] while all entries are in the heap.
    present: u64,
    /// Entries of the following slots, by slot modulo [`SLOTS`].
    entries: Vec<Vec<E>>,
    /// Vectors of slots that have been emptied, for reuse.
    emptied: Vec<Vec<E>>,
    /// A bit for each slot: whether it has entries.
    filled: Vec<u64>,
    /// Entries of later slots.
    far: Heap<E>,
    /// Number of entries.
    len: usize,
}

/// All slots.
const EVERY: u64 = u64::MAX;

/// Most entries of the heap, beyond which they are spread over slots.
const MANY: usize = 256;

/// Number of slots.
const SLOTS: u64 = 4096;

impl<E, const BITS: u32> Default for Calendar<E, BITS> {
    fn default() -> Self {
        Calendar { near: Heap(Vec::new()), beyond: None }
    }
}

impl<E: Timed, const BITS: u32> Calendar<E, BITS> {
    pub fn is_empty(&self) -> bool {
        self.near.0.is_empty()
    }

    pub fn first(&self) -> Option<&E> {
        self.near.0.first()
    }

    pub fn len(&self) -> usize {
        self.near.0.len() + self.beyond.as_ref().map_or(0, |slots| slots.len)
    }

    /// All entries, not in order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        let beyond = self.beyond.iter();
        let beyond = beyond.flat_map(|slots| slots.entries.iter().flatten().chain(&slots.far.0));
        self.near.0.iter().chain(beyond)
    }

    fn slot(entry: &E) -> u64 {
        entry.time().as_nanos() >> BITS
    }

    // Inlined, like the functions that it calls: an entry passed in memory would be read in other widths
    // than it was written, which stalls until the stores are complete.
    #[inline(always)]
    pub fn push(&mut self, entry: E) {
        match &mut self.beyond {
            Some(slots) if Self::slot(&entry) > slots.present => {
                slots.place(entry, Self::slot(&entry));
            }
            _ => self.near.push(entry),
        }
        if self.near.0.len() > MANY {
            self.spread();
        }
    }

    /// Spreads the entries of the heap over slots, unless they are those of one slot.
    #[inline(never)]
    fn spread(&mut self) {
        let slots = self.beyond.get_or_insert_default();
        if slots.present != EVERY {
            return;
        }
        let Heap(entries) = std::mem::replace(&mut self.near, Heap(Vec::new()));
        slots.present = entries.first().map_or(EVERY, Self::slot);
        for entry in entries {
            if Self::slot(&entry) > slots.present {
                slots.place(entry, Self::slot(&entry));
            } else {
                self.near.push(entry);
            }
        }
    }

    pub fn pop(&mut self) -> Option<E> {
        let first = self.near.pop()?;
        if self.near.0.is_empty()
            && let Some(slots) = &mut self.beyond
        {
            slots.approach(&mut self.near, Self::slot);
        }
        Some(first)
    }
}

impl<E> Default for Slots<E> {
    fn default() -> Self {
        Slots {
            present: EVERY,
            entries: (0..SLOTS).map(|_| Vec::new()).collect(),
            emptied: Vec::new(),
            filled: vec![0; SLOTS as usize / 64],
            far: Heap(Vec::new()),
            len: 0,
        }
    }
}

impl<E: Timed> Slots<E> {
    /// Adds an entry to `slot`, which is after the present one.
    #[inline(always)]
    fn place(&mut self, entry: E, slot: u64) {
        self.len += 1;
        if slot - self.present >= SLOTS {
            return self.far.push(entry);
        }
        let place = (slot % SLOTS) as usize;
        if self.filled[place / 64] & 1 << (place % 64) == 0 {
            self.entries[place] = self.emptied.pop().unwrap_or_default();
            self.filled[place / 64] |= 1 << (place % 64);
        }
        self.entries[place].push(entry);
    }

    /// Makes the next slot with entries the present one, and moves its entries to `near`.
    fn approach(&mut self, near: &mut Heap<E>, slot: impl Fn(&E) -> u64) {
        if self.len == 0 {
            self.present = EVERY;
            return;
        }
        if let Some(first) = self.far.0.first()
            && self.len == self.far.0.len()
        {
            self.present = slot(first);
        } else {
            self.present = self.next_filled();
            let place = (self.present % SLOTS) as usize;
            self.filled[place / 64] &= !(1 << (place % 64));
            let mut entries = std::mem::take(&mut self.entries[place]);
            self.len -= entries.len();
            entries.drain(..).for_each(|entry| near.push(entry));
            self.emptied.push(entries);
        }
        while self.far.0.first().is_some_and(|first| slot(first) < self.present + SLOTS)
            && let Some(entry) = self.far.pop()
        {
            self.len -= 1;
            let slot = slot(&entry);
            if slot > self.present { self.place(entry, slot) } else { near.push(entry) }
        }
    }

    /// The first slot after the present one that has entries. One has.
    fn next_filled(&self) -> u64 {
        let next = self.present + 1;
        let words = self.filled.len() as u64;
        // The word of the next slot is read twice: first its later bits, last its earlier ones.
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
#[derive(Debug)]
struct Heap<E>(Vec<E>);

const CHILDREN: usize = 4;

impl<E: Timed> Heap<E> {
    #[inline(always)]
    fn push(&mut self, entry: E) {
        let heap = &mut self.0;
        let mut at = heap.len();
        heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !entry.precedes(&heap[parent]) {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = entry;
    }

    fn pop(&mut self) -> Option<E> {
        let first = *self.0.first()?;
        let last = self.0.pop()?;
        let heap = &mut self.0[..];
        let (mut at, mut below) = (0, 1);
        while below < heap.len() {
            let mut child = below;
            for other in below + 1..heap.len().min(below + CHILDREN) {
                if heap[other].precedes(&heap[child]) {
                    child = other;
                }
            }
            if last.precedes(&heap[child]) {
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
