//! All queues of one port in one place.
//!
//! The [`Bank`] keeps the packets, bytes and head times of every queue in dense arrays, so a rule
//! that looks across queues (CQ-AQM's plea, drop from the longest) only reads an array. With a
//! [`LevelOrder`] it also links the packets of each drop precedence. Then the first, the last or a
//! random packet of a level can leave from the middle of a queue in constant time.

use crate::{Backlog, DropReason, Limit, Packet, Rng, Row, Time, fetch};
use std::fmt;

/// Index of a queue in its [`Bank`].
pub type QueueId = usize;

/// A packet's place in the [`Bank`]; valid until that packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(u32);

/// The index that the bank keeps for each drop-precedence level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelOrder {
    /// The first and the last packet, in order of arrival.
    Arrival,
    /// A random packet.
    Random,
}

impl Place {
    /// A number for data that is kept beside the packet. No two packets in a bank have the same
    /// number; freed numbers are used again.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

const NONE: u32 = u32::MAX;

#[derive(Default)]
struct Slot {
    packet: Option<Packet>,
    next: u32,
    prev: u32,
}

impl Slot {
    /// Length and drop precedence of the packet. They are read in place: a packet that is moved
    /// without being read is moved whole, in words that the processor can forward at once.
    #[inline]
    fn measures(&self) -> (u64, usize) {
        let packet = self.packet.as_ref();
        packet.map_or((0, 0), |packet| (packet.len.into(), packet.drop_precedence.into()))
    }
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    head: u32,
    tail: u32,
}

const EMPTY: Ends = Ends { head: NONE, tail: NONE };

#[derive(Debug, Clone, Copy)]
struct Fifo {
    ends: Ends,
    packets: u32,
    bytes: u64,
}

/// Index by level, beside the FIFOs.
enum Levels {
    None,
    /// One doubly linked list for each queue and level.
    Arrival {
        levels: usize,
        links: Vec<(u32, u32)>,
        ends: Vec<Ends>,
        counts: Vec<u32>,
    },
    /// One dense vector of slots for each queue and level, with each slot's position in it.
    Random {
        levels: usize,
        members: Vec<Vec<u32>>,
        position: Vec<u32>,
    },
}

/// The FIFOs of one port.
pub struct Bank {
    slots: Vec<Slot>,
    free: u32,
    fifos: Row<Fifo>,
    total: Backlog,
    levels: Levels,
}

impl fmt::Debug for Bank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bank")
            .field("queues", &self.fifos.len())
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl Bank {
    /// A bank of `queues` empty FIFOs.
    pub fn new(queues: usize) -> Self {
        let fifo = Fifo { ends: EMPTY, packets: 0, bytes: 0 };
        Bank {
            slots: Vec::new(),
            free: NONE,
            fifos: Row::new(fifo, queues),
            total: Backlog::default(),
            levels: Levels::None,
        }
    }

    /// A bank that also indexes the packets of each of `levels` drop precedences. Packets of a
    /// higher precedence count as the highest.
    pub fn with_levels(queues: usize, levels: usize, order: LevelOrder) -> Self {
        let lists = queues * levels;
        let levels = match order {
            LevelOrder::Arrival => Levels::Arrival {
                levels,
                links: Vec::new(),
                ends: vec![EMPTY; lists],
                counts: vec![0; lists],
            },
            LevelOrder::Random => {
                Levels::Random { levels, members: vec![Vec::new(); lists], position: Vec::new() }
            }
        };
        let mut bank = Bank::new(queues);
        bank.levels = levels;
        bank
    }

    /// Number of queues.
    #[inline]
    pub fn queues(&self) -> usize {
        self.fifos.len()
    }

    /// Packets in `queue`.
    #[inline]
    pub fn packets(&self, queue: QueueId) -> usize {
        self.fifos[queue].packets as usize
    }

    /// Bytes in `queue`.
    #[inline]
    pub fn bytes(&self, queue: QueueId) -> u64 {
        self.fifos[queue].bytes
    }

    /// Tail drop: whether `queue` has room within `limit` for a packet of `len` bytes.
    ///
    /// # Errors
    /// Never.
    #[inline]
    pub fn room(&self, queue: QueueId, limit: Limit, len: u32) -> Result<(), DropReason> {
        if limit.admits(self.packets(queue), self.bytes(queue), len) {
            Ok(())
        } else {
            Err(DropReason::Overflow)
        }
    }

    /// Packets and bytes in all queues.
    #[inline]
    pub fn total(&self) -> Backlog {
        self.total
    }

    /// The packet at the head of `queue`.
    #[inline]
    pub fn head(&self, queue: QueueId) -> Option<&Packet> {
        let head = self.fifos[queue].ends.head;
        if head == NONE { None } else { self.slots[head as usize].packet.as_ref() }
    }

    /// Time at which the packet at the head of `queue` joined it.
    #[inline]
    pub fn head_since(&self, queue: QueueId) -> Option<Time> {
        self.head(queue).map(|packet| packet.queued)
    }

    /// Appends `packet` to `queue`.
    #[inline]
    pub fn push(&mut self, queue: QueueId, packet: Packet) -> Place {
        let tail = self.fifos[queue].ends.tail;
        let slot = Slot { packet: Some(packet), next: NONE, prev: tail };
        let place = if self.free == NONE {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        } else {
            let place = self.free;
            let free = &mut self.slots[place as usize];
            self.free = free.next;
            // Every field is overwritten; the slot's packet is None.
            *free = slot;
            place
        };
        let (len, level) = self.slots[place as usize].measures();
        if tail == NONE {
            self.fifos[queue].ends.head = place;
        } else {
            self.slots[tail as usize].next = place;
        }
        let fifo = &mut self.fifos[queue];
        fifo.ends.tail = place;
        fifo.packets += 1;
        fifo.bytes += len;
        self.total.packets += 1;
        self.total.bytes += len;
        self.levels.insert(queue, level, place);
        Place(place)
    }

    /// Takes the packet at the head of `queue`.
    #[inline]
    pub fn pop(&mut self, queue: QueueId) -> Option<Packet> {
        let head = self.fifos[queue].ends.head;
        if head == NONE { None } else { Some(self.take(queue, head)) }
    }

    /// The packet that joined `queue` last.
    pub fn last(&self, queue: QueueId) -> Option<Place> {
        place(self.fifos[queue].ends.tail)
    }

    /// The packet at `place`.
    ///
    /// # Panics
    /// If there is no packet at `place`.
    pub fn packet(&self, place: Place) -> &Packet {
        self.slots[place.index()].packet.as_ref().expect("a place holds its packet until it leaves")
    }

    /// The packets of `queue` and their places, from the head on.
    pub fn iter(&self, queue: QueueId) -> impl Iterator<Item = (Place, &Packet)> {
        let at = |place: u32| {
            let slot = self.slots.get(place as usize)?;
            Some((slot.next, (Place(place), slot.packet.as_ref()?)))
        };
        let head = at(self.fifos[queue].ends.head);
        std::iter::successors(head, move |(next, _)| at(*next)).map(|(_, found)| found)
    }

    /// Shows every packet and its queue. Higher queues come first, as strict priority serves them
    /// first.
    pub fn show(&self, out: &mut dyn FnMut(QueueId, &Packet)) {
        for queue in (0..self.queues()).rev() {
            self.iter(queue).for_each(|(_, packet)| out(queue, packet));
        }
    }

    /// Removes the packet at `place` from the middle of `queue`.
    ///
    /// # Panics
    /// If there is no packet at `place`.
    pub fn remove(&mut self, queue: QueueId, place: Place) -> Packet {
        self.take(queue, place.0)
    }

    #[inline]
    fn take(&mut self, queue: QueueId, place: u32) -> Packet {
        let slot = &mut self.slots[place as usize];
        let (len, level) = slot.measures();
        let packet = slot.packet.take().expect("a place holds its packet until it leaves");
        let (next, prev) = (slot.next, slot.prev);
        slot.next = self.free;
        self.free = place;
        let fifo = &mut self.fifos[queue];
        if prev == NONE {
            fifo.ends.head = next;
        } else {
            self.slots[prev as usize].next = next;
        }
        if next == NONE {
            fifo.ends.tail = prev;
        } else {
            let after = &mut self.slots[next as usize];
            after.prev = prev;
            let later = after.next;
            if later != NONE {
                // The places of a long queue are spread over more memory than fits into caches.
                fetch(&self.slots[later as usize].packet);
                fetch(&self.slots[later as usize].prev);
            }
        }
        fifo.packets -= 1;
        fifo.bytes -= len;
        self.total.packets -= 1;
        self.total.bytes -= len;
        self.levels.remove(queue, level, place);
        packet
    }

    /// Packets of `level` in `queue`.
    ///
    /// # Panics
    /// If the bank was built without levels. The same holds for the next three methods.
    #[inline]
    pub fn level_packets(&self, queue: QueueId, level: usize) -> usize {
        match &self.levels {
            Levels::None => panic!("the bank keeps no levels"),
            Levels::Arrival { levels, counts, .. } => counts[queue * levels + level] as usize,
            Levels::Random { levels, members, .. } => members[queue * levels + level].len(),
        }
    }

    /// The packet of `level` that has waited longest in `queue`.
    pub fn level_first(&self, queue: QueueId, level: usize) -> Option<Place> {
        place(self.level_ends(queue, level).head)
    }

    /// The packet of `level` that joined `queue` last.
    pub fn level_last(&self, queue: QueueId, level: usize) -> Option<Place> {
        place(self.level_ends(queue, level).tail)
    }

    fn level_ends(&self, queue: QueueId, level: usize) -> Ends {
        match &self.levels {
            Levels::Arrival { levels, ends, .. } => ends[queue * levels + level],
            _ => panic!("the bank keeps no arrival order of levels"),
        }
    }

    /// A packet of `level` in `queue`, each with the same probability.
    pub fn level_random(&self, queue: QueueId, level: usize, rng: &mut Rng) -> Option<Place> {
        match &self.levels {
            Levels::Random { levels, members, .. } => {
                let members = &members[queue * levels + level];
                if members.is_empty() {
                    return None;
                }
                Some(Place(members[rng.below(members.len() as u64) as usize]))
            }
            _ => panic!("the bank keeps no random access to levels"),
        }
    }
}

/// The place with this index, if there is one.
fn place(index: u32) -> Option<Place> {
    (index != NONE).then_some(Place(index))
}

impl Levels {
    #[inline]
    fn insert(&mut self, queue: usize, level: usize, place: u32) {
        match self {
            Levels::None => {}
            Levels::Arrival { levels, links, ends, counts } => {
                let list = queue * *levels + level.min(*levels - 1);
                if links.len() <= place as usize {
                    links.resize(place as usize + 1, (NONE, NONE));
                }
                let tail = ends[list].tail;
                links[place as usize] = (NONE, tail);
                if tail == NONE {
                    ends[list].head = place;
                } else {
                    links[tail as usize].0 = place;
                }
                ends[list].tail = place;
                counts[list] += 1;
            }
            Levels::Random { levels, members, position } => {
                let list = queue * *levels + level.min(*levels - 1);
                if position.len() <= place as usize {
                    position.resize(place as usize + 1, NONE);
                }
                position[place as usize] = members[list].len() as u32;
                members[list].push(place);
            }
        }
    }

    #[inline]
    fn remove(&mut self, queue: usize, level: usize, place: u32) {
        match self {
            Levels::None => {}
            Levels::Arrival { levels, links, ends, counts } => {
                let list = queue * *levels + level.min(*levels - 1);
                let (next, prev) = links[place as usize];
                if prev == NONE {
                    ends[list].head = next;
                } else {
                    links[prev as usize].0 = next;
                }
                if next == NONE {
                    ends[list].tail = prev;
                } else {
                    links[next as usize].1 = prev;
                }
                counts[list] -= 1;
            }
            Levels::Random { levels, members, position } => {
                let list = queue * *levels + level.min(*levels - 1);
                let at = position[place as usize] as usize;
                members[list].swap_remove(at);
                if let Some(&moved) = members[list].get(at) {
                    position[moved as usize] = at as u32;
                }
            }
        }
    }
}

/// Retires the remaining packets, so that a port may be dropped with packets in it.
impl Drop for Bank {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if let Some(packet) = slot.packet.take() {
                packet.retire();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn packet(id: u32, level: u8) -> Packet {
        let mut packet = Packet::new(id, 0, 100 + id % 7);
        packet.drop_precedence = level;
        packet
    }

    /// One operation on the bank and on a plain model of it.
    #[derive(Debug, Clone)]
    enum Op {
        Push { queue: usize, level: u8 },
        Pop { queue: usize },
        First { queue: usize, level: usize },
        Last { queue: usize, level: usize },
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            4 => (0..2_usize, 0..3_u8).prop_map(|(queue, level)| Op::Push { queue, level }),
            2 => (0..2_usize).prop_map(|queue| Op::Pop { queue }),
            1 => (0..2_usize, 0..3_usize).prop_map(|(queue, level)| Op::First { queue, level }),
            1 => (0..2_usize, 0..3_usize).prop_map(|(queue, level)| Op::Last { queue, level }),
        ];
        proptest::collection::vec(op, 1..200)
    }

    proptest! {
        #[test]
        fn behaves_like_a_list(ops in ops()) {
            let mut bank = Bank::with_levels(2, 3, LevelOrder::Arrival);
            let mut model = [VecDeque::new(), VecDeque::new()];
            for (id, op) in ops.into_iter().enumerate() {
                let (got, want) = match op {
                    Op::Push { queue, level } => {
                        bank.push(queue, packet(id as u32, level));
                        model[queue].push_back((id as u32, usize::from(level)));
                        (None, None)
                    }
                    Op::Pop { queue } => (bank.pop(queue), model[queue].pop_front()),
                    Op::First { queue, level } => {
                        let at = model[queue].iter().position(|(_, l)| *l == level);
                        let place = bank.level_first(queue, level);
                        (place.map(|p| bank.remove(queue, p)), at.and_then(|i| model[queue].remove(i)))
                    }
                    Op::Last { queue, level } => {
                        let at = model[queue].iter().rposition(|(_, l)| *l == level);
                        let place = bank.level_last(queue, level);
                        (place.map(|p| bank.remove(queue, p)), at.and_then(|i| model[queue].remove(i)))
                    }
                };
                prop_assert_eq!(got.map(Packet::retire), want.map(|(id, _)| id));
                for (queue, model) in model.iter().enumerate() {
                    let ids = bank.iter(queue).map(|(_, packet)| packet.id);
                    prop_assert!(ids.eq(model.iter().map(|(id, _)| *id)));
                    prop_assert_eq!(bank.packets(queue), model.len());
                    let bytes: u64 = model.iter().map(|(id, _)| u64::from(100 + id % 7)).sum();
                    prop_assert_eq!(bank.bytes(queue), bytes);
                    for level in 0..3 {
                        let count = model.iter().filter(|(_, l)| *l == level).count();
                        prop_assert_eq!(bank.level_packets(queue, level), count);
                    }
                }
            }
        }
    }

    #[test]
    fn random_victims_are_uniform_and_leave_once() {
        let mut rng = crate::Rng::named(1, "victims");
        let mut taken = [0_u32; 8];
        for _ in 0..4000 {
            let mut bank = Bank::with_levels(1, 2, LevelOrder::Random);
            for id in 0..8 {
                bank.push(0, packet(id, u8::from(id >= 4)));
            }
            bank.pop(0).unwrap().retire();
            let place = bank.level_random(0, 1, &mut rng).unwrap();
            taken[bank.remove(0, place).retire() as usize] += 1;
            let place = bank.level_random(0, 0, &mut rng).unwrap();
            taken[bank.remove(0, place).retire() as usize] += 1;
            assert_eq!((bank.level_packets(0, 0), bank.level_packets(0, 1)), (2, 3));
        }
        assert_eq!(taken[0], 0);
        for count in &taken[1..4] {
            assert!((1200..1470).contains(count), "{taken:?}");
        }
        for count in &taken[4..] {
            assert!((900..1100).contains(count), "{taken:?}");
        }
    }
}
