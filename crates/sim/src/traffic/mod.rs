//! What users send: datagram sources (open loop) and transfers over TCP.

use forebay_core::{Rng, Time};

/// One datagram that a source sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// When it is sent; never before the one that came before it.
    pub at: Time,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// Flow among the source's own, below [`Datagrams::flows`].
    pub flow: u32,
    /// Marks that replace those of the traffic entry (a replayed capture has its own).
    pub marks: Option<Marks>,
}

/// What classifiers see of a packet beside its size and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// QoS class q.
    pub class: u8,
    /// Precedence p; higher is more important.
    pub precedence: u8,
    /// Drop precedence; higher is dropped first.
    pub drop_precedence: u8,
    /// DS field codepoint, 0 to 63.
    pub dscp: u8,
}

/// An open-loop source of datagrams.
pub trait Datagrams: Send {
    /// Number of flows; constant.
    fn flows(&self) -> u32 {
        1
    }

    /// The next datagram, at `after` or later; None when the source has ended. `after` is the
    /// source's start at the first call and the last datagram's instant from then on.
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram>;
}

/// One transfer over a TCP connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// When it begins.
    pub at: Time,
    /// Payload bytes; None: without end.
    pub bytes: Option<u64>,
}

/// A user who transfers data over TCP.
pub trait Transfers: Send {
    /// The first transfer of an open-loop user, or the one that follows whatever becomes of the
    /// last, at `after` or later. `after` is the user's start at the first call and the last
    /// transfer's beginning from then on.
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Transfer>;

    /// The transfer that follows the end of one (closed loop), at `now` or later.
    fn completed(&mut self, _now: Time, _rng: &mut Rng) -> Option<Transfer> {
        None
    }
}
