//! The share of the link that each priority uses, as measured in front of it.

use forebay_core::{Duration, Rate, Time};

/// Shortest interval of the measurement: a few round trips of most paths.
const INTERVAL: Duration = Duration::from_millis(100);
/// Large packets that the link carries in an interval, at least. With fewer, one packet more or
/// less would be a large part of the link.
const PACKETS: u64 = 20;
/// Bytes of a large packet.
const LARGE: u64 = 1500;
/// A link counts as full if less than one part in so many is left.
const PARTS: u64 = 20;

/// Measures the bytes of each level in intervals of equal length.
#[derive(Debug, Clone)]
pub(super) struct Load {
    interval: Duration,
    /// Bytes that the link carries in an interval.
    capacity: u64,
    /// End of this interval.
    end: Time,
    /// Bytes by level, in this interval.
    sent: Box<[u64; 256]>,
    /// Bytes that the levels above each level left in the last interval.
    left: Box<[u64; 256]>,
}

impl Load {
    pub(super) fn new(rate: Rate) -> Self {
        let interval = INTERVAL.max(rate.transmission(PACKETS * LARGE));
        let capacity = rate.bytes_in(interval) as u64;
        Load {
            interval,
            capacity,
            end: Time::ZERO + interval,
            sent: Box::new([0; 256]),
            left: Box::new([capacity; 256]),
        }
    }

    /// End of this interval.
    pub(super) fn end(&self) -> Time {
        self.end
    }

    /// Ends the interval if `now` has passed its end. Returns the start of the one that ended last.
    pub(super) fn advance(&mut self, now: Time) -> Option<Time> {
        if now < self.end {
            return None;
        }
        let behind = now.since(self.end).as_nanos() / self.interval.as_nanos();
        if behind > 0 {
            // Nothing was sent in the last one.
            self.sent.fill(0);
        }
        let mut above = 0;
        for (left, sent) in self.left.iter_mut().zip(self.sent.iter_mut()).rev() {
            *left = self.capacity.saturating_sub(above);
            above += std::mem::take(sent);
        }
        let start = self.end + self.interval.saturating_mul(behind);
        self.end = start + self.interval;
        Some(Time::from_nanos(start.as_nanos().saturating_sub(self.interval.as_nanos())))
    }

    /// A packet of `level` is on its way to the link, where it takes `len` bytes.
    pub(super) fn count(&mut self, level: u8, len: u32) {
        self.sent[usize::from(level)] += u64::from(len);
    }

    /// Whether the levels above `level` leave nothing that is worth using.
    pub(super) fn is_full(&self, level: u8) -> bool {
        self.left[usize::from(level)] < self.capacity.div_ceil(PARTS)
    }
}
