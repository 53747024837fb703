//! The state of the data in flight (RFC 6675): which bytes were selectively acknowledged, which
//! are taken as lost, and which were sent again. `pipe` follows from these and is updated
//! incrementally.
//!
//! Four counters are enough for three reasons. Lost bytes are those not SACKed below one edge,
//! which only rises. Retransmission moves upward, so bytes sent again are those not SACKed below
//! HighRxt. And both edges are passed only once.

use crate::Segment;
use crate::ranges::RangeSet;

/// Duplicate acknowledgments that mean loss (RFC 5681, section 3.2; RFC 6675, section 2).
pub(super) const DUP_THRESH: usize = 3;

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Scoreboard {
    /// SACKed ranges above the cumulative acknowledgment.
    pub(super) ranges: RangeSet,
    pub(super) sacked: u64,
    /// Everything below this offset that is not SACKed is taken as lost.
    pub(super) lost_edge: u64,
    /// Bytes taken as lost.
    lost: u64,
    /// HighRxt: everything below this offset that was not SACKed at the time was sent again.
    high_rxt: u64,
    /// Bytes that were sent again, and since then not SACKed.
    retransmitted: u64,
}

impl Scoreboard {
    /// Whether nothing is SACKed, lost or sent again.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.ranges.is_empty() && self.lost == 0 && self.retransmitted == 0
    }

    /// Whether any byte from `offset` on is SACKed.
    pub(super) fn sacked_above(&self, offset: u64) -> bool {
        self.ranges.as_slice().last().is_some_and(|&(_, end)| end > offset)
    }

    /// Whether the byte at `una` is taken as lost (RFC 6675, IsLost).
    #[inline]
    pub(super) fn head_is_lost(&self, una: u64) -> bool {
        self.lost_edge > una && self.lost > 0
    }

    /// Bytes that are probably in the network (RFC 6675, SetPipe), if `outstanding` are sent and
    /// not cumulatively acknowledged.
    #[inline]
    pub(super) fn pipe(&self, outstanding: u64) -> u64 {
        (outstanding + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Reads the SACK blocks of `segment`, and ignores those not above its acknowledgment and below
    /// `next`. Returns the number of bytes newly SACKed (RFC 6675, Update).
    #[inline]
    pub(super) fn update(&mut self, segment: &Segment, una: u64, next: u64, mss: u64) -> u64 {
        let before = self.sacked;
        for (start, end) in segment.sack_blocks() {
            if start <= segment.ack || start >= end || end > next {
                continue;
            }
            let Scoreboard { ranges, sacked, lost_edge, lost, high_rxt, retransmitted, .. } = self;
            ranges.insert(start, end, |from, to| {
                *sacked += to - from;
                *lost -= to.min(*lost_edge).saturating_sub(from);
                *retransmitted -= to.min(*high_rxt).saturating_sub(from);
            });
        }
        if self.sacked > before {
            self.raise_lost_edge(una, mss);
        }
        self.sacked - before
    }

    /// IsLost: three discontiguous ranges, or more than two segments' bytes, are SACKed above.
    fn raise_lost_edge(&mut self, una: u64, mss: u64) {
        let (mut count, mut bytes) = (0, 0);
        let edge = self.ranges.as_slice().iter().rev().find(|range| {
            count += 1;
            bytes += range.1 - range.0;
            count >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * mss
        });
        if let Some(&(edge, _)) = edge {
            self.set_lost_edge(una, edge);
        }
    }

    fn set_lost_edge(&mut self, una: u64, edge: u64) {
        let from = self.lost_edge.max(una);
        if edge > from {
            self.lost += edge - from - self.ranges.covered(from, edge);
            self.lost_edge = edge;
        }
    }

    /// The cumulative acknowledgment moves from `una` to `ack`.
    #[inline]
    pub(super) fn advance(&mut self, una: u64, ack: u64) {
        let missing =
            |edge: u64| edge.min(ack).saturating_sub(una) - self.ranges.covered(una, edge.min(ack));
        if self.lost > 0 {
            self.lost -= missing(self.lost_edge);
        }
        if self.retransmitted > 0 {
            self.retransmitted -= missing(self.high_rxt);
        }
        self.sacked -= self.ranges.remove_below(ack);
    }

    /// Recovery begins. Nothing has been sent again yet (RFC 6675, section 5, step 4).
    pub(super) fn begin_recovery(&mut self, una: u64) {
        self.high_rxt = una;
        self.retransmitted = 0;
    }

    /// The retransmission timer expired. Everything below `next` that is not SACKed is lost, and
    /// nothing of it has been sent again. SACKed ranges are kept (RFC 6675, section 5.1), unless
    /// the first byte is among them: then the receiver has withdrawn what it reported (RFC 2018,
    /// section 8).
    pub(super) fn all_lost(&mut self, una: u64, next: u64) {
        if self.ranges.containing(una).is_some() {
            *self = Scoreboard::default();
        }
        self.begin_recovery(una);
        self.set_lost_edge(una, next);
    }

    pub(super) fn retransmit(&mut self, start: u64, end: u64) {
        self.retransmitted += end - start.max(self.high_rxt).min(end);
        self.high_rxt = self.high_rxt.max(end);
    }

    /// The first bytes not SACKed.
    pub(super) fn first_hole(&self, una: u64, next: u64) -> Option<(u64, u64)> {
        let (start, resumes) = self.ranges.gap_from(una);
        (start < next).then(|| (start, resumes.unwrap_or(next)))
    }

    /// The next bytes that are taken as lost and not sent again: where they begin, and the offset
    /// that must not be passed (RFC 6675, NextSeg rule 1).
    pub(super) fn next_lost(&self, una: u64) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        self.hole_below(una, self.lost_edge)
    }

    /// The next bytes not SACKed and not sent again below the highest SACKed (NextSeg rule 3).
    pub(super) fn next_hole(&self, una: u64) -> Option<(u64, u64)> {
        let highest = self.ranges.as_slice().last()?.0;
        self.hole_below(una, highest)
    }

    fn hole_below(&self, una: u64, edge: u64) -> Option<(u64, u64)> {
        let (start, resumes) = self.ranges.gap_from(self.high_rxt.max(una));
        (start < edge).then(|| (start, resumes.map_or(edge, |resumes| resumes.min(edge))))
    }

    /// The last bytes below `next` not SACKed: where that hole begins and ends (NextSeg rule 4).
    pub(super) fn last_hole(&self, una: u64, next: u64) -> Option<(u64, u64)> {
        let mut end = next;
        for &(low, high) in self.ranges.as_slice().iter().rev() {
            if high < end {
                return Some((high, end));
            }
            end = low;
        }
        (una < end).then_some((una, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;
    use proptest::prelude::*;

    const MSS: u64 = 10;

    fn sack(ack: u64, start: u64, end: u64) -> Segment {
        let block = SackBlock { start: (start - ack) as u32, end: (end - ack) as u32 };
        Segment { ack, sack: [block; 3], sack_count: 1, ..Segment::default() }
    }

    #[test]
    fn three_segments_above_mean_lost() {
        let mut board = Scoreboard::default();
        // Segments 0..10 lost, 10..20 and 20..30 arrive: two segments' bytes are not enough.
        board.update(&sack(0, 10, 30), 0, 100, MSS);
        assert!(!board.head_is_lost(0));
        assert_eq!(board.pipe(100), 80);
        board.update(&sack(0, 30, 40), 0, 100, MSS);
        assert!(board.head_is_lost(0));
        assert_eq!(board.pipe(100), 60);
        assert_eq!(board.next_lost(0), Some((0, 10)));
        board.begin_recovery(0);
        board.retransmit(0, 10);
        assert_eq!((board.pipe(100), board.next_lost(0)), (70, None));
        assert_eq!(board.last_hole(0, 100), Some((40, 100)));
        board.advance(0, 40);
        assert!(board.is_clear());
    }

    #[test]
    fn three_discontiguous_ranges_mean_lost() {
        let mut board = Scoreboard::default();
        for start in [11, 31] {
            board.update(&sack(0, start, start + 1), 0, 100, MSS);
        }
        assert!(!board.head_is_lost(0));
        board.update(&sack(0, 51, 52), 0, 100, MSS);
        assert_eq!(board.next_lost(0), Some((0, 11)));
        assert_eq!(board.pipe(100), 100 - 3 - 11);
    }

    /// SetPipe as RFC 6675 writes it, byte by byte.
    fn pipe_by_bytes(sacked: &[bool], rexmit: u64, una: u64, next: u64) -> u64 {
        let lost = |at: usize| {
            let above = &sacked[at + 1..next as usize];
            let runs = (0..above.len()).filter(|i| above[*i] && (*i == 0 || !above[*i - 1]));
            runs.count() >= 3 || above.iter().filter(|held| **held).count() as u64 > 2 * MSS
        };
        let unsacked = (una..next).filter(|at| !sacked[*at as usize]);
        unsacked.map(|at| u64::from(!lost(at as usize)) + u64::from(at < rexmit)).sum()
    }

    proptest! {
        #[test]
        fn pipe_is_that_of_the_definition(
            ops in proptest::collection::vec((0..4_u8, 0..20_u64, 1..5_u64), 1..40),
        ) {
            let next = 240;
            let (mut board, mut una, mut rexmit) = (Scoreboard::default(), 0, 0);
            let mut sacked = [false; 240];
            for (op, at, count) in ops {
                match op {
                    0 | 1 => {
                        let start = (una + at * MSS).min(next - MSS);
                        let end = (start + count * MSS).min(next);
                        if start > una {
                            board.update(&sack(una, start, end), una, next, MSS);
                            sacked[start as usize..end as usize].fill(true);
                        }
                    }
                    2 => if let Some((start, limit)) = board.next_lost(una) {
                        let end = limit.min(start + MSS);
                        prop_assert!(sacked[start as usize..end as usize].iter().all(|held| !held));
                        board.retransmit(start, end);
                        rexmit = end;
                    },
                    _ => {
                        let mut ack = (una + at * MSS / 4).min(next);
                        while ack < next && sacked[ack as usize] {
                            ack += 1;
                        }
                        board.advance(una, ack);
                        una = ack;
                        sacked[..una as usize].fill(false);
                    }
                }
                let edge = board.lost_edge.max(una);
                // The RFC forgets SACKed bytes below the cumulative acknowledgment, and so may
                // call lost bytes not lost again; the edge does not retreat.
                let held = (una..next).filter(|at| !sacked[*at as usize]);
                let want: u64 = held
                    .map(|at| u64::from(at >= edge) + u64::from(at < rexmit))
                    .sum();
                prop_assert_eq!(board.pipe(next - una), want);
                if una == 0 {
                    prop_assert_eq!(want, pipe_by_bytes(&sacked, rexmit, una, next));
                }
            }
        }
    }
}
