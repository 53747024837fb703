//! What a foreign discipline holds, by the books of its host: every packet once in, once out.

use crate::convert::{Halves, differ, from_c, take};
use crate::interface::{ForebayBacklog, ForebayPacket};
use forebay_core::{Backlog, Packet};
use std::cell::OnceCell;
use std::mem::replace;

/// Flows, by a hash, of which the last departure out of turn is remembered.
const REMEMBERED: usize = 1024;

/// Arrivals that are told apart there.
const ARRIVALS: u64 = (1 << 34) - 1;

/// A packet that is held, or the place of one; on a cache line of its own.
#[repr(align(64))]
struct Entry {
    /// As it came. The plug-in is shown its place here as its number, so that nothing is searched for.
    packet: ForebayPacket,
    /// Its place among all arrivals.
    arrival: u64,
    /// Who came before it, of those that are held, unless it is the oldest; [`FREE`] without a packet.
    before: u32,
    /// Who came after it; the place that became free before this one.
    after: u32,
}

/// Nobody, nowhere.
const NONE: u32 = u32::MAX;
/// There is no packet.
const FREE: u32 = u32::MAX - 1;

/// Departures out of turn: of packets that left while older ones were held. Whoever leaves as the
/// oldest overtakes nobody, so that a single queue has nothing to remember.
struct Order {
    /// The latest arrival that left out of turn.
    latest: u64,
    /// Which arrival of a flow and class left so last, modulo 2^34, below what tells their key from
    /// those at the same place, which forget each other.
    last: Box<[u64; REMEMBERED]>,
}

impl Order {
    fn new() -> Self {
        Order { latest: 0, last: Box::new([0; REMEMBERED]) }
    }

    /// Whether `packet`, which came as the `arrival`-th and is the `oldest` or not, leaves before all
    /// of its flow and class that came later.
    #[inline]
    fn keeps(&mut self, packet: &ForebayPacket, arrival: u64, oldest: bool) -> bool {
        if oldest && self.latest < arrival {
            return true;
        }
        let key = u64::from(packet.flow) << 8 | u64::from(packet.qos_class);
        // An odd factor keeps 40 bits apart: 10 are the place, 30 the rest.
        let mixed = key.wrapping_mul(0x9e_3779_b97f) & 0xff_ffff_ffff;
        let (place, rest) = ((mixed >> 30) as usize, mixed & 0x3fff_ffff);
        let last = self.last[place];
        if !oldest {
            self.last[place] = rest << 34 | (arrival & ARRIVALS);
        }
        // Later than this one, and no later than any: not what left 2^34 arrivals ago.
        let later = last.wrapping_sub(arrival) & ARRIVALS;
        let ahead = self.latest.saturating_sub(arrival);
        self.latest = if oldest { self.latest } else { self.latest.max(arrival) };
        last >> 34 != rest || later == 0 || later > ahead
    }
}

/// How a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sent,
    Dropped,
}

/// The books of one queue.
pub struct Ledger {
    /// Only as many as are held at a time, so that they stay in the cache.
    entries: Vec<Entry>,
    /// The place that became free last.
    free: u32,
    /// Who came first, and who came last, of those that are held.
    oldest: u32,
    youngest: u32,
    arrivals: u64,
    packets: u32,
    bytes: u64,
    /// None if the plug-in does not say that it keeps the order.
    order: Option<Order>,
    /// What was found first; questions that change nothing find faults, too.
    fault: OnceCell<String>,
}

impl Ledger {
    pub fn new(keeps_order: bool) -> Self {
        Ledger {
            entries: Vec::new(),
            free: NONE,
            oldest: NONE,
            youngest: NONE,
            arrivals: 0,
            packets: 0,
            bytes: 0,
            order: keeps_order.then(Order::new),
            fault: OnceCell::new(),
        }
    }

    /// Packets held.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// What is held.
    #[inline]
    pub fn held(&self) -> Backlog {
        Backlog { packets: self.packets as usize, bytes: self.bytes }
    }

    pub fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    /// Books the first fault; later ones follow from it.
    #[cold]
    pub fn accuse(&self, what: String) {
        self.fault.get_or_init(|| what);
    }

    /// Books an arriving packet, which is the plug-in's from now on; as the plug-in is to see it.
    #[inline]
    pub fn enters(&mut self, packet: &ForebayPacket) -> ForebayPacket {
        self.arrivals += 1;
        let free = self.entries.get(self.free as usize).map(|entry| entry.after);
        let place = if free.is_some() { self.free } else { self.entries.len() as u32 };
        let (halves, len) = (Halves::of(packet), packet.len);
        let entry = Entry {
            packet: halves.packet(),
            arrival: self.arrivals,
            before: self.youngest,
            after: NONE,
        };
        match free {
            Some(free) => {
                self.entries[place as usize] = entry;
                self.free = free;
            }
            None => self.entries.push(entry),
        }
        match self.entries.get_mut(self.youngest as usize) {
            Some(youngest) => youngest.after = place,
            None => self.oldest = place,
        }
        self.youngest = place;
        self.packets += 1;
        self.bytes += u64::from(len);
        halves.numbered(place).packet()
    }

    /// The packet that the plug-in gives back, if it is held.
    #[inline]
    pub fn leaves(&mut self, given: &ForebayPacket, way: Way) -> Option<Packet> {
        let place = given.id;
        let held = self.entries.get_mut(place as usize).filter(|entry| entry.before != FREE);
        let Some(entry) = held else {
            self.accuse(format!(
                "it {} packet {place}, which it does not hold: it has left before, or never came",
                if way == Way::Sent { "sent" } else { "dropped" },
            ));
            return None;
        };
        let Entry { packet, arrival, before, after } = entry;
        let arrival = *arrival;
        let (before, after) = (replace(before, FREE), replace(after, self.free));
        let changed = differ(packet, given);
        // SAFETY: it is what came, which was a packet.
        let came = unsafe { take(packet) };
        self.free = place;
        self.packets -= 1;
        self.bytes -= u64::from(came.len);
        let oldest = self.oldest == place;
        self.unlink(oldest, before, after);
        if changed {
            self.accuse(format!("it changed packet {place}, which came as {came:?}"));
        } else if let (Way::Sent, Some(order)) = (way, &mut self.order)
            && !order.keeps(given, arrival, oldest)
        {
            self.accuse(format!(
                "it sent packet {place} after one of the same flow and class that came later, and it \
                 says that it keeps the order"
            ));
        }
        Some(came)
    }

    /// Takes out of the row who came between `before` and `after`.
    #[inline]
    fn unlink(&mut self, oldest: bool, before: u32, after: u32) {
        if oldest {
            self.oldest = after;
        } else {
            self.entries[before as usize].after = after;
        }
        match self.entries.get_mut(after as usize) {
            Some(next) => next.before = before,
            None => self.youngest = if oldest { NONE } else { before },
        }
    }

    /// The packet that `given` is, as a host sees it, to be marked; `act` tells whether it was.
    pub fn marks(
        &mut self,
        given: &mut ForebayPacket,
        act: impl FnOnce(&mut Packet) -> bool,
    ) -> bool {
        let held = self.entries.get_mut(given.id as usize).filter(|entry| entry.before != FREE);
        let Some(Entry { packet: booked, .. }) = held else {
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

    /// What is wrong with what the plug-in says that it holds.
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

    /// Takes back every packet that is held, in the order in which they came.
    pub fn take_all(&mut self) -> Vec<Packet> {
        let mut taken = Vec::with_capacity(self.packets as usize);
        let mut place = self.oldest;
        while let Some(Entry { packet, after, .. }) = self.entries.get(place as usize) {
            taken.push(from_c(packet));
            place = *after;
        }
        self.entries.clear();
        (self.packets, self.bytes) = (0, 0);
        (self.free, self.oldest, self.youngest) = (NONE, NONE, NONE);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;

    /// Packets of four flows and two classes, out in any order or dropped; what overtook whom, by
    /// looking at all that ever came.
    #[test]
    fn whoever_overtakes_its_own_is_found() {
        let mut rng = Rng::named(1, "ledger");
        let mut below = |count: u64| rng.next_u64() % count;
        let (mut found, mut clean) = (0, 0);
        for _ in 0..2000 {
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
                // Mostly the first of a flow; now and then anybody.
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
        assert!(found > 200 && clean > 200, "{found} {clean}");
    }

    #[test]
    fn one_that_has_left_is_not_taken_for_the_next_in_its_place() {
        let came = |id, queued| ForebayPacket { id, len: 100, queued, ..Default::default() };
        let mut ledger = Ledger::new(true);
        let first = ledger.enters(&came(5, 10));
        ledger.leaves(&first, Way::Sent).unwrap().retire();
        let second = ledger.enters(&came(6, 20));
        assert_eq!(first.id, second.id);
        assert_eq!(ledger.leaves(&first, Way::Sent).unwrap().retire(), 6);
        assert!(ledger.fault().unwrap().starts_with("it changed packet 0, which came as"));
    }
}
