//! What a sender shows of its state.

use super::Sender;
use crate::accecn::{DataSender, Feedback};
use crate::linux::Machine;
use crate::recovery::Phase;
use crate::{SenderStats, State};
use forebay_core::{Duration, fetch};

impl Sender {
    /// Fetches the fields that every acknowledgment needs, before their use.
    #[inline]
    pub fn fetch(&self) {
        // Of each of its cache lines a field.
        fetch(&self.una);
        fetch(&self.window);
        fetch(&self.rtt);
        fetch(&self.timed);
        fetch(&self.controller);
        self.recovery.board.fetch_counts();
    }

    /// Fetches what the timer touches first.
    #[inline]
    pub fn fetch_deadline(&self) {
        fetch(&self.deadline);
    }

    /// Fetches the window.
    #[inline]
    pub fn fetch_window(&self) {
        fetch(&self.window);
    }

    /// Fetches what these point to.
    #[inline]
    pub fn fetch_further(&self) {
        self.recovery.board.fetch_ranges();
        self.timed.fetch_further();
        if self.recovery.phase != Phase::Open {
            self.recovery.fetch_repair();
        }
        // In fast recovery it is not asked.
        if self.recovery.phase != Phase::Fast {
            self.controller.fetch();
        }
    }

    /// The state of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Counts of what it has done so far.
    #[inline]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Segments sent so far, of any kind.
    #[inline]
    pub fn segments_sent(&self) -> u64 {
        self.segments_sent
    }

    /// Payload bytes acknowledged cumulatively.
    #[inline]
    pub fn bytes_acked(&self) -> u64 {
        self.una.min(self.end).saturating_sub(1)
    }

    /// Bytes sent and not acknowledged cumulatively (RFC 5681, FlightSize).
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Payload of a full segment in bytes.
    #[inline]
    pub fn mss(&self) -> u64 {
        self.window.mss
    }

    /// Bytes that count against the congestion window: those that are probably in the network (RFC
    /// 6675, pipe).
    pub fn in_flight(&self) -> u64 {
        match (&self.linux, &self.stack) {
            (Some(machine), _) => machine.in_flight(),
            (None, Some(_)) => self.outstanding(),
            (None, None) => self.recovery.in_flight(self.outstanding(), self.window.mss),
        }
    }

    /// The phase of loss recovery, in the words of the stack. Empty if it has none.
    pub fn phase(&self) -> &'static str {
        match (&self.linux, &self.stack, self.recovery.phase) {
            (Some(machine), ..) => machine.state(),
            (None, Some(_), _) => "",
            (.., Phase::Open) => "Open",
            (.., Phase::Fast) => "Fast",
            (.., Phase::Timeout) => "Timeout",
            (.., Phase::Probing) => "Probing",
        }
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        if self.plain { self.window.cwnd } else { self.special_cwnd() }
    }

    // Not inlined, so that a plain sender's stack is not looked at.
    #[inline(never)]
    fn special_cwnd(&self) -> u64 {
        self.stack.as_ref().map_or(self.window.cwnd, |stack| stack.cwnd())
    }

    /// Slow start threshold in bytes; `u64::MAX` until first set.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.stack.as_ref().map_or(self.window.ssthresh, |stack| stack.ssthresh())
    }

    /// Smoothed round-trip time, once measured.
    #[inline]
    pub fn srtt(&self) -> Option<Duration> {
        match (&self.linux, &self.stack) {
            (Some(machine), _) => machine.srtt(),
            (None, Some(stack)) => stack.srtt(),
            (None, None) => self.rtt.srtt(),
        }
    }

    /// The current retransmission timeout, including backoff.
    #[inline]
    pub fn rto(&self) -> Duration {
        match (&self.linux, &self.stack) {
            (Some(machine), _) => machine.rto(),
            (None, Some(stack)) => stack.rto(),
            (None, None) => self.rtt.rto(),
        }
    }

    /// How the receiver reports marks. Before the handshake is over: how it is asked to.
    pub fn feedback(&self) -> Feedback {
        match (&self.accurate, self.ecn) {
            (Some(_), _) => Feedback::Accurate,
            (None, true) => Feedback::Classic,
            (None, false) => Feedback::None,
        }
    }

    /// The congestion control's own variables (see [`crate::congestion::CongestionController::probe`]).
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.controller.probe(out);
    }

    /// Packets and bytes that the receiver has counted as marked (RFC 9768), as far as it is known.
    pub fn marks_counted(&self) -> (u64, u64) {
        self.accurate.as_ref().map_or((0, 0), |accurate| accurate.counted())
    }

    /// Bytes of heap memory, without the value itself.
    pub fn heap(&self) -> usize {
        let linux = self.linux.as_ref().map_or(0, |machine| size_of::<Machine>() + machine.heap());
        let stack = self.stack.as_ref().map_or(0, |stack| stack.heap());
        let watch = self.watch.as_ref().map_or(0, |watch| watch.heap());
        let accurate = self.accurate.as_ref().map_or(0, |_| size_of::<DataSender>());
        self.recovery.board.heap() + self.controller.heap() + watch + linux + stack + accurate
    }
}
