//! The fabric: packets on their way over lanes, links and the air, and the agenda that moves them.
//!
//! It knows no host. What it gives back has reached the end of a stretch, and the world hands it on.

mod border;
mod capture;
pub mod cargo;
mod lane;
mod late;
mod link;
mod losses;
mod ring;
mod turn;

pub use border::{Border, Crossing};
pub use capture::Capture;
pub use lane::{Lane, Wire};
pub use link::{Course, Link, LinkChange, LinkSpec, Loss};
pub use losses::Lost;

use super::agenda::Agenda;
use super::event::{Event, Key, Sequence};
use super::table::{Table, table};
use crate::measure::UserMeter;
use crate::wireless::medium::Station;
use crate::wireless::{Effects, Network, NetworkSpec};
use border::Leaving;
use cargo::Hold;
use forebay_core::{Duration, Packet, Time, fetch};
use late::Late;
use losses::Losses;
use std::sync::Arc;
use turn::At;

/// Where a packet goes at the end of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Into the queue of a link.
    Link(u32),
    /// To a box, and from there into the queue of its link.
    GuardForward(u32),
    /// Off the reverse of a box's link, to the box, and on to the next stop.
    GuardBackward(u32),
    /// Into the wireless network, for the crossing of that number.
    Air(u32),
    /// To the host at the end of the path.
    Host,
}

/// One stretch of a path, to the next queue or host. Every packet touches one of its flow's own, so
/// that it holds only what differs from flow to flow.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Lane on which the packets of this stretch travel.
    pub lane: u32,
    /// When the host's own access link is free, if there is one on this stretch.
    pub free_at: Time,
}

/// What a fabric is made from. Indices in it are positions in its vectors.
pub struct FabricSpec {
    /// Links with queues.
    pub links: Vec<LinkSpec>,
    /// Where each lane leads, over which access links.
    pub lanes: Vec<(Target, Option<Wire>)>,
    /// Stretches; those of one path follow each other, the last one's lane leads to a host.
    pub stops: Vec<Stop>,
    /// The wireless network, if there is one.
    pub wireless: Option<NetworkSpec>,
    /// What lies beyond, if this is a part of a network.
    pub border: Option<Border>,
}

impl FabricSpec {
    /// The least time over each lane, and over the link that follows.
    pub fn ahead(&self) -> Arc<[Duration]> {
        let least = |link: u32| self.links[link as usize].delay.least();
        self.lanes.iter().map(|lane| ahead(lane, least)).collect()
    }
}

/// The least time over a lane and the link that follows; `least` is that over a link.
fn ahead(lane: &(Target, Option<Wire>), least: impl Fn(u32) -> Duration) -> Duration {
    let wire = lane.1.map_or(Duration::ZERO, |wire| wire.delay);
    match lane.0 {
        Target::Link(link) => wire + least(link),
        _ => wire,
    }
}

/// Packets under way, and the agenda.
pub struct Fabric {
    ways: Ways,
    /// Timers and sources: entries that mostly rest. Senders' timers have an agenda of their own, as they
    /// come long after all others: so what is new is mostly last in either.
    resting: [Agenda; 2],
    /// The next of both; an entry of nothing, if there is none.
    next_resting: (Key, Event),
    links: Vec<Link>,
    air: Option<Box<(Network, Effects)>>,
    /// The least time over each lane and the link that follows.
    ahead: Arc<[Duration]>,
    /// What is known of the packets under way.
    pub hold: Hold,
    /// Whether there are so many users that memory is worth reading ahead.
    many: bool,
    /// What was lost, until its users are told.
    lost: Losses,
}

/// In which of the two agendas of events that rest it is.
#[inline(always)]
fn place_of(event: Event) -> usize {
    usize::from(matches!(event, Event::SenderTimer(_)))
}

/// How many packets ahead memory is read.
pub const AHEAD: usize = 8;

/// What lies between links: a link that sends a packet puts it on its way itself.
pub struct Ways {
    sequence: Sequence,
    /// Lanes and links: entries that move with every packet.
    moving: Agenda,
    lanes: Vec<(Lane, Target)>,
    stops: Table<Stop>,
    /// Of each link, when it is looked at.
    late: Vec<Late>,
    /// Those that are looked at late.
    looked_late: Vec<u32>,
    border: Option<Border>,
}

impl Ways {
    /// Sends a packet of `len` bytes over the stretch to stop `stop`, from `at` on; others may overtake it
    /// if it was `held` back on its way.
    #[inline(always)]
    fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time, held: Duration) {
        let Stop { lane: index, ref mut free_at } = self.stops[stop as usize];
        let lane = &mut self.lanes[index as usize].0;
        let (arrival, wait) = match &lane.wire {
            // What overtakes it finds the host's link free.
            Some(wire) if held > Duration::ZERO => (wire.carry(&mut { at }, at, len), held),
            Some(wire) => {
                let wait = free_at.since(at);
                (wire.carry(free_at, at, len), wait)
            }
            None => (at, held),
        };
        // The lane keeps those of one instant in the order in which they were sent.
        let key = Key::of(arrival, Event::Arrival(index), stop);
        if !lane.is_plain(wait > Duration::ZERO) {
            return self.put_specially(index, key, id, wait);
        }
        if lane.append(key, id) {
            let link = lane.link;
            self.announce(index, link, key);
        }
    }

    /// Puts a packet that waited for `wait` on lane `index`, which may lead beyond the border or have
    /// late packets; it arrives at `key`.
    #[inline(never)]
    fn put_specially(&mut self, index: u32, key: Key, id: u32, wait: Duration) {
        if let Some(border) = &mut self.border
            && border.is_beyond(index)
        {
            return border.leave(Leaving { lane: index, key, id, wait });
        }
        self.put(index, key, id, wait);
    }

    /// Puts a packet that waited for `wait` on lane `index`, at whose end it arrives at `key`.
    fn put(&mut self, index: u32, key: Key, id: u32, wait: Duration) {
        let lane = &mut self.lanes[index as usize].0;
        if lane.push(key, id, wait) {
            let link = lane.link;
            self.announce(index, link, key);
        }
    }

    /// The first packet of lane `index`, which leads to `link`, arrives at `key`.
    #[inline(never)]
    fn announce(&mut self, index: u32, link: Option<u32>, key: Key) {
        match link {
            None => self.moving.push(key, Event::Arrival(index)),
            Some(link) => self.expect(link, key.time),
        }
    }

    /// Fetches what a packet that leaves stop `stop` touches.
    #[inline]
    fn fetch_stop(&self, stop: u32) {
        // A packet that a queue has dropped may still be expected, its place another's.
        self.stops.get(stop as usize).into_iter().for_each(fetch);
    }

    /// The link `index` is to be woken at `time`, unless it is before.
    fn wake(&mut self, link: &mut Link, index: u32, time: Time) {
        let event = Event::LinkFree(index);
        let key = self.sequence.key(time, event, link.number);
        if link.arm(key) {
            self.moving.push(key, event);
        }
    }
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
        let air = spec.wireless;
        let border = spec.border;
        let beyond = |lane| border.as_ref().is_some_and(|border: &Border| border.is_beyond(lane));
        Fabric {
            ahead,
            ways: Ways {
                sequence: Sequence::default(),
                moving: Agenda::default(),
                lanes: (0..)
                    .zip(spec.lanes)
                    .map(|(lane, (to, wire))| (Lane::new(wire, beyond(lane)), to))
                    .collect(),
                stops: table(spec.stops),
                late: spec.links.iter().map(|_| Late::default()).collect(),
                looked_late: Vec::new(),
                border,
            },
            resting: Default::default(),
            next_resting: Agenda::NOTHING,
            links: spec.links.into_iter().map(|link| Link::new(link, seed)).collect(),
            air: air.map(|spec| Box::new((Network::new(spec, seed), Effects::default()))),
            hold: Hold::new(many),
            many,
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

    /// Gives `links` the place of those that it has.
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

    /// Whether there are so many users that memory is worth reading ahead.
    #[inline]
    pub fn many(&self) -> bool {
        self.many
    }

    /// What is next; an entry at the end of time, if nothing is.
    #[inline(always)]
    pub fn next(&self) -> &(Key, Event) {
        let moving = self.ways.moving.first_or_nothing();
        if self.next_resting.0.precedes(moving.0) { &self.next_resting } else { moving }
    }

    /// Schedules an event of the party `whose` among those that rest.
    #[inline(always)]
    pub fn rest(&mut self, time: Time, event: Event, whose: u32) -> Key {
        let key = self.ways.sequence.key(time, event, whose);
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

    /// The entry at `key` of lane `index`, which is the first, is used up: the packet at the end of the
    /// lane, if it is its, and where the lane leads.
    #[inline(always)]
    pub fn arrive(&mut self, key: Key, index: u32) -> Option<(u32, Target)> {
        let Ways { moving, lanes, .. } = &mut self.ways;
        let (lane, target) = &mut lanes[index as usize];
        let due = lane.take_due(key);
        match due {
            Some((_, Some(next))) => moving.replace_first(next, Event::Arrival(index)),
            _ => moving.pop(),
        }
        due.map(|(id, _)| (id, *target))
    }

    /// The number of link `index`, if the entry at `key`, which is the first, wakes it; it is used up.
    #[inline]
    pub fn wakes(&mut self, key: Key, index: u32) -> Option<u32> {
        self.ways.moving.pop();
        let link = &mut self.links[index as usize];
        link.wakes(key).then_some(link.number)
    }

    /// Sends the packet with handle `id`, of `len` bytes, over the stretch to stop `stop`, of which its
    /// cargo knows, from `at` on.
    #[inline(always)]
    pub fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time) {
        self.ways.launch(id, len, stop, at, Duration::ZERO);
    }

    /// The same with a packet that was handed out, and goes on to stop `stop`.
    pub fn forward(&mut self, packet: Packet, stop: u32, at: Time) {
        let len = packet.len;
        let id = self.hold.take_back(packet);
        self.hold.at(id).stop = stop;
        self.launch(id, len, stop, at);
    }

    /// A packet comes to the queue of a link.
    pub fn enter(&mut self, now: Time, index: u32, id: u32, users: &mut [UserMeter]) {
        let is_late = self.ways.is_late(index);
        self.at(index, users, is_late).enter(now, id, |_| {});
    }

    /// Link `index` sends the next packet of its queue, if it is free.
    pub fn poll_link(&mut self, now: Time, index: u32, users: &mut [UserMeter]) {
        self.at(index, users, false).poll(now);
    }

    #[inline(always)]
    fn at<'a>(&'a mut self, index: u32, users: &'a mut [UserMeter], is_late: bool) -> At<'a> {
        let Fabric { ways, links, hold, many, lost, .. } = self;
        At {
            index,
            link: &mut links[index as usize],
            ways,
            hold,
            users,
            lost,
            many: *many,
            is_late,
        }
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
        self.ways.border.is_some()
    }

    /// Hands on what has left for other parts since the last call.
    pub fn emigrate(&mut self, mut to: impl FnMut(u16, Crossing)) {
        let Fabric { ways, hold, .. } = self;
        for (part, leaving) in ways.border.iter_mut().flat_map(Border::take) {
            let cargo = hold.lift(leaving.id);
            to(part, Crossing { leaving, cargo });
        }
    }

    /// A packet comes from another part.
    pub fn immigrate(&mut self, crossing: Crossing) {
        let Crossing { leaving: Leaving { lane, key, wait, .. }, cargo } = crossing;
        let id = self.hold.store(cargo);
        self.ways.put(lane, key, id, wait);
    }

    /// What was lost since the last call, if this is a part of a network.
    pub fn take_lost(&mut self) -> impl Iterator<Item = Lost> {
        self.lost.take()
    }

    /// Gives back what only going on would need.
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
        let path = self.ways.stops[first as usize..]
            .iter()
            .map(|stop| self.ways.lanes[stop.lane as usize].1);
        let mut path = path.take_while(|target| *target != Target::Host);
        path.position(|each| each == target).map(|at| first + at as u32 + 1)
    }

    /// The least time that a packet needs over the path that begins at stop `first`.
    pub fn distance(&self, first: u32) -> Duration {
        let mut distance = Duration::ZERO;
        for stop in &self.ways.stops[first as usize..] {
            distance += self.ahead[stop.lane as usize];
            if self.ways.lanes[stop.lane as usize].1 == Target::Host {
                break;
            }
        }
        distance
    }

    /// The packet that arrives over lane `index` after `count` others, and where.
    #[inline]
    pub fn after(&self, index: u32, count: usize) -> Option<(u32, Target)> {
        let (lane, target) = &self.ways.lanes[index as usize];
        lane.after(count).map(|id| (id, *target))
    }

    /// Every packet on a lane, and when it arrives at the lane's end.
    pub fn under_way(&self) -> impl Iterator<Item = (Time, u32)> {
        self.ways.lanes.iter().flat_map(|(lane, _)| lane.iter())
    }

    /// How many packets are on lanes.
    pub fn count_under_way(&self) -> usize {
        self.ways.lanes.iter().map(|(lane, _)| lane.count()).sum()
    }

    /// Adds lanes, stretches and ways through the air.
    pub fn extend(
        &mut self,
        lanes: Vec<(Target, Option<Wire>)>,
        stops: Vec<Stop>,
        crossings: Vec<(Station, Station)>,
    ) {
        let least = |link: u32| self.links[link as usize].least_delay();
        let more = lanes.iter().map(|lane| ahead(lane, least));
        self.ahead = self.ahead.iter().copied().chain(more).collect();
        self.ways.lanes.extend(lanes.into_iter().map(|(to, wire)| (Lane::new(wire, false), to)));
        self.ways.stops.extend(stops);
        if let Some(air) = &mut self.air {
            air.0.extend(crossings);
        }
    }

    /// Fetches the place of that packet in the lane.
    #[inline]
    pub fn fetch_place(&self, index: u32, count: usize) {
        self.ways.lanes[index as usize].0.fetch(count);
    }

    /// Fetches what a packet that leaves stop `stop` touches.
    #[inline]
    pub fn fetch_stop(&self, stop: u32) {
        self.ways.fetch_stop(stop);
    }
}
