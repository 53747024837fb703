//! What an acknowledgment of either version says.

use forebay_core::{Duration, Time};

/// What an acknowledgment says: the flags of `tcp_ack`.
#[derive(Debug, Default)]
pub(super) struct Ack {
    /// It is above the last.
    pub(super) advanced: bool,
    /// The receiver's window changed.
    pub(super) window: bool,
    /// Something was newly SACKed.
    pub(super) sacked: bool,
    pub(super) echo: bool,
    /// Data above `high_seq` were SACKed.
    pub(super) data_lost: bool,
    /// It has a D-SACK.
    pub(super) duplicate_sack: bool,
    /// Which is of a tail loss probe.
    pub(super) probe_duplicate: bool,
    /// Data never sent again and sent before the recovery began were (S)ACKed; 2.6: nothing else.
    pub(super) original: bool,
    pub(super) retrans_acked: bool,
    /// Retransmissions other than that of the first segment were acknowledged.
    pub(super) others_acked: bool,
    /// The first segment left is SACKed.
    pub(super) reneging: bool,
    /// A retransmission was lost.
    pub(super) lost_retrans: bool,
    /// The timer is to be set anew.
    pub(super) set_timer: bool,
    pub(super) frto_highmark_passed: bool,
    /// Segments newly acknowledged cumulatively.
    pub(super) acked: u32,
    /// Segments newly delivered, of those SACKed and of all.
    pub(super) sack_delivered: u32,
    pub(super) delivered: u32,
    pub(super) first_sacked: Option<Time>,
    pub(super) last_sacked: Option<Time>,
    /// The round trip of the last segment that it acknowledges.
    pub(super) rtt: Option<Duration>,
}

impl Ack {
    /// Not a duplicate (`FLAG_NOT_DUP`).
    pub(super) fn news(&self) -> bool {
        self.advanced || self.window
    }
}
