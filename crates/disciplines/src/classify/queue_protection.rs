//! Queue protection: packets of flows that build the low-latency queue are moved to the classic
//! one.
//!
//! Each arriving packet adds to its flow's queuing score, in time, what it
//! contributes to congestion. This is its bytes times the probability with which the queue's native
//! ramp would mark it at the present delay, over the aging rate, at which scores decrease. While
//! the delay is above the critical one, packets are sanctioned if their flow's score, scaled by
//! delay over critical delay, is above the critical score: they join the classic queue. Scores are
//! in a few buckets, each of which holds the time at which its flow's score expires. A flow can
//! take a bucket that has expired. Flows that find none share the last one, the dregs.
//!
//! Source: RFC 9957, section 4 (pseudo-code): parameters, qprotect(), pick_bucket(), fill_bucket()
//! and calcProbNative(), which are those of DOCSIS 3.1's annexes O and P. It was compared with
//! CableLabs' model for ns-3 (docsis-ns3, queue-protection.cc), not yet with the RFC's own text.
//! Defaults are DOCSIS's.
//!
//! | RFC 9957 | here |
//! |---|---|
//! | MINTH, RANGE, FLOOR | `min_th`, `range`, two of the largest packets on the wire |
//! | CRITICALqL_us (QPLatencyThreshold) | `critical_ql`, MAXTH if unset |
//! | CRITICALqLSCORE_us (QPQueuingScoreThreshold) | `critical_ql_score` |
//! | LG_AGING (QPDrainRateExponent) | `lg_aging` |
//! | NBUCKETS, ATTEMPTS, qLSCORE_MAX | `buckets`, `attempts`, `max_ql_score` |
//! | buckets\[\].id, .t_exp | [`Bucket`] |
//! | qdelay() | bytes of the low-latency queue and of the arriving packet at the link's rate |
//!
//! Deviations: D1. The ramp is independent of what marks in the queue: set `min_th` and `range` to
//! those of the AQM. D2. A flow is its number, which the gate derives from the five-tuple, and the
//! hash is that of `flow-hash`. D3. The delay does not consider the scheduler: beside a classic
//! queue with a large share it is too small by that share. D4. Scores are rounded down to
//! nanoseconds.
//!
//! Cost: for each low-latency packet one hash, two bucket look-ups and two multiplications; 24
//! bytes per bucket.

use super::mix;
use forebay_core::config::{above_zero, require, within};
use forebay_core::{ConfigError, Duration, Rate, Setting, Time, params};

params! {
    /// Parameters of queue protection, by their names in RFC 9957.
    #[derive(PartialEq)]
    pub struct QueueProtectionParams {
        /// Delay above which packets count as congesting (MINTH). On links where two of the largest
        /// packets take longer, their time is used instead (FLOOR). Default 475us.
        pub min_th: Duration = Duration::from_micros(475),
        /// Delay above `min_th` over which packets come to count in full (RANGE). Default 525us.
        pub range: Duration = Duration::from_micros(525),
        /// Delay of the low-latency queue above which packets are sanctioned (CRITICALqL_us).
        /// Default: the end of the ramp (MAXTH).
        pub critical_ql: Option<Duration> = None,
        /// Score of a flow above which its packets are sanctioned when the delay is the critical
        /// one (CRITICALqLSCORE_us); above 0. Larger values forgive longer bursts. Default 4ms.
        pub critical_ql_score: Duration = Duration::from_millis(4),
        /// Binary logarithm of the rate, in bytes per 2^30 nanoseconds, that a flow may contribute
        /// to congestion in the long run (LG_AGING), 1 to 30. Default 19: 488 kB/s.
        pub lg_aging: u32 = 19,
        /// Buckets beside the dregs (NBUCKETS); a power of two, 1 to 65536. Default 32.
        pub buckets: u32 = 32,
        /// Number of buckets in which a flow is looked for (ATTEMPTS), 1 to 32. Multiplied by the
        /// binary logarithm of `buckets` it is at most 32, the number of bits of the hash. Default
        /// 2.
        pub attempts: u32 = 2,
        /// Highest score of a flow (qLSCORE_MAX), and so the longest time until it is forgiven;
        /// above 0. Default 5s.
        pub max_ql_score: Duration = Duration::from_millis(5000),
    }
}

/// The score of a flow, as the time at which it will have expired.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    flow: Option<u32>,
    expires: Time,
}

/// The scores of flows, which decide who is sanctioned.
pub struct QueueProtection {
    params: QueueProtectionParams,
    /// Bytes of two of the largest packets on the wire.
    floor: u64,
    overhead: u64,
    ns_per_byte: f64,
    /// MINTH and RANGE on this link.
    min_th: Duration,
    range: Duration,
    /// CRITICALqL, and its product with CRITICALqLSCORE in square nanoseconds.
    critical: Duration,
    product: u128,
    /// Nanoseconds of score a byte (1 / AGING).
    per_byte: f64,
    buckets: Vec<Bucket>,
    sanctioned: u64,
}

impl QueueProtection {
    /// The parameters with which it was built.
    pub fn params(&self) -> &QueueProtectionParams {
        &self.params
    }

    /// Queue protection on a port of that rate.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &QueueProtectionParams, setting: &Setting) -> Result<Self, ConfigError> {
        let QueueProtectionParams { critical_ql_score, lg_aging, buckets, attempts, .. } = *params;
        above_zero("critical_ql_score", critical_ql_score)?;
        above_zero("max_ql_score", params.max_ql_score)?;
        within("lg_aging", lg_aging, 1..=30)?;
        require(buckets.is_power_of_two() && buckets <= 65_536, "buckets", || {
            format!("must be a power of two, 1 to 65536, got {buckets}")
        })?;
        let bits = buckets.trailing_zeros();
        require((1..=32).contains(&attempts) && attempts * bits <= 32, "attempts", || {
            format!("must be 1 to {}, got {attempts}", 32 / bits.max(1))
        })?;
        let mut protection = QueueProtection {
            params: params.clone(),
            floor: 2 * u64::from(setting.mtu + setting.overhead),
            overhead: setting.overhead.into(),
            ns_per_byte: 0.0,
            min_th: Duration::ZERO,
            range: Duration::ZERO,
            critical: Duration::ZERO,
            product: 0,
            per_byte: f64::from(1_u32 << (30 - lg_aging)),
            buckets: vec![Bucket::default(); buckets as usize + 1],
            sanctioned: 0,
        };
        protection.set_link_rate(setting.rate);
        Ok(protection)
    }

    /// Sets the link's rate. An outage does not change it.
    pub fn set_link_rate(&mut self, rate: Rate) {
        if rate.bps() == 0 {
            return;
        }
        self.ns_per_byte = 8e9 / rate.bps() as f64;
        let QueueProtectionParams { min_th, range, critical_ql, critical_ql_score, .. } =
            self.params;
        // The ramp ends where it did, if the floor leaves room for it.
        let floor = rate.transmission(self.floor).max(min_th);
        let least = Duration::from_micros(1).min(range);
        (self.min_th, self.range) = (floor, range.saturating_sub(floor - min_th).max(least));
        self.critical = critical_ql.unwrap_or(self.min_th + self.range);
        let nanos = |span: Duration| u128::from(span.as_nanos());
        self.product = nanos(self.critical) * nanos(critical_ql_score);
    }

    /// qprotect(): whether a packet of `len` bytes of `flow` is sanctioned, if `held` (packets,
    /// bytes) are already in the low-latency queue.
    #[inline]
    pub fn sanctions(&mut self, flow: u32, len: u32, held: (usize, u64), now: Time) -> bool {
        let (packets, bytes) = held;
        let wire = bytes + u64::from(len) + self.overhead * (packets as u64 + 1);
        let delay = Duration::from_nanos((wire as f64 * self.ns_per_byte) as u64);
        let bucket = self.pick(flow, now);
        let score = self.fill(bucket, len, delay, now);
        let guilty = delay > self.critical
            && u128::from(delay.as_nanos()) * u128::from(score.as_nanos()) > self.product;
        self.sanctioned += u64::from(guilty);
        guilty
    }

    /// pick_bucket(): the place of the bucket of `flow`, which has not expired.
    #[inline]
    fn pick(&mut self, flow: u32, now: Time) -> usize {
        let dregs = self.buckets.len() - 1;
        let bits = dregs.trailing_zeros();
        let mut hash = u64::from(mix(0, flow));
        let mut found = dregs;
        for _ in 0..self.params.attempts {
            let place = hash as usize & (dregs - 1);
            let bucket = &mut self.buckets[place];
            if bucket.flow == Some(flow) {
                bucket.expires = bucket.expires.max(now);
                return place;
            }
            if found == dregs && bucket.expires <= now {
                found = place;
            }
            hash >>= bits;
        }
        let bucket = &mut self.buckets[found];
        *bucket = Bucket { flow: Some(flow), expires: bucket.expires.max(now) };
        found
    }

    /// fill_bucket(): adds the packet's contribution to the score. Returns the score.
    #[inline]
    fn fill(&mut self, place: usize, len: u32, delay: Duration, now: Time) -> Duration {
        let expires = &mut self.buckets[place].expires;
        let mut score = expires.since(now);
        if delay > self.min_th {
            let above = (delay - self.min_th).as_nanos() as f64;
            let range = self.range.as_nanos() as f64;
            let probability = if above >= range { 1.0 } else { above / range };
            let congestion = probability * f64::from(len) * self.per_byte;
            score = (score + Duration::from_nanos(congestion as u64)).min(self.params.max_ql_score);
            *expires = now + score;
        }
        score
    }

    /// Number of packets that were sanctioned so far.
    pub fn sanctioned(&self) -> u64 {
        self.sanctioned
    }

    /// The highest score of a flow.
    pub fn highest(&self, now: Time) -> Duration {
        let scores = self.buckets.iter().map(|bucket| bucket.expires.since(now));
        scores.max().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests;
