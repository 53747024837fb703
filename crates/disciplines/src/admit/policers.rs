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
//! A bucket may also lend: tokens that it does not hold may be owed, up to a third of its size. Only
//! tokens for which it has no room pay its debt, so a debt takes nothing from later packets.
//!
//! Cost: a step for each bucket that is not full.

use forebay_core::{Duration, QueueId, Rate, Time};

/// Nanobits in a byte.
pub(super) const BYTE: u64 = 8_000_000_000;

/// One token bucket, in nanobits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    level: u64,
    owed: u64,
}

impl Bucket {
    /// Whether no more tokens have room.
    #[inline]
    fn is_whole(self, size: u64) -> bool {
        self.level == size && self.owed == 0
    }

    /// Adds `tokens`; those for which there is no room pay the debt. Returns what is left of them.
    #[inline]
    fn add(&mut self, tokens: u64, size: u64) -> u64 {
        let gain = tokens.min(size - self.level);
        self.level += gain;
        if self.level < size {
            return 0;
        }
        let paid = self.owed.min(tokens - gain);
        self.owed -= paid;
        tokens - gain - paid
    }
}

/// A token bucket for each queue.
#[derive(Debug, Clone)]
pub(super) struct Policers {
    pub(super) rate: Rate,
    size: u64,
    buckets: Vec<Bucket>,
    /// The buckets that are not full or have a debt.
    short: Vec<QueueId>,
    /// Nanobits that did not divide evenly.
    rest: u64,
    filled: Time,
}

impl Policers {
    /// Full buckets of `size` bytes.
    pub(super) fn new(queues: usize, rate: Rate, size: u64) -> Self {
        let size = size * BYTE;
        let buckets = vec![Bucket { level: size, owed: 0 }; queues];
        Policers { rate, size, buckets, short: Vec::new(), rest: 0, filled: Time::ZERO }
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
        let most = self.most_owed();
        for Bucket { level, owed } in &mut self.buckets {
            (*level, *owed) = (self.size.min(*level), most.min(*owed));
        }
        let short = |queue: &QueueId| !self.buckets[*queue].is_whole(self.size);
        self.short = (0..self.buckets.len()).filter(short).collect();
    }

    /// Pays back the tokens of a packet of `frame` bytes on the wire that leaves `queue`, from
    /// `now` until its transmission ends.
    pub(super) fn pay(&mut self, now: Time, queue: QueueId, frame: u64) {
        let bucket = &mut self.buckets[queue];
        if !bucket.is_whole(self.size) {
            bucket.add(frame * BYTE, self.size);
            if bucket.is_whole(self.size) {
                self.short.retain(|&each| each != queue);
            }
        }
        self.filled = now + Duration::from_nanos(frame * BYTE / self.rate.bps().max(1));
    }

    /// Whether the bucket of `queue` holds `cost` nanobits. If so, they are taken.
    #[inline]
    pub(super) fn take(&mut self, queue: QueueId, cost: u64) -> bool {
        let bucket = &mut self.buckets[queue];
        if cost > bucket.level {
            return false;
        }
        if cost > 0 && bucket.is_whole(self.size) {
            self.short.push(queue);
        }
        bucket.level -= cost;
        true
    }

    /// Whether the bucket of `queue` may lend `cost` nanobits. If so, they are owed.
    pub(super) fn lend(&mut self, queue: QueueId, cost: u64) -> bool {
        let most = self.most_owed();
        let bucket = &mut self.buckets[queue];
        if cost > most - bucket.owed {
            return false;
        }
        if cost > 0 && bucket.is_whole(self.size) {
            self.short.push(queue);
        }
        bucket.owed += cost;
        true
    }

    /// The share of its size that the bucket of `queue` lacks.
    #[inline]
    pub(super) fn missing(&self, queue: QueueId) -> f64 {
        1.0 - self.buckets[queue].level as f64 / self.size as f64
    }

    /// The nanobits that a bucket may lend.
    fn most_owed(&self) -> u64 {
        self.size / 3
    }

    /// The bytes in the bucket with the fewest.
    pub(super) fn fewest(&self) -> f64 {
        self.buckets.iter().map(|each| each.level).min().unwrap_or(0) as f64 / BYTE as f64
    }

    /// The bytes that the bucket with the largest debt has lent.
    pub(super) fn debt(&self) -> f64 {
        self.buckets.iter().map(|each| each.owed).max().unwrap_or(0) as f64 / BYTE as f64
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
            let (buckets, size) = (&mut self.buckets, self.size);
            self.short.retain(|&queue| {
                left += buckets[queue].add(part, size);
                !buckets[queue].is_whole(size)
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

    fn levels(policers: &Policers) -> Vec<u64> {
        policers.buckets.iter().map(|each| each.level).collect()
    }

    #[test]
    fn one_bucket_loses_nothing_over_days() {
        // 3 bit/s for ten days, asked every 0.1 s, gain 2 592 000 bits = 324 000 B exactly.
        let mut bucket = Policers::new(1, Rate::from_bps(3), 400_000);
        assert!(bucket.take(0, 400_000 * BYTE));
        for step in 1..=8_640_000 {
            bucket.fill(Time::ZERO + Duration::from_millis(100) * step);
        }
        assert_eq!(levels(&bucket), [324_000 * BYTE]);
    }

    #[test]
    fn a_rate_is_shared_equally_among_the_buckets_in_use() {
        // 8 Mb/s are 1000 B a millisecond. Bucket 0 lacks 9000 B, bucket 1 300 B, bucket 2 nothing.
        let mut buckets = Policers::new(3, Rate::from_bps(8_000_000), 10_000);
        assert!(buckets.take(0, 9000 * BYTE) && buckets.take(1, 300 * BYTE));
        buckets.fill(at(1));
        // Half each would be 500 B: bucket 1 has room for 300, and bucket 0 gets the rest.
        assert_eq!(levels(&buckets), [1700 * BYTE, 10_000 * BYTE, 10_000 * BYTE]);
        buckets.fill(at(2));
        assert_eq!(levels(&buckets)[0], 2700 * BYTE, "alone it has the whole rate");
        assert!(!buckets.take(0, 2701 * BYTE) && buckets.take(2, 10_000 * BYTE));
        buckets.fill(at(3));
        assert_eq!(levels(&buckets), [3200 * BYTE, 10_000 * BYTE, 500 * BYTE]);
        assert_eq!(buckets.fewest(), 500.0);
    }

    #[test]
    fn what_leaves_a_queue_pays_its_own_bucket() {
        let mut buckets = Policers::new(2, Rate::from_bps(8_000_000), 3000);
        assert!(buckets.take(0, 2000 * BYTE) && buckets.take(1, 2000 * BYTE));
        buckets.pay(at(1), 1, 1500);
        assert_eq!(levels(&buckets), [1000 * BYTE, 2500 * BYTE]);
        // The transmission takes 1.5 ms, whose tokens are already paid.
        buckets.fill(at(2));
        assert_eq!(levels(&buckets), [1000 * BYTE, 2500 * BYTE]);
        buckets.pay(at(3), 1, 1500);
        buckets.fill(at(5));
        assert_eq!(levels(&buckets), [1500 * BYTE, 3000 * BYTE], "a full bucket gets no share");
    }

    #[test]
    fn only_tokens_without_room_pay_a_debt() {
        let mut buckets = Policers::new(1, Rate::from_bps(8_000_000), 3000);
        assert!(buckets.take(0, 3000 * BYTE));
        assert!(buckets.lend(0, 900 * BYTE) && !buckets.lend(0, 101 * BYTE));
        assert!(buckets.lend(0, 100 * BYTE));
        buckets.fill(at(3));
        assert_eq!((levels(&buckets), buckets.debt()), (vec![3000 * BYTE], 1000.0));
        buckets.fill(at(4));
        assert_eq!((levels(&buckets), buckets.debt()), (vec![3000 * BYTE], 0.0));
        buckets.fill(at(5));
        // A debt of a full bucket is paid at once.
        assert!(buckets.lend(0, 500 * BYTE) && buckets.take(0, 100 * BYTE));
        buckets.pay(at(6), 0, 300);
        assert_eq!((levels(&buckets), buckets.debt()), (vec![3000 * BYTE], 300.0));
        buckets.pay(at(7), 0, 400);
        assert!(buckets.debt() == 0.0 && buckets.short.is_empty());
    }

    #[test]
    fn a_smaller_bucket_has_a_smaller_debt() {
        let mut buckets = Policers::new(1, Rate::from_bps(8_000_000), 3000);
        assert!(buckets.lend(0, 1000 * BYTE));
        buckets.retune(at(0), buckets.rate, &Policers::new(1, buckets.rate, 600));
        assert_eq!((levels(&buckets), buckets.debt()), (vec![600 * BYTE], 200.0));
        assert!(!buckets.lend(0, 1));
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
                let held: u64 = levels(&buckets).iter().sum();
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
