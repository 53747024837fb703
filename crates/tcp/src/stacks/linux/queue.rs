//! The segments in flight with Linux's marks, and the counts of them.

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

/// One segment: 24 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) seq: u64,
    /// When it was last sent.
    pub(super) at: Time,
    /// How far the highest byte sent was above `seq` when this segment was sent again.
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

/// Segments in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct Queue {
    segments: VecDeque<Sent>,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) retrans: u32,
    /// Pairs of neighbours that are both SACKed.
    pairs: u32,
}

impl Queue {
    /// Segments sent and not acknowledged cumulatively (`packets_out`).
    pub(super) fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments in the network (`tcp_packets_in_flight`).
    pub(super) fn in_flight(&self) -> u32 {
        (self.len() + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// SACKed or lost.
    pub(super) fn left(&self) -> u32 {
        self.sacked + self.lost
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.segments.push_back(sent);
    }

    pub(super) fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(super) fn get(&self, at: usize) -> &Sent {
        &self.segments[at]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> + ExactSizeIterator {
        self.segments.iter()
    }

    /// The first segment that ends above `offset`.
    pub(super) fn find(&self, offset: u64) -> usize {
        self.segments.partition_point(|sent| sent.end() <= offset)
    }

    /// Removes the first segment.
    pub(super) fn pop(&mut self) -> Option<Sent> {
        let sent = self.segments.pop_front()?;
        self.count(sent.marks, 0);
        let pair = sent.has(SACKED) && self.front().is_some_and(|next| next.has(SACKED));
        self.pairs -= u32::from(pair);
        Some(sent)
    }

    /// The part of the first segment below `una` was acknowledged.
    pub(super) fn trim(&mut self, una: u64) {
        if let Some(sent) = self.segments.front_mut()
            && una > sent.seq
        {
            sent.len -= (una - sent.seq) as u16;
            sent.seq = una;
        }
    }

    /// Sets the marks `add` and clears `remove`.
    pub(super) fn mark(&mut self, at: usize, add: u8, remove: u8) {
        let before = self.segments[at].marks;
        let after = (before & !remove) | add;
        self.segments[at].marks = after;
        self.count(before, after);
        if (before ^ after) & SACKED != 0 {
            let sacked = |at: Option<usize>| {
                at.and_then(|at| self.segments.get(at)).is_some_and(|sent| sent.has(SACKED))
            };
            let pairs = u32::from(sacked(at.checked_sub(1))) + u32::from(sacked(Some(at + 1)));
            match after & SACKED {
                0 => self.pairs -= pairs,
                _ => self.pairs += pairs,
            }
        }
    }

    /// No segment is taken as lost any more.
    pub(super) fn recover_lost(&mut self) {
        self.segments.iter_mut().for_each(|sent| sent.marks &= !LOST);
        self.lost = 0;
    }

    /// SACKed segments that are merged with those below them (`tcp_shift_skb_data`).
    pub(super) fn merged(&self) -> u32 {
        self.pairs
    }

    /// The segment is sent again at `now`, when everything up to `next` was sent.
    pub(super) fn resend(&mut self, at: usize, now: Time, next: u64, mark: u8) -> Sent {
        self.mark(at, mark | EVER, 0);
        let sent = &mut self.segments[at];
        sent.at = now;
        sent.ahead = (next - sent.seq) as u32;
        *sent
    }

    fn count(&mut self, before: u8, after: u8) {
        let change = |mark: u8, count: &mut u32| {
            *count += u32::from(after & mark != 0);
            *count -= u32::from(before & mark != 0);
        };
        change(SACKED, &mut self.sacked);
        change(LOST, &mut self.lost);
        change(RETRANS, &mut self.retrans);
    }

    pub(super) fn heap(&self) -> usize {
        self.segments.capacity() * size_of::<Sent>()
    }
}
