//! A delay of acknowledgments that follows the gaps between segments.

use forebay_core::Duration;

/// How long an acknowledgment waits in Linux (`tcp_event_data_recv`, `tcp_send_delayed_ack`).
#[derive(Debug)]
pub(super) struct Adaptive {
    least: Duration,
    /// The receiver's own measurement, from the handshake.
    pub(super) round_trip: Duration,
    ato: Duration,
}

impl Adaptive {
    /// Linux's RTO minus SRTT, while the round-trip time is constant.
    const MARGIN: Duration = Duration::from_millis(200);

    pub(super) fn new(least: Duration) -> Self {
        Adaptive { least, round_trip: Duration::ZERO, ato: least }
    }

    /// The delay after data arrived, `gap` after the previous data.
    pub(super) fn on_data(&mut self, gap: Duration) -> Duration {
        if gap <= self.least / 2 {
            self.ato = self.ato / 2 + self.least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.round_trip + Self::MARGIN);
        }
        self.delay()
    }

    /// The delay after an acknowledgment waited in vain for a second segment.
    pub(super) fn on_expiry(&mut self) -> Duration {
        self.ato = (self.ato * 2).min(self.round_trip + Self::MARGIN);
        self.delay()
    }

    fn delay(&self) -> Duration {
        self.ato.min(self.round_trip.max(self.least))
    }
}
