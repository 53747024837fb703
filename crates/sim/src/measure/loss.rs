//! Loss patterns: periods and distances of losses of a flow.
//!
//! Source: R. Koodli and R. Ravikanth, "One-way Loss Pattern Sample Metrics", RFC 3357: section
//! 4: a loss period is a run of successive lost packets, a loss distance the difference of the
//! sequence numbers of two successive losses, 1 if nothing was sent between them.

use forebay_core::{Duration, Time, fetch};
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A queue that drops packets from its middle loses them out of order. So a loss is final only when
/// this number of later losses of its flow is known.
const UNSETTLED: usize = 64;

/// Loss periods and loss distances of one flow or, merged, of many.
#[derive(Debug, Clone, Default)]
pub struct LossPattern {
    /// Losses that are not final yet, in order of sending.
    unsettled: VecDeque<u64>,
    /// The last final loss, and the length so far of the period that it ends.
    last: Option<u64>,
    run: u64,
    /// Loss periods by their length in packets.
    pub periods: Lengths,
    /// Loss distances in packets.
    pub distances: Lengths,
}

/// Numbers of flows that lose packets together, for the global synchronization ratio (RFC 7928, section
/// 2.4): the share of the flows that lose in a loss event.
#[derive(Debug, Clone, Default)]
pub struct LossEvents {
    /// Loss events.
    pub count: u64,
    /// Flows that lost in them, summed over the events.
    flows: u64,
    /// Beginning of the last event.
    began: Time,
    /// The flows that have lost packets in it.
    hit: HashSet<u32, BuildHasherDefault<Spread>>,
}

/// Spreads flows over a table.
#[derive(Debug, Clone, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, flow: u32) {
        let product = (self.0 ^ u64::from(flow)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl LossEvents {
    /// Losses belong to an event up to this time after its first one: a round trip of RFC 7928.
    pub const SPAN: Duration = Duration::from_millis(100);

    /// `flow` loses a packet at `now`.
    pub fn lost(&mut self, now: Time, flow: u32) {
        if self.count == 0 || now.since(self.began) > LossEvents::SPAN {
            self.count += 1;
            self.began = now;
            self.hit.clear();
        }
        self.flows += u64::from(self.hit.insert(flow));
    }

    /// Mean number of flows that lose packets in an event. None without events.
    pub fn mean_flows(&self) -> Option<f64> {
        (self.count > 0).then(|| self.flows as f64 / self.count as f64)
    }
}

/// A histogram of lengths in octaves: 1, 2, 3 to 4, 5 to 8 and so on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Number in each octave; the last one is open.
    pub counts: [u64; Lengths::OCTAVES],
    /// Sum of the lengths.
    pub total: u64,
    /// The longest length.
    pub longest: u64,
}

impl LossPattern {
    /// Fetches the fields that a loss needs.
    pub fn fetch(&self) {
        fetch(&self.unsettled);
    }

    /// Fetches what these point to: the last loss.
    pub fn fetch_last(&self) {
        self.unsettled.back().into_iter().for_each(fetch);
    }

    /// Packet `number` of the flow is lost. Packets are numbered in order of sending.
    pub fn lost(&mut self, number: u64) {
        let mut at = self.unsettled.len();
        while at > 0 && self.unsettled[at - 1] > number {
            at -= 1;
        }
        self.unsettled.insert(at, number);
        if self.unsettled.len() > UNSETTLED {
            let first = self.unsettled.pop_front().expect("it holds some");
            self.settle(first);
        }
    }

    fn settle(&mut self, number: u64) {
        if let Some(last) = self.last {
            // A loss that comes to be known even later than allowed for counts as a new period.
            let distance = number.saturating_sub(last);
            self.distances.add(distance.max(1));
            if distance != 1 {
                self.periods.add(self.run);
                self.run = 0;
            }
        }
        self.last = self.last.max(Some(number));
        self.run += 1;
    }

    /// The pattern, with all losses final.
    pub fn finished(&self) -> LossPattern {
        let mut pattern = self.clone();
        for number in std::mem::take(&mut pattern.unsettled) {
            pattern.settle(number);
        }
        if pattern.last.take().is_some() {
            pattern.periods.add(std::mem::take(&mut pattern.run));
        }
        pattern
    }

    /// Adds the complete pattern of another flow.
    pub fn merge(&mut self, other: &LossPattern) {
        self.periods.merge(&other.periods);
        self.distances.merge(&other.distances);
    }
}

impl Lengths {
    /// Number of octaves; the last one is from 129 on.
    pub const OCTAVES: usize = 9;

    fn add(&mut self, length: u64) {
        let octave = (64 - (length - 1).leading_zeros()) as usize;
        self.counts[octave.min(Lengths::OCTAVES - 1)] += 1;
        self.total += length;
        self.longest = self.longest.max(length);
    }

    fn merge(&mut self, other: &Lengths) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// Number of lengths.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Mean length. None if there are none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.total as f64 / count as f64)
    }

    /// The lengths of octave `octave`: "1", "2", "3-4", ... "129+".
    pub fn label(octave: usize) -> String {
        let longest = 1_u64 << octave;
        match octave {
            0 | 1 => longest.to_string(),
            _ if octave + 1 == Lengths::OCTAVES => format!("{}+", longest / 2 + 1),
            _ => format!("{}-{longest}", longest / 2 + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(lost: impl IntoIterator<Item = u64>) -> LossPattern {
        let mut pattern = LossPattern::default();
        lost.into_iter().for_each(|number| pattern.lost(number));
        pattern.finished()
    }

    #[test]
    fn a_run_is_one_period_and_every_step_a_distance() {
        let found = pattern([3, 6, 7, 9]);
        assert_eq!((found.periods.count(), found.periods.total, found.periods.longest), (3, 4, 2));
        assert_eq!((found.distances.count(), found.distances.total), (3, 6));
        assert_eq!(found.distances.counts[..3], [1, 1, 1]);
        assert_eq!(pattern([]).periods.mean(), None);
        assert_eq!(pattern([5]).periods.mean(), Some(1.0));
    }

    #[test]
    fn an_event_lasts_a_round_trip_and_counts_flows_once() {
        let mut events = LossEvents::default();
        assert_eq!(events.mean_flows(), None);
        // 0 to 100 ms: flows 1 and 2; from 101 ms on: flow 1, then flow 3.
        for (ms, flow) in [(0, 1), (1, 2), (50, 1), (100, 2), (101, 1), (201, 3)] {
            events.lost(Time::ZERO + Duration::from_millis(ms), flow);
        }
        assert_eq!((events.count, events.mean_flows()), (2, Some(2.0)));
    }

    #[test]
    fn octaves_cover_every_length_once() {
        let labels: Vec<_> = (0..Lengths::OCTAVES).map(Lengths::label).collect();
        let wanted = ["1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"];
        assert_eq!(labels, wanted);
        for (length, octave) in
            [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (128, 7), (129, 8), (9999, 8)]
        {
            let mut lengths = Lengths::default();
            lengths.add(length);
            assert_eq!(lengths.counts[octave], 1, "{length}");
        }
    }

    proptest! {
        #[test]
        fn order_does_not_matter_within_what_is_unsettled(
            lost in proptest::collection::btree_set(0..200_u64, 1..=UNSETTLED),
            seed in 0..1000_u64,
        ) {
            let in_order: Vec<_> = lost.iter().copied().collect();
            let mut shuffled = in_order.clone();
            let mut rng = forebay_core::Rng::named(seed, "shuffle");
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let (a, b) = (pattern(in_order.iter().copied()), pattern(shuffled));
            prop_assert_eq!((a.periods, a.distances), (b.periods, b.distances));
            // Every loss is in one period, and every two successive ones have a distance.
            prop_assert_eq!(a.periods.total, in_order.len() as u64);
            prop_assert_eq!(a.distances.total, in_order[in_order.len() - 1] - in_order[0]);
        }
    }
}
