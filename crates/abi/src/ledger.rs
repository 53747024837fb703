//! What a foreign discipline holds, by the books of its host: every packet once in, once out.

use crate::convert::from_c;
use crate::interface::ForebayPacket;
use forebay_core::{Backlog, Packet};
use std::cell::OnceCell;

/// Flows, by a hash, of which the last departure is remembered.
const REMEMBERED: usize = 1024;

/// A packet that is held.
struct Entry {
    packet: ForebayPacket,
    /// Its place among all arrivals.
    arrival: u64,
}

/// No packet of that id is held.
const NONE: u32 = u32::MAX;

/// Which arrival of a flow and class left last; those that share a place forget each other.
struct Order(Box<[(u64, u64); REMEMBERED]>);

impl Order {
    /// Whether `packet`, which came as the `arrival`-th, leaves before all that came later.
    #[inline]
    fn keeps(&mut self, packet: &ForebayPacket, arrival: u64) -> bool {
        let key = u64::from(packet.flow) << 8 | u64::from(packet.qos_class);
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        let (known, last) = std::mem::replace(&mut self.0[place], (key, arrival));
        known != key || last <= arrival
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
    /// Indices of entries by packet id: ids go round among all packets of the host, entries only
    /// among those that are held at a time, so that they stay in the cache.
    places: Vec<u32>,
    entries: Vec<Entry>,
    /// Entries that are free again; the last is used first.
    free: Vec<u32>,
    arrivals: u64,
    held: Backlog,
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
            free: Vec::new(),
            arrivals: 0,
            held: Backlog::default(),
            order: keeps_order.then(|| Order(Box::new([(u64::MAX, 0); REMEMBERED]))),
            fault: OnceCell::new(),
        }
    }

    pub fn held(&self) -> Backlog {
        self.held
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
        self.arrivals += 1;
        let entry = Entry { packet: *packet, arrival: self.arrivals };
        self.places[id] = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.held.packets += 1;
        self.held.bytes += u64::from(packet.len);
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
        let place = std::mem::replace(place, NONE);
        self.free.push(place);
        let Entry { packet, arrival } = &self.entries[place as usize];
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.len);
        let changed = packet != given;
        let overtook = match &mut self.order {
            Some(order) if way == Way::Sent => !order.keeps(packet, *arrival),
            _ => false,
        };
        let packet = from_c(packet);
        if changed {
            self.accuse(format!("it changed packet {}, which came as {packet:?}", given.id));
        }
        if overtook {
            self.accuse(format!(
                "it sent packet {} after one of the same flow and class that came later, and it says \
                 that it keeps the order",
                given.id
            ));
        }
        Some(packet)
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
    pub fn compare(&self, packets: u64, bytes: u64) -> Option<String> {
        let Backlog { packets: held, bytes: held_bytes } = self.held;
        if packets == held as u64 && bytes == held_bytes {
            return None;
        }
        let verb = if packets < held as u64 { "lost packets" } else { "miscounts" };
        Some(format!(
            "it {verb}: it says that it holds {packets} packets of {bytes} B, and {held} of \
             {held_bytes} B came and have not left"
        ))
    }

    /// Takes back every packet that is held.
    pub fn take_all(&mut self) -> Vec<Packet> {
        self.held = Backlog::default();
        self.free.clear();
        let places = self.places.iter_mut().filter(|place| **place != NONE);
        let held = places.map(|place| std::mem::replace(place, NONE));
        let taken = held.map(|place| from_c(&self.entries[place as usize].packet)).collect();
        self.entries.clear();
        taken
    }
}
