//! Whether a token bucket polices the path, and at what rate: the long-term estimate of `tcp_bbr.c`
//! (`lt_bw`).

use forebay_core::Time;

/// One segment a microsecond (`BW_UNIT`).
pub(super) const BW: u64 = 1 << 24;
/// Fewest rounds of an interval. It has at most four times as many.
const ROUNDS: u32 = 4;
/// An interval is lossy if at least 50 of 256 delivered segments were lost.
const LOSS: u64 = 50;
/// Rounds for which a rate is used.
const USED_ROUNDS: u32 = 48;

/// Counts of the whole connection.
#[derive(Debug, Clone, Copy, Default)]
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

/// The result of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// Two intervals had one rate.
    Found,
    /// The rate was used long enough.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Policed {
    samples: bool,
    used: bool,
    rounds: u32,
    /// Bandwidth of the last interval, in the unit of `law`.
    bw: Option<u64>,
    delivered: u32,
    lost: u32,
    at_ms: u64,
}

fn millis(totals: &Totals) -> u64 {
    totals.delivered_at.as_nanos() / 1_000_000
}

impl Policed {
    pub(super) fn new(totals: &Totals) -> Self {
        let mut policed = Policed::default();
        policed.begin(totals);
        policed
    }

    /// The rate, if it is policed.
    pub(super) fn rate(&self) -> Option<u64> {
        self.bw.filter(|_| self.used)
    }

    fn begin(&mut self, totals: &Totals) {
        (self.delivered, self.lost, self.at_ms) = (totals.delivered, totals.lost, millis(totals));
        self.rounds = 0;
    }

    /// Starts again, without an estimate.
    pub(super) fn reset(&mut self, totals: &Totals) {
        (self.samples, self.used, self.bw) = (false, false, None);
        self.begin(totals);
    }

    /// `bbr_lt_bw_sampling`: an acknowledgment that reports `losses`. `small` says whether a
    /// difference between two rates counts as none.
    pub(super) fn sample(
        &mut self,
        round_start: bool,
        probing: bool,
        losses: u32,
        app_limited: bool,
        totals: &Totals,
        small: impl Fn(u64) -> bool,
    ) -> News {
        if self.used {
            if probing && round_start {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.reset(totals);
                    return News::Over;
                }
            }
            return News::Nothing;
        }
        if !self.samples {
            // The policer's tokens are used up with the first loss.
            if losses == 0 {
                return News::Nothing;
            }
            self.begin(totals);
            self.samples = true;
        }
        if app_limited {
            self.reset(totals);
            return News::Nothing;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < ROUNDS {
            return News::Nothing;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(totals);
            return News::Nothing;
        }
        let delivered = u64::from(totals.delivered - self.delivered);
        let lost = u64::from(totals.lost - self.lost);
        let span_ms = millis(totals).saturating_sub(self.at_ms);
        if losses == 0 || delivered == 0 || lost << 8 < LOSS * delivered || span_ms == 0 {
            return News::Nothing;
        }
        let bw = bandwidth(totals.delivered - self.delivered, span_ms * 1000);
        if let Some(last) = self.bw {
            let apart = bw.abs_diff(last);
            if apart * 256 <= 32 * last || small(apart) {
                self.bw = Some(u64::midpoint(bw, last));
                self.used = true;
                self.rounds = 0;
                return News::Found;
            }
        }
        self.bw = Some(bw);
        self.begin(totals);
        News::Nothing
    }
}
