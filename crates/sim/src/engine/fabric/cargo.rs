//! Packets under way, with all that the simulator knows of them beyond what a queue sees.

use crate::engine::table::{Table, with_room};
use crate::traffic::Marks;
use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{Duration, Packet, PacketKind, Time, fetch};
use forebay_tcp::{Flags, Segment};
use std::mem::{ManuallyDrop, replace};

/// A packet and the rest of it; the packet's `id` is its index.
#[derive(Debug)]
#[repr(C)]
pub struct Cargo {
    /// TCP header; unused by datagrams.
    pub segment: Segment,
    /// What queues see. It is theirs while one has it; what stands here then means nothing.
    pub packet: ManuallyDrop<Packet>,
    // Links look at what follows up to the number, hosts at all of it.
    /// How long it has waited in queues so far.
    pub waited: Duration,
    /// Where it goes next: index among the stops.
    pub stop: u32,
    /// User whose traffic it is.
    pub user: u32,
    /// Number among the data packets of its user, in order of sending; unused by others.
    pub number: u64,
    /// When the packet was sent.
    pub sent: Time,
    /// Connection (index among the flows), or [`DATAGRAM`].
    pub flow: u32,
    /// Life of the connection that it belongs to; an index is used again after the end.
    pub life: u32,
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

/// All cargo under way. Pipes and events have handles; a packet lies here until a queue, a box or the air
/// takes it, so that it is not copied from pipe to pipe.
///
/// What is stored next gets the next place that is free, round and round: packets that follow each other
/// lie behind each other, which is what caches foresee, and share pages.
#[derive(Debug)]
pub struct Hold {
    places: Table<Cargo>,
    /// Of each place, whether it is free, a bit; but not those of `open`.
    free: Vec<u64>,
    /// How many are free, and how many are to be: of all places one in 2 to the power of so many.
    left: usize,
    spare: u32,
    /// The word in which the round is, the places of it that are still to be given in this round, and the
    /// first of them.
    word: usize,
    open: u64,
    next: u32,
}

impl Hold {
    /// No cargo, for `many` users or few.
    pub fn new(many: bool) -> Self {
        let mut hold = Hold {
            places: with_room(0),
            free: Vec::new(),
            left: 0,
            // In the second half of the round those of the first are free again, all beside each other.
            // Where memory is near, less of it is better.
            spare: if many { 1 } else { 4 },
            word: 0,
            open: 0,
            next: 0,
        };
        hold.go_on();
        hold
    }

    /// The place for what is stored next; until [`Hold::occupy`] it remains free.
    #[inline]
    pub fn vacant(&self) -> u32 {
        self.next
    }

    /// The place that [`Hold::vacant`] gave is free no more.
    #[inline]
    pub fn occupy(&mut self) {
        self.left -= 1;
        self.open &= self.open - 1;
        if self.open == 0 {
            self.go_on();
        }
        self.next = self.word as u32 * 64 + self.open.trailing_zeros();
    }

    /// The round goes on in the next word that has free places.
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
        // By an eighth, not twofold: of many packets the places not used are much. Room for more is
        // only addresses, and where there is none all places have to be copied.
        let words = (self.free.len() / 8).max(1);
        let more = 64 * words;
        if self.places.capacity() < self.places.len() + more {
            self.places.reserve_exact(more.max(self.places.len()));
        }
        self.places.extend((0..more).map(|_| Cargo::default()));
        self.free.resize(self.free.len() + words, !0);
        self.left += more;
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

    /// Reads the cargo with handle `id` ahead of its use by hosts.
    #[inline]
    pub fn fetch(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.segment);
        fetch(&cargo.packet);
        fetch(&cargo.backward);
    }

    /// The same ahead of its use by links, which do not look at its segment.
    #[inline]
    pub fn fetch_packet(&self, id: u32) {
        let cargo = &self.places[id as usize];
        fetch(&cargo.packet);
        fetch(&cargo.number);
    }

    /// Fetches the place for the cargo that is likely stored after `count` others.
    pub fn fetch_free(&self, count: usize) {
        let id = self.next as usize + count;
        if id < self.places.len() {
            self.fetch(id as u32);
        }
    }

    /// Takes the cargo with handle `id` out.
    pub fn lift(&mut self, id: u32) -> Cargo {
        self.free(id);
        std::mem::take(self.at(id))
    }

    /// Ends the life of the packet with handle `id`. Its TCP header moves to the next free place, whose
    /// handle is the answer.
    pub fn pass_on(&mut self, id: u32) -> u32 {
        let index = self.vacant();
        self.occupy();
        self.at(index).segment = self.look(id).segment;
        self.free(id);
        index
    }

    /// Frees the place of the cargo with handle `id`.
    #[inline]
    pub fn free(&mut self, id: u32) {
        let (word, bit) = (&mut self.free[id as usize / 64], 1 << (id % 64));
        debug_assert!(*word & bit == 0, "it is free already");
        *word |= bit;
        self.left += 1;
    }

    /// Ends the life of `packet`, which was handed out, and gives back its cargo.
    pub fn retire(&mut self, packet: Packet) -> &Cargo {
        let id = packet.retire();
        self.free(id);
        self.look(id)
    }

    /// Packets under way.
    pub fn count(&self) -> usize {
        self.places.len() - self.left
    }
}
