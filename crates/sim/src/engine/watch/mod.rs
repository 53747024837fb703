//! A world that is watched: what its packets go through, and how one queue fares, for pictures.
//!
//! Watching changes nothing of a run. Every queue is wrapped ([`Observed`]) and reports to one
//! [`Ledger`]; the world tells it of arrivals. A world that is not watched has none of that: its loop
//! is compiled apart.

mod ledger;
mod observed;
mod picture;
mod point;

pub use ledger::Ledger;
pub use observed::Observed;

use super::fabric::{LinkChange, Target};
use super::world::{Progress, RunError, World};
use forebay_core::{Discipline, Duration, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a watched world has beside an ordinary one.
pub struct Watch {
    /// The link whose queue is shown; None: there is no link.
    link: Option<u32>,
    /// Time between two points of the series, and when the next one is due.
    grain: Duration,
    next_point: Time,
    /// Shared with the wrapped queues; they and the world take it in turn.
    ledger: Arc<Mutex<Ledger>>,
}

impl Watch {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nothing panics while it is held")
    }

    fn observed(&self, link: u32, inner: Box<dyn Discipline>) -> Box<dyn Discipline> {
        Box::new(Observed::new(inner, link, self.link == Some(link), Arc::clone(&self.ledger)))
    }

    /// The same change of `link`, with its queue observed.
    pub fn change(&self, link: u32, change: LinkChange) -> LinkChange {
        let queue = change.queue.map(|(kind, queue)| (kind, self.observed(link, queue)));
        LinkChange { queue, ..change }
    }
}

impl World {
    /// Watches the queue of `link` from now on, with a point of the series every `grain`, which is
    /// above 0. A world is watched from its beginning or not at all.
    pub fn watch(&mut self, link: Option<u32>, grain: Duration) {
        debug_assert!(self.now == Time::ZERO && self.watch.is_none());
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let watch = Watch { link, grain, next_point: Time::ZERO + grain, ledger };
        for (index, link) in self.fabric.links_mut().iter_mut().enumerate() {
            link.wrap(|inner| watch.observed(index as u32, inner));
        }
        self.watch = Some(Box::new(watch));
        self.fabric.look_at_once();
        self.cast();
    }

    /// Whether it is watched.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Tells the watch who takes part.
    pub(super) fn cast(&mut self) {
        if let Some(watch) = &self.watch {
            watch.ledger().cast(&self.measures.users, self.measures.classes.len());
        }
    }

    /// A packet is at the end of a stretch.
    #[cold]
    pub(super) fn look_at(&self, id: u32, target: Target) {
        let Some(watch) = &self.watch else { return };
        let (mut ledger, cargo) = (watch.ledger(), self.fabric.hold.look(id));
        ledger.comes(id, cargo);
        match target {
            Target::Host => ledger.delivered(self.now, id, cargo),
            Target::Link(link) => ledger.arrives(id, link),
            _ => {}
        }
    }

    /// An event has been handled: what the queues could not see of it.
    #[cold]
    pub(super) fn look_back(&self) {
        let Some(watch) = &self.watch else { return };
        let mut ledger = watch.ledger();
        ledger.policed(self.now, watch.link);
        if let Some(link) = ledger.sender() {
            let sender = &self.fabric.links()[link as usize];
            let (free_at, lost) = (sender.port().free_at(), sender.wire_lost);
            ledger.transmitted(self.now, link, free_at, lost, watch.link == Some(link));
        }
    }

    /// When the next point of the series is due.
    pub(super) fn next_point(&self) -> Time {
        self.watch.as_ref().map_or(Time::MAX, |watch| watch.next_point)
    }

    /// Takes the point that is due; false if none is.
    pub(super) fn point_as_due(&mut self) -> bool {
        let now = self.now;
        let is_due = self.next_point() <= now;
        if is_due && let Some(mut watch) = self.watch.take() {
            self.point(&watch);
            watch.next_point += watch.grain;
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
        let moves = |world: &World| world.watch.as_ref().map_or(0, |watch| watch.ledger().moves());
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
}
