//! HyStart++ (RFC 9406): leaves slow start when the round-trip time grows, and returns to it if
//! that was a mistake.

use super::{AckSample, Window};
use forebay_core::Duration;

// Section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L for a sender that does not pace.
const LIMIT: u64 = 8;

/// State of HyStart++ (section 4.2).
#[derive(Debug)]
pub struct HyStart {
    /// The round ends when this offset is acknowledged.
    window_end: u64,
    last_round_min: Duration,
    current_round_min: Duration,
    samples: u32,
    /// In conservative slow start: the smallest RTT at its start, and the number of rounds in it.
    css: Option<(Duration, u32)>,
    limit: u64,
}

impl HyStart {
    /// The state of a new connection.
    pub fn new(paced: bool) -> Self {
        HyStart {
            window_end: 0,
            last_round_min: Duration::MAX,
            current_round_min: Duration::MAX,
            samples: 0,
            css: None,
            limit: if paced { u64::MAX / 65_536 } else { LIMIT },
        }
    }

    /// Reads an acknowledgment in slow start (section 4.2).
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if self.window_end == 0 {
            self.window_end = sample.sent;
        }
        if sample.limited {
            let acked = sample.acked.min(self.limit * window.mss).min(window.per_ack);
            window.grow(if self.css.is_some() { acked / CSS_GROWTH_DIVISOR } else { acked });
        }
        if let Some(rtt) = sample.rtt {
            self.current_round_min = self.current_round_min.min(rtt);
            self.samples += 1;
            if self.samples >= N_RTT_SAMPLE && self.current_round_min != Duration::MAX {
                self.judge();
            }
        }
        if sample.ack >= self.window_end {
            self.end_round(window, sample.sent);
        }
    }

    fn judge(&mut self) {
        match self.css {
            None if self.last_round_min != Duration::MAX => {
                let threshold =
                    (self.last_round_min / MIN_RTT_DIVISOR).max(MIN_RTT_THRESH).min(MAX_RTT_THRESH);
                if self.current_round_min >= self.last_round_min + threshold {
                    self.css = Some((self.current_round_min, 0));
                }
            }
            // The delay has gone again: the exit was spurious.
            Some((baseline, _)) if self.current_round_min < baseline => self.css = None,
            _ => {}
        }
    }

    fn end_round(&mut self, window: &mut Window, sent: u64) {
        self.window_end = sent;
        self.last_round_min = self.current_round_min;
        self.current_round_min = Duration::MAX;
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.css {
            *rounds += 1;
            // The round in which it began counts (section 4.2).
            if *rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionParams;
    use forebay_core::Time;

    /// One round of `rtt` milliseconds in which every segment of the window is acknowledged.
    fn round(hystart: &mut HyStart, window: &mut Window, next: &mut u64, rtt: u64) {
        let mss = window.mss;
        let (start, segments) = (*next, window.cwnd / mss);
        let sent = start + segments * mss;
        for i in 1..=segments {
            let rtt = Some(Duration::from_millis(rtt));
            let sample = AckSample {
                now: Time::ZERO,
                acked: mss,
                ack: start + i * mss,
                sent: start + (i - 1) * mss + window.cwnd,
                rtt,
                srtt: rtt,
                limited: true,
                ..AckSample::default()
            };
            hystart.on_ack(window, &sample);
            if !window.in_slow_start() {
                break;
            }
        }
        *next = sent;
    }

    fn begin() -> (HyStart, Window, u64) {
        (HyStart::new(false), Window::new(&ConnectionParams::default(), None), 1)
    }

    #[test]
    fn growth_is_a_quarter_once_the_delay_rises() {
        let (mut hystart, mut window, mut next) = begin();
        (0..3).for_each(|_| round(&mut hystart, &mut window, &mut next, 40));
        assert_eq!(window.cwnd, 80 * window.mss);
        // 40 / 8 = 5 ms is the threshold: 44 does nothing, 45 begins conservative slow start.
        round(&mut hystart, &mut window, &mut next, 44);
        assert!(hystart.css.is_none());
        assert_eq!(window.cwnd, 160 * window.mss);
        let mut hystart = HyStart {
            last_round_min: Duration::from_millis(40),
            current_round_min: Duration::MAX,
            samples: 0,
            ..hystart
        };
        round(&mut hystart, &mut window, &mut next, 45);
        assert!(hystart.css.is_some());
        // Eight samples at full growth, the other 152 at a quarter.
        assert_eq!(window.cwnd, (160 + 8 + 38) * window.mss);
    }

    #[test]
    fn five_rounds_of_it_end_slow_start() {
        let (mut hystart, mut window, mut next) = begin();
        (0..2).for_each(|_| round(&mut hystart, &mut window, &mut next, 40));
        let mut rounds = 0_u32;
        while window.in_slow_start() {
            round(&mut hystart, &mut window, &mut next, 60);
            rounds += 1;
        }
        // One still holds samples of 40 ms, and the one in which the rise is found counts.
        assert_eq!(rounds, 1 + 5);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    #[test]
    fn a_spurious_rise_is_forgiven() {
        let (mut hystart, mut window, mut next) = begin();
        (0..2).for_each(|_| round(&mut hystart, &mut window, &mut next, 40));
        // The last two acknowledgments of a round count in the next one: 40, then 60.
        (0..2).for_each(|_| round(&mut hystart, &mut window, &mut next, 60));
        assert!(hystart.css.is_some());
        round(&mut hystart, &mut window, &mut next, 41);
        assert!(hystart.css.is_none());
    }
}
