//! A world that is watched: what its packets go through, and how one queue fares, for pictures.
//!
//! Watching changes nothing of a run. Every queue is wrapped ([`Observed`]) and reports to one
//! [`Ledger`]; the world tells it of arrivals. A world that is not watched has none of that: its loop
//! is compiled apart.

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

/// A world at an instant, as far as pictures and points show it.
pub struct Scene<'a> {
    /// The instant.
    pub now: Time,
    /// Links, and packets under way.
    pub fabric: &'a Fabric,
    /// Who sends.
    pub transport: &'a Transport,
}

impl Watch {
    /// Watches every queue of `fabric` from time zero on, that of `link` closely, with a point of the
    /// series every `grain`, which is above 0.
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

    /// The same change of `link`, with its queue observed.
    pub fn change(&self, link: u32, change: LinkChange) -> LinkChange {
        let queue = change.queue.map(|(kind, queue)| (kind, self.observed(link, queue)));
        LinkChange { queue, ..change }
    }

    /// Learns who takes part.
    pub fn cast(&self, measures: &Measures) {
        self.ledger().cast(&measures.users, measures.classes.len());
    }

    /// The packet with handle `id` arrives at `target`.
    pub fn arrives(&self, now: Time, id: u32, target: Target, fabric: &Fabric) {
        let (mut ledger, cargo) = (self.ledger(), fabric.hold.look(id));
        ledger.comes(id, cargo);
        match target {
            Target::Host => ledger.delivered(now, id, cargo),
            Target::Link(link) => ledger.arrives(id, link),
            _ => {}
        }
    }

    /// An event has been handled: notes what the queues could not see of it.
    pub fn handled(&self, now: Time, fabric: &Fabric) {
        let mut ledger = self.ledger();
        ledger.policed(now, self.link);
        if let Some(link) = ledger.sender() {
            let sender = &fabric.links()[link as usize];
            let (free_at, lost) = (sender.port().free_at(), sender.wire_lost);
            ledger.transmitted(now, link, free_at, lost, self.link == Some(link));
        }
    }

    /// When the next point of the series is due.
    pub fn next_point(&self) -> Time {
        self.next_point
    }

    /// Packets that have joined or left the queue that is watched closely.
    pub fn moves(&self) -> u64 {
        self.ledger().moves()
    }
}
