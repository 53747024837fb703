//! What a foreign discipline holds, by the books of its host: every packet once in, once out.

use crate::convert::{from_c, to_c};
use crate::interface::ForebayPacket;
use forebay_core::{Backlog, Packet};

/// Flows, by a hash, of which the last departure is remembered.
const REMEMBERED: usize = 1024;

#[derive(Clone, Copy, Default)]
struct Slot {
    packet: ForebayPacket,
    /// Its place among all arrivals; 0: not held.
    arrival: u64,
}

/// The books of one queue.
pub struct Ledger {
    /// By packet id.
    slots: Vec<Slot>,
    arrivals: u64,
    held: Backlog,
    keeps_order: bool,
    /// (flow and class, arrival that left last); flows that share a place forget each other.
    last: Box<[(u64, u64); REMEMBERED]>,
    fault: Option<String>,
}

impl Ledger {
    pub fn new(keeps_order: bool) -> Self {
        Ledger {
            slots: Vec::new(),
            arrivals: 0,
            held: Backlog::default(),
            keeps_order,
            last: Box::new([(u64::MAX, 0); REMEMBERED]),
            fault: None,
        }
    }

    pub fn held(&self) -> Backlog {
        self.held
    }

    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Books the first fault; later ones follow from it.
    #[cold]
    pub fn accuse(&mut self, what: String) {
        self.fault.get_or_insert(what);
    }

    /// Books an arriving packet, which is the plug-in's from now on.
    #[inline]
    pub fn enters(&mut self, packet: Packet) -> ForebayPacket {
        let shown = to_c(&packet);
        let id = packet.retire() as usize;
        if id >= self.slots.len() {
            self.slots.resize((id + 1).next_power_of_two(), Slot::default());
        }
        self.arrivals += 1;
        self.slots[id] = Slot { packet: shown, arrival: self.arrivals };
        self.held.packets += 1;
        self.held.bytes += u64::from(shown.len);
        shown
    }

    /// The packet called `id`, if it is held, back from the plug-in. `how` is "sent" or "dropped".
    #[inline]
    pub fn leaves(&mut self, given: &ForebayPacket, how: &str) -> Option<Packet> {
        let Some(slot) = self.slots.get_mut(given.id as usize).filter(|slot| slot.arrival > 0)
        else {
            self.accuse(format!(
                "it {how} packet {}, which it does not hold: it has left before, or never came",
                given.id
            ));
            return None;
        };
        let Slot { packet, arrival } = std::mem::take(slot);
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.len);
        if packet != *given {
            self.accuse(format!("it changed packet {}, which came as {packet:?}", given.id));
        }
        if how == "sent" && self.keeps_order {
            self.check_order(&packet, arrival);
        }
        Some(from_c(&packet))
    }

    #[inline]
    fn check_order(&mut self, packet: &ForebayPacket, arrival: u64) {
        let key = u64::from(packet.flow) << 8 | u64::from(packet.qos_class);
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        let (known, last) = std::mem::replace(&mut self.last[place], (key, arrival));
        if known == key && last > arrival {
            self.accuse(format!(
                "it sent packet {} after one of the same flow and class that came later, and it says \
                 that it keeps the order",
                packet.id
            ));
        }
    }

    /// The packet called `id` as a host sees it, to be marked; `act` tells whether it was.
    pub fn marks(
        &mut self,
        given: &mut ForebayPacket,
        act: impl FnOnce(&mut Packet) -> bool,
    ) -> bool {
        let slot = self.slots.get_mut(given.id as usize).filter(|slot| slot.arrival > 0);
        let Some(slot) = slot else {
            self.accuse(format!("it marked packet {}, which it does not hold", given.id));
            return false;
        };
        let mut packet = from_c(&slot.packet);
        let marked = act(&mut packet);
        slot.packet.tos = packet.tos;
        given.tos = packet.tos;
        packet.retire();
        marked
    }

    /// Compares what the plug-in says that it holds.
    #[inline]
    pub fn compare(&mut self, packets: u64, bytes: u64) {
        if packets != self.held.packets as u64 || bytes != self.held.bytes {
            let Backlog { packets: held, bytes: held_bytes } = self.held;
            let verb = if packets < held as u64 { "lost packets" } else { "miscounts" };
            self.accuse(format!(
                "it {verb}: it says that it holds {packets} packets of {bytes} B, and {held} of \
                 {held_bytes} B came and have not left"
            ));
        }
    }

    /// Takes back every packet that is held.
    pub fn take_all(&mut self) -> Vec<Packet> {
        self.held = Backlog::default();
        let held = self.slots.iter_mut().filter(|slot| slot.arrival > 0);
        held.map(|slot| from_c(&std::mem::take(slot).packet)).collect()
    }
}
