//! The largest value of a sliding window, found from its three best values: K. Nichols's algorithm
//! (Linux, `lib/win_minmax.c`; draft-ietf-ccwg-bbr-05, section 5.5.2).

/// A value and when it was seen, in the filter's time.
#[derive(Debug, Clone, Copy, Default)]
struct Seen<V> {
    at: u32,
    value: V,
}

/// The best value of the whole window, of the time after it, and of the time after that.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MaxFilter<V> {
    best: [Seen<V>; 3],
}

impl<V: Copy + PartialOrd> MaxFilter<V> {
    pub(crate) fn get(&self) -> V {
        self.best[0].value
    }

    /// Adds a `value` at the time `at` to a window that reaches back by `span`.
    pub(crate) fn update(&mut self, span: u32, at: u32, value: V) -> V {
        let seen = Seen { at, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || at.wrapping_sub(third.at) > span {
            self.best = [seen; 3];
            return value;
        }
        if value >= second.value {
            (*second, *third) = (seen, seen);
        } else if value >= third.value {
            *third = seen;
        }
        let age = at.wrapping_sub(first.at);
        if age > span {
            // The best has left the window: the others move up.
            (*first, *second, *third) = (*second, *third, seen);
            if at.wrapping_sub(first.at) > span {
                (*first, *second, *third) = (*second, *third, seen);
            }
        } else if second.at == first.at && age > span / 4 {
            (*second, *third) = (seen, seen);
        } else if third.at == second.at && age > span / 2 {
            *third = seen;
        }
        first.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_the_window_counts_and_is_forgotten() {
        let mut filter = MaxFilter::default();
        assert_eq!(filter.update(10, 0, 5), 5);
        assert_eq!(filter.update(10, 1, 9), 9);
        // Smaller ones stand by: 7 from the second quarter on, 6 from the second half.
        assert_eq!(
            [(4, 7), (7, 6), (11, 3)].map(|(at, value)| filter.update(10, at, value)),
            [9; 3]
        );
        assert_eq!(filter.update(10, 12, 2), 7);
        assert_eq!(filter.update(10, 15, 2), 6);
        assert_eq!(filter.update(10, 40, 1), 1);
        assert_eq!(filter.get(), 1);
    }
}
