//! The fabric: packets on their way over links, pipes and the air, and the agenda that moves them.
//!
//! A packet is launched into a pipe, in which it is in flight ([`paths`], [`pipe`]). At its end the
//! packet arrives at a link ([`service`]): it waits in the queue, is sent, and the link launches it into
//! the next pipe. The last pipe of a path leads to a host. The fabric knows no hosts and no boxes: it
//! hands such packets to the world.

mod access;
mod advance;
mod border;
mod capture;
pub mod cargo;
mod lazy;
mod link;
mod losses;
mod paths;
mod pipe;
mod prefetch;
mod ring;
mod service;

pub use access::AccessLink;
pub use border::{Border, Crossing};
pub use capture::Capture;
pub use link::{Link, LinkChange, LinkSpec, Loss, Schedule};
pub use losses::Lost;
pub use paths::Stop;
pub use pipe::Target;
pub use prefetch::AHEAD;

use super::agenda::Agenda;
use super::event::{Event, Key};
use super::table::table;
use crate::measure::UserMeter;
use crate::wireless::medium::Station;
use crate::wireless::{Effects, Network, NetworkSpec};
use advance::{Advance, Eager, Moving};
use border::Leaving;
use cargo::Hold;
use forebay_core::{Duration, Packet, Time};
use losses::Losses;
use paths::Paths;
use pipe::Pipe;
use prefetch::Prefetch;
use service::Service;
use std::marker::PhantomData;
use std::sync::Arc;

/// What a fabric is made from. Indices in it are positions in its vectors.
pub struct FabricSpec {
    /// Links with queues.
    pub links: Vec<LinkSpec>,
    /// Where each pipe leads, over which access links.
    pub pipes: Vec<(Target, Option<AccessLink>)>,
    /// Stretches; those of one path follow each other, the last one's pipe leads to a host.
    pub stops: Vec<Stop>,
    /// The wireless network, if there is one.
    pub wireless: Option<NetworkSpec>,
    /// What lies beyond, if this is a part of a network.
    pub border: Option<Border>,
}

impl FabricSpec {
    /// The least time over each pipe, and over the link that follows.
    pub fn ahead(&self) -> Arc<[Duration]> {
        let least = |link: u32| self.links[link as usize].delay.least();
        self.pipes.iter().map(|pipe| ahead(pipe, least)).collect()
    }
}

/// The least time over a pipe and the link that follows; `least` is that over a link.
fn ahead(pipe: &(Target, Option<AccessLink>), least: impl Fn(u32) -> Duration) -> Duration {
    let access = pipe.1.map_or(Duration::ZERO, |access| access.delay);
    match pipe.0 {
        Target::Link(link) => access + least(link),
        _ => access,
    }
}

/// Packets under way, and the agenda.
pub struct Fabric {
    paths: Paths,
    /// Timers and sources: entries that mostly rest. Senders' timers have an agenda of their own, as they
    /// come long after all others: so what is new is mostly last in either.
    resting: [Agenda; 2],
    /// The next of both; an entry of nothing, if there is none.
    next_resting: (Key, Event),
    links: Vec<Link>,
    air: Option<Box<(Network, Effects)>>,
    /// The least time over each pipe and the link that follows.
    ahead: Arc<[Duration]>,
    /// What is known of the packets under way.
    pub hold: Hold,
    /// Links that are advanced lazily.
    lazy_links: Vec<u32>,
    /// Only in runs with many users.
    prefetch: Option<Box<Prefetch>>,
    /// What was lost, until its users are told.
    lost: Losses,
}

/// In which of the two agendas of events that rest it is.
#[inline(always)]
fn place_of(event: Event) -> usize {
    usize::from(matches!(event, Event::SenderTimer(_)))
}

impl Fabric {
    /// The fabric of `spec` with the random streams of `seed`, for `many` users or few.
    pub fn new(spec: FabricSpec, seed: u64, many: bool) -> Self {
        let ahead = spec.border.as_ref().map(|border| border.ahead.clone());
        let ahead = ahead.unwrap_or_else(|| spec.ahead());
        let lost = match (spec.border.is_some(), many) {
            (true, _) => Losses::Elsewhere(Vec::new()),
            (false, true) => Losses::Together(Vec::new()),
            (false, false) => Losses::AtOnce,
        };
        let (air, links) = (spec.wireless, spec.links.len());
        let border = spec.border;
        let beyond = |pipe| border.as_ref().is_some_and(|border: &Border| border.is_beyond(pipe));
        Fabric {
            ahead,
            paths: Paths {
                moving: Moving::new(spec.links.len()),
                pipes: (0..)
                    .zip(spec.pipes)
                    .map(|(pipe, (to, access))| Pipe::new(to, access, beyond(pipe)))
                    .collect(),
                stops: table(spec.stops),
                border,
            },
            resting: Default::default(),
            next_resting: Agenda::NOTHING,
            links: spec.links.into_iter().map(|link| Link::new(link, seed)).collect(),
            air: air.map(|spec| Box::new((Network::new(spec, seed), Effects::default()))),
            hold: Hold::new(many),
            lazy_links: Vec::new(),
            prefetch: many.then(|| Box::new(Prefetch::new(links))),
            lost,
        }
    }

    /// Links, by index.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Links, by index, to be changed.
    pub fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
    }

    /// Makes what `change` says hold at link `index` from `now` on.
    pub fn change_link(&mut self, now: Time, index: usize, change: LinkChange) {
        self.links[index].change(now, change, &mut self.hold);
    }

    /// Replaces the links by `links`. The previous ones are the answer.
    pub fn exchange_links(&mut self, links: Vec<Link>) -> Vec<Link> {
        std::mem::replace(&mut self.links, links)
    }

    /// The wireless network, if there is one.
    pub fn network(&self) -> Option<&Network> {
        self.air.as_ref().map(|air| &air.0)
    }

    /// The same, to be changed.
    pub fn network_mut(&mut self) -> Option<&mut Network> {
        self.air.as_mut().map(|air| &mut air.0)
    }

    /// Whether there are so many users that prefetching is worth its time.
    #[inline]
    pub fn many(&self) -> bool {
        self.prefetch.is_some()
    }

    /// What is next; an entry at the end of time, if nothing is.
    #[inline(always)]
    pub fn next(&self) -> &(Key, Event) {
        let moving = self.paths.moving.agenda.first_or_nothing();
        if self.next_resting.0.precedes(moving.0) { &self.next_resting } else { moving }
    }

    /// Schedules an event of the party `whose` among those that rest.
    #[inline(always)]
    pub fn rest(&mut self, time: Time, event: Event, whose: u32) -> Key {
        let key = self.paths.moving.sequence.key(time, event, whose);
        self.resting[place_of(event)].push(key, event);
        if key.precedes(self.next_resting.0) {
            self.next_resting = (key, event);
        }
        key
    }

    /// Takes the first event of those that rest away.
    #[inline(always)]
    pub fn rested(&mut self) {
        self.resting[place_of(self.next_resting.1)].pop();
        let [others, senders] = &self.resting;
        let (other, sender) = (others.first_or_nothing(), senders.first_or_nothing());
        self.next_resting = if sender.0.precedes(other.0) { *sender } else { *other };
    }

    /// The event after `count` others of those that rest beside `event`, if that is known.
    #[inline]
    pub fn resting_after(&self, event: Event, count: usize) -> Option<Event> {
        self.resting[place_of(event)].after(count)
    }

    /// Takes the first entry of the agenda, that of pipe `index` at `key`. The packet that arrives by it,
    /// and where; None if the entry is stale.
    #[inline(always)]
    pub fn arrive(&mut self, key: Key, index: u32) -> Option<(u32, Target)> {
        let Paths { moving: Moving { agenda, .. }, pipes, .. } = &mut self.paths;
        let pipe = &mut pipes[index as usize];
        let due = pipe.take_due(key);
        match due {
            Some((_, Some(next))) => agenda.replace_first(next, Event::Arrival(index)),
            _ => agenda.pop(),
        }
        due.map(|(id, _)| (id, pipe.target))
    }

    /// Takes the first entry of the agenda, at `key`, by which link `index` becomes free. The number of the
    /// link; None if the entry is stale.
    #[inline]
    pub fn wakes(&mut self, key: Key, index: u32) -> Option<u32> {
        self.paths.moving.agenda.pop();
        let link = &mut self.links[index as usize];
        link.wakes(key).then_some(link.number)
    }

    /// Sends the packet with handle `id`, of `len` bytes, over the hop to stop `stop`, which its cargo
    /// names, from `at` on.
    #[inline(always)]
    pub fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time) {
        self.paths.launch(id, len, stop, at, Duration::ZERO);
    }

    /// The same with a packet that was handed out, and goes on to stop `stop`.
    pub fn forward(&mut self, packet: Packet, stop: u32, at: Time) {
        let len = packet.len;
        let id = self.hold.take_back(packet);
        self.hold.at(id).stop = stop;
        self.launch(id, len, stop, at);
    }

    /// The packet with handle `id` arrives at the queue of link `index`, which is advanced eagerly.
    pub fn enter(&mut self, now: Time, index: u32, id: u32, users: &mut [UserMeter]) {
        debug_assert!(self.paths.moving.lazy[index as usize].pipes.is_empty());
        self.service::<Eager>(index, users).arrive(now, id, |_| {});
    }

    /// Link `index`, which is advanced eagerly, sends the next packet of its queue, if it is free.
    pub fn poll_link(&mut self, now: Time, index: u32, users: &mut [UserMeter]) {
        self.service::<Eager>(index, users).send_next(now);
    }

    #[inline(always)]
    fn service<'a, A: Advance>(
        &'a mut self,
        index: u32,
        users: &'a mut [UserMeter],
    ) -> Service<'a, A> {
        let Fabric { paths, links, hold, prefetch, lost, .. } = self;
        let (link, prefetch) = (&mut links[index as usize], prefetch.as_deref_mut());
        Service { index, link, paths, hold, users, lost, prefetch, advance: PhantomData }
    }

    /// Does something in the wireless network, and what follows from it.
    pub fn in_air(
        &mut self,
        now: Time,
        users: &mut [UserMeter],
        act: impl FnOnce(&mut Network, &mut Effects),
    ) {
        let mut air = self.air.take().expect("only a network has such events");
        let (network, fx) = &mut *air;
        act(network, fx);
        for (time, wake) in fx.wakes.drain(..) {
            // In the order in which the network asks, whichever station it is.
            self.rest(time, Event::Wireless(wake), 0);
        }
        for (id, wait) in fx.waited.drain(..) {
            self.hold.at(id).waited += wait;
        }
        for id in fx.marked.drain(..) {
            let user = self.hold.at(id).user;
            users[user as usize].marked += 1;
        }
        for (packet, _) in fx.lost.drain(..) {
            Loss { now, hold: &mut self.hold, users, lost: &mut self.lost }.charge(packet);
        }
        for packet in fx.arrived.drain(..) {
            let stop = self.hold.look(packet.id).stop + 1;
            self.forward(packet, stop, now);
        }
        self.air = Some(air);
    }

    /// When the next event is due; never, without any.
    pub fn next_time(&self) -> Time {
        self.next().0.time
    }

    /// Whether it is a part of a network, beside others.
    pub fn is_part(&self) -> bool {
        self.paths.border.is_some()
    }

    /// Hands on what has left for other parts since the last call.
    pub fn emigrate(&mut self, mut to: impl FnMut(u16, Crossing)) {
        let Fabric { paths, hold, .. } = self;
        for (part, leaving) in paths.border.iter_mut().flat_map(Border::take) {
            let cargo = hold.lift(leaving.id);
            to(part, Crossing { leaving, cargo });
        }
    }

    /// A packet comes from another part.
    pub fn immigrate(&mut self, crossing: Crossing) {
        let Crossing { leaving: Leaving { pipe, key, wait, .. }, cargo } = crossing;
        let id = self.hold.store(cargo);
        self.paths.put(pipe, key, id, wait);
    }

    /// What was lost since the last call, if this is a part of a network.
    pub fn take_lost(&mut self) -> impl Iterator<Item = Lost> {
        self.lost.take()
    }

    /// Frees what only a run that goes on needs.
    pub fn close(&mut self) {
        self.hold = Hold::new(false);
    }

    /// Schedules the next change of link `index`'s rate after `now`.
    pub fn schedule_rate_change(&mut self, now: Time, index: u32) {
        let link = &self.links[index as usize];
        if let Some(time) = link.port().capacity().next_change(now) {
            self.rest(time, Event::RateChange(index), link.number);
        }
    }

    /// Link `index`'s rate changes by schedule.
    pub fn change_rate(&mut self, now: Time, index: u32) {
        self.links[index as usize].rate_changed(now);
        self.schedule_rate_change(now, index);
    }

    /// Where on the path that begins at stop `first` packets reach `target`, before its host: the stop
    /// behind it.
    pub fn behind(&self, target: Target, first: u32) -> Option<u32> {
        let path = self.paths.stops[first as usize..]
            .iter()
            .map(|stop| self.paths.pipes[stop.pipe as usize].target);
        let mut path = path.take_while(|target| *target != Target::Host);
        path.position(|each| each == target).map(|at| first + at as u32 + 1)
    }

    /// The least time that a packet needs over the path that begins at stop `first`.
    pub fn distance(&self, first: u32) -> Duration {
        let mut distance = Duration::ZERO;
        for stop in &self.paths.stops[first as usize..] {
            distance += self.ahead[stop.pipe as usize];
            if self.paths.pipes[stop.pipe as usize].target == Target::Host {
                break;
            }
        }
        distance
    }

    /// The packet that arrives over pipe `index` after `count` others, and where.
    #[inline]
    pub fn after(&self, index: u32, count: usize) -> Option<(u32, Target)> {
        let pipe = &self.paths.pipes[index as usize];
        pipe.after(count).map(|id| (id, pipe.target))
    }

    /// Every packet in a pipe, and when it arrives at the pipe's end.
    pub fn under_way(&self) -> impl Iterator<Item = (Time, u32)> {
        self.paths.pipes.iter().flat_map(Pipe::iter)
    }

    /// Number of packets in pipes.
    pub fn count_under_way(&self) -> usize {
        self.paths.pipes.iter().map(Pipe::count).sum()
    }

    /// Adds pipes, hops and ways through the air.
    pub fn extend(
        &mut self,
        pipes: Vec<(Target, Option<AccessLink>)>,
        stops: Vec<Stop>,
        crossings: Vec<(Station, Station)>,
    ) {
        let least = |link: u32| self.links[link as usize].least_delay();
        let more = pipes.iter().map(|pipe| ahead(pipe, least));
        self.ahead = self.ahead.iter().copied().chain(more).collect();
        self.paths.pipes.extend(pipes.into_iter().map(|(to, access)| Pipe::new(to, access, false)));
        self.paths.stops.extend(stops);
        if let Some(air) = &mut self.air {
            air.0.extend(crossings);
        }
    }

    /// Fetches the place of that packet in the pipe.
    #[inline]
    pub fn fetch_place(&self, index: u32, count: usize) {
        self.paths.pipes[index as usize].fetch_place(count);
    }

    /// Fetches what a packet that leaves stop `stop` touches.
    #[inline]
    pub fn fetch_stop(&self, stop: u32) {
        self.paths.fetch_stop(stop);
    }
}
