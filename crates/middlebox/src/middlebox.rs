//! The interface of every box.

use crate::{Ack, Header, Verdict};
use forebay_core::Time;

/// A box in front of a link's queue. *Forward* is towards the queue, *backward* is over the link's
/// reverse direction.
///
/// The caller passes the header of each packet to [`Middlebox::forward`] or
/// [`Middlebox::backward`], and does what the [`Verdict`] says. Then it sends what
/// [`Middlebox::poll`] returns, until that is None; all of this goes backward, to the senders. It
/// also polls when [`Middlebox::wake`] has come. Time must not decrease.
pub trait Middlebox: Send {
    /// A packet on its way to the queue.
    fn forward(&mut self, now: Time, header: &Header) -> Verdict;

    /// A packet from the link's reverse direction. It is passed on or rewritten, not answered.
    fn backward(&mut self, now: Time, header: &Header) -> Verdict;

    /// The next acknowledgment to send to a sender now. Call it until it returns None.
    fn poll(&mut self, now: Time) -> Option<Ack>;

    /// When to call [`Middlebox::poll`] next, if no packet passes before.
    fn wake(&self) -> Option<Time>;

    /// Most flows that it can remember.
    fn most_flows(&self) -> usize;

    /// Counts of what it has done so far.
    fn counts(&self) -> Counts;

    /// Reports internal variables by name, for plots.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// Counters and present state of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of freezes of a flow.
    pub freezes: u64,
    /// Number of ends of a freeze.
    pub releases: u64,
    /// Number of windows rewritten.
    pub rewritten: u64,
    /// Number of window probes answered.
    pub probes_answered: u64,
    /// Number of acknowledgments made, without answers to probes.
    pub made: u64,
    /// Number of flows forgotten for lack of room.
    pub evicted: u64,
    /// Flows known now.
    pub flows: u64,
    /// Flows held back now.
    pub frozen: u64,
    /// Flows for which others are, or would be, held back.
    pub active: u64,
}
