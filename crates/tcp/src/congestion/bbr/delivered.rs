//! Delivered segments and bandwidths.

use forebay_core::Time;

/// One segment a microsecond (`BW_UNIT`).
pub(super) const BW: u64 = 1 << 24;

/// Counts of the whole connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    /// Segments delivered, including the SYN, and segments found lost.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    /// When a segment was last delivered (`delivered_mstamp`).
    pub(crate) delivered_at: Time,
}

/// `segments` in the given number of microseconds. The kernel has 32 bits for it.
pub(super) fn bandwidth(segments: u32, micros: u64) -> u64 {
    (u64::from(segments) * BW / micros).min(u64::from(u32::MAX))
}
