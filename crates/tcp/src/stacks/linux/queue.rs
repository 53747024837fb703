//! The buffers in flight with Linux's marks, and the counts of their segments. A buffer (`struct
//! sk_buff`) has one segment, or, with segmentation offload, several that leave together.

use forebay_core::Time;
use std::collections::VecDeque;

/// SACKed.
pub(super) const SACKED: u8 = 1;
/// Sent again and, as far as is known, still in flight.
pub(super) const RETRANS: u8 = 2;
/// Taken as lost.
pub(super) const LOST: u8 = 4;
/// Sent again at least once.
pub(super) const EVER: u8 = 8;
/// With a FIN after the payload.
pub(super) const FIN: u8 = 16;
/// With PSH in its last segment.
pub(super) const PUSH: u8 = 32;

/// One buffer: 24 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) seq: u64,
    /// When it was last sent.
    pub(super) at: Time,
    /// The distance of the highest byte sent above `seq` when this buffer was sent again.
    pub(super) ahead: u32,
    pub(super) len: u16,
    pub(super) marks: u8,
}

impl Sent {
    pub(super) fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.has(FIN))
    }
}

/// Buffers in the order of the stream. All counts are of segments.
#[derive(Debug, Default)]
pub(super) struct Queue {
    buffers: VecDeque<Sent>,
    /// Payload of a full segment.
    mss: u16,
    out: u32,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) retrans: u32,
    /// Pairs of neighbours that are both SACKed.
    pairs: u32,
}

impl Queue {
    pub(super) fn new(mss: u64) -> Self {
        Queue { mss: mss as u16, ..Queue::default() }
    }

    /// Segments sent and not acknowledged cumulatively (`packets_out`).
    pub(super) fn out(&self) -> u32 {
        self.out
    }

    /// Number of buffers.
    pub(super) fn len(&self) -> usize {
        self.buffers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Segments of a buffer (`tcp_skb_pcount`).
    pub(super) fn segments(&self, sent: &Sent) -> u32 {
        if sent.len <= self.mss { 1 } else { u32::from(sent.len.div_ceil(self.mss)) }
    }

    /// Segments in the network (`tcp_packets_in_flight`).
    pub(super) fn in_flight(&self) -> u32 {
        (self.out + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// SACKed or lost.
    pub(super) fn left(&self) -> u32 {
        self.sacked + self.lost
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.out += self.segments(&sent);
        self.buffers.push_back(sent);
    }

    pub(super) fn front(&self) -> Option<&Sent> {
        self.buffers.front()
    }

    pub(super) fn get(&self, at: usize) -> &Sent {
        &self.buffers[at]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> + ExactSizeIterator {
        self.buffers.iter()
    }

    /// The first buffer that ends above `offset`.
    pub(super) fn find(&self, offset: u64) -> usize {
        self.buffers.partition_point(|sent| sent.end() <= offset)
    }

    /// Removes the first buffer.
    pub(super) fn pop(&mut self) -> Option<Sent> {
        let sent = self.buffers.pop_front()?;
        let segments = self.segments(&sent);
        self.out -= segments;
        self.count(sent.marks, 0, segments);
        let pair = sent.has(SACKED) && self.front().is_some_and(|next| next.has(SACKED));
        self.pairs -= u32::from(pair);
        Some(sent)
    }

    /// The part of the first buffer below `una` was acknowledged. Returns its number of segments
    /// (`tcp_tso_acked`).
    pub(super) fn trim(&mut self, una: u64) -> u32 {
        let Some(before) = self.buffers.front().copied().filter(|sent| una > sent.seq) else {
            return 0;
        };
        let left = Sent { len: before.len - (una - before.seq) as u16, seq: una, ..before };
        self.buffers[0] = left;
        let segments = self.segments(&before) - self.segments(&left);
        self.out -= segments;
        self.count(left.marks, 0, segments);
        segments
    }

    /// Divides a buffer after `len` bytes, which are whole segments (`tcp_fragment`).
    pub(super) fn split(&mut self, at: usize, len: u64) {
        let whole = self.buffers[at];
        let len = len as u16;
        let rest = Sent { seq: whole.seq + u64::from(len), len: whole.len - len, ..whole };
        self.buffers[at] = Sent { len, marks: whole.marks & !(FIN | PUSH), ..whole };
        self.buffers.insert(at + 1, rest);
        self.pairs += u32::from(whole.has(SACKED));
    }

    /// Sets the marks `add` and clears `remove`.
    pub(super) fn mark(&mut self, at: usize, add: u8, remove: u8) {
        let before = self.buffers[at].marks;
        let after = (before & !remove) | add;
        self.buffers[at].marks = after;
        let segments = self.segments(&self.buffers[at]);
        self.count(before, after, segments);
        if (before ^ after) & SACKED != 0 {
            let sacked = |at: Option<usize>| {
                at.and_then(|at| self.buffers.get(at)).is_some_and(|sent| sent.has(SACKED))
            };
            let pairs = u32::from(sacked(at.checked_sub(1))) + u32::from(sacked(Some(at + 1)));
            match after & SACKED {
                0 => self.pairs -= pairs,
                _ => self.pairs += pairs,
            }
        }
    }

    /// No buffer is taken as lost any more.
    pub(super) fn recover_lost(&mut self) {
        self.buffers.iter_mut().for_each(|sent| sent.marks &= !LOST);
        self.lost = 0;
    }

    /// SACKed buffers that are merged with those below them (`tcp_shift_skb_data`).
    pub(super) fn merged(&self) -> u32 {
        self.pairs
    }

    /// The buffer is sent again at `now`, when everything up to `next` was sent.
    pub(super) fn resend(&mut self, at: usize, now: Time, next: u64, mark: u8) -> Sent {
        self.mark(at, mark | EVER, 0);
        let sent = &mut self.buffers[at];
        sent.at = now;
        sent.ahead = (next - sent.seq) as u32;
        *sent
    }

    fn count(&mut self, before: u8, after: u8, segments: u32) {
        let change = |mark: u8, count: &mut u32| {
            *count += u32::from(after & mark != 0) * segments;
            *count -= u32::from(before & mark != 0) * segments;
        };
        change(SACKED, &mut self.sacked);
        change(LOST, &mut self.lost);
        change(RETRANS, &mut self.retrans);
    }

    pub(super) fn heap(&self) -> usize {
        self.buffers.capacity() * size_of::<Sent>()
    }
}
