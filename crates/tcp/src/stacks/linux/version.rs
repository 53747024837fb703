//! The versions of Linux.

use crate::connection::Habits;
use forebay_core::Time;

/// A version of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Version {
    Linux2_6_18,
    Linux2_6_26,
    #[default]
    Linux6_1,
    Linux6_12,
}

impl Version {
    /// A time on the connection's clock. 6.1 counts whole microseconds (`tcp_mstamp`), so two round
    /// trips of equal length may differ by one.
    pub(super) fn instant(self, now: Time) -> Time {
        if self.is_2_6() {
            return now;
        }
        Time::from_nanos(now.as_nanos() / 1000 * 1000)
    }

    pub(in crate::stacks) fn is_2_6(self) -> bool {
        self < Version::Linux6_1
    }

    /// Memory of a buffer beside its payload: `SKB_TRUESIZE(MAX_TCP_HEADER)`. 6.12 takes it from a
    /// pool whose parts are a cache line larger (`kmalloc_reserve`, `SKB_SMALL_HEAD_CACHE_SIZE`).
    pub(super) fn overhead(self) -> u64 {
        if self == Version::Linux6_12 { 832 } else { 768 }
    }

    /// Timeouts of a SYN before they begin to double (6.12: `tcp_retransmit_timer`,
    /// `tcp_syn_linear_timeouts`).
    pub(super) fn linear_timeouts(self) -> u8 {
        if self == Version::Linux6_12 { 4 } else { 0 }
    }

    /// The differences of its handshake and its clock from the standards'.
    pub(crate) fn habits(self) -> Habits {
        Habits { millis: true, separate_ack: true, plain_syn_again: !self.is_2_6() }
    }
}
