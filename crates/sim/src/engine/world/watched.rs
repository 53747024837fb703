//! A world that is watched.

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

    /// Whether it is watched.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    fn scene(&self) -> Scene<'_> {
        Scene { now: self.now, fabric: &self.fabric, transport: &self.transport }
    }

    /// Tells the watch who takes part.
    pub(super) fn cast(&self) {
        self.watch.iter().for_each(|watch| watch.cast(&self.measures));
    }

    /// Tells the watch that a packet arrives at `target`.
    #[cold]
    pub(super) fn show_arrival(&self, id: u32, target: Target) {
        self.watch.iter().for_each(|watch| watch.arrives(self.now, id, target, &self.fabric));
    }

    /// Tells the watch that an event has been handled.
    #[cold]
    pub(super) fn show_handled(&self) {
        self.watch.iter().for_each(|watch| watch.handled(self.now, &self.fabric));
    }

    /// When the next point of the watch's series is due.
    pub(super) fn next_point(&self) -> Time {
        self.watch.as_ref().map_or(Time::MAX, |watch| watch.next_point())
    }

    /// Takes the point that is due; false if none is.
    pub(super) fn point_as_due(&mut self) -> bool {
        let is_due = self.next_point() <= self.now;
        if is_due && let Some(mut watch) = self.watch.take() {
            watch.point(&self.scene());
            self.watch = Some(watch);
        }
        is_due
    }

    /// Goes on to the end of the next instant at which a packet joins or leaves the watched queue, or by
    /// `budget` instants.
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

    /// Who takes part, as the numbers in pictures have them: `classes` by name, and `flows`, each with
    /// its traffic entry, its class and how many flows it stands for; both empty if nobody watches.
    pub fn shown(&self) -> Value {
        let nobody = || json!({ "classes": [], "flows": [] });
        self.watch.as_ref().map_or_else(nobody, |watch| watch.shown(&self.measures))
    }

    /// What waits and what is under way, at most `most` packets of each, and what the watched queue
    /// has dropped since the last picture: the fields of a JSON object. Empty if nobody watches.
    pub fn picture(&self, most: usize) -> String {
        self.watch.as_ref().map_or_else(String::new, |watch| watch.picture(&self.scene(), most))
    }

    /// The story of the packet of this number; None if it is not kept, or not known.
    pub fn story(&self, serial: u64) -> Option<Value> {
        self.watch.as_ref()?.story(&self.scene(), serial)
    }

    /// Points of the watch's series so far, and those from `first` on, as a JSON list.
    pub fn points(&self, first: usize) -> (usize, String) {
        self.watch.as_ref().map_or_else(|| (0, "[]".into()), |watch| watch.points(first))
    }
}
