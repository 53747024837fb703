//! What every box does.

use crate::{Ack, Header, Verdict};
use forebay_core::Time;

/// A box in front of a link's queue. *Forward* is towards the queue, *backward* what comes over the
/// link's reverse.
///
/// Whoever carries packets calls [`Middlebox::forward`] and [`Middlebox::backward`] with the header of
/// each, does what the [`Verdict`] says, and then sends what [`Middlebox::poll`] gives, until it gives
/// nothing; all of that goes backward, to the senders. It polls as well when [`Middlebox::wake`] has
/// come. Time never decreases.
pub trait Middlebox: Send {
    /// A packet on its way to the queue.
    fn forward(&mut self, now: Time, header: &Header) -> Verdict;

    /// A packet that came over the link's reverse; it is passed on or rewritten, not answered.
    fn backward(&mut self, now: Time, header: &Header) -> Verdict;

    /// The next acknowledgment to send to a sender now. Call until it answers None.
    fn poll(&mut self, now: Time) -> Option<Ack>;

    /// When to call [`Middlebox::poll`] next, if nothing passes before.
    fn wake(&self) -> Option<Time>;

    /// Most flows that it remembers.
    fn most_flows(&self) -> usize;

    /// What it did so far.
    fn counts(&self) -> Counts;

    /// Reports internal variables by name, for plots.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// What a box did, and what it knows now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Times that it held back a flow.
    pub freezes: u64,
    /// Ends of that.
    pub releases: u64,
    /// Windows rewritten.
    pub rewritten: u64,
    /// Window probes answered.
    pub probes_answered: u64,
    /// Acknowledgments made, answers to probes not counted.
    pub made: u64,
    /// Flows forgotten for lack of room.
    pub evicted: u64,
    /// Flows known.
    pub flows: u64,
    /// Flows held back.
    pub frozen: u64,
    /// Flows for which others are, or would be, held back.
    pub active: u64,
}
