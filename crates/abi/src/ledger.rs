//! What a foreign discipline holds, by the books of its host: every packet once in, once out.

use crate::convert::{from_c, take};
use crate::interface::{ForebayBacklog, ForebayPacket};
use forebay_core::{Backlog, Packet};
use std::cell::OnceCell;
use std::mem::replace;

/// Flows, by a hash, of which the last departure is remembered.
const REMEMBERED: usize = 1024;

/// A packet that is held, or the place of one.
struct Entry {
    packet: ForebayPacket,
    /// Its place among all arrivals, modulo 2^32.
    arrival: u32,
    /// The place that is free after this one, if this one is.
    next: u32,
}

/// No packet of that id is held; no place is free.
const NONE: u32 = u32::MAX;

/// Which arrival of a flow and class left last, modulo 2^24, below its key of 40 bits; those that
/// share a place forget each other.
struct Order(Box<[u64; REMEMBERED]>);

impl Order {
    /// Whether `packet`, which came as the `arrival`-th, leaves before all that came later.
    #[inline]
    fn keeps(&mut self, packet: &ForebayPacket, arrival: u32) -> bool {
        let key = u64::from(packet.flow) << 8 | u64::from(packet.qos_class);
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        let left = key << 24 | u64::from(arrival & 0xff_ffff);
        let last = replace(&mut self.0[place], left);
        // One that came later is at most half of the circle ahead.
        last >> 24 != key || (last.wrapping_sub(left) & 0xff_ffff).wrapping_sub(1) >= 0x7f_ffff
    }
}

/// Whether the two are not alike in every field: word by word, without a branch for each.
#[inline]
fn differ(a: &ForebayPacket, b: &ForebayPacket) -> bool {
    let words = |packet: &ForebayPacket| {
        let ForebayPacket { id, len, flow, qos_class, precedence, drop_precedence, tos, .. } =
            *packet;
        let ForebayPacket { kind, source, destination, queued, .. } = *packet;
        let marks = u32::from_le_bytes([qos_class, precedence, drop_precedence, tos]);
        let hosts = u32::from(destination) << 16 | u32::from(source);
        let [first, second, third] = [(id, len), (flow, marks), (kind, hosts)]
            .map(|(low, high)| u64::from(high) << 32 | u64::from(low));
        [first, second, third, queued]
    };
    words(a) != words(b)
}

/// How a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sent,
    Dropped,
}

/// The books of one queue.
pub struct Ledger {
    /// Indices of entries by packet id: ids go round among all packets of the host, entries only
    /// among those that are held at a time, so that they stay in the cache.
    places: Vec<u32>,
    entries: Vec<Entry>,
    /// The place that became free last.
    free: u32,
    arrivals: u32,
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
            places: Vec::new(),
            entries: Vec::new(),
            free: NONE,
            arrivals: 0,
            packets: 0,
            bytes: 0,
            order: keeps_order.then(|| Order(Box::new([0; REMEMBERED]))),
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

    /// Books an arriving packet, which is the plug-in's from now on.
    #[inline]
    pub fn enters(&mut self, packet: &ForebayPacket) {
        let id = packet.id as usize;
        if id >= self.places.len() {
            self.places.resize((id + 1).next_power_of_two(), NONE);
        }
        self.arrivals = self.arrivals.wrapping_add(1);
        let entry = Entry { packet: *packet, arrival: self.arrivals, next: NONE };
        let place = match self.entries.get_mut(self.free as usize) {
            Some(place) => replace(&mut self.free, replace(place, entry).next),
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.places[id] = place;
        self.packets += 1;
        self.bytes += u64::from(packet.len);
    }

    /// The packet that the plug-in gives back, if it is held.
    #[inline]
    pub fn leaves(&mut self, given: &ForebayPacket, way: Way) -> Option<Packet> {
        let place = self.places.get_mut(given.id as usize).filter(|place| **place != NONE);
        let Some(place) = place else {
            self.accuse(format!(
                "it {} packet {}, which it does not hold: it has left before, or never came",
                if way == Way::Sent { "sent" } else { "dropped" },
                given.id
            ));
            return None;
        };
        let place = replace(place, NONE);
        let Entry { packet, arrival, next } = &mut self.entries[place as usize];
        *next = replace(&mut self.free, place);
        self.packets -= 1;
        self.bytes -= u64::from(packet.len);
        let changed = differ(packet, given);
        let overtook = match &mut self.order {
            Some(order) if way == Way::Sent => !order.keeps(packet, *arrival),
            _ => false,
        };
        if changed {
            let packet = from_c(packet);
            self.accuse(format!("it changed packet {}, which came as {packet:?}", given.id));
            return Some(packet);
        }
        if overtook {
            self.accuse(format!(
                "it sent packet {} after one of the same flow and class that came later, and it says \
                 that it keeps the order",
                given.id
            ));
        }
        // Not the booked one, so that nobody has to wait for the books.
        // SAFETY: it is what came, which was a packet.
        Some(unsafe { take(given) })
    }

    /// The packet called `id` as a host sees it, to be marked; `act` tells whether it was.
    pub fn marks(
        &mut self,
        given: &mut ForebayPacket,
        act: impl FnOnce(&mut Packet) -> bool,
    ) -> bool {
        let place = self.places.get(given.id as usize).filter(|place| **place != NONE);
        let Some(&place) = place else {
            self.accuse(format!("it marked packet {}, which it does not hold", given.id));
            return false;
        };
        let booked = &mut self.entries[place as usize].packet;
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

    /// Takes back every packet that is held.
    pub fn take_all(&mut self) -> Vec<Packet> {
        (self.packets, self.bytes, self.free) = (0, 0, NONE);
        let places = self.places.iter_mut().filter(|place| **place != NONE);
        let held = places.map(|place| replace(place, NONE));
        let taken = held.map(|place| from_c(&self.entries[place as usize].packet)).collect();
        self.entries.clear();
        taken
    }
}
