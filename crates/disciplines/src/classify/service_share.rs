//! Counts of received and favoured packets, over all time or recent time.

use forebay_core::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time over which packets are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// From the beginning (the paper's counters).
    #[default]
    Lifetime,
    /// Counts decay exponentially with this time constant: `{ decaying = "10s" }`. Above 0.
    Decaying(Duration),
    /// The last span of this length, to 1/64 of it: `{ sliding = "10s" }`. Above 0.
    Sliding(Duration),
}

/// Packets and bytes; whole numbers are exact below 2^53.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) packets: f64,
    pub(super) bytes: f64,
}

/// To which of the three counts a packet is added.
#[derive(Debug, Clone, Copy)]
pub(super) enum Count {
    /// Every packet.
    Received,
    /// Packets that might be favoured.
    Eligible,
    /// Packets that were favoured.
    Favoured,
}

/// Counts of the packets within a window.
pub(super) struct ServiceShare {
    totals: [Tally; 3],
    memory: Memory,
}

/// Number of steps in which a sliding window moves.
const SLOTS: usize = 64;

enum Memory {
    Lifetime,
    Decaying {
        /// Nanoseconds.
        time_constant: f64,
        last: Time,
    },
    Sliding {
        /// Nanoseconds.
        slot: u64,
        current: u64,
        ring: Vec<[Tally; 3]>,
    },
}

impl ServiceShare {
    pub(super) fn new(window: Window) -> Self {
        let memory = match window {
            Window::Lifetime => Memory::Lifetime,
            Window::Decaying(span) => {
                Memory::Decaying { time_constant: span.as_nanos() as f64, last: Time::ZERO }
            }
            Window::Sliding(span) => Memory::Sliding {
                slot: span.as_nanos().div_ceil(SLOTS as u64),
                current: 0,
                ring: vec![Default::default(); SLOTS],
            },
        };
        ServiceShare { totals: Default::default(), memory }
    }

    /// Removes packets that have left the window.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        match &mut self.memory {
            Memory::Lifetime => {}
            Memory::Decaying { time_constant, last } => {
                let span = now.since(*last).as_nanos();
                if span > 0 {
                    let kept = libm::exp(-(span as f64) / *time_constant);
                    for total in &mut self.totals {
                        total.packets *= kept;
                        total.bytes *= kept;
                    }
                    *last = now;
                }
            }
            Memory::Sliding { slot, current, ring } => {
                let target = now.as_nanos() / *slot;
                // A whole window of steps empties it; more change nothing.
                for step in (*current + 1..=target).take(SLOTS) {
                    let gone = std::mem::take(&mut ring[step as usize % SLOTS]);
                    for (total, gone) in self.totals.iter_mut().zip(gone) {
                        total.packets -= gone.packets;
                        total.bytes -= gone.bytes;
                    }
                }
                *current = target;
            }
        }
    }

    /// Counts a packet of `len` bytes.
    #[inline]
    pub(super) fn count(&mut self, count: Count, len: u32) {
        let add = |tally: &mut Tally| {
            tally.packets += 1.0;
            tally.bytes += f64::from(len);
        };
        add(&mut self.totals[count as usize]);
        if let Memory::Sliding { current, ring, .. } = &mut self.memory {
            add(&mut ring[*current as usize % SLOTS][count as usize]);
        }
    }

    /// The packets counted within the window.
    #[inline]
    pub(super) fn of(&self, count: Count) -> Tally {
        self.totals[count as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Duration;

    fn seconds(secs: u64) -> Time {
        Time::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn a_sliding_window_forgets_exactly() {
        let mut share = ServiceShare::new(Window::Sliding(Duration::from_secs(64)));
        for second in 0..100 {
            share.advance(seconds(second));
            share.count(Count::Received, 10);
        }
        assert_eq!(share.of(Count::Received), Tally { packets: 64.0, bytes: 640.0 });
        share.advance(seconds(162));
        assert_eq!(share.of(Count::Received).packets, 1.0);
        share.advance(seconds(1_000_000));
        assert_eq!(share.of(Count::Received), Tally::default());
    }

    #[test]
    fn a_decaying_window_forgets_by_its_time_constant() {
        let mut share = ServiceShare::new(Window::Decaying(Duration::from_secs(10)));
        share.count(Count::Favoured, 100);
        share.advance(seconds(10));
        assert!((share.of(Count::Favoured).bytes - 36.787_944_117).abs() < 1e-8);
    }
}
