//! The rules of a stack whose sender counts offsets of the stream.

use crate::{Segment, SenderStats};
use forebay_core::{Duration, Time};
use std::fmt;

/// The state of a connection, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The time.
    pub now: Time,
    /// The first offset not acknowledged.
    pub una: u64,
    /// The first offset never sent.
    pub next: u64,
    /// Payload of the next segment of new data. None if there are no data, or no room for them.
    pub new: Option<u64>,
    /// Room that the receiver offers, in bytes from `una` on.
    pub room: u64,
    /// Payload of a full segment in bytes.
    pub mss: u64,
}

impl Flow {
    /// Payload of a segment that begins at `start`.
    pub fn len(&self, start: u64) -> Option<u64> {
        if start < self.next { Some(self.mss.min(self.next - start)) } else { self.new }
    }
}

/// An acknowledgment that is not old.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// The segment that has it.
    pub segment: &'a Segment,
    /// Whether it asks for a reduction (RFC 3168).
    pub echo: bool,
    /// The round-trip time that its timestamp shows.
    pub rtt: Option<Duration>,
}

/// The rules of one sender: a state machine that says what is sent next.
pub trait Rules: fmt::Debug + Send {
    /// The handshake is over. `rtt` is its duration, unless its SYN was lost.
    fn on_established(&mut self, _now: Time, _rtt: Option<Duration>) {}

    /// Reads an acknowledgment. Returns the time of the timer, if it must be set again.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack<'_>, stats: &mut SenderStats) -> Option<Duration>;

    /// The retransmission timer expired. Returns its next time.
    fn on_timeout(&mut self, flow: &Flow) -> Duration;

    /// Start of the next segment to send now. [`Rules::sent`] follows.
    fn poll(&mut self, flow: &Flow) -> Option<u64>;

    /// The segment from `start` to `end` is sent, as [`Rules::poll`] asked. `flow` is as it was
    /// before.
    fn sent(&mut self, flow: &Flow, start: u64, end: u64);

    /// Whether the window was reduced since the last call (RFC 3168, CWR).
    fn take_reduced(&mut self) -> bool {
        false
    }

    /// Whether only a timeout allows a segment, and the timer must run.
    fn shut(&self) -> bool {
        false
    }

    /// Congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Slow start threshold in bytes.
    fn ssthresh(&self) -> u64;

    /// Smoothed round-trip time, once measured.
    fn srtt(&self) -> Option<Duration>;

    /// Retransmission timeout, backoff included.
    fn rto(&self) -> Duration;

    /// Bytes of heap memory, including the value itself. Only rules that point to more than
    /// themselves say it.
    fn heap(&self) -> usize {
        size_of_val(self)
    }
}
