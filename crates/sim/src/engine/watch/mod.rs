//! The watch of a world: the steps of its packets, and the state of one queue, for pictures.
//!
//! Watching does not change a run. Every queue is wrapped ([`Observed`]) and reports to one [`Ledger`], and
//! the world reports arrivals. A world that is not watched has no extra work: its loop is compiled apart.

mod ledger;
mod observed;
mod picture;
mod point;

use ledger::Ledger;
use observed::Observed;

use super::fabric::{Fabric, LinkChange, Target};
use super::measures::Measures;
use super::transport::Transport;
use forebay_core::{Discipline, Duration, Time};
use std::sync::{Arc, Mutex, MutexGuard};

/// The watch of a world.
pub struct Watch {
    /// The link whose queue is shown. None: there is no link.
    link: Option<u32>,
    /// Time between two points of the series.
    grain: Duration,
    next_point: Time,
    /// Shared with the wrapped queues, which lock it in turn.
    ledger: Arc<Mutex<Ledger>>,
}

/// The parts of the world that pictures and points show.
pub struct Scene<'a> {
    pub now: Time,
    pub fabric: &'a Fabric,
    pub transport: &'a Transport,
}

impl Watch {
    /// Watches every queue of `fabric` from time zero on, and shows that of `link`, with a point of the
    /// series every `grain` (above 0).
    pub fn new(link: Option<u32>, grain: Duration, fabric: &mut Fabric) -> Watch {
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let watch = Watch { link, grain, next_point: Time::ZERO + grain, ledger };
        for (index, link) in fabric.links_mut().iter_mut().enumerate() {
            link.wrap(|inner| watch.observed(index as u32, inner));
        }
        watch
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nothing panics while it is held")
    }

    fn observed(&self, link: u32, inner: Box<dyn Discipline>) -> Box<dyn Discipline> {
        Box::new(Observed::new(inner, link, self.link == Some(link), Arc::clone(&self.ledger)))
    }

    /// `change` of `link`, with its queue wrapped.
    pub fn change(&self, link: u32, change: LinkChange) -> LinkChange {
        let queue = change.queue.map(|(kind, queue)| (kind, self.observed(link, queue)));
        LinkChange { queue, ..change }
    }

    /// Adds new users to the ledger.
    pub fn cast(&self, measures: &Measures) {
        self.ledger().cast(&measures.users, measures.classes.len());
    }

    /// Packet `id` arrives at `target`.
    pub fn arrives(&self, now: Time, id: u32, target: Target, fabric: &Fabric) {
        let (mut ledger, cargo) = (self.ledger(), fabric.hold.look(id));
        ledger.comes(id, cargo);
        match target {
            Target::Host => ledger.delivered(now, id, cargo),
            Target::Link(link) => ledger.arrives(id, link),
            _ => {}
        }
    }

    /// An event has been handled: records drops of policers, and transmissions, which queues do not see.
    pub fn handled(&self, now: Time, fabric: &Fabric) {
        let mut ledger = self.ledger();
        ledger.policed(now, self.link);
        if let Some(link) = ledger.sender() {
            let sender = &fabric.links()[link as usize];
            let (free_at, lost) = (sender.port().free_at(), sender.wire_lost);
            ledger.transmitted(now, link, free_at, lost, self.link == Some(link));
        }
    }

    pub fn next_point(&self) -> Time {
        self.next_point
    }

    /// Number of packets that have joined or left the watched queue.
    pub fn moves(&self) -> u64 {
        self.ledger().moves()
    }
}
