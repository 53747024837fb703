//! Where 6.1 sets PSH. An application that has more to write than the send buffer takes writes
//! until it is full, and sleeps until a third of it is free (`tcp_sendmsg_locked`,
//! `tcp_check_space`). Segments with PSH are acknowledged separately, so the buffer's size affects
//! the acknowledgments.
//!
//! The buffer never limits the sender: it has room for two windows, with BBR for three.

use super::{Machine, first_window};
use crate::congestion::Conduct;
use crate::connection::Site;
use std::collections::VecDeque;

/// Memory of a segment beside its payload: `SKB_TRUESIZE(MAX_TCP_HEADER)`.
const OVERHEAD: u64 = 768;
/// `MAX_TCP_HEADER`, `struct skb_shared_info` and `struct sk_buff`, with which `tcp_sndbuf_expand`
/// estimates a segment.
const HEADERS: u64 = 192 + 320;
const DESCRIPTOR: u64 = 256;
/// `tcp_wmem`'s maximum.
const LARGEST: u64 = 4_194_304;

#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    mss: u64,
    /// Memory (`sk_sndbuf`), and the estimate of a segment's memory.
    size: u64,
    segment: u64,
    /// The end of the stream as the application has it, and the end of the data in the buffer.
    end: u64,
    written: u64,
    /// The end of the last segment with PSH.
    pushed: u64,
    /// The ends of segments with PSH that are not acknowledged yet.
    marks: VecDeque<u64>,
    /// The application sleeps (`SOCK_NOSPACE`).
    sleeps: bool,
    /// Segments that are SACKed and merged with those below them (`tcp_shift_skb_data`).
    pub(super) merged: u32,
    /// The largest window that the receiver offered (`max_window`).
    window: u64,
    /// Number of windows for which it has room (`sndbuf_expand`).
    windows: u64,
}

impl SendBuffer {
    pub(super) fn new(site: &Site<'_>) -> Self {
        let connection = site.connection;
        let segment = (connection.mtu.0 - 40 + HEADERS).next_power_of_two() + DESCRIPTOR;
        let mut buffer = SendBuffer {
            mss: connection.mss(),
            segment,
            end: 1,
            written: 1,
            pushed: 1,
            window: first_window(connection),
            windows: if site.congestion.facts() == Conduct::BBR { 3 } else { 2 },
            ..SendBuffer::default()
        };
        buffer.expand(0);
        buffer
    }

    /// The receiver offers `window`.
    pub(super) fn on_window(&mut self, window: u64) {
        self.window = self.window.max(window);
    }

    /// The stream now ends at `end`.
    pub(super) fn supply(&mut self, una: u64, end: u64) {
        self.end = end;
        if !self.sleeps && self.written < end {
            self.fill(una);
        }
    }

    /// Everything below `una` was acknowledged, or something was sent. `cwnd` segments may be in
    /// flight; if it is given, fewer are (`tcp_new_space`).
    pub(super) fn check(&mut self, una: u64, cwnd: Option<u32>) {
        while self.marks.front().is_some_and(|mark| *mark <= una) {
            self.marks.pop_front();
        }
        if !self.sleeps {
            return;
        }
        if let Some(cwnd) = cwnd {
            self.expand(cwnd);
        }
        let taken = self.taken(una);
        if taken + taken / 2 <= self.size {
            self.sleeps = false;
            self.fill(una);
        }
    }

    /// `tcp_sndbuf_expand`.
    fn expand(&mut self, cwnd: u32) {
        let wanted = self.windows * u64::from(cwnd.max(10)) * self.segment;
        self.size = self.size.max(wanted.min(LARGEST));
    }

    fn taken(&self, una: u64) -> u64 {
        let segments = self.written.saturating_sub(una).div_ceil(self.mss);
        (segments * (self.mss + OVERHEAD)).saturating_sub(u64::from(self.merged) * OVERHEAD)
    }

    fn fill(&mut self, una: u64) {
        while self.written < self.end {
            if self.taken(una) >= self.size {
                self.push();
                self.sleeps = true;
                return;
            }
            self.written = self.end.min(self.written + self.mss);
            if self.written > self.pushed + self.window / 2 {
                self.push();
            }
        }
        self.push();
    }

    /// `tcp_mark_push`.
    fn push(&mut self) {
        if self.pushed < self.written {
            self.pushed = self.written;
            self.marks.push_back(self.written);
        }
    }

    /// Whether the segment from `start` to `end` has PSH.
    pub(super) fn pushes(&self, start: u64, end: u64) -> bool {
        let at = self.marks.partition_point(|mark| *mark <= start);
        self.marks.get(at).is_some_and(|mark| *mark <= end)
    }

    pub(super) fn heap(&self) -> usize {
        self.marks.capacity() * size_of::<u64>()
    }
}

impl Machine {
    /// `tcp_check_space`.
    pub(super) fn check_space(&mut self) {
        let (cwnd, out) = (self.window.cwnd, self.queue.in_flight());
        if let Some(buffer) = &mut self.buffer {
            let wanted = cwnd.max(self.reordering + 1);
            buffer.merged = self.queue.merged();
            buffer.check(self.una, (out < cwnd).then_some(wanted));
        }
    }

    /// Whether the segment of `len` bytes from `start` on has PSH.
    pub(super) fn pushes(&self, start: u64, len: u32) -> bool {
        let end = start + u64::from(len);
        self.buffer.as_ref().is_some_and(|buffer| buffer.pushes(start, end))
    }
}
