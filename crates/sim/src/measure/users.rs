//! What every user and every class of users got.

use super::delay::DelayMeter;
use super::loss::LossPattern;
use crate::traffic::Codec;
use forebay_core::{Duration, Time};

/// Measures one class: the users who are reported together.
#[derive(Debug, Clone, Default)]
pub struct ClassMeter {
    /// Name in the report.
    pub name: String,
    /// One-way delay of delivered data packets, from the moment that they were sent.
    pub delay: DelayMeter,
    /// Times that completed transfers took.
    pub completion: DelayMeter,
    /// Payload bytes that arrived since the last point of the series.
    pub point_bytes: u64,
}

/// Measures one user: one flow of a traffic entry, with all its successive transfers.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct UserMeter {
    // What every packet touches comes first, on one cache line and a half.
    /// Data packets sent, retransmissions included.
    pub offered: u64,
    /// Data packets sent ever, the warm-up's included: they are numbered by it.
    sent: u64,
    /// Data packets that arrived.
    pub delivered: u64,
    /// Payload bytes delivered in order.
    pub bytes: u64,
    /// Sum of one-way delays in ns.
    delay_time: u128,
    /// Sum of the absolute changes of delay from packet to packet, in ns.
    jitter_time: u128,
    /// Delay of the last packet.
    last_delay: Option<Duration>,
    /// Index of the class.
    pub class: u32,
    /// Index of the traffic entry.
    pub traffic: u32,
    /// Data packets dropped on the way.
    pub dropped: u64,
    /// Data packets marked congestion-experienced on the way.
    pub marked: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Window probes sent (RFC 9293, section 3.8.6.1).
    pub probes: u64,
    /// Transfers completed.
    pub completed: u64,
    /// Connections given up (RFC 1122, R2).
    pub aborted: u64,
    /// Sum of completion times in ns.
    pub completion_time: u128,
    /// How losses follow each other; made at the first loss.
    pattern: Option<Box<LossPattern>>,
    /// Voice codec, for the quality of calls.
    pub codec: Option<Codec>,
}

impl UserMeter {
    /// The meter of a user of traffic entry `traffic` and class `class`, who talks if there is a codec.
    pub fn new(traffic: u32, class: u32, codec: Option<Codec>) -> Self {
        UserMeter { traffic, class, codec, ..UserMeter::default() }
    }

    /// Forgets the counts; who it is stays.
    pub fn restart(&mut self) {
        let sent = self.sent;
        *self = UserMeter { sent, ..UserMeter::new(self.traffic, self.class, self.codec) };
    }

    /// Counts a data packet that is sent, and numbers it.
    #[inline]
    pub fn sends(&mut self) -> u64 {
        self.offered += 1;
        self.sent += 1;
        self.sent
    }

    /// Is told that the data packet numbered `number` was dropped.
    pub fn lost(&mut self, number: u64) {
        self.dropped += 1;
        self.pattern.get_or_insert_default().lost(number);
    }

    /// How the losses so far follow each other; None without any.
    pub fn loss_pattern(&self) -> Option<LossPattern> {
        self.pattern.as_ref().map(|pattern| pattern.finished())
    }

    /// Is told of a data packet that arrived after `delay`.
    #[inline]
    pub fn arrived(&mut self, delay: Duration) {
        self.delivered += 1;
        self.delay_time += u128::from(delay.as_nanos());
        let last = self.last_delay.replace(delay).unwrap_or(delay);
        self.jitter_time += u128::from(delay.as_nanos().abs_diff(last.as_nanos()));
    }

    /// Is told of a transfer that ended, begun at `start`.
    pub fn ended(&mut self, start: Time, now: Time) {
        self.completed += 1;
        self.completion_time += u128::from(now.since(start).as_nanos());
    }

    /// Dropped over dropped and delivered; None before any packet.
    pub fn loss(&self) -> Option<f64> {
        let total = self.dropped + self.delivered;
        (total > 0).then(|| self.dropped as f64 / total as f64)
    }

    /// Mean one-way delay in ms.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.delivered > 0).then(|| self.delay_time as f64 / self.delivered as f64 * 1e-6)
    }

    /// Mean absolute difference of successive one-way delays in ms (RFC 3550, section 6.4.1,
    /// without the smoothing).
    pub fn jitter_ms(&self) -> Option<f64> {
        (self.delivered > 1).then(|| self.jitter_time as f64 / (self.delivered - 1) as f64 * 1e-6)
    }

    /// Voice quality of this call: (R-factor, MOS).
    pub fn voice(&self) -> Option<(f64, f64)> {
        let codec = self.codec?;
        let r = super::r_factor(self.mean_delay_ms()? + codec.delay_ms(), self.loss()?, codec);
        Some((r, super::mos(r)))
    }
}

/// Jain's fairness index of `shares`: 1 when all are equal, 1/n when one has all; None if nobody
/// has anything. Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = shares.clone().count() as f64;
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_runs_from_one_over_n_to_one() {
        assert_eq!(jain([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0].into_iter()), None);
    }

    #[test]
    fn jitter_is_the_mean_change_of_delay() {
        let mut user = UserMeter::default();
        for millis in [10, 12, 9] {
            user.arrived(Duration::from_millis(millis));
        }
        assert_eq!(user.jitter_ms(), Some(2.5));
        assert!((user.mean_delay_ms().unwrap() - 31.0 / 3.0).abs() < 1e-9);
        // However long they are.
        let mut user = UserMeter::default();
        (0..3).for_each(|_| user.arrived(Duration::MAX));
        assert_eq!(user.mean_delay_ms(), Some(Duration::MAX.as_millis_f64()));
    }
}
