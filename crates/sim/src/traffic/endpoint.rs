//! Endpoints: hosts whose protocol is somebody else's code, without I/O.

use forebay_core::{Ecn, Rng, Time};

/// One end of a flow: a protocol without I/O. It is told the time and what arrives, and is asked what it
/// sends. It must take time and random numbers from nowhere else, or equal seeds do not give equal runs.
///
/// After each call of [`Endpoint::begin`], [`Endpoint::receive`], [`Endpoint::on_deadline`] and
/// [`Endpoint::end`], it is asked for all datagrams that it can send now, then for its deadline.
pub trait Endpoint: Send {
    /// The flow begins. Called once, at the flow's start.
    fn begin(&mut self, _now: Time) {}

    /// A datagram arrives with ECN codepoint `ecn`. Its bytes are what the other end wrote.
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn);

    /// Writes the next datagram to `datagram`, which is empty, and returns its ECN codepoint. None if
    /// it can send nothing now; what it has written is ignored then.
    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn>;

    /// The time at which [`Endpoint::on_deadline`] is to be called unless it is called for something
    /// else before. A time in the past means now.
    fn deadline(&mut self, now: Time) -> Option<Time>;

    /// The deadline has passed.
    fn on_deadline(&mut self, now: Time);

    /// The flow's `stop` is reached: the end may close what it has open. Called once, and only for the
    /// sending end.
    fn end(&mut self, _now: Time) {}

    /// Bytes of headers that every datagram gets on its way: 28 for UDP over IPv4. 0 for an end that
    /// writes whole IP packets.
    fn headers(&self) -> u32 {
        28
    }

    /// Its own account of the flow, for the results.
    fn account(&self) -> Account {
        Account::default()
    }

    /// A transfer that was completed at this end and not yet returned. Asked after each call.
    fn completed(&mut self) -> Option<Completed> {
        None
    }

    /// The reason why it cannot go on. It ends the run.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// What an endpoint counts since it began. What it does not know is None or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Bytes that its application has received. None: the payload of datagrams that arrived counts.
    pub delivered: Option<u64>,
    /// Whether data may be sent.
    pub is_open: bool,
    /// Congestion window in bytes.
    pub cwnd: Option<u64>,
    /// Packets that it found lost and whose data it sent again.
    pub retransmissions: u64,
    /// Timeouts of its loss detection.
    pub timeouts: u64,
}

/// A completed transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// When the sender began it.
    pub start: Time,
    /// Its payload in bytes.
    pub bytes: u64,
}

/// Makes the two ends of a flow: the sending one, at `from`, and the receiving one, at `to`. What arrives
/// at the receiving end counts as data, what arrives at the sending one as acknowledgments. Their random
/// numbers are to come from the stream.
pub type Pair = Box<dyn FnOnce(Rng) -> [Box<dyn Endpoint>; 2] + Send>;
