//! Changes of a world while it runs.

use super::World;
use crate::engine::change::{Change, Join};
use forebay_core::Time;
use std::collections::VecDeque;

impl World {
    /// Plans these changes, in order of time, and forgets those planned before. A change is made after all
    /// events of its time.
    pub fn plan_anew(&mut self, changes: VecDeque<(Time, Change)>) {
        self.planned = changes;
    }

    /// Number of planned changes that have not been made.
    pub fn planned_changes(&self) -> usize {
        self.planned.len()
    }

    pub(in crate::engine) fn next_change(&self) -> Time {
        self.planned.front().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Makes the planned changes that are due; false if there are none.
    pub fn change_as_planned(&mut self) -> bool {
        let before = self.planned.len();
        while self.next_change() <= self.now
            && let Some((_, change)) = self.planned.pop_front()
        {
            self.change(change);
        }
        self.planned.len() < before
    }

    fn change(&mut self, change: Change) {
        let now = self.now;
        self.fabric.advance_eagerly();
        for (link, change) in change.links {
            let change = match &self.watch {
                Some(watch) => watch.change(link as u32, change),
                None => change,
            };
            self.fabric.change_link(now, link, change);
        }
        for user in change.leave {
            self.transport.leave(now, user, &mut self.fabric, &mut self.measures);
        }
        if let Some(join) = change.join {
            self.join(join);
        }
        self.choose_advance();
    }

    fn join(&mut self, join: Join) {
        let (users, meters): (Vec<_>, Vec<_>) = join.users.into_iter().unzip();
        self.fabric.extend(join.pipes, join.stops, join.crossings);
        self.measures.join(meters, join.classes);
        self.transport.join(self.now, users, join.conditioners, &mut self.fabric);
        self.cast();
    }
}
