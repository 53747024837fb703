//! Round-trip time and retransmission timeout (`tcp_rtt_estimator`, `tcp_set_rto`): RFC 6298 with
//! Linux's memory of the variation. A shorter round trip hardly raises it, and it falls by a
//! quarter per round trip, to no less than the smallest timeout.

use super::Clock;
use crate::ConnectionParams;
use forebay_core::Duration;

/// Estimates in units of the version: ticks before 3.15, microseconds since.
#[derive(Debug, Default)]
pub(super) struct Estimator {
    unit: Duration,
    /// Eight times the smoothed round-trip time; 0 before the first sample.
    srtt: u64,
    /// Four times the mean deviation, its maximum in this round trip, and the variation in use.
    deviation: u64,
    greatest: u64,
    variation: u64,
    /// A round trip ends when this offset is passed.
    round: u64,
    least: u64,
    most: Duration,
    pub(super) rto: Duration,
    clock: Clock,
}

impl Estimator {
    pub(super) fn new(connection: &ConnectionParams, clock: Clock, unit: Duration) -> Self {
        Estimator {
            unit,
            least: connection.min_rto.as_nanos() / unit.as_nanos(),
            most: connection.max_rto,
            rto: connection.initial_rto,
            clock,
            ..Estimator::default()
        }
    }

    /// The handshake gave no sample, because its SYN was sent twice (RFC 6298, section 5.7;
    /// `tcp_init_metrics`).
    pub(super) fn forget_lost_syn(&mut self) {
        self.rto = self.clock.round_up(Duration::from_secs(3)).min(self.most);
    }

    /// A sample `rtt`, when data are acknowledged up to `una` and sent up to `next`.
    pub(super) fn sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let m = (rtt.as_nanos() / self.unit.as_nanos()).max(1);
        if self.srtt == 0 {
            self.srtt = m << 3;
            self.deviation = m << 1;
            self.variation = self.deviation.max(self.least);
            self.greatest = self.variation;
            self.round = next;
        } else {
            let error = m as i64 - (self.srtt >> 3) as i64;
            self.srtt = (self.srtt as i64 + error).max(1) as u64;
            let mut change = error.abs() - (self.deviation >> 2) as i64;
            if error < 0 && change > 0 {
                change >>= 3;
            }
            self.deviation = (self.deviation as i64 + change) as u64;
            if self.deviation > self.greatest {
                self.greatest = self.deviation;
                self.variation = self.variation.max(self.greatest);
            }
            if una > self.round {
                if self.greatest < self.variation {
                    self.variation -= (self.variation - self.greatest) >> 2;
                }
                self.round = next;
                self.greatest = self.least;
            }
        }
        let rto = self.unit.saturating_mul((self.srtt >> 3) + self.variation);
        self.rto = self.clock.round_up(rto).min(self.most);
    }

    pub(super) fn back_off(&mut self) {
        self.rto = self.backed_off(1);
    }

    /// The timeout after `times` more expiries.
    pub(super) fn backed_off(&self, times: u8) -> Duration {
        self.rto.saturating_mul(1 << times.min(32)).min(self.most)
    }

    pub(super) fn least(&self) -> Duration {
        self.unit.saturating_mul(self.least)
    }

    /// The smoothed round-trip time in eighths of the unit; 0 before the first sample (`srtt_us`).
    pub(super) fn eight_srtt_us(&self) -> u64 {
        self.srtt
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| self.unit.saturating_mul(self.srtt) / 8)
    }
}
