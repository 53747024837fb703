//! The report of an acknowledgment, in all versions.

use crate::accecn::DataSender;
use forebay_core::{Duration, Time};

/// The form in which a receiver reports marks.
#[derive(Debug)]
pub(super) enum Report<'a> {
    /// Whether the acknowledgment echoes some.
    Echo(bool),
    /// Counts, which this reads.
    Counts(&'a mut DataSender),
}

/// The report of an acknowledgment: the flags of `tcp_ack`.
#[derive(Debug, Default)]
pub(super) struct Ack {
    /// It is above the last one.
    pub(super) advanced: bool,
    /// The receiver's window changed.
    pub(super) window: bool,
    /// Something was newly SACKed.
    pub(super) sacked: bool,
    pub(super) echo: bool,
    /// Segments that it newly reports as marked (all that it delivers, if it is an echo), and bytes
    /// (all that it acknowledges cumulatively).
    pub(super) marked: u32,
    pub(super) marked_bytes: u64,
    /// The path changes the reports.
    pub(super) mangled: bool,
    /// Data above `high_seq` were SACKed.
    pub(super) data_lost: bool,
    /// It has a D-SACK.
    pub(super) duplicate_sack: bool,
    /// The D-SACK is of a tail loss probe.
    pub(super) probe_duplicate: bool,
    /// Data that were never sent again and were sent before the recovery began were (S)ACKed; in
    /// 2.6 they must be all that was.
    pub(super) original: bool,
    pub(super) retrans_acked: bool,
    /// Retransmissions other than that of the first segment were acknowledged.
    pub(super) others_acked: bool,
    /// The first segment left is SACKed.
    pub(super) reneging: bool,
    /// A retransmission was lost.
    pub(super) lost_retrans: bool,
    /// The timer must be set again.
    pub(super) set_timer: bool,
    pub(super) frto_highmark_passed: bool,
    /// Segments newly acknowledged cumulatively.
    pub(super) acked: u32,
    /// Segments newly delivered, by SACK and in total.
    pub(super) sack_delivered: u32,
    pub(super) delivered: u32,
    pub(super) first_sacked: Option<Time>,
    pub(super) last_sacked: Option<Time>,
    /// The round-trip time of the last segment that it acknowledges.
    pub(super) rtt: Option<Duration>,
}

impl Ack {
    /// It is not a duplicate (`FLAG_NOT_DUP`).
    pub(super) fn news(&self) -> bool {
        self.advanced || self.window
    }
}
