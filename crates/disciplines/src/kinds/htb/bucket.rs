//! A class's two buckets, one for `rate` and one for `ceil`. Tokens are in nanoseconds.

use forebay_core::Rate;
use std::num::NonZero;

/// The time of a byte as a product and a shift, with which the kernel computes.
#[derive(Debug, Clone, Copy)]
pub struct PerByte {
    factor: u32,
    shift: u8,
}

impl PerByte {
    /// At `rate`, rounded to whole bytes a second, at least one.
    pub fn at(rate: Rate) -> Self {
        let bytes = (rate.bps() / 8).max(1);
        // As many bits as fit: the factor's are 32, and the dividend's 64.
        let mut shift = 0;
        while shift < 34 && (1_000_000_000_u64 << shift) / bytes < 1 << 31 {
            shift += 1;
        }
        PerByte { factor: ((1_000_000_000_u64 << shift) / bytes) as u32, shift }
    }

    /// Time of `bytes` in nanoseconds.
    #[inline]
    pub fn nanos(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * u64::from(self.factor)) >> self.shift) as i64
    }
}

/// The traffic that a class may send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Above its `ceil`: nothing.
    Cannot,
    /// Above its `rate`: what it borrows.
    Borrows,
    /// Below its `rate`: anything.
    Sends,
}

/// One bucket.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    cost: PerByte,
    depth: i64,
    tokens: i64,
}

/// Largest debt of a bucket, and longest pause that counts (ns).
const LONGEST: i64 = 60_000_000_000;

impl Bucket {
    /// A full bucket of `burst` bytes at `rate`.
    pub fn new(rate: Rate, burst: u64) -> Self {
        let bytes = u128::from((rate.bps() / 8).max(1));
        let depth = u128::from(burst) * 1_000_000_000 / bytes;
        let depth = i64::try_from(depth).unwrap_or(i64::MAX).min(LONGEST);
        Bucket { cost: PerByte::at(rate), depth, tokens: depth }
    }

    /// `span` has passed, and `len` bytes were sent.
    #[inline]
    fn charge(&mut self, len: u32, span: i64) {
        let left = (self.tokens + span).min(self.depth) - self.cost.nanos(len);
        self.tokens = left.max(1 - LONGEST);
    }
}

/// The buckets of a class, in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Buckets {
    /// For `rate`.
    pub rate: Bucket,
    /// For `ceil`.
    pub ceil: Bucket,
    /// Time of the last charge, in ns.
    filled: i64,
    /// The number, from 1, of the tree's share in an account for `ceil`, if other trees have the
    /// class, too.
    pub share: Option<NonZero<u32>>,
}

impl Buckets {
    /// Full buckets.
    pub fn new(rate: Bucket, ceil: Bucket) -> Self {
        Buckets { rate, ceil, filled: 0, share: None }
    }

    /// The time of a byte at `ceil`.
    pub fn cost(&self) -> PerByte {
        self.ceil.cost
    }

    /// Takes over rates and depths of `fresh`. Debts stay; they are times.
    pub fn take_over(&mut self, fresh: &Buckets) {
        for (own, new) in [(&mut self.rate, &fresh.rate), (&mut self.ceil, &fresh.ceil)] {
            *own = Bucket { tokens: own.tokens, ..*new };
        }
    }

    /// The mode of the class at `now`, and the nanoseconds after which it may change.
    #[inline]
    pub fn mode(&self, now: i64) -> (Mode, i64) {
        let span = (now - self.filled).min(LONGEST);
        let ceil = self.ceil.tokens + span;
        if ceil < 0 {
            return (Mode::Cannot, -ceil);
        }
        let rate = self.rate.tokens + span;
        if rate >= 0 { (Mode::Sends, 0) } else { (Mode::Borrows, -rate) }
    }

    /// The class sends `len` bytes at `now`, from its own rate or, if `borrowed`, from an
    /// ancestor's.
    #[inline]
    pub fn charge(&mut self, len: u32, borrowed: bool, now: i64) {
        let span = (now - self.filled).min(LONGEST);
        if borrowed {
            // The depth bounds it only when the class next sends from its own rate.
            self.rate.tokens += span;
        } else {
            self.rate.charge(len, span);
        }
        self.ceil.charge(len, span);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_as_long_as_in_the_kernel() {
        // psched_ratecfg_precompute of 1.25 MB/s: 1e9 * 2^22 / 1.25e6 = 3355443200, in 32 bits.
        let ten = PerByte::at(Rate::from_bps(10_000_000));
        assert_eq!((ten.factor, ten.shift), (3_355_443_200, 22));
        assert_eq!([0, 1, 1500].map(|bytes| ten.nanos(bytes)), [0, 800, 1_200_000]);
        // 3 Mbit/s: 1000 B take 2.6 ms and two thirds of a microsecond; cut, not rounded.
        assert_eq!(PerByte::at(Rate::from_bps(3_000_000)).nanos(1000), 2_666_666);
        assert_eq!(PerByte::at(Rate::from_bps(0)).nanos(3), 3_000_000_000);
        assert_eq!(PerByte::at(Rate::from_bps(400_000_000_000)).nanos(1500), 29);
    }

    #[test]
    fn debts_and_pauses_have_a_bound() {
        let mbit = Rate::from_bps(1_000_000);
        let bucket = Bucket::new(mbit, 1000);
        assert_eq!(bucket.depth, 8_000_000);
        let mut buckets = Buckets::new(bucket, bucket);
        assert_eq!(buckets.mode(0), (Mode::Sends, 0));
        buckets.charge(1500, false, 0);
        assert_eq!(buckets.mode(0), (Mode::Cannot, 4_000_000));
        assert_eq!(buckets.mode(4_000_000), (Mode::Sends, 0));
        (0..10_000).for_each(|_| buckets.charge(1500, false, 0));
        assert_eq!(buckets.mode(0), (Mode::Cannot, LONGEST - 1));
        buckets.charge(0, false, i64::MAX / 2);
        assert_eq!(buckets.rate.tokens, 1);
    }
}
