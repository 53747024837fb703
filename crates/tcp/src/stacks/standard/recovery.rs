//! Loss detection and recovery: which losses an acknowledgment indicates, and what `cwnd` is while
//! they are repaired.

use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Reduction, RepairOrder, StandardParams, TimeoutRecovery};
use crate::congestion::Window;
use crate::{LossRecovery, Segment};
use forebay_core::fetch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery (RFC 5681, 6582, 6675).
    Fast,
    /// After a timeout, everything outstanding is being sent again.
    Timeout,
    /// The first segment was sent again at a timeout. What returns shows whether the others are
    /// lost as well (F-RTO).
    Probing,
}

/// The progress that an acknowledgment makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress {
    /// Bytes newly acknowledged cumulatively.
    pub(super) acked: u64,
    /// Whether it is a duplicate (RFC 5681, section 2; with SACK, RFC 6675, section 2).
    pub(super) duplicate: bool,
    /// Bytes delivered: newly acknowledged or newly SACKed (RFC 6937, DeliveredData).
    pub(super) delivered: u64,
}

/// The next step of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// These bytes again, from the first to the second.
    Send(u64, u64),
    /// Nothing, and no new data, until the window has room.
    Held,
    /// Nothing again. New data may be sent.
    Nothing,
}

/// Proportional rate reduction with the slow-start reduction bound (RFC 6937).
#[derive(Debug, Clone, Copy)]
struct Prr {
    /// RecoverFS: FlightSize when recovery began.
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// The window that allows what this acknowledgment permits (section 3).
    fn cwnd(&self, delivered: u64, pipe: u64, window: &Window) -> u64 {
        let allowed = if pipe > window.ssthresh {
            // In whole segments, rounded up, as in the examples of section 4.
            let share = u128::from(self.delivered) * u128::from(window.ssthresh);
            let unit = u128::from(self.flight) * u128::from(window.mss);
            (share.div_ceil(unit) as u64 * window.mss).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + window.mss;
            limit.min(window.ssthresh - pipe)
        };
        pipe + allowed
    }
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Recovery {
    duplicates: u32,
    pub(super) phase: Phase,
    /// The first unacknowledged segment must be sent again at once.
    pub(super) retransmit_head: bool,
    kind: LossRecovery,
    limited_transmit: bool,
    /// Whether a partial acknowledgment was seen in this recovery.
    partial_seen: bool,
    reduction: Reduction,
    holes_first: bool,
    /// F-RTO (RFC 5682, section 3).
    frto: bool,
    /// While probing: two segments of new data were allowed.
    released: bool,
    /// Recovery lasts until this offset is acknowledged: the highest one sent when it began.
    recover: u64,
    pub(super) board: Scoreboard,
    // What follows is rarely asked for.
    /// RescueRxt (RFC 6675, section 2); 0 while undefined.
    rescue: u64,
    /// Looked at only if `reduction` is not at once.
    reducing: Option<Prr>,
}

impl Recovery {
    /// Fetches what a repair needs beside the rest, before its use.
    #[inline]
    pub(super) fn fetch_repair(&self) {
        fetch(&self.rescue);
    }

    pub(super) fn new(kind: LossRecovery, params: &StandardParams) -> Self {
        Recovery {
            kind,
            limited_transmit: params.limited_transmit,
            reduction: params.reduction,
            holes_first: params.repair_order == RepairOrder::HolesFirst,
            frto: params.timeout_recovery == TimeoutRecovery::FRto && kind == LossRecovery::Sack,
            ..Recovery::default()
        }
    }

    #[inline]
    pub(super) fn uses_sack(&self) -> bool {
        self.kind == LossRecovery::Sack
    }

    /// The bytes that count against cwnd, if `outstanding` are sent and not cumulatively
    /// acknowledged.
    #[inline]
    pub(super) fn in_flight(&self, outstanding: u64, mss: u64) -> u64 {
        match (self.phase, self.uses_sack()) {
            // With SACK, limited transmit falls out of pipe (RFC 6675, section 5, step 3).
            (Phase::Open, true) if self.limited_transmit => self.board.pipe(outstanding),
            // RFC 3042, section 2: a new segment on each of the first two duplicates.
            (Phase::Open, false) if self.limited_transmit => {
                outstanding.saturating_sub(u64::from(self.duplicates.min(2)) * mss)
            }
            // RFC 5681, section 3.2: duplicates inflate cwnd instead.
            (Phase::Open, _) | (Phase::Fast, false) => outstanding,
            (Phase::Fast, true) | (Phase::Timeout | Phase::Probing, _) => {
                self.board.pipe(outstanding)
            }
        }
    }

    /// Reads `segment`, which acknowledges up to `segment.ack` of `una..next`. `repeats` says that
    /// it has no data and does not change the window.
    #[inline]
    pub(super) fn read(
        &mut self,
        segment: &Segment,
        una: u64,
        next: u64,
        mss: u64,
        repeats: bool,
    ) -> Progress {
        let acked = segment.ack - una;
        if segment.sack_count == 0 && self.board.is_clear() {
            let duplicate = acked == 0 && repeats && una < next && !self.uses_sack();
            return Progress { acked, duplicate, delivered: acked };
        }
        let before = self.board.sacked;
        let news = if self.uses_sack() { self.board.update(segment, una, next, mss) } else { 0 };
        if acked > 0 {
            self.board.advance(una, segment.ack);
        }
        let duplicate = match self.uses_sack() {
            true => acked == 0 && news > 0,
            false => acked == 0 && repeats && una < next,
        };
        Progress { acked, duplicate, delivered: (acked + self.board.sacked) - before }
    }

    /// Counts duplicates outside recovery. Returns true if fast recovery must begin.
    #[inline]
    pub(super) fn finds_loss(&mut self, progress: &Progress, una: u64) -> bool {
        if progress.acked > 0 {
            self.duplicates = 0;
        }
        if progress.duplicate {
            self.duplicates += 1;
        }
        if self.duplicates == 0 && self.board.is_clear() {
            return false;
        }
        if self.uses_sack() {
            // RFC 6675, section 5, steps 1 and 2; not again before RecoveryPoint (section 5.1).
            let enough = self.duplicates as usize >= DUP_THRESH || self.board.head_is_lost(una);
            enough && una >= self.recover
        } else {
            // RFC 6582, section 3.2, step 2: duplicates of what was sent twice are not losses.
            self.duplicates as usize == DUP_THRESH && progress.duplicate && una > self.recover
        }
    }

    /// Fast recovery begins with an acknowledgment that delivered `delivered` bytes;
    /// `window.ssthresh` has been reduced.
    pub(super) fn begin_fast(&mut self, window: &mut Window, una: u64, next: u64, delivered: u64) {
        self.phase = Phase::Fast;
        self.retransmit_head = true;
        self.partial_seen = false;
        self.rescue = 0;
        if self.kind != LossRecovery::Reno {
            self.recover = next;
        }
        if self.uses_sack() {
            // RFC 6675, section 5, step 4.
            self.board.begin_recovery(una);
            match self.reduction {
                Reduction::Proportional => {
                    self.reducing = Some(Prr { flight: next - una, delivered: 0, out: 0 });
                }
                Reduction::AtOnce => window.cwnd = window.ssthresh,
            }
            self.reduce(window, delivered, next - una);
        } else {
            // RFC 5681, section 3.2, step 3: three segments have left the network.
            window.cwnd = window.ssthresh + DUP_THRESH as u64 * window.mss;
        }
    }

    /// An acknowledgment during fast recovery; `una` is already past it. Returns true if the
    /// retransmission timer must be restarted.
    pub(super) fn on_fast(
        &mut self,
        window: &mut Window,
        progress: &Progress,
        una: u64,
        next: u64,
    ) -> bool {
        let outstanding = next - una;
        if progress.acked == 0 {
            if progress.duplicate && !self.uses_sack() {
                // RFC 5681, section 3.2, step 4.
                window.cwnd += window.mss;
            }
        } else if self.kind == LossRecovery::Reno {
            // RFC 5681, section 3.2, step 6.
            self.end_fast(window, window.ssthresh);
            return true;
        } else if una >= self.recover {
            let deflated = match self.kind {
                // RFC 6582, section 3.2, step 3, first option: no burst.
                LossRecovery::NewReno => {
                    window.ssthresh.min(outstanding.max(window.mss) + window.mss)
                }
                _ => window.ssthresh,
            };
            self.end_fast(window, deflated);
            return true;
        } else if self.kind == LossRecovery::NewReno {
            // RFC 6582, section 3.2, step 3, partial acknowledgment.
            self.retransmit_head = true;
            window.cwnd = window.cwnd.saturating_sub(progress.acked);
            if progress.acked >= window.mss {
                window.cwnd += window.mss;
            }
            window.cwnd = window.cwnd.max(window.mss);
            // Only the first restarts the timer, so that many losses end in a timeout.
            return !std::mem::replace(&mut self.partial_seen, true);
        }
        self.reduce(window, progress.delivered, outstanding);
        true
    }

    /// Updates the window after an acknowledgment of `delivered` bytes.
    fn reduce(&mut self, window: &mut Window, delivered: u64, outstanding: u64) {
        if self.reduction == Reduction::Proportional
            && let Some(prr) = &mut self.reducing
        {
            prr.delivered += delivered;
            window.cwnd = prr.cwnd(delivered, self.board.pipe(outstanding), window);
        }
    }

    /// No reduction is under way.
    fn reduced(&mut self) {
        if self.reduction != Reduction::AtOnce {
            self.reducing = None;
        }
    }

    fn end_fast(&mut self, window: &mut Window, cwnd: u64) {
        self.phase = Phase::Open;
        self.retransmit_head = false;
        self.duplicates = 0;
        self.reduced();
        window.cwnd = cwnd;
    }

    /// The retransmission timer expired with `una..next` outstanding; `window.ssthresh` has been
    /// reduced.
    pub(super) fn begin_timeout(&mut self, window: &mut Window, una: u64, next: u64) {
        self.retransmit_head = self.frto;
        self.duplicates = 0;
        self.reduced();
        if self.frto {
            if self.phase == Phase::Open || una >= self.recover {
                self.recover = next;
            }
            self.phase = Phase::Probing;
            self.released = false;
            self.board.begin_recovery(una);
        } else {
            self.all_lost(window, una, next, 1);
        }
    }

    /// Everything outstanding that is not SACKed must be sent again, beginning with `segments`.
    fn all_lost(&mut self, window: &mut Window, una: u64, next: u64, segments: u64) {
        self.phase = Phase::Timeout;
        // RFC 6582, section 3.2, step 4; RFC 6675, section 5.1.
        self.recover = next;
        self.board.all_lost(una, next);
        window.cwnd = segments * window.mss;
    }

    /// An acknowledgment while the phase is [`Phase::Probing`]; `una` is already past it.
    /// `new_data` says that new data could be sent.
    pub(super) fn on_probing(
        &mut self,
        window: &mut Window,
        progress: &Progress,
        una: u64,
        next: u64,
        new_data: bool,
    ) {
        if una >= self.recover {
            self.all_lost(window, una, next, if self.released { 3 } else { 2 });
        } else if !self.released {
            if progress.acked > 0 && new_data {
                // Step 2b.
                self.released = true;
                window.cwnd = self.board.pipe(next - una) + 2 * window.mss;
            } else if progress.acked > 0 {
                self.all_lost(window, una, next, 2);
            }
        } else if progress.delivered == 0 || self.board.sacked_above(self.recover) {
            // Step 3a: what was sent after the timeout arrives, what was sent before does not.
            self.all_lost(window, una, next, 3);
        } else {
            // Step 3b: the timeout was spurious.
            self.phase = Phase::Open;
            window.cwnd = window.ssthresh.min(window.cwnd);
        }
    }

    /// An acknowledgment after a timeout; `una` is already past it.
    #[inline]
    pub(super) fn on_timeout_ack(&mut self, una: u64) {
        if una >= self.recover {
            self.phase = Phase::Open;
        }
    }

    /// The data to send again now, at most one segment. It counts as sent. `new_data` says that new
    /// data could be sent instead.
    pub(super) fn next_retransmission(
        &mut self,
        window: &Window,
        una: u64,
        next: u64,
        new_data: bool,
    ) -> Repair {
        let mss = window.mss;
        if std::mem::take(&mut self.retransmit_head) {
            // Whatever the window says (RFC 5681, section 3.2, step 3; RFC 6675, step 4.3).
            return self.repair(self.board.first_hole(una, next), mss);
        }
        if self.phase == Phase::Probing {
            return if self.released { Repair::Nothing } else { Repair::Held };
        }
        let sack = self.uses_sack();
        if self.phase == Phase::Open || (self.phase == Phase::Fast && !sack) {
            return Repair::Nothing;
        }
        // RFC 6675, section 5, step C: at least one segment's room.
        if window.cwnd < self.board.pipe(next - una) + mss {
            return Repair::Held;
        }
        let early = || if self.holes_first { self.board.next_hole(una) } else { None };
        let lost = self.board.next_lost(una).or_else(early);
        if lost.is_some() || self.phase == Phase::Timeout || new_data {
            return self.repair(lost, mss);
        }
        let hole = self.board.next_hole(una);
        // NextSeg rule 4: the last segment, once until HighACK passes RescueRxt.
        if hole.is_some() || una <= self.rescue {
            return self.repair(hole, mss);
        }
        self.rescue = self.recover;
        match self.board.last_hole(una, next) {
            // HighRxt stays where it is.
            Some((start, end)) => Repair::Send(end.saturating_sub(mss).max(start), end),
            None => Repair::Nothing,
        }
    }

    fn repair(&mut self, hole: Option<(u64, u64)>, mss: u64) -> Repair {
        let Some((start, limit)) = hole else {
            return Repair::Nothing;
        };
        let end = limit.min(start + mss);
        if self.phase == Phase::Timeout || self.uses_sack() {
            self.board.retransmit(start, end);
        }
        Repair::Send(start, end)
    }

    /// Counts `bytes` that are sent against proportional rate reduction.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u64) {
        if self.reduction == Reduction::Proportional
            && let Some(prr) = &mut self.reducing
        {
            prr.out += bytes;
        }
    }
}
