//! Cargo: packets under way, with the data that queues do not see.

use crate::engine::table::{Table, with_room};
use crate::traffic::Marks;
use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{Duration, Packet, PacketKind, Time, fetch};
use forebay_tcp::{Flags, Segment};
use std::mem::{ManuallyDrop, replace};

/// A packet with the data that queues do not see. The packet's `id` is its place in the hold.
#[derive(Debug)]
#[repr(C)]
pub struct Cargo {
    /// TCP header; unused by datagrams.
    pub segment: Segment,
    /// The packet that queues see. While a queue has it, this is only a placeholder.
    pub packet: ManuallyDrop<Packet>,
    // Links need the fields up to the number, hosts all of them.
    /// Time that it has waited in queues so far.
    pub waited: Duration,
    /// Index of the stop to which it goes.
    pub stop: u32,
    pub user: u32,
    /// Number of a data packet among those of its user, in order of sending.
    pub number: u64,
    /// Time at which it was sent.
    pub sent: Time,
    /// Flow of its connection, or [`DATAGRAM`].
    pub flow: u32,
    /// Life of its connection: flows are used again. [`ENDPOINT`] if an endpoint has sent it.
    pub life: u32,
    /// Whether it goes from receiver to sender.
    pub backward: bool,
}

/// The flow of a packet that belongs to no connection.
pub const DATAGRAM: u32 = u32::MAX;

/// The life of a packet that an endpoint has sent: the hold has its bytes.
pub const ENDPOINT: u32 = 1;

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

fn no_packet() -> ManuallyDrop<Packet> {
    ManuallyDrop::new(Packet::new(0, 0, 0))
}

impl Cargo {
    /// Begins the way of a segment at `now`, to stop `stop`.
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

    /// Makes the packet of the segment, in place `id`, with `number` as its flow for queues. Returns its
    /// length.
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

    /// The header of the segment, with the window in units of 2^`shift` bytes; None for a datagram.
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

/// The hold: all cargo under way. A packet stays in its place until a queue, a box or the air takes it, so
/// that it is not copied from pipe to pipe; pipes and events have its handle, the index of the place.
///
/// Places are given in a round: packets that are sent after each other are next to each other, which
/// hardware prefetches, and share pages.
#[derive(Debug)]
pub struct Hold {
    places: Table<Cargo>,
    /// A bit for each place: whether it is free. The places in `open` are not free here.
    free: Vec<u64>,
    /// Number of free places.
    left: usize,
    /// More places are allocated if no more than 1 in 2^`spare` is free.
    spare: u32,
    /// The word of `free` that the round has reached.
    word: usize,
    /// Places of this word that are still to be given in this round.
    open: u64,
    /// The first of these.
    next: u32,
    /// By place, the bytes of packets that endpoints have sent. A buffer stays with its place.
    bytes: Vec<Vec<u8>>,
}

impl Hold {
    pub fn new(many: bool) -> Self {
        let mut hold = Hold {
            places: with_room(0),
            free: Vec::new(),
            left: 0,
            // With half of the places free, places of one half are free again when the round is in the
            // other, next to each other. With few users, less memory is better.
            spare: if many { 1 } else { 4 },
            word: 0,
            open: 0,
            next: 0,
            bytes: Vec::new(),
        };
        hold.go_on();
        hold
    }

    /// The place for the next cargo. It remains free until [`Hold::occupy`].
    pub fn vacant(&self) -> u32 {
        self.next
    }

    /// Takes the place that [`Hold::vacant`] returned.
    #[inline]
    pub fn occupy(&mut self) {
        self.left -= 1;
        self.open &= self.open - 1;
        if self.open == 0 {
            self.go_on();
        }
        self.next = self.word as u32 * 64 + self.open.trailing_zeros();
    }

    /// Continues the round in the next word with free places.
    #[inline(never)]
    fn go_on(&mut self) {
        if self.left <= self.places.len() >> self.spare {
            self.grow();
        }
        while self.open == 0 {
            self.word = if self.word + 1 < self.free.len() { self.word + 1 } else { 0 };
            self.open = std::mem::take(&mut self.free[self.word]);
        }
    }

    #[cold]
    fn grow(&mut self) {
        // Grows by an eighth, not twofold, because unused places of many packets take much memory. Capacity
        // doubles: it takes only addresses until it is used, and without it all places are copied.
        let words = (self.free.len() / 8).max(1);
        let more = 64 * words;
        if self.places.capacity() < self.places.len() + more {
            self.places.reserve_exact(more.max(self.places.len()));
        }
        self.places.extend((0..more).map(|_| Cargo::default()));
        self.free.resize(self.free.len() + words, !0);
        self.left += more;
    }

    /// Stores `cargo`. Returns its handle.
    pub fn store(&mut self, mut cargo: Cargo) -> u32 {
        let id = self.vacant();
        self.occupy();
        cargo.packet.id = id;
        *self.at(id) = cargo;
        id
    }

    /// Stores `cargo` with `bytes`, and exchanges them for a buffer that is free. Returns its handle.
    pub fn store_bytes(&mut self, cargo: Cargo, bytes: &mut Vec<u8>) -> u32 {
        let id = self.store(cargo);
        if self.bytes.len() <= id as usize {
            self.bytes.resize_with(self.places.len(), Vec::new);
        }
        std::mem::swap(&mut self.bytes[id as usize], bytes);
        id
    }

    /// Exchanges the bytes of packet `id`, which an endpoint has sent, for those of `buffer`.
    pub fn take_bytes(&mut self, id: u32, buffer: &mut Vec<u8>) {
        std::mem::swap(&mut self.bytes[id as usize], buffer);
    }

    pub fn at(&mut self, id: u32) -> &mut Cargo {
        &mut self.places[id as usize]
    }

    pub fn look(&self, id: u32) -> &Cargo {
        &self.places[id as usize]
    }

    /// Hands out packet `id`. The rest of its cargo stays.
    pub fn hand_out(&mut self, id: u32) -> Packet {
        ManuallyDrop::into_inner(replace(&mut self.at(id).packet, no_packet()))
    }

    /// Takes back a packet that was handed out. Returns its handle.
    pub fn take_back(&mut self, packet: Packet) -> u32 {
        let id = packet.id;
        self.at(id).packet = ManuallyDrop::new(packet);
        id
    }

    /// Fetches the cargo of packet `id` for a host.
    pub fn fetch(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.segment);
        fetch(&cargo.packet);
        fetch(&cargo.backward);
    }

    /// The same for a link, which does not need the segment.
    pub fn fetch_packet(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.packet);
        fetch(&cargo.number);
    }

    /// Fetches the place that will probably be given after `count` others.
    pub fn fetch_free(&self, count: usize) {
        let id = self.next as usize + count;
        if id < self.places.len() {
            self.fetch(id as u32);
        }
    }

    /// Removes the cargo of packet `id`.
    pub fn lift(&mut self, id: u32) -> Cargo {
        self.free(id);
        std::mem::take(self.at(id))
    }

    /// Moves the TCP header of packet `id` to the next free place, and frees its own. Returns the new one.
    pub fn pass_on(&mut self, id: u32) -> u32 {
        let index = self.vacant();
        self.occupy();
        self.at(index).segment = self.look(id).segment;
        self.free(id);
        index
    }

    pub fn free(&mut self, id: u32) {
        let (word, bit) = (&mut self.free[id as usize / 64], 1 << (id % 64));
        debug_assert!(*word & bit == 0, "it is free already");
        *word |= bit;
        self.left += 1;
    }

    /// Ends the life of `packet`, which was handed out. Returns the rest of its cargo.
    pub fn retire(&mut self, packet: Packet) -> &Cargo {
        let id = packet.retire();
        self.free(id);
        self.look(id)
    }

    /// Number of packets under way.
    pub fn count(&self) -> usize {
        self.places.len() - self.left
    }
}
