//! Packets under way, with all that the simulator knows of them beyond what a queue sees.

use crate::traffic::Marks;
use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{Duration, Packet, PacketKind, Time, fetch};
use forebay_tcp::{Flags, Segment};
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, replace};

/// A packet and the rest of it; the packet's `id` is its index.
#[derive(Debug)]
#[repr(C)]
pub struct Cargo {
    /// TCP header; unused by datagrams.
    pub segment: Segment,
    /// What queues see. It is theirs while one has it; what stands here then means nothing.
    pub packet: ManuallyDrop<Packet>,
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

impl Default for Cargo {
    fn default() -> Self {
        Cargo {
            segment: Segment::default(),
            packet: no_packet(),
            sent: Time::ZERO,
            waited: Duration::ZERO,
            stop: 0,
            flow: DATAGRAM,
            life: 0,
            number: 0,
            user: 0,
            backward: false,
        }
    }
}

#[inline]
fn no_packet() -> ManuallyDrop<Packet> {
    ManuallyDrop::new(Packet::new(0, 0, 0))
}

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

    /// Its packet has the handle `id`, and carries its segment. Queues see `number` as its flow. The
    /// packet's length.
    #[inline]
    pub fn pack(&mut self, id: u32, number: u32, marks: &Marks) -> u32 {
        let segment = &self.segment;
        let len = segment.ip_len();
        let mut packet = Packet::new(id, number, len);
        marks.apply(&mut packet);
        packet.set_ecn(segment.ecn());
        packet.kind = kind_of(segment);
        self.packet = ManuallyDrop::new(packet);
        len
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

fn kind_of(segment: &Segment) -> PacketKind {
    if segment.len > 0 {
        PacketKind::Data
    } else if segment.flags.has(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
        PacketKind::Control
    } else {
        PacketKind::PureAck
    }
}

/// All cargo under way. Lanes and events have handles; a packet lies here until a queue, a box or the air
/// takes it, so that it is not copied from lane to lane. Freed places are used again, those first that were freed first: packets
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

    /// Stores `cargo` and gives its index, which its packet has from now on.
    pub fn store(&mut self, mut cargo: Cargo) -> u32 {
        let id = self.vacant();
        self.occupy();
        cargo.packet.id = id;
        *self.at(id) = cargo;
        id
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

    /// Hands the packet with handle `id` out; its cargo stays.
    #[inline]
    pub fn hand_out(&mut self, id: u32) -> Packet {
        ManuallyDrop::into_inner(replace(&mut self.at(id).packet, no_packet()))
    }

    /// Takes back a packet that was handed out; its handle is the answer.
    #[inline]
    pub fn take_back(&mut self, packet: Packet) -> u32 {
        let id = packet.id;
        self.at(id).packet = ManuallyDrop::new(packet);
        id
    }

    /// Reads the cargo with handle `id` ahead of its use.
    #[inline]
    pub fn fetch(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.segment);
        fetch(&cargo.packet);
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
        std::mem::take(self.at(id))
    }

    /// Whoever had the cargo with handle `id` needs it no more.
    #[inline]
    pub fn free(&mut self, id: u32) {
        self.free.push_back(id);
    }

    /// Ends the life of `packet`, which was handed out, and gives back its cargo.
    pub fn retire(&mut self, packet: Packet) -> &Cargo {
        let id = packet.retire();
        self.free(id);
        self.look(id)
    }

    /// Most packets that were ever under way at once.
    pub fn peak(&self) -> usize {
        self.places.len()
    }
}
