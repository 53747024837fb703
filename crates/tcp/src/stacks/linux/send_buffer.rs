//! The send buffer of 6.1. An application that has more to write than it takes writes until it is
//! full, and sleeps until a third of it is free (`tcp_sendmsg_locked`, `tcp_check_space`). It grows
//! with the window (`tcp_sndbuf_expand`), up to `tcp_wmem_max`.
//!
//! Written data are divided into buffers, which then leave (see `segmentation`). Where the
//! application stops, and after each half of the receiver's window, a buffer has PSH. Segments with
//! PSH are acknowledged separately, so the size affects the acknowledgments.

use super::LinuxParams;
use super::segmentation::LARGEST;
use super::{Machine, Push, Version, first_window};
use crate::congestion::Conduct;
use crate::connection::Site;
use std::collections::VecDeque;

/// `MAX_TCP_HEADER`, `struct skb_shared_info` and `struct sk_buff`, with which `tcp_sndbuf_expand`
/// estimates a segment.
const HEADERS: u64 = 192 + 320;
const DESCRIPTOR: u64 = 256;
/// The largest window that counts in whole for the size of a buffer (`TCP_MSS_DEFAULT`).
const TINY: u64 = 536;

/// A buffer that has not left.
#[derive(Debug, Clone, Copy)]
struct Unsent {
    end: u64,
    push: bool,
}

/// Data sent and not acknowledged: their beginning and the number of their buffers.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) start: u64,
    pub(super) buffers: u64,
}

#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    version: Version,
    mss: u64,
    /// Most segments in a buffer.
    gso_max_segs: u64,
    /// Memory (`sk_sndbuf`), its maximum, and the estimate of a segment's memory.
    size: u64,
    most: u64,
    segment: u64,
    /// The end of the data in the buffer.
    written: u64,
    unsent: VecDeque<Unsent>,
    /// The end of the last buffer with PSH (`pushed_seq`).
    pushed: u64,
    /// The application sleeps (`SOCK_NOSPACE`).
    pub(super) sleeps: bool,
    /// The largest window that the receiver offered (`max_window`).
    window: u64,
    /// Number of windows for which it has room (`sndbuf_expand`).
    windows: u64,
}

impl SendBuffer {
    pub(super) fn new(version: Version, site: &Site<'_>, params: &LinuxParams) -> Self {
        let connection = site.connection;
        let segment = (connection.mtu.0 - 40 + HEADERS).next_power_of_two() + DESCRIPTOR;
        let fixed = params.so_sndbuf.map(|size| 2 * size.0);
        let mut buffer = SendBuffer {
            version,
            mss: connection.mss(),
            gso_max_segs: u64::from(params.gso_max_segs),
            size: fixed.unwrap_or(0),
            most: fixed.unwrap_or(params.tcp_wmem_max.0),
            segment,
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

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// `tcp_sndbuf_expand`.
    fn expand(&mut self, cwnd: u32) {
        let wanted = self.windows * u64::from(cwnd.max(10)) * self.segment;
        self.size = self.size.max(wanted.min(self.most));
    }

    /// All memory in use (`sk_wmem_queued`).
    fn taken(&self, sent: InFlight) -> u64 {
        let buffers = sent.buffers + self.unsent.len() as u64;
        self.written.saturating_sub(sent.start) + buffers * self.version.overhead()
    }

    /// Something was acknowledged or sent. `cwnd` segments may be in flight; if it is given, fewer
    /// are (`tcp_new_space`).
    fn check(&mut self, sent: InFlight, cwnd: Option<u32>) {
        if !self.sleeps {
            return;
        }
        if let Some(cwnd) = cwnd {
            self.expand(cwnd);
        }
        let taken = self.taken(sent);
        self.sleeps = taken + taken / 2 > self.size;
    }

    /// Most bytes that are written into one buffer (`tcp_xmit_size_goal`).
    fn goal(&self) -> u64 {
        let cutoff = if self.window > TINY { self.window / 2 } else { self.window };
        let segments = (LARGEST.min(cutoff.max(1)) / self.mss).min(self.gso_max_segs);
        segments.max(1) * self.mss
    }

    /// The application, whose data end at `end`, writes until something may be sent. Returns what
    /// may, or None if it does not write.
    fn write(&mut self, end: u64, next: u64, sent: InFlight) -> Option<Push> {
        if self.written > end {
            // The application is gone.
            self.written = end;
            self.unsent.retain(|buffer| buffer.end <= end);
            self.push();
        }
        while !self.sleeps && self.written < end {
            let goal = self.goal();
            let before = self.unsent.len().checked_sub(2).map(|at| self.unsent[at].end);
            let start = before.map_or(next, |end| end.max(next));
            if self.unsent.is_empty() || self.written >= start + goal {
                if self.taken(sent) >= self.size {
                    self.sleeps = true;
                    self.push();
                    return Some(Push::All);
                }
                self.unsent.push_back(Unsent { end: self.written, push: false });
                continue;
            }
            self.written = end.min(start + goal);
            self.unsent.back_mut().expect("it was checked").end = self.written;
            if self.written == end || self.written > self.pushed + self.window / 2 {
                self.push();
                return Some(Push::All);
            }
            if self.unsent.len() == 1 {
                return Some(Push::One);
            }
        }
        None
    }

    /// `tcp_mark_push`.
    fn push(&mut self) {
        if let Some(tail) = self.unsent.back_mut() {
            tail.push = true;
            self.pushed = self.written;
        }
    }

    /// The first buffer, from `next` on: its bytes, whether it has PSH, and whether it is the last.
    pub(super) fn head(&mut self, next: u64) -> Option<(u64, bool, bool)> {
        self.leaves(next);
        let head = self.unsent.front()?;
        Some((head.end - next, head.push, self.unsent.len() == 1))
    }

    /// The first buffer is filled up to `most` bytes from the second one (`tcp_grow_skb` of 6.12).
    pub(super) fn fill_first(&mut self, next: u64, most: u64) {
        self.leaves(next);
        if let [Some(first), Some(second)] = [0, 1].map(|at| self.unsent.get(at).copied())
            && first.end < next + most
        {
            self.unsent[0].end = second.end.min(next + most);
            if self.unsent[0].end == second.end {
                self.unsent[0].push |= second.push;
                self.unsent.remove(1);
            }
        }
    }

    /// Everything up to `end` has left.
    pub(super) fn leaves(&mut self, end: u64) {
        while self.unsent.front().is_some_and(|head| head.end <= end) {
            self.unsent.pop_front();
        }
        // A window probe may have brought an octet of it.
        self.written = self.written.max(end);
    }

    pub(super) fn heap(&self) -> usize {
        self.unsent.capacity() * size_of::<Unsent>()
    }
}

impl Machine {
    fn in_send_buffer(&self) -> InFlight {
        let start = self.queue.front().map_or(self.next, |head| head.seq);
        let buffers = self.queue.len() as u64 - u64::from(self.queue.merged());
        InFlight { start, buffers }
    }

    /// `tcp_check_space`.
    pub(super) fn check_space(&mut self) {
        let (cwnd, in_flight) = (self.window.cwnd, self.queue.in_flight());
        let sent = self.in_send_buffer();
        if let Some(buffer) = &mut self.buffer {
            let wanted = cwnd.max(self.reordering + 1);
            buffer.check(sent, (in_flight < cwnd).then_some(wanted));
        }
    }

    /// The application writes, if nothing waits to be sent.
    pub(super) fn write_first(&mut self, end: u64) {
        let waits = self.buffer.as_ref().is_none_or(|buffer| self.next < buffer.written.min(end));
        if !waits {
            self.write_on(end);
        }
    }

    /// The application writes more. Returns whether something may be sent then.
    pub(super) fn write_on(&mut self, end: u64) -> bool {
        let sent = self.in_send_buffer();
        let Some(buffer) = &mut self.buffer else { return false };
        let push = buffer.write(end, self.next, sent);
        self.push = push.unwrap_or_default();
        push.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_buffer_is_filled_from_the_second() {
        let unsent =
            [(501, true), (2001, false), (9001, true)].map(|(end, push)| Unsent { end, push });
        let mut buffer = SendBuffer { unsent: unsent.into(), ..SendBuffer::default() };
        let ends = |buffer: &SendBuffer| -> Vec<_> {
            buffer.unsent.iter().map(|each| (each.end, each.push)).collect()
        };
        buffer.fill_first(1, 400);
        assert_eq!(ends(&buffer), [(501, true), (2001, false), (9001, true)]);
        buffer.fill_first(1, 1000);
        assert_eq!(ends(&buffer), [(1001, true), (2001, false), (9001, true)]);
        // All of the second, and none of the third.
        buffer.fill_first(1, 5000);
        assert_eq!(ends(&buffer), [(2001, true), (9001, true)]);
        buffer.fill_first(2001, 5000);
        assert_eq!(ends(&buffer), [(9001, true)]);
    }
}
