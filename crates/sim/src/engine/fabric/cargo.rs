//! What the simulator knows of a packet beyond what a queue sees.

use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{Duration, Packet, Time, fetch};
use forebay_tcp::{Flags, Segment};
use std::collections::VecDeque;

/// The rest of a packet; the packet's `id` is its index.
#[derive(Debug, Clone, Copy, Default)]
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
    /// Its segment is sent at `now`, by way of the stop `stop`, between the ends of connection `flow` of
    /// that life.
    #[inline]
    pub fn sets_out(
        &mut self,
        now: Time,
        stop: u32,
        (flow, life): (u32, u32),
        user: u32,
        backward: bool,
    ) {
        self.sent = now;
        self.waited = Duration::ZERO;
        self.stop = stop;
        self.flow = flow;
        self.life = life;
        self.user = user;
        self.backward = backward;
    }

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
    /// The place for what is stored next; until [`Hold::occupy`] it remains free.
    #[inline]
    pub fn vacant(&mut self) -> u32 {
        match self.free.front() {
            Some(index) => *index,
            None => self.grow(),
        }
    }

    /// The place that [`Hold::vacant`] gave is free no more.
    #[inline]
    pub fn occupy(&mut self) {
        self.free.pop_front();
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        if self.places.len() == self.places.capacity() {
            // By a quarter, not twofold: of many packets the room not used is much.
            self.places.reserve_exact((self.places.len() / 4).max(64));
        }
        let index = self.places.len() as u32;
        self.places.push(Cargo::default());
        self.free.push_back(index);
        index
    }

    /// Stores `cargo` and gives its index.
    pub fn store(&mut self, cargo: Cargo) -> u32 {
        let index = self.vacant();
        self.occupy();
        *self.at(index) = cargo;
        index
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
        self.free(id);
        self.places[id as usize]
    }

    /// Whoever had the cargo with handle `id` needs it no more.
    #[inline]
    pub fn free(&mut self, id: u32) {
        self.free.push_back(id);
    }

    /// Ends `packet`'s life and gives back its cargo.
    pub fn retire(&mut self, packet: Packet) -> &Cargo {
        let index = packet.retire();
        self.free(index);
        &self.places[index as usize]
    }

    /// Most packets that were ever under way at once.
    pub fn peak(&self) -> usize {
        self.places.len()
    }
}
