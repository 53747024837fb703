//! The order of things: events, their keys, and what has happened so far.

use crate::wireless::Wake;
use forebay_core::Time;

/// What happens. Each carries the index of whom it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A link's rate changes by schedule.
    RateChange(u32),
    /// A link is free to send its next packet.
    LinkFree(u32),
    /// The first packet of a pipe arrives.
    Arrival(u32),
    /// A link that is advanced lazily is advanced.
    Advance(u32),
    /// A TCP sender's timer: retransmission, persist or pacing.
    SenderTimer(u32),
    /// A TCP receiver's timer: delayed acknowledgment.
    ReceiverTimer(u32),
    /// A box wants to be asked what it has to send.
    BoxTimer(u32),
    /// A datagram source sends.
    Datagram(u32),
    /// A scheduled transfer begins.
    Transfer(u32),
    /// The endless transfer of a connection ends.
    End(u32),
    /// The receiver of a connection that is over takes no more.
    Closed(u32),
    /// The same, where its sender is in another part of the network. Not counted: the sender's is.
    Forgotten(u32),
    /// Something in the wireless network.
    Wireless(Wake),
    /// The warm-up ends: measurements begin.
    WarmupEnd,
    /// A point of every time series is due.
    Sample,
}

impl Event {
    /// Order among events of the same instant. What a lazy link has sent may arrive then. A link's new
    /// rate holds for what departs. A departure makes room for what arrives. Timers and sources follow. A
    /// measurement sees the end of the instant, and the warm-up ends after a point that is due with it.
    fn rank(self) -> u64 {
        match self {
            Event::Advance(_) => 0,
            Event::RateChange(_) => 1,
            Event::LinkFree(_) => 2,
            Event::Arrival(_) | Event::Wireless(Wake::FrameEnd(_)) => 3,
            Event::Wireless(_) => 4,
            Event::SenderTimer(_) => 5,
            Event::ReceiverTimer(_) => 6,
            Event::BoxTimer(_) => 7,
            Event::Datagram(_) => 8,
            Event::Transfer(_) => 9,
            Event::End(_) => 10,
            Event::Closed(_) | Event::Forgotten(_) => 11,
            Event::Sample => 12,
            Event::WarmupEnd => 13,
        }
    }
}

/// An event's place: time, then rank, then whose it is, then the order in which events were scheduled.
///
/// Whose it is comes first, so that the order does not depend on when an event was scheduled relative
/// to those of others: parts of a network that are computed apart have the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When.
    pub time: Time,
    /// Rank in the upper four bits, whose it is in 26, sequence below.
    order: u64,
}

/// Bits of the sequence. Two events of one party at one instant are never so far apart.
const SEQUENCE: u32 = 34;
/// Bits of rank and sequence.
const RANK: u32 = 60;

impl Key {
    /// That of nothing: after all others.
    pub const NEVER: Key = Key { time: Time::MAX, order: u64::MAX };

    /// A time by itself, of what has no entry in an agenda.
    #[inline]
    pub fn at(time: Time) -> Key {
        Key { time, order: 0 }
    }

    /// That of the event of `whose` at `time`, if it has no equal in an agenda.
    #[inline(always)]
    pub fn of(time: Time, event: Event, whose: u32) -> Key {
        debug_assert!(whose < 1 << (RANK - SEQUENCE), "{whose}");
        Key { time, order: event.rank() << RANK | u64::from(whose) << SEQUENCE }
    }

    /// Whether it comes before `other`: `<`, as one comparison of 128 bits.
    #[inline]
    pub fn precedes(self, other: Key) -> bool {
        let whole = |key: Key| u128::from(key.time.as_nanos()) << 64 | u128::from(key.order);
        whole(self) < whole(other)
    }
}

/// Numbers events in the order of their scheduling.
#[derive(Debug, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The key of the next event scheduled. `whose` it is: a stop, a link or a user, below 2^26.
    #[inline]
    pub fn key(&mut self, time: Time, event: Event, whose: u32) -> Key {
        self.0 += 1;
        let Key { order, .. } = Key::of(time, event, whose);
        Key { time, order: order | self.0 & ((1 << SEQUENCE) - 1) }
    }
}

/// What has happened so far: how many events, their fingerprint, and data packets delivered.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    fingerprint: u64,
    /// Data packets delivered.
    pub packets: u64,
    events: u64,
}

impl Tally {
    /// Nothing yet; the fingerprint begins as `fingerprint`.
    pub fn new(fingerprint: u64) -> Self {
        Tally { fingerprint, ..Tally::default() }
    }

    /// Counts an event at `time`, and adds it and `whose` it is to the fingerprint: a sum, so that parts
    /// of a network may be computed apart.
    #[inline]
    pub fn note(&mut self, time: Time, whose: u32) {
        self.events += 1;
        let mixed = (time.as_nanos() ^ u64::from(whose) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
    }

    /// Adds what has happened elsewhere.
    pub fn absorb(&mut self, other: Tally) {
        self.events += other.events;
        self.packets += other.packets;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }

    /// (fingerprint, events, data packets delivered).
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.fingerprint, self.events, self.packets)
    }
}
