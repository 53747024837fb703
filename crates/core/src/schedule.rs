//! Values that change at given times.

use crate::{Duration, Time};

/// The values that something has in the course of one run.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule<T> {
    /// One value.
    Constant(T),
    /// Values that hold from given times on, in order, the first from zero.
    Steps {
        /// (from, value).
        steps: Vec<(Time, T)>,
        /// Time after which the steps start again; None: the last value holds until the end.
        period: Option<Duration>,
    },
}

impl<T: Copy> Schedule<T> {
    /// All values, in order.
    pub fn values(&self) -> Vec<T> {
        match self {
            Schedule::Constant(value) => vec![*value],
            Schedule::Steps { steps, .. } => steps.iter().map(|(_, value)| *value).collect(),
        }
    }

    /// The value at `now`.
    pub fn at(&self, now: Time) -> T {
        match self {
            Schedule::Constant(value) => *value,
            Schedule::Steps { .. } => self.span(now).0,
        }
    }

    /// The value at `now`, and the time of the next step; [`Time::MAX`] if there is none.
    #[inline]
    pub fn span(&self, now: Time) -> (T, Time) {
        let (steps, period) = match self {
            Schedule::Constant(value) => return (*value, Time::MAX),
            Schedule::Steps { steps, period } => (steps, period),
        };
        let into = period.map_or(now.as_nanos(), |period| now.as_nanos() % period.as_nanos());
        let next = steps.partition_point(|(from, _)| from.as_nanos() <= into);
        let end = steps.get(next).map(|(from, _)| from.as_nanos());
        let end = end.or(period.map(Duration::as_nanos));
        let end = end.map_or(Time::MAX, |end| now + Duration::from_nanos(end - into));
        (steps[next - 1].1, end)
    }
}

impl<T: Copy + Ord> Schedule<T> {
    /// The least value.
    ///
    /// # Panics
    /// If there is none.
    pub fn least(&self) -> T {
        self.values().into_iter().min().expect("a schedule has values")
    }
}
