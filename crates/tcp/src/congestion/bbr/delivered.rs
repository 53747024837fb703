//! What was delivered, and at what bandwidth.

use forebay_core::Time;

/// One segment a microsecond (`BW_UNIT`).
pub(super) const BW: u64 = 1 << 24;

/// Of the whole connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    /// Segments delivered, the SYN being one, and found lost.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    /// When one was delivered last (`delivered_mstamp`).
    pub(crate) delivered_at: Time,
}

/// `segments` in so many microseconds; the kernel has 32 bits for it.
pub(super) fn bandwidth(segments: u32, micros: u64) -> u64 {
    (u64::from(segments) * BW / micros).min(u64::from(u32::MAX))
}
