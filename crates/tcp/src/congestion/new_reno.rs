//! The standard congestion control (RFC 5681), counting bytes (RFC 3465).

use super::{
    AckSample, Conduct, CongestionController, CongestionEvent, NoParams, SlowStart, Start, Window,
};
use crate::ConnectionParams;
use forebay_core::{ConfigError, Named};
use std::sync::Arc;

/// Slow start, then one segment per round trip.
#[derive(Debug, Default)]
pub struct NewReno {
    slow_start: SlowStart,
    /// Bytes acknowledged that count towards the next increase (RFC 3465, section 2.1).
    acked: u64,
}

impl NewReno {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        NewReno { slow_start: SlowStart::new(connection), acked: 0 }
    }
}

impl Named for NewReno {
    type Family = dyn CongestionController;
    const NAME: &'static str = "new-reno";
    const SUMMARY: &'static str =
        "one segment more each round trip, half of the window after a loss";
    const SOURCE: &'static str = "RFC 5681, section 3; RFC 3465";
    const FACTS: Conduct = Conduct::RENO;
    type Params = NoParams;

    fn build(_params: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(NewReno::new(connection))))
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

    fn heap(&self) -> usize {
        size_of::<Self>() + self.slow_start.heap()
    }
}
