//! What the simulator knows of a packet beyond what a queue sees.

use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{Duration, Packet, Time, fetch};
use forebay_tcp::{Flags, Segment};
use std::collections::VecDeque;

/// The rest of a packet; the packet's `id` is its index.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Cargo {
    /// TCP header; unused by datagrams.
    pub segment: Segment,
    /// When the packet was sent.
    pub sent: Time,
    /// How long it has waited in queues so far.
    pub waited: Duration,
    /// Where it goes next: index among the stops.
    pub stop: u32,
    /// Connection (index among the flows), or [`DATAGRAM`].
    pub flow: u32,
    /// Life of the connection that it belongs to; an index is used again after the end.
    pub life: u32,
    /// Number among the data packets of its user, in order of sending; unused by others.
    pub number: u64,
    /// User whose traffic it is.
    pub user: u32,
    /// Whether it goes from receiver to sender.
    pub backward: bool,
}

/// The flow of a packet that belongs to no connection.
pub const DATAGRAM: u32 = u32::MAX;

impl Cargo {
    /// The segment as it stands in a header, its window in units of 2^`shift` bytes; None of a
    /// datagram.
    pub fn tcp_header(&self, shift: u8) -> Option<Tcp> {
        if self.flow == DATAGRAM {
            return None;
        }
        let segment = &self.segment;
        let is_syn = segment.flags.has(Flags::SYN);
        let mut sack = SackBlocks::default();
        segment.sack_blocks().for_each(|(start, end)| sack.push(start as u32, end as u32));
        // A SYN's window is never scaled (RFC 7323, section 2.2).
        let window = if is_syn { segment.window } else { segment.window >> shift };
        Some(Tcp {
            seq: segment.seq as u32,
            ack: segment.ack as u32,
            flags: segment.flags.header_bits(),
            window: window.min(u32::from(u16::MAX)) as u16,
            payload_len: segment.len,
            timestamps: segment.has_timestamp.then_some((segment.tsval, segment.tsecr)),
            window_scale: is_syn.then_some(shift),
            sack,
            other_options: is_syn || segment.accecn().is_some(),
        })
    }
}

/// All cargo under way; freed places are used again, those first that were freed first: packets
/// end their lives about in the order in which they began, and so their cargo lies about in the
/// order in which it is needed, which is what caches foresee.
#[derive(Debug, Default)]
pub struct Hold {
    places: Vec<Cargo>,
    free: VecDeque<u32>,
}

impl Hold {
    /// Stores `cargo` and gives its index.
    #[inline]
    pub fn store(&mut self, cargo: Cargo) -> u32 {
        if let Some(index) = self.free.pop_front() {
            self.places[index as usize] = cargo;
            return index;
        }
        if self.places.len() == self.places.capacity() {
            // By a quarter, not twofold: of many packets the room not used is much.
            self.places.reserve_exact((self.places.len() / 4).max(64));
        }
        self.places.push(cargo);
        (self.places.len() - 1) as u32
    }

    /// The cargo of `packet`.
    #[inline]
    pub fn of(&mut self, packet: &Packet) -> &mut Cargo {
        &mut self.places[packet.id as usize]
    }

    /// The cargo of the packet with handle `id`.
    #[inline]
    pub fn at(&mut self, id: u32) -> &mut Cargo {
        &mut self.places[id as usize]
    }

    /// The same, to be looked at.
    #[inline]
    pub fn look(&self, id: u32) -> &Cargo {
        &self.places[id as usize]
    }

    /// Reads the cargo with handle `id` ahead of its use.
    #[inline]
    pub fn fetch(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.segment);
        fetch(&cargo.sent);
        fetch(&cargo.backward);
    }

    /// Fetches the place for the cargo that is stored after `count` others.
    pub fn fetch_free(&self, count: usize) {
        if let Some(&id) = self.free.get(count) {
            self.fetch(id);
        }
    }

    /// Takes the cargo with handle `id` out.
    pub fn lift(&mut self, id: u32) -> Cargo {
        self.free.push_back(id);
        self.places[id as usize]
    }

    /// Ends `packet`'s life; answers where its cargo lies until something is stored again.
    #[inline]
    pub fn release(&mut self, packet: Packet) -> u32 {
        let index = packet.retire();
        self.free.push_back(index);
        index
    }

    /// Ends `packet`'s life and gives back its cargo.
    pub fn retire(&mut self, packet: Packet) -> &Cargo {
        let index = self.release(packet);
        &self.places[index as usize]
    }

    /// Most packets that were ever under way at once.
    pub fn peak(&self) -> usize {
        self.places.len()
    }
}
