//! The fabric: packets on their way over links, pipes and the air, and the agenda that moves them.
//!
//! A packet is launched into a pipe, in which it is in flight ([`paths`], [`pipe`]). At the end of the
//! pipe it arrives at a link ([`service`]): it waits in the queue, is sent, and the link launches it into
//! the next pipe. The last pipe of a path leads to a host. The fabric knows neither hosts nor boxes: the
//! world passes packets to them.

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
pub use link::{Link, LinkChange, LinkSpec, Loss};
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
use advance::{Advance, Moving, Usual};
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

/// The parts of a fabric. Indices are positions in its vectors.
pub struct FabricSpec {
    pub links: Vec<LinkSpec>,
    /// The end of each pipe, and the access links on the way.
    pub pipes: Vec<(Target, Option<AccessLink>)>,
    /// Hops; those of one path follow each other, and the pipe of the last one leads to a host.
    pub stops: Vec<Stop>,
    pub wireless: Option<NetworkSpec>,
    /// Only in a part of a network.
    pub border: Option<Border>,
}

impl FabricSpec {
    /// By pipe, the least time over it and the link that follows.
    pub fn ahead(&self) -> Arc<[Duration]> {
        let least = |link: u32| self.links[link as usize].delay.least();
        self.pipes.iter().map(|pipe| ahead(pipe, least)).collect()
    }
}

/// The least time over a pipe and the link that follows; `least` returns that over a link.
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
    /// Agendas of timers and sources. Senders' timers have one of their own, because they are due long
    /// after all others: so a new entry is mostly the last one in its agenda.
    resting: [Agenda; 2],
    /// The first entry of both.
    next_resting: (Key, Event),
    links: Vec<Link>,
    air: Option<Box<(Network, Effects)>>,
    /// By pipe, the least time over it and the link that follows.
    ahead: Arc<[Duration]>,
    pub hold: Hold,
    lazy_links: Vec<u32>,
    /// Only in runs with many users.
    prefetch: Option<Box<Prefetch>>,
    lost: Losses,
}

/// Index of the agenda of `event` among those of timers and sources.
#[inline(always)]
fn place_of(event: Event) -> usize {
    usize::from(matches!(event, Event::SenderTimer(_)))
}

impl Fabric {
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

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    pub fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
    }

    pub fn change_link(&mut self, now: Time, index: usize, change: LinkChange) {
        self.links[index].change(now, change, &mut self.hold);
    }

    /// Replaces the links. Returns the previous ones.
    pub fn exchange_links(&mut self, links: Vec<Link>) -> Vec<Link> {
        std::mem::replace(&mut self.links, links)
    }

    pub fn network(&self) -> Option<&Network> {
        self.air.as_ref().map(|air| &air.0)
    }

    pub fn network_mut(&mut self) -> Option<&mut Network> {
        self.air.as_mut().map(|air| &mut air.0)
    }

    /// Whether there are so many users that prefetching saves time.
    pub fn many(&self) -> bool {
        self.prefetch.is_some()
    }

    /// The next event, or [`Agenda::NOTHING`].
    #[inline(always)]
    pub fn next(&self) -> &(Key, Event) {
        let moving = self.paths.moving.agenda.first_or_nothing();
        if self.next_resting.0.precedes(moving.0) { &self.next_resting } else { moving }
    }

    /// Schedules a timer, source or measurement of party `whose`.
    #[inline(always)]
    pub fn rest(&mut self, time: Time, event: Event, whose: u32) -> Key {
        let key = self.paths.moving.sequence.key(time, event, whose);
        self.resting[place_of(event)].push(key, event);
        if key.precedes(self.next_resting.0) {
            self.next_resting = (key, event);
        }
        key
    }

    /// Removes the first of these events.
    #[inline(always)]
    pub fn rested(&mut self) {
        self.resting[place_of(self.next_resting.1)].pop();
        let [others, senders] = &self.resting;
        let (other, sender) = (others.first_or_nothing(), senders.first_or_nothing());
        self.next_resting = if sender.0.precedes(other.0) { *sender } else { *other };
    }

    /// The event after `count` others in the agenda of `event`, if it is known.
    pub fn resting_after(&self, event: Event, count: usize) -> Option<Event> {
        self.resting[place_of(event)].after(count)
    }

    /// Removes the first entry of the agenda, that of pipe `index` at `key`. Returns the packet that
    /// arrives, and where. None if the entry is stale.
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

    /// Removes the first entry of the agenda, at `key`, by which link `index` becomes free. Returns the
    /// number of the link. None if the entry is stale.
    pub fn wakes(&mut self, key: Key, index: u32) -> Option<u32> {
        self.paths.moving.agenda.pop();
        let link = &mut self.links[index as usize];
        link.wakes(key).then_some(link.number)
    }

    /// Sends packet `id`, of `len` bytes, over the hop to stop `stop`, from `at` on.
    #[inline(always)]
    pub fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time) {
        self.paths.launch(id, len, stop, at, Duration::ZERO);
    }

    /// The same for a packet that was handed out.
    pub fn forward(&mut self, packet: Packet, stop: u32, at: Time) {
        let len = packet.len;
        let id = self.hold.take_back(packet);
        self.hold.at(id).stop = stop;
        self.launch(id, len, stop, at);
    }

    /// Packet `id` arrives at the queue of eager link `index`.
    pub fn enter(&mut self, now: Time, index: u32, id: u32, users: &mut [UserMeter]) {
        debug_assert!(self.paths.moving.lazy[index as usize].pipes.is_empty());
        self.service::<Usual>(index, users).arrive(now, id, |_| {});
    }

    /// Eager link `index` sends the next packet of its queue, if it is free.
    pub fn poll_link(&mut self, now: Time, index: u32, users: &mut [UserMeter]) {
        self.service::<Usual>(index, users).send_next(now);
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

    /// Acts on the wireless network, and applies the effects.
    pub fn in_air(
        &mut self,
        now: Time,
        users: &mut [UserMeter],
        act: impl FnOnce(&mut Network, &mut Effects),
    ) {
        let mut air = self.air.take().expect("such events belong to a wireless network");
        let (network, fx) = &mut *air;
        act(network, fx);
        for (time, wake) in fx.wakes.drain(..) {
            // In the order in which the network asks, for all stations.
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

    pub fn next_time(&self) -> Time {
        self.next().0.time
    }

    /// Whether this is one part of a network.
    pub fn is_part(&self) -> bool {
        self.paths.border.is_some()
    }

    /// Passes on the packets that have left for other parts since the last call.
    pub fn emigrate(&mut self, mut to: impl FnMut(u16, Crossing)) {
        let Fabric { paths, hold, .. } = self;
        for (part, leaving) in paths.border.iter_mut().flat_map(Border::take) {
            let cargo = hold.lift(leaving.id);
            to(part, Crossing { leaving, cargo });
        }
    }

    /// A packet arrives from another part.
    pub fn immigrate(&mut self, crossing: Crossing) {
        let Crossing { leaving: Leaving { pipe, key, wait, .. }, cargo } = crossing;
        let id = self.hold.store(cargo);
        self.paths.put(pipe, key, id, wait);
    }

    /// Takes the losses since the last call that are reported to other parts.
    pub fn take_lost(&mut self) -> impl Iterator<Item = Lost> {
        self.lost.take()
    }

    /// Frees all packets.
    pub fn close(&mut self) {
        self.hold = Hold::new(false);
    }

    /// Schedules the next change of the rate of link `index` after `now`.
    pub fn schedule_rate_change(&mut self, now: Time, index: u32) {
        let link = &self.links[index as usize];
        if let Some(time) = link.port().capacity().next_change(now) {
            self.rest(time, Event::RateChange(index), link.number);
        }
    }

    /// The rate of link `index` changes by schedule.
    pub fn change_rate(&mut self, now: Time, index: u32) {
        self.links[index as usize].rate_changed(now);
        self.schedule_rate_change(now, index);
    }

    /// The stop after `target` on the path that begins at stop `first`. None if the path does not lead there.
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

    /// The packet that arrives over pipe `index` after `count` others, and the end of the pipe.
    pub fn after(&self, index: u32, count: usize) -> Option<(u32, Target)> {
        let pipe = &self.paths.pipes[index as usize];
        pipe.after(count).map(|id| (id, pipe.target))
    }

    /// Arrivals and handles of all packets in pipes.
    pub fn under_way(&self) -> impl Iterator<Item = (Time, u32)> {
        self.paths.pipes.iter().flat_map(Pipe::iter)
    }

    /// Number of packets in pipes.
    pub fn count_under_way(&self) -> usize {
        self.paths.pipes.iter().map(Pipe::count).sum()
    }

    /// Adds pipes, hops, and paths through the wireless network.
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

    pub fn fetch_place(&self, index: u32, count: usize) {
        self.paths.pipes[index as usize].fetch_place(count);
    }

    pub fn fetch_stop(&self, stop: u32) {
        self.paths.fetch_stop(stop);
    }
}
