//! A small sorted set of disjoint half-open ranges of stream offsets.

use forebay_core::fetch;

/// Disjoint, non-adjacent ranges in ascending order. They are few (one per hole), so searching a
/// vector from the end is faster than a tree.
#[derive(Debug, Default)]
pub(crate) struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Fetches the highest ranges, where most changes are: a cache line holds four.
    #[inline]
    pub(crate) fn fetch(&self) {
        if let [.., last] = &self.ranges[..] {
            fetch(last);
            fetch(&self.ranges[self.ranges.len().saturating_sub(4)]);
        }
    }

    /// Adds `start..end` and reports each part that was not in the set. Returns the range that now
    /// contains it.
    pub(crate) fn insert(
        &mut self,
        start: u64,
        end: u64,
        mut added: impl FnMut(u64, u64),
    ) -> (u64, u64) {
        debug_assert!(start < end);
        // Data arrive mostly at the top: the highest range grows, or another one begins above it.
        match self.ranges.last_mut() {
            Some(top) if start > top.1 => {
                added(start, end);
                self.ranges.push((start, end));
                return (start, end);
            }
            Some(top) if start >= top.0 => {
                if end > top.1 {
                    added(top.1, end);
                    top.1 = end;
                }
                return *top;
            }
            _ => {}
        }
        // Few ranges lie above those that it touches, and mostly it touches one.
        let above = self.ranges.iter().rev().take_while(|range| range.1 >= start).count();
        let first = self.ranges.len() - above;
        let touched = self.ranges[first..].iter().take_while(|range| range.0 <= end).count();
        let last = first + touched;
        let (mut merged, mut from) = ((start, end), start);
        for &(low, high) in &self.ranges[first..last] {
            if from < low {
                added(from, low);
            }
            from = from.max(high);
            merged = (merged.0.min(low), merged.1.max(high));
        }
        if from < end {
            added(from, end);
        }
        if first == last {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            if last > first + 1 {
                self.ranges.drain(first + 1..last);
            }
        }
        merged
    }

    /// Removes everything below `offset`. Returns the number of bytes removed.
    pub(crate) fn remove_below(&mut self, offset: u64) -> u64 {
        let whole = self.ranges.iter().take_while(|range| range.1 <= offset).count();
        let mut removed = 0;
        if whole > 0 {
            removed = self.ranges.drain(..whole).map(|range| range.1 - range.0).sum();
        }
        if let Some(range) = self.ranges.first_mut()
            && range.0 < offset
        {
            removed += offset - range.0;
            range.0 = offset;
        }
        removed
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Bytes of the set within `start..end`.
    pub(crate) fn covered(&self, start: u64, end: u64) -> u64 {
        let above = self.ranges.iter().rev().skip_while(|range| range.0 >= end);
        above
            .take_while(|range| range.1 > start)
            .map(|range| range.1.min(end) - range.0.max(start))
            .sum()
    }

    /// The first offset from `from` on that is not in the set, and where the set continues.
    pub(crate) fn gap_from(&self, from: u64) -> (u64, Option<u64>) {
        let next = self.ranges.partition_point(|range| range.1 <= from);
        match self.ranges.get(next) {
            Some(&(low, high)) if low <= from => {
                (high, self.ranges.get(next + 1).map(|range| range.0))
            }
            Some(&(low, _)) => (from, Some(low)),
            None => (from, None),
        }
    }

    /// The range that contains `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        // Usually the offset is in the highest range or above it.
        if let Some(&(low, high)) = self.ranges.last()
            && low <= offset
        {
            return (offset < high).then_some((low, high));
        }
        let at = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(at).copied().filter(|range| range.0 <= offset)
    }

    pub(crate) fn heap(&self) -> usize {
        self.ranges.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_set_of_bytes(
            ops in proptest::collection::vec((0..100_u64, 1..20_u64, 0..2_u8), 1..60),
        ) {
            let mut set = RangeSet::default();
            let mut model = [false; 128];
            for (at, len, op) in ops {
                let part = at as usize..(at + len) as usize;
                if op == 0 {
                    let mut new = 0;
                    let whole = set.insert(at, at + len, |a, b| {
                        assert!(a < b && (a..b).all(|i| !model[i as usize]));
                        new += b - a;
                    });
                    let fresh = model[part.clone()].iter().filter(|held| !**held).count();
                    prop_assert_eq!(new as usize, fresh);
                    prop_assert!(whole.0 <= at && at + len <= whole.1);
                    model[part.clone()].fill(true);
                } else {
                    let had = model[..at as usize].iter().filter(|held| **held).count();
                    prop_assert_eq!(set.remove_below(at) as usize, had);
                    model[..at as usize].fill(false);
                }
                let held = model[part].iter().filter(|held| **held).count();
                prop_assert_eq!(set.covered(at, at + len) as usize, held);
                let (gap, resumes) = set.gap_from(at);
                let want = (at..128).find(|i| !model[*i as usize]).unwrap();
                prop_assert_eq!(gap, want);
                prop_assert_eq!(resumes, (gap..128).find(|i| model[*i as usize]));
                prop_assert_eq!(set.containing(at).is_some(), model[at as usize]);
                for pair in set.as_slice().windows(2) {
                    prop_assert!(pair[0].0 < pair[0].1 && pair[0].1 < pair[1].0);
                }
            }
        }
    }
}
