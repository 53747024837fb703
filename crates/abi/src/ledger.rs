//! The account of a foreign discipline: every packet goes in once and comes out once.

use crate::convert::{Halves, differ, from_c, take, to_c};
use crate::interface::{ForebayBacklog, ForebayPacket};
use forebay_core::{Backlog, Packet};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Number of hashed flows for which the last departure out of turn is remembered.
const REMEMBERED: usize = 1024;

/// Number of arrivals that can be distinguished there.
const ARRIVALS: u64 = (1 << 34) - 1;

/// The kind of a packet that has left.
const GONE: u32 = u32::MAX;
/// Initial room for packets.
const ROOM: usize = 64;

/// Departures out of turn: of packets that left while older ones were held. The oldest packet
/// overtakes no other, so a single queue needs no entries here.
struct Order {
    /// The latest arrival that left out of turn.
    latest: u64,
    /// The arrival of each flow and class that last left out of turn, modulo 2^34, and below it
    /// a tag that distinguishes its key from others at the same place. Keys at one place replace
    /// each other.
    last: Box<[u64; REMEMBERED]>,
}

impl Order {
    fn new() -> Self {
        Order { latest: 0, last: Box::new([0; REMEMBERED]) }
    }

    /// Whether `packet`, the `arrival`-th to arrive and the `oldest` or not, leaves before all
    /// packets of its flow and class that arrived later.
    #[inline]
    fn keeps(&mut self, packet: &ForebayPacket, arrival: u64, oldest: bool) -> bool {
        if oldest && self.latest < arrival {
            return true;
        }
        let key = u64::from(packet.flow) << 8 | u64::from(packet.qos_class);
        // Multiplication by an odd number spreads the key over 40 bits: 10 for the place, 30 for the tag.
        let mixed = key.wrapping_mul(0x9e_3779_b97f) & 0xff_ffff_ffff;
        let (place, rest) = ((mixed >> 30) as usize, mixed & 0x3fff_ffff);
        let last = self.last[place];
        if !oldest {
            self.last[place] = rest << 34 | (arrival & ARRIVALS);
        }
        // Later than this arrival, but not than the last one: entries from 2^34 arrivals ago do not count.
        let later = last.wrapping_sub(arrival) & ARRIVALS;
        let ahead = self.latest.saturating_sub(arrival);
        self.latest = if oldest { self.latest } else { self.latest.max(arrival) };
        last >> 34 != rest || later == 0 || later > ahead
    }
}

/// A packet's way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sent,
    Dropped,
}

/// The account of one queue.
///
/// Packets are in the order of arrival, so those of a simple queue are accessed one after the
/// other. The plug-in sees each packet under its arrival number, modulo 2^32, so no search is
/// necessary.
pub struct Ledger {
    /// The packets from the `first`-th arrival on, each at its arrival modulo the length, which is
    /// a power of two. Those that have left are [`GONE`].
    ring: Vec<ForebayPacket>,
    /// The oldest arrival in the ring; `next` if the ring is empty.
    first: u64,
    /// The next arrival; the first one is 1.
    next: u64,
    /// Packets that so many others have overtaken that the ring does not wait for them, with their
    /// arrivals, by the number that the plug-in knows.
    passed: HashMap<u32, (u64, ForebayPacket)>,
    packets: u32,
    bytes: u64,
    /// None if the plug-in does not declare that it keeps the order.
    order: Option<Order>,
    /// The first fault. Calls that change nothing find faults, too.
    fault: OnceCell<String>,
}

impl Ledger {
    pub fn new(keeps_order: bool) -> Self {
        Ledger {
            ring: vec![gone(); ROOM],
            first: 1,
            next: 1,
            passed: HashMap::new(),
            packets: 0,
            bytes: 0,
            order: keeps_order.then(Order::new),
            fault: OnceCell::new(),
        }
    }

    /// Number of packets held.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// The packets held.
    #[inline]
    pub fn held(&self) -> Backlog {
        Backlog { packets: self.packets as usize, bytes: self.bytes }
    }

    pub fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    /// Records the first fault. Later ones follow from it.
    #[cold]
    pub fn accuse(&self, what: String) {
        self.fault.get_or_init(|| what);
    }

    /// The place of an arrival in the ring.
    #[inline]
    fn place(&self, arrival: u64) -> usize {
        arrival as usize & (self.ring.len() - 1)
    }

    /// Adds an arriving packet, which belongs to the plug-in from now on. Returns it as the plug-in
    /// must see it.
    #[inline]
    pub fn enters(&mut self, packet: &ForebayPacket) -> ForebayPacket {
        if self.next - self.first == self.ring.len() as u64 {
            self.make_room();
        }
        while !self.passed.is_empty() && self.passed.contains_key(&(self.next as u32)) {
            self.skip();
        }
        let (halves, len) = (Halves::of(packet), packet.len);
        let (arrival, place) = (self.next, self.place(self.next));
        self.ring[place] = halves.packet();
        self.next += 1;
        self.packets += 1;
        self.bytes += u64::from(len);
        halves.numbered(arrival as u32).packet()
    }

    /// Skips a number that is still used by a packet that arrived 2^32 arrivals ago.
    #[cold]
    fn skip(&mut self) {
        self.first += u64::from(self.first == self.next);
        self.next += 1;
        if self.next - self.first == self.ring.len() as u64 {
            self.make_room();
        }
    }

    /// Makes room for an arrival in a full ring: a larger ring, or, if most packets have left, half
    /// of the ring without those that remained.
    #[cold]
    fn make_room(&mut self) {
        let room = self.ring.len();
        let held = self.packets as usize - self.passed.len();
        let mut ring = vec![gone(); if held > room / 2 { 2 * room } else { room }];
        let until = if held > room / 2 { self.first } else { self.first + room as u64 / 2 };
        for arrival in self.first..self.next {
            let packet = self.ring[self.place(arrival)];
            if packet.kind == GONE {
                continue;
            }
            if arrival < until {
                self.passed.insert(arrival as u32, (arrival, packet));
            } else {
                let place = arrival as usize & (ring.len() - 1);
                ring[place] = packet;
            }
        }
        self.ring = ring;
        self.first = until;
        self.advance();
    }

    /// Advances to the oldest arrival that is held.
    #[inline]
    fn advance(&mut self) {
        while self.first < self.next && self.ring[self.place(self.first)].kind == GONE {
            self.first += 1;
        }
    }

    /// The arrival of the packet that the plug-in knows by `number`, if the ring has a place for
    /// it.
    #[inline]
    fn arrival(&self, number: u32) -> Option<u64> {
        let age = u64::from((self.next as u32).wrapping_sub(number));
        (age.wrapping_sub(1) < self.next - self.first).then(|| self.next - age)
    }

    /// The packet that the plug-in knows by `number`, if it is held.
    fn find(&self, number: u32) -> Option<&ForebayPacket> {
        let booked = match self.arrival(number) {
            Some(arrival) => Some(&self.ring[self.place(arrival)]),
            None => self.passed.get(&number).map(|(_, packet)| packet),
        };
        booked.filter(|packet| packet.kind != GONE)
    }

    /// Whether the packet that the plug-in knows by `number` is held.
    pub fn holds(&self, number: u32) -> bool {
        self.find(number).is_some()
    }

    /// The packet that the plug-in knows by `number`, as the host sees it, to be retired after a
    /// look. None, and a fault, if it is not held.
    pub fn copy(&self, number: u32) -> Option<Packet> {
        let found = self.find(number).map(from_c);
        if found.is_none() {
            self.accuse(format!("it looked into packet {number}, which it does not hold"));
        }
        found
    }

    /// The packet that the plug-in returns, if it is held.
    #[inline(always)]
    pub fn leaves(&mut self, given: &ForebayPacket, way: Way) -> Option<Packet> {
        let Some(arrival) = self.arrival(given.id) else { return self.leaves_late(given, way) };
        let place = self.place(arrival);
        let booked = &mut self.ring[place];
        if booked.kind == GONE {
            self.not_held(given.id, way);
            return None;
        }
        let changed = differ(booked, given);
        // SAFETY: it is what came, which was a packet.
        let came = unsafe { take(booked) };
        booked.kind = GONE;
        self.packets -= 1;
        self.bytes -= u64::from(came.len);
        let mut oldest = false;
        if arrival == self.first {
            oldest = self.passed.is_empty();
            self.first += 1;
            self.advance();
        }
        self.judge(given, changed.then_some(&came), arrival, oldest, way);
        Some(came)
    }

    /// A packet that so many others have overtaken that the ring does not contain it.
    #[cold]
    fn leaves_late(&mut self, given: &ForebayPacket, way: Way) -> Option<Packet> {
        let Some((arrival, booked)) = self.passed.remove(&given.id) else {
            self.not_held(given.id, way);
            return None;
        };
        let came = from_c(&booked);
        self.packets -= 1;
        self.bytes -= u64::from(came.len);
        let changed = differ(&booked, given).then_some(&came);
        self.judge(given, changed, arrival, false, way);
        Some(came)
    }

    #[cold]
    fn not_held(&self, number: u32, way: Way) {
        let verb = if way == Way::Sent { "sent" } else { "dropped" };
        self.accuse(format!(
            "it {verb} packet {number}, which it does not hold: it has already left, or it never \
             arrived"
        ));
    }

    /// Whether `given` is the packet that arrived, or was `changed` from it, and keeps the order.
    #[inline(always)]
    fn judge(
        &mut self,
        given: &ForebayPacket,
        changed: Option<&Packet>,
        arrival: u64,
        oldest: bool,
        way: Way,
    ) {
        let number = given.id;
        if let Some(came) = changed {
            self.accuse(format!("it changed packet {number}: {}", changes(to_c(came), given)));
        } else if let (Way::Sent, Some(order)) = (way, &mut self.order)
            && !order.keeps(given, arrival, oldest)
        {
            self.accuse(format!(
                "it sent packet {number} after one of the same flow and class that came later, \
                 and it says that it keeps the order"
            ));
        }
    }

    /// The packet `given`, as the host sees it, to be marked. `act` returns whether it was marked.
    pub fn marks(
        &mut self,
        given: &mut ForebayPacket,
        act: impl FnOnce(&mut Packet) -> bool,
    ) -> bool {
        let booked = match self.arrival(given.id) {
            Some(arrival) => {
                let place = self.place(arrival);
                Some(&mut self.ring[place])
            }
            None => self.passed.get_mut(&given.id).map(|(_, packet)| packet),
        };
        let Some(booked) = booked.filter(|packet| packet.kind != GONE) else {
            self.accuse(format!("it marked packet {}, which it does not hold", given.id));
            return false;
        };
        let mut packet = from_c(booked);
        let marked = act(&mut packet);
        booked.tos = packet.tos;
        given.tos = packet.tos;
        packet.retire();
        marked
    }

    /// The error in the plug-in's count of what it holds.
    #[inline]
    pub fn compare(&self, said: ForebayBacklog) -> Option<String> {
        let ForebayBacklog { packets, bytes } = said;
        let (held, held_bytes) = (u64::from(self.packets), self.bytes);
        if packets == held && bytes == held_bytes {
            return None;
        }
        let verb = if packets < held { "lost packets" } else { "miscounts" };
        Some(format!(
            "it {verb}: it says that it holds {packets} packets of {bytes} B, and {held} of \
             {held_bytes} B came and have not left"
        ))
    }

    /// Takes back every packet that is held, in order of arrival.
    pub fn take_all(&mut self) -> Vec<Packet> {
        let held = self.in_order();
        self.ring.fill(gone());
        self.passed.clear();
        (self.first, self.packets, self.bytes) = (self.next, 0, 0);
        held.iter().map(|(_, packet)| from_c(packet)).collect()
    }

    /// Shows every packet that is held: as `shown`, numbers and queues that the plug-in has given, or
    /// in order of arrival if it has given none.
    pub fn show(&self, shown: &[(u32, usize)], out: &mut dyn FnMut(usize, &Packet)) {
        let mut each = |queue, held: &ForebayPacket| {
            let packet = from_c(held);
            out(queue, &packet);
            packet.retire();
        };
        let mut numbers: Vec<_> = shown.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let (count, held) = (shown.len(), self.packets as usize);
        let all = numbers.len() == held && numbers.iter().all(|number| self.holds(*number));
        if all && count == held {
            let known = |(number, queue): &(u32, usize)| Some((*queue, self.find(*number)?));
            shown.iter().filter_map(known).for_each(|(queue, held)| each(queue, held));
            return;
        }
        if count > 0 {
            self.accuse(format!("it shows {count} waiting packets, and not the {held} it holds"));
        }
        self.in_order().iter().for_each(|(_, held)| each(0, held));
    }

    fn in_order(&self) -> Vec<(u64, ForebayPacket)> {
        let ring = (self.first..self.next).map(|arrival| (arrival, self.ring[self.place(arrival)]));
        let mut held: Vec<_> = self.passed.values().copied().chain(ring).collect();
        held.retain(|(_, packet)| packet.kind != GONE);
        held.sort_unstable_by_key(|(arrival, _)| *arrival);
        held
    }
}

/// The place of a packet that has left.
fn gone() -> ForebayPacket {
    ForebayPacket { kind: GONE, ..Default::default() }
}

/// What differs between a packet that `came` and the one `given` for it.
#[cold]
fn changes(came: &ForebayPacket, given: &ForebayPacket) -> String {
    let fields = |packet: &ForebayPacket| {
        [
            ("len", u64::from(packet.len)),
            ("flow", packet.flow.into()),
            ("qos_class", packet.qos_class.into()),
            ("precedence", packet.precedence.into()),
            ("drop_precedence", packet.drop_precedence.into()),
            ("tos", packet.tos.into()),
            ("kind", packet.kind.into()),
            ("source", packet.source.into()),
            ("destination", packet.destination.into()),
            ("queued", packet.queued),
        ]
    };
    let pairs = fields(came).into_iter().zip(fields(given));
    let differ = pairs.filter(|((_, came), (_, given))| came != given);
    let said =
        differ.map(|((name, came), (_, given))| format!("its {name} of {came} became {given}"));
    said.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;

    /// Packets of four flows and two classes leave in any order or are dropped. Which overtook
    /// which is computed from all arrivals.
    #[test]
    fn whoever_overtakes_its_own_is_found() {
        let mut rng = Rng::named(1, "ledger");
        let mut below = |count: u64| rng.next_u64() % count;
        let (mut found, mut clean) = (0, 0);
        // Miri is some hundred times slower.
        let rounds = if cfg!(miri) { 40 } else { 2000 };
        for _ in 0..rounds {
            let mut ledger = Ledger::new(true);
            // Shown packets that are held, and those of arrivals that were sent, by arrival.
            let (mut held, mut sent) = (Vec::new(), Vec::new());
            for id in 0..200 {
                let mut packet = ForebayPacket { id: 7000 + id, len: 100, ..Default::default() };
                (packet.flow, packet.qos_class) = (below(4) as u32, below(2) as u8);
                held.push((id, ledger.enters(&packet)));
                if below(2) == 0 || held.is_empty() {
                    continue;
                }
                // Mostly the first packet of a flow, sometimes any packet.
                let (_, any) = held[below(held.len() as u64) as usize];
                let key = |packet: &ForebayPacket| (packet.flow, packet.qos_class);
                let first = held.iter().position(|(_, other)| key(other) == key(&any)).unwrap();
                let place = if below(50) == 0 { below(held.len() as u64) as usize } else { first };
                let (arrival, packet) = held.remove(place);
                let way = if below(5) == 0 { Way::Dropped } else { Way::Sent };
                let given = ledger.leaves(&packet, way).unwrap().retire();
                assert_eq!(given, 7000 + arrival);
                assert_eq!(ledger.packets() as usize, held.len());
                let overtaken = |(later, other): &(u32, ForebayPacket)| {
                    *later > arrival && key(other) == key(&packet)
                };
                let expected = way == Way::Sent && sent.iter().any(overtaken);
                assert_eq!(ledger.fault().is_some(), expected, "{:?}", ledger.fault());
                if expected {
                    found += 1;
                    break;
                }
                if way == Way::Sent {
                    sent.push((arrival, packet));
                }
            }
            clean += u32::from(ledger.fault().is_none());
            let left: Vec<_> = ledger.take_all().into_iter().map(Packet::retire).collect();
            let expected: Vec<_> = held.iter().map(|(arrival, _)| 7000 + arrival).collect();
            assert_eq!(left, expected);
        }
        assert!(found > rounds / 10 && clean > rounds / 10, "{found} {clean}");
    }

    fn came(id: u32) -> ForebayPacket {
        ForebayPacket { id, len: 100, ..Default::default() }
    }

    #[test]
    fn one_that_has_left_is_not_taken_for_another() {
        let mut ledger = Ledger::new(true);
        let shown = ledger.enters(&came(5));
        assert_eq!(ledger.leaves(&shown, Way::Sent).unwrap().retire(), 5);
        ledger.enters(&came(6));
        assert!(ledger.leaves(&shown, Way::Sent).is_none());
        let fault = "it sent packet 1, which it does not hold: it has already left, or it never \
         arrived";
        assert_eq!(ledger.fault(), Some(fault));
        let mut ledger = Ledger::new(true);
        let shown = ledger.enters(&came(5));
        let later = ForebayPacket { queued: 7, ..shown };
        assert_eq!(ledger.leaves(&later, Way::Sent).unwrap().retire(), 5);
        assert_eq!(ledger.fault(), Some("it changed packet 1: its queued of 0 became 7"));
    }

    /// Two packets stay while all numbers of 32 bits are used.
    #[test]
    fn what_stays_behind_is_kept_and_its_number_is_not_given_again() {
        let mut ledger = Ledger::new(false);
        let old = [ledger.enters(&came(7)), ledger.enters(&came(8))];
        let pass = |ledger: &mut Ledger, count: u32| {
            for id in 0..count {
                let shown = ledger.enters(&came(id));
                assert!(old.iter().all(|old| old.id != shown.id));
                assert_eq!(ledger.leaves(&shown, Way::Sent).unwrap().retire(), id);
            }
        };
        pass(&mut ledger, 1000);
        assert_eq!((ledger.ring.len(), ledger.passed.len()), (ROOM, 2));
        // As after 2^32 arrivals.
        ledger.next += 1 << 32;
        ledger.next -= 1000;
        ledger.first = ledger.next;
        pass(&mut ledger, 1000);
        assert_eq!(ledger.packets(), 2);
        assert_eq!(ledger.leaves(&old[1], Way::Sent).unwrap().retire(), 8);
        let left: Vec<_> = ledger.take_all().into_iter().map(Packet::retire).collect();
        assert_eq!((left, ledger.fault()), (vec![7], None));
    }
}
