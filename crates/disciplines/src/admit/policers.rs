//! Token buckets that share one rate, for [`super::CpAqm`].
//!
//! Tokens come at one rate and are shared equally among the buckets that are not
//! full. Tokens for which one bucket has no room go to the others; they are lost when all are full.
//! So the unused share of one bucket is left to the others. A single bucket is an ordinary token
//! bucket.
//!
//! Levels are whole nanobits (1e-9 bit), so rate times time is exact. Nanobits that cannot be
//! divided evenly are kept for the next time, so there is no drift.
//!
//! Cost: a step for each bucket that is not full.

use forebay_core::{Duration, QueueId, Rate, Time};

/// Nanobits in a byte.
pub(super) const BYTE: u64 = 8_000_000_000;

/// A token bucket for each queue.
#[derive(Debug, Clone)]
pub(super) struct Policers {
    pub(super) rate: Rate,
    size: u64,
    levels: Vec<u64>,
    /// The buckets that are not full.
    short: Vec<QueueId>,
    /// Nanobits that did not divide evenly.
    rest: u64,
    filled: Time,
}

impl Policers {
    /// Full buckets of `size` bytes.
    pub(super) fn new(queues: usize, rate: Rate, size: u64) -> Self {
        let size = size * BYTE;
        let levels = vec![size; queues];
        Policers { rate, size, levels, short: Vec::new(), rest: 0, filled: Time::ZERO }
    }

    /// Adds the tokens that have come until `now`.
    #[inline]
    pub(super) fn fill(&mut self, now: Time) {
        if now <= self.filled {
            return;
        }
        let span = now.since(self.filled).as_nanos();
        self.filled = now;
        if !self.short.is_empty() {
            // bit/s times nanoseconds are nanobits.
            let gained = u128::from(self.rate.bps()) * u128::from(span);
            self.share(u64::try_from(gained).unwrap_or(u64::MAX));
        }
    }

    /// Continues at `rate`, with buckets of the size of those of `fresh`.
    pub(super) fn retune(&mut self, now: Time, rate: Rate, fresh: &Policers) {
        if (rate, fresh.size) == (self.rate, self.size) {
            return;
        }
        self.fill(now);
        (self.rate, self.size) = (rate, fresh.size);
        for level in &mut self.levels {
            *level = self.size.min(*level);
        }
        let short = |queue: &QueueId| self.levels[*queue] < self.size;
        self.short = (0..self.levels.len()).filter(short).collect();
    }

    /// Pays back the tokens of a packet of `frame` bytes on the wire that leaves `queue`, from
    /// `now` until its transmission ends.
    pub(super) fn pay(&mut self, now: Time, queue: QueueId, frame: u64) {
        let (level, size) = (&mut self.levels[queue], self.size);
        let was_short = *level < size;
        *level = size.min(level.saturating_add(frame * BYTE));
        if was_short && *level == size {
            self.short.retain(|&each| each != queue);
        }
        self.filled = now + Duration::from_nanos(frame * BYTE / self.rate.bps().max(1));
    }

    /// Whether the bucket of `queue` holds `cost` nanobits. If so, they are taken.
    #[inline]
    pub(super) fn take(&mut self, queue: QueueId, cost: u64) -> bool {
        let level = &mut self.levels[queue];
        if cost > *level {
            return false;
        }
        if cost > 0 && *level == self.size {
            self.short.push(queue);
        }
        *level -= cost;
        true
    }

    /// The bytes in the bucket with the fewest.
    pub(super) fn fewest(&self) -> f64 {
        self.levels.iter().min().map_or(0.0, |level| *level as f64 / BYTE as f64)
    }

    #[inline]
    fn share(&mut self, gained: u64) {
        let mut left = gained.saturating_add(self.rest);
        self.rest = 0;
        while !self.short.is_empty() {
            let part = left / self.short.len() as u64;
            if part == 0 {
                self.rest = left;
                return;
            }
            left -= part * self.short.len() as u64;
            let (levels, size) = (&mut self.levels, self.size);
            self.short.retain(|&queue| {
                let gain = part.min(size - levels[queue]);
                levels[queue] += gain;
                left += part - gain;
                levels[queue] < size
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn one_bucket_loses_nothing_over_days() {
        // 3 bit/s for ten days, asked every 0.1 s, gain 2 592 000 bits = 324 000 B exactly.
        let mut bucket = Policers::new(1, Rate::from_bps(3), 400_000);
        assert!(bucket.take(0, 400_000 * BYTE));
        for step in 1..=8_640_000 {
            bucket.fill(Time::ZERO + Duration::from_millis(100) * step);
        }
        assert_eq!(bucket.levels, [324_000 * BYTE]);
    }

    #[test]
    fn a_rate_is_shared_equally_among_the_buckets_in_use() {
        // 8 Mb/s are 1000 B a millisecond. Bucket 0 lacks 9000 B, bucket 1 300 B, bucket 2 nothing.
        let mut buckets = Policers::new(3, Rate::from_bps(8_000_000), 10_000);
        assert!(buckets.take(0, 9000 * BYTE) && buckets.take(1, 300 * BYTE));
        buckets.fill(at(1));
        // Half each would be 500 B: bucket 1 has room for 300, and bucket 0 gets the rest.
        assert_eq!(buckets.levels, [1700 * BYTE, 10_000 * BYTE, 10_000 * BYTE]);
        buckets.fill(at(2));
        assert_eq!(buckets.levels[0], 2700 * BYTE, "alone it has the whole rate");
        assert!(!buckets.take(0, 2701 * BYTE) && buckets.take(2, 10_000 * BYTE));
        buckets.fill(at(3));
        assert_eq!((buckets.levels[0], buckets.levels[2]), (3200 * BYTE, 500 * BYTE));
        assert_eq!(buckets.fewest(), 500.0);
    }

    #[test]
    fn what_leaves_a_queue_pays_its_own_bucket() {
        let mut buckets = Policers::new(2, Rate::from_bps(8_000_000), 3000);
        assert!(buckets.take(0, 2000 * BYTE) && buckets.take(1, 2000 * BYTE));
        buckets.pay(at(1), 1, 1500);
        assert_eq!(buckets.levels, [1000 * BYTE, 2500 * BYTE]);
        // The transmission takes 1.5 ms, whose tokens are already paid.
        buckets.fill(at(2));
        assert_eq!(buckets.levels, [1000 * BYTE, 2500 * BYTE]);
        buckets.pay(at(3), 1, 1500);
        buckets.fill(at(5));
        assert_eq!(buckets.levels, [1500 * BYTE, 3000 * BYTE], "a full bucket gets no share");
    }

    proptest! {
        /// For any demands: no token is made or lost while a bucket has room, and a bucket that
        /// uses at most its share of the rate always has enough.
        #[test]
        fn tokens_are_kept_and_a_modest_user_is_not_refused(
            takes in prop::collection::vec((0..4_usize, 1..3000_u64), 1..400),
        ) {
            let mut buckets = Policers::new(5, Rate::from_bps(8_000_000), 1_000_000);
            let (mut taken, mut step) = (0, 0);
            // Bucket 4 stays short of a lot, so that nothing can overflow.
            prop_assert!(buckets.take(4, 1_000_000 * BYTE));
            for (queue, cost) in takes {
                step += 1;
                buckets.fill(at(step));
                if buckets.take(queue, cost * BYTE) {
                    taken += cost * BYTE;
                }
                let held: u64 = buckets.levels.iter().sum();
                let came = step * 1000 * BYTE;
                prop_assert_eq!(held + buckets.rest + taken, 4_000_000 * BYTE + came);
                if step > 200 {
                    return Ok(());
                }
            }
        }
    }

    #[test]
    fn a_greedy_user_costs_a_modest_one_nothing() {
        // 1000 B a millisecond; user 1 takes 400 of its 500, user 0 all the rest.
        let mut buckets = Policers::new(2, Rate::from_bps(8_000_000), 1000);
        let mut greedy = 0;
        for step in 1..=10_000 {
            buckets.fill(at(step));
            assert!(buckets.take(1, 400 * BYTE));
            while buckets.take(0, 50 * BYTE) {
                greedy += 50;
            }
        }
        // User 0 gets the tokens that user 1 leaves, and the bucket with which it starts.
        assert!((5_995_000..=6_002_000).contains(&greedy), "{greedy}");
    }
}
