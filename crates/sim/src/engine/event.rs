//! Events, their order, and counts of those that were handled.

use crate::wireless::Wake;
use forebay_core::Time;

/// An event, with the index of its link, pipe, flow, user, transfer or box.
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
    /// An endpoint's deadline, its start, or its stop: of user index / 2, the receiving end if odd.
    Endpoint(u32),
    /// A box wants to be asked what it has to send.
    BoxTimer(u32),
    /// A datagram source sends.
    Datagram(u32),
    /// A scheduled transfer begins.
    Transfer(u32),
    /// The endless transfer of a connection ends.
    End(u32),
    /// The receiver of a connection whose sender has ended takes no more packets.
    Closed(u32),
    /// The wireless network has asked for this.
    Wireless(Wake),
    /// The warm-up ends: measurements begin.
    WarmupEnd,
    /// A point of every time series is due.
    Sample,
}

impl Event {
    /// Order of events at the same time. Lazy links are advanced first, as their packets may arrive
    /// then. A new rate holds for the packet that departs, and a departure makes room for an arrival.
    /// Timers and sources follow. Samples are taken after all others, and the warm-up ends after them.
    fn rank(self) -> u64 {
        match self {
            Event::Advance(_) => 0,
            Event::RateChange(_) => 1,
            Event::LinkFree(_) => 2,
            Event::Arrival(_) | Event::Wireless(Wake::FrameEnd(_)) => 3,
            Event::Wireless(_) => 4,
            Event::SenderTimer(_) => 5,
            Event::ReceiverTimer(_) => 6,
            Event::Endpoint(_) => 7,
            Event::BoxTimer(_) => 8,
            Event::Datagram(_) => 9,
            Event::Transfer(_) => 10,
            Event::End(_) => 11,
            Event::Closed(_) => 12,
            Event::Sample => 13,
            Event::WarmupEnd => 14,
        }
    }
}

/// Place of an event in the order: time, rank, party, and then the sequence of scheduling.
///
/// The party (a stop, a link or a user) comes before the sequence, so that the order does not depend on
/// when other parties schedule their events. So a network in several parts has the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub time: Time,
    /// Rank in the upper four bits, the party in 26, the sequence below.
    order: u64,
}

/// Bits of the sequence, which wraps. Two events of one party at one time are never so far apart.
const SEQUENCE: u32 = 34;
/// Bits of rank and sequence.
const RANK: u32 = 60;

impl Key {
    /// A key after all others, for no event.
    pub const NEVER: Key = Key { time: Time::MAX, order: u64::MAX };

    /// A key for a time alone, without an entry in an agenda.
    pub fn at(time: Time) -> Key {
        Key { time, order: 0 }
    }

    /// The key of an event of party `whose`, which has only this one at `time`.
    #[inline(always)]
    pub fn of(time: Time, event: Event, whose: u32) -> Key {
        debug_assert!(whose < 1 << (RANK - SEQUENCE), "{whose}");
        Key { time, order: event.rank() << RANK | u64::from(whose) << SEQUENCE }
    }

    /// `self < other`, as one comparison of 128 bits.
    pub fn precedes(self, other: Key) -> bool {
        let whole = |key: Key| u128::from(key.time.as_nanos()) << 64 | u128::from(key.order);
        whole(self) < whole(other)
    }
}

/// Numbers events in the order of their scheduling.
#[derive(Debug, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The key of the next event, of party `whose` (below 2^26).
    pub fn key(&mut self, time: Time, event: Event, whose: u32) -> Key {
        self.0 += 1;
        let Key { order, .. } = Key::of(time, event, whose);
        Key { time, order: order | self.0 & ((1 << SEQUENCE) - 1) }
    }
}

/// Counts of the events so far, and their fingerprint.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    fingerprint: u64,
    /// Data packets delivered.
    pub packets: u64,
    events: u64,
}

impl Tally {
    /// No events yet.
    pub fn new(fingerprint: u64) -> Self {
        Tally { fingerprint, ..Tally::default() }
    }

    /// Counts an event of party `whose` at `time`, and adds it to the fingerprint. The fingerprint is a
    /// sum, so that the parts of a network have the fingerprint of the whole.
    pub fn note(&mut self, time: Time, whose: u32) {
        self.events += 1;
        let mixed = (time.as_nanos() ^ u64::from(whose) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
    }

    /// Adds the counts of another part of the network.
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
