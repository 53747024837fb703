//! Round-trip time and the retransmission timeout (RFC 6298).

use crate::ConnectionParams;
use crate::congestion::real;
use forebay_core::{Duration, Time, fetch};

/// Number of segments that are timed at once when there are no timestamps.
const TIMED: usize = 8;

/// SRTT, RTTVAR and RTO (RFC 6298, section 2).
#[derive(Debug, Default)]
pub(super) struct RttEstimator {
    /// Nanoseconds; meaningless before the first sample.
    srtt: f64,
    variation: f64,
    sampled: bool,
    /// Times the timer has expired since the last valid sample (section 5.5).
    backoff: u8,
    rto: Duration,
    /// G, in nanoseconds.
    granularity: f64,
    minimum: Duration,
    maximum: Duration,
}

impl RttEstimator {
    pub(super) fn new(connection: &ConnectionParams, granularity: Option<Duration>) -> Self {
        RttEstimator {
            // (2.1) Before the first measurement.
            rto: connection.initial_rto,
            granularity: granularity.map_or(1000.0, |g| g.as_nanos() as f64),
            minimum: connection.min_rto,
            maximum: connection.max_rto,
            ..RttEstimator::default()
        }
    }

    /// Adds a sample, if there are about `per_round` samples in a round trip.
    ///
    /// The gains are divided by that number, so the estimate remembers some round trips and not
    /// some packets (RFC 7323, section 4.2 and appendix G).
    #[inline]
    pub(super) fn sample(&mut self, rtt: Duration, per_round: f64) {
        let rtt = real(rtt.as_nanos());
        if self.sampled {
            // (2.3) with beta = 1/4 and alpha = 1/8.
            let share = if per_round > 1.0 { 1.0 / per_round } else { 1.0 };
            self.variation += 0.25 * share * ((self.srtt - rtt).abs() - self.variation);
            self.srtt += 0.125 * share * (rtt - self.srtt);
        } else {
            // (2.2)
            self.sampled = true;
            self.srtt = rtt;
            self.variation = rtt / 2.0;
        }
        // (2.4) and (2.5) bound the result.
        let margin = (4.0 * self.variation).max(self.granularity);
        let rto = Duration::from_nanos((self.srtt + margin) as i64 as u64);
        self.rto = rto.max(self.minimum).min(self.maximum);
        self.backoff = 0;
    }

    /// The timeout with its backoff.
    #[inline]
    pub(super) fn rto(&self) -> Duration {
        if self.backoff == 0 { self.rto } else { self.backed_off(self.backoff) }
    }

    /// The timeout after `times` expiries, bounded (RFC 6298, section 5.5).
    pub(super) fn backed_off(&self, times: u8) -> Duration {
        self.rto.saturating_mul(1 << times.min(32)).min(self.maximum)
    }

    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// The handshake is over, and its SYN was sent more than once (RFC 6298, section 5.7).
    pub(super) fn after_lost_syn(&mut self) {
        if !self.sampled {
            self.rto = Duration::from_secs(3).max(self.minimum).min(self.maximum);
        }
    }

    #[inline]
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.sampled.then(|| Duration::from_nanos(self.srtt as i64 as u64))
    }
}

/// Send times of up to eight segments spread over the window, for connections without timestamps.
/// This is enough for HyStart++'s eight samples per round, at sixteen bytes each.
///
/// The oldest come first. With a small window the others, which lie on other cache lines, are not
/// touched.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct TimedSegments {
    /// The next segment that ends above this offset is timed.
    next: u64,
    count: usize,
    entries: [(u64, Time); TIMED],
}

impl TimedSegments {
    /// Fetches the later ones, if there are that many.
    #[inline]
    pub(super) fn fetch_further(&self) {
        if self.count > 2 {
            fetch(&self.entries[3]);
        }
    }

    /// A segment of new data that ends at `end` is sent while `window` bytes may be in flight.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, end: u64, window: u64) {
        if end > self.next
            && let Some(entry) = self.entries.get_mut(self.count)
        {
            *entry = (end, now);
            self.count += 1;
            self.next = end + window / TIMED as u64;
        }
    }

    /// Everything below `ack` has arrived. Returns when the last timed segment of it was sent.
    #[inline]
    pub(super) fn acknowledged(&mut self, now: Time, ack: u64) -> Option<Duration> {
        let waiting = self.entries.get(..self.count)?;
        let gone = waiting.iter().position(|(end, _)| *end > ack).unwrap_or(self.count);
        let (_, sent) = *waiting[..gone].last()?;
        self.count -= gone;
        for at in 0..self.count {
            self.entries[at] = self.entries[at + gone];
        }
        Some(now.since(sent))
    }

    /// Something is sent again, so timed segments have become ambiguous (Karn's algorithm; RFC
    /// 6298, section 3). Starts again above `next`.
    pub(super) fn restart(&mut self, next: u64) {
        self.count = 0;
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        let min_rto = Duration::from_millis(200);
        RttEstimator::new(&ConnectionParams { min_rto, ..ConnectionParams::default() }, None)
    }

    #[test]
    fn a_coarse_clock_keeps_the_timeout_above_the_round_trip() {
        let granularity = Some(Duration::from_millis(200));
        let mut rtt = RttEstimator::new(&ConnectionParams::default(), granularity);
        (0..100).for_each(|_| rtt.sample(Duration::from_millis(100), 1.0));
        assert_eq!(rtt.rto(), Duration::from_millis(300));
    }

    #[test]
    fn follows_rfc_6298_section_2() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        // SRTT = 100, RTTVAR = 50, RTO = 300 ms.
        rtt.sample(Duration::from_millis(100), 1.0);
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        // RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5; SRTT = 7/8 100 + 1/8 180 = 110; RTO = 340.
        rtt.sample(Duration::from_millis(180), 1.0);
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(rtt.rto(), Duration::from_millis(340));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_millis(1360));
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        // (5.7) A new sample collapses the backoff.
        rtt.sample(Duration::from_millis(110), 1.0);
        assert!(rtt.rto() < Duration::from_millis(340));
        // The floor.
        (0..100).for_each(|_| rtt.sample(Duration::from_millis(10), 1.0));
        assert_eq!(rtt.rto(), Duration::from_millis(200));
    }

    #[test]
    fn many_samples_a_round_remember_as_long_as_one() {
        // RFC 7323, appendix G: after one round of ten samples of a stepped RTT, the estimate has
        // moved by about alpha, 1 - (1 - 1/80)^10 = 0.118.
        let mut rtt = estimator();
        rtt.sample(Duration::from_millis(100), 1.0);
        (0..10).for_each(|_| rtt.sample(Duration::from_millis(200), 10.0));
        let srtt = rtt.srtt().unwrap().as_millis_f64();
        assert!((srtt - 111.8).abs() < 0.1, "{srtt}");
    }

    #[test]
    fn eight_segments_a_window_are_timed() {
        let mut timed = TimedSegments::default();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        (1..=100_u64).for_each(|i| timed.sent(at(i), i * 1000 + 1, 100_000));
        // 12.5 segments apart.
        let samples: Vec<_> = (1..=100_u64)
            .filter_map(|i| timed.acknowledged(at(50 + i), i * 1000 + 1).map(|rtt| (i, rtt)))
            .collect();
        let rtt = Duration::from_millis(50);
        assert_eq!(samples, [1, 14, 27, 40, 53, 66, 79, 92].map(|i| (i, rtt)));
        timed.sent(at(0), 1_000_000, 100_000);
        timed.restart(1_000_000);
        assert_eq!(timed.acknowledged(at(1), 2_000_000), None);
    }
}
