//! Watching a world.

use super::{Progress, RunError, World};
use crate::engine::fabric::Target;
use crate::engine::watch::{Scene, Watch};
use forebay_core::{Duration, Time};
use serde_json::{Value, json};

impl World {
    /// Watches the queue of `link` from now on, with a point of the series every `grain`, which is
    /// above 0. A world is watched from its beginning or not at all.
    pub fn watch(&mut self, link: Option<u32>, grain: Duration) {
        debug_assert!(self.now == Time::ZERO && self.watch.is_none());
        self.watch = Some(Box::new(Watch::new(link, grain, &mut self.fabric)));
        self.fabric.advance_eagerly();
        self.cast();
    }

    /// Whether the world is watched.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    fn scene(&self) -> Scene<'_> {
        Scene { now: self.now, fabric: &self.fabric, transport: &self.transport }
    }

    pub(super) fn cast(&self) {
        self.watch.iter().for_each(|watch| watch.cast(&self.measures));
    }

    #[cold]
    pub(super) fn show_arrival(&self, id: u32, target: Target) {
        self.watch.iter().for_each(|watch| watch.arrives(self.now, id, target, &self.fabric));
    }

    #[cold]
    pub(super) fn show_handled(&self) {
        self.watch.iter().for_each(|watch| watch.handled(self.now, &self.fabric));
    }

    pub(super) fn next_point(&self) -> Time {
        self.watch.as_ref().map_or(Time::MAX, |watch| watch.next_point())
    }

    /// Adds the point of the series that is due; false if none is.
    pub(super) fn point_as_due(&mut self) -> bool {
        let is_due = self.next_point() <= self.now;
        if is_due && let Some(mut watch) = self.watch.take() {
            watch.point(&self.scene());
            self.watch = Some(watch);
        }
        is_due
    }

    /// Advances until a packet joins or leaves the watched queue, by at most `budget` times of events.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance_to_packet(&mut self, budget: u64) -> Result<Progress, RunError> {
        let moves = |world: &World| world.watch.as_ref().map_or(0, |watch| watch.moves());
        let before = moves(self);
        for _ in 0..budget {
            let next = self.fabric.next_time();
            let state = self.advance_to(next.min(self.next_change()), u64::MAX)?;
            if state.complete || moves(self) != before {
                return Ok(Progress { arrived: true, ..state });
            }
        }
        Ok(Progress { share: 0.0, arrived: false, complete: false })
    }

    /// The classes and flows to which numbers in pictures refer: `classes` are names, and `flows` have a
    /// traffic entry, a class and a number of flows each. Both are empty if the world is not watched.
    pub fn shown(&self) -> Value {
        let nobody = || json!({ "classes": [], "flows": [] });
        self.watch.as_ref().map_or_else(nobody, |watch| watch.shown(&self.measures))
    }

    /// A picture, as the fields of a JSON object: packets in the watched queue and in pipes, at most `most`
    /// of each, and packets dropped by the queue since the last picture. Empty if the world is not watched.
    pub fn picture(&self, most: usize) -> String {
        self.watch.as_ref().map_or_else(String::new, |watch| watch.picture(&self.scene(), most))
    }

    /// The story of packet number `serial`. None if it is not known, or no longer kept.
    pub fn story(&self, serial: u64) -> Option<Value> {
        self.watch.as_ref()?.story(&self.scene(), serial)
    }

    /// Number of points of the series so far, and those from `first` on as a JSON list.
    pub fn points(&self, first: usize) -> (usize, String) {
        self.watch.as_ref().map_or_else(|| (0, "[]".into()), |watch| watch.points(first))
    }
}
