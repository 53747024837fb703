//! The standard's congestion control (RFC 5681), counting bytes (RFC 3465).

use super::{AckSample, CongestionController, CongestionEvent, SlowStart, Window};
use crate::Config;

/// Slow start, and one segment a round trip after it.
#[derive(Debug)]
pub struct NewReno {
    slow_start: SlowStart,
    /// Bytes acknowledged towards the next increase (RFC 3465, section 2.1).
    acked: u64,
}

impl NewReno {
    /// The state of a new connection.
    pub fn new(config: &Config) -> Self {
        NewReno { slow_start: SlowStart::new(config), acked: 0 }
    }
}

impl CongestionController for NewReno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if window.in_slow_start() {
            return self.slow_start.on_ack(window, sample);
        }
        if !sample.limited {
            // A window that is not used says nothing about the path (RFC 7661, section 4).
            return;
        }
        self.acked += sample.acked.min(window.per_ack);
        if self.acked >= window.cwnd {
            self.acked -= window.cwnd;
            window.grow(window.mss);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // RFC 5681, equation 4.
        window.ssthresh = (event.flight / 2).max(2 * window.mss);
        self.acked = 0;
        self.slow_start.on_congestion();
    }
}
