//! Historical senders, rule by rule as in their sources, so that they can be compared with the
//! programs themselves. The comment of each rule names the function of the source.
//!
//! [`crate::Sender`] handles the connection (handshake, flow control, window probes, FIN) and the
//! octets on the wire. A stack says which offset is sent next, and when the timer expires.

mod ns2;
mod ns318;

use crate::{Config, SenderStats};
use forebay_core::{Duration, Time};
use ns2::Ns2;
use ns318::Ns318;

/// What a stack is shown of its connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) now: Time,
    /// The first offset not acknowledged.
    pub(crate) una: u64,
    /// The first offset never sent.
    pub(crate) next: u64,
    /// Payload of the next segment of new data. None if there are no data, or no room for them.
    pub(crate) new: Option<u64>,
    /// Room that the receiver offers, from `una` on.
    pub(crate) room: u64,
    pub(crate) mss: u64,
}

impl Flow {
    /// Payload of a segment that begins at `start`.
    fn len(&self, start: u64) -> Option<u64> {
        if start < self.next { Some(self.mss.min(self.next - start)) } else { self.new }
    }
}

/// An acknowledgment that is not old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack<'a> {
    pub(crate) segment: &'a crate::Segment,
    /// Whether it asks for a reduction (RFC 3168).
    pub(crate) echo: bool,
    /// The round-trip time that its timestamp shows.
    pub(crate) rtt: Option<Duration>,
}

/// A historical sender.
#[derive(Debug)]
pub(crate) enum Stack {
    Ns2(Ns2),
    Ns318(Ns318),
}

/// Calls the same method of either stack.
macro_rules! each {
    ($stack:expr, $one:ident => $call:expr) => {
        match $stack {
            Stack::Ns2($one) => $call,
            Stack::Ns318($one) => $call,
        }
    };
}

impl Stack {
    /// The stack of `config`. None if it is this crate's own.
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        match config.stack {
            crate::Stack::Ns2 => Some(Box::new(Stack::Ns2(Ns2::new(config)))),
            crate::Stack::Ns318 => Some(Box::new(Stack::Ns318(Ns318::new(config)))),
            _ => None,
        }
    }

    /// The handshake is over. `rtt` is its duration, unless its SYN was lost.
    pub(crate) fn on_established(&mut self, now: Time, rtt: Option<Duration>) {
        match self {
            Stack::Ns2(stack) => stack.on_established(now, rtt),
            Stack::Ns318(_) => {}
        }
    }

    /// Reads an acknowledgment. Returns the time of the timer, if it must be set again.
    pub(crate) fn on_ack(
        &mut self,
        flow: &Flow,
        ack: &Ack<'_>,
        stats: &mut SenderStats,
    ) -> Option<Duration> {
        each!(self, stack => stack.on_ack(flow, ack, stats))
    }

    /// The retransmission timer expired. Returns its next time.
    pub(crate) fn on_timeout(&mut self, flow: &Flow) -> Duration {
        each!(self, stack => stack.on_timeout(flow))
    }

    /// Where the next segment to send now begins. Call [`Stack::sent`] afterwards.
    pub(crate) fn poll(&mut self, flow: &Flow) -> Option<u64> {
        each!(self, stack => stack.poll(flow))
    }

    /// The segment from `start` to `end` is sent, as [`Stack::poll`] asked. `flow` is as it was
    /// before.
    pub(crate) fn sent(&mut self, flow: &Flow, start: u64, end: u64) {
        match self {
            Stack::Ns2(stack) => stack.sent(flow, end),
            Stack::Ns318(stack) => stack.sent(flow, start, end),
        }
    }

    /// Whether the window was reduced since the last call (RFC 3168, CWR).
    pub(crate) fn take_reduced(&mut self) -> bool {
        match self {
            Stack::Ns2(stack) => std::mem::take(&mut stack.reduced),
            Stack::Ns318(_) => false,
        }
    }

    /// Whether the window is below one segment, so only a timeout allows one (ns-2's `newtimer`,
    /// `timeout`).
    pub(crate) fn shut(&self) -> bool {
        matches!(self, Stack::Ns2(_)) && self.cwnd() == 0
    }

    /// Congestion window in bytes.
    pub(crate) fn cwnd(&self) -> u64 {
        each!(self, stack => stack.cwnd())
    }

    /// Slow start threshold in bytes.
    pub(crate) fn ssthresh(&self) -> u64 {
        each!(self, stack => stack.ssthresh())
    }

    /// Smoothed round-trip time, once measured.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        each!(self, stack => stack.srtt())
    }

    /// Retransmission timeout, backoff included.
    pub(crate) fn rto(&self) -> Duration {
        each!(self, stack => stack.rto())
    }

    /// Bytes of heap memory.
    pub(crate) fn heap(&self) -> usize {
        size_of::<Self>() + each!(self, stack => stack.heap())
    }
}
