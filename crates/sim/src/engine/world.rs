//! The world: all state of one run, and the loop that changes it.

use super::cargo::{Cargo, DATAGRAM, Hold};
use super::connection::Connections;
use super::event::{Agenda, Event, Key, Sequence};
use super::foresight::FEW_USERS;
use super::guard::Guard;
use super::lane::{Lane, Wire};
use super::link::{Action, Link, LinkSpec, Loss};
use super::segments::SegmentTrace;
use super::series::{LinkSeries, Series};
use crate::measure::{ClassMeter, FlowSeries, TransferLog, UserMeter};
use crate::traffic::{Datagram, Datagrams, Marks, Transfers};
use crate::wireless::{Effects, Network, NetworkSpec};
use forebay_core::{Duration, Packet, PacketKind, Rng, Time};
use forebay_middlebox::marker::Marker;
use forebay_tcp::{Config as TcpConfig, Segment};
use std::fmt;
use std::sync::Arc;

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

/// What generates a user's traffic.
pub enum Entry {
    /// Datagrams, one way; packets of the source's flow i are numbered from the given base.
    Datagrams {
        /// The source.
        source: Box<dyn Datagrams>,
        /// Number of the source's first flow.
        first_flow: u32,
        /// The datagram that is sent next.
        pending: Option<Datagram>,
    },
    /// Transfers over TCP.
    Transfers {
        /// The user.
        source: Box<dyn Transfers>,
        /// How the connections behave.
        tcp: Arc<TcpConfig>,
        /// First stop of the acknowledgments' path.
        backward: u32,
        /// Place of the connection that stays open for the next transfer.
        open: Option<u32>,
    },
}

/// A marker at the senders' edge, with its random stream.
pub struct Conditioner {
    /// The marker.
    pub marker: Box<dyn Marker>,
    /// Its random stream.
    pub rng: Rng,
}

impl Conditioner {
    /// Gives `packet`, sent at `now`, the drop precedence that the profile says.
    pub(super) fn mark(&mut self, now: Time, packet: &mut Packet) {
        packet.drop_precedence = self.marker.mark(now, packet.len, &mut self.rng);
    }
}

/// One user: a flow of a traffic entry.
pub struct User {
    /// What generates the traffic.
    pub entry: Entry,
    /// The user's random stream.
    pub rng: Rng,
    /// When the traffic begins.
    pub start: Time,
    /// When it ends; what is under way then is still delivered.
    pub stop: Time,
    /// First stop of the data's path.
    pub forward: u32,
    /// How the packets are marked.
    pub marks: Marks,
    /// Who marks the packets' drop precedence instead.
    pub conditioner: Option<u32>,
    /// Port at the receiving end.
    pub port: u16,
}

impl User {
    /// Receive buffer of the user's connections in bytes; 0 for datagrams.
    pub(super) fn receive_window(&self) -> u64 {
        match &self.entry {
            Entry::Transfers { tcp, .. } => tcp.receive_window.largest(),
            Entry::Datagrams { .. } => 0,
        }
    }
}

/// What a world is made from. Indices in it are positions in its vectors.
pub struct WorldSpec {
    /// End of the run.
    pub duration: Duration,
    /// What is not measured at its beginning.
    pub warmup: Duration,
    /// Interval of the time series; None: no series.
    pub sample: Option<Duration>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Links with queues.
    pub links: Vec<LinkSpec>,
    /// Boxes in front of links.
    pub guards: Vec<Guard>,
    /// Where each lane leads, over which access links.
    pub lanes: Vec<(Target, Option<Wire>)>,
    /// Stretches; those of one path follow each other, the last one's lane leads to a host.
    pub stops: Vec<Stop>,
    /// The wireless network, if there is one.
    pub wireless: Option<NetworkSpec>,
    /// Who sends, with the meters of each.
    pub users: Vec<(User, UserMeter)>,
    /// The markers at the senders' edge.
    pub conditioners: Vec<Conditioner>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Number of the first connection, above all numbers of datagram flows.
    pub first_connection: u32,
    /// Where TCP's segments are written.
    pub segments: Option<SegmentTrace>,
    /// Whether the throughput of every flow over time is kept.
    pub flow_series: bool,
    /// Whether every transfer is kept.
    pub transfers: bool,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Share of the simulated time that is over, 0 to 1.
    pub share: f64,
    /// Whether the instant is reached up to which it was to go.
    pub arrived: bool,
    /// Whether the run is complete.
    pub complete: bool,
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

/// Packets that may be under way at once, about 2 GB: beyond lies a queue without a limit that is
/// fed faster than it is served.
const MOST_UNDER_WAY: usize = 20_000_000;

/// Connections that may be open at once, about 4 GB: beyond lies a link that files which begin
/// whatever becomes of the earlier ones have overloaded.
const MOST_CONNECTIONS: usize = 1_600_000;

/// One run: a value without any state elsewhere.
pub struct World {
    pub(super) now: Time,
    pub(super) end: Time,
    /// Events after this instant have to wait; never after the end.
    stop: Time,
    pub(super) warmup_end: Time,
    pub(super) sample: Option<Duration>,
    pub(super) sequence: Sequence,
    /// Lanes and links: entries that move with every packet.
    moving: Agenda,
    /// Timers and sources: entries that mostly rest.
    pub(super) resting: Agenda,
    pub(super) links: Vec<Link>,
    pub(super) guards: Vec<Guard>,
    pub(super) lanes: Vec<(Lane, Target)>,
    pub(super) stops: Vec<Stop>,
    pub(super) wireless: Option<Box<(Network, Effects)>>,
    pub(super) hold: Hold,
    pub(super) users: Vec<User>,
    pub(super) conditioners: Vec<Conditioner>,
    pub(super) user_meters: Vec<UserMeter>,
    pub(super) classes: Vec<ClassMeter>,
    pub(super) connections: Connections,
    /// Whether there are so many users that memory is worth reading ahead.
    many: bool,
    pub(super) series: Series,
    pub(super) fingerprint: u64,
    pub(super) events: u64,
    pub(super) packets: u64,
    pub(super) segments: Option<Box<SegmentTrace>>,
    pub(super) flow_series: Option<Box<FlowSeries>>,
    pub(super) transfers: Option<Box<TransferLog>>,
}

impl World {
    /// The world of `spec` at time zero.
    pub fn new(spec: WorldSpec) -> Self {
        let (users, user_meters): (Vec<_>, Vec<_>) = spec.users.into_iter().unzip();
        let classes = spec.classes.into_iter();
        let transfers = users.iter().filter(|user| matches!(user.entry, Entry::Transfers { .. }));
        let transfers = transfers.count();
        let seed = spec.seed;
        let mut world = World {
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            stop: Time::ZERO,
            warmup_end: Time::ZERO + spec.warmup,
            sample: spec.sample,
            sequence: Sequence::default(),
            moving: Agenda::default(),
            resting: Agenda::default(),
            links: spec.links.into_iter().map(|link| Link::new(link, seed)).collect(),
            guards: spec.guards,
            many: users.len() > FEW_USERS,
            lanes: spec.lanes.into_iter().map(|(to, wire)| (Lane::new(wire), to)).collect(),
            stops: spec.stops,
            wireless: spec
                .wireless
                .map(|spec| Box::new((Network::new(spec, seed), Effects::default()))),
            hold: Hold::default(),
            flow_series: spec.flow_series.then(|| Box::new(FlowSeries::new(users.len()))),
            transfers: spec.transfers.then(Box::default),
            users,
            conditioners: spec.conditioners,
            user_meters,
            classes: classes.map(|name| ClassMeter { name, ..ClassMeter::default() }).collect(),
            connections: Connections::new(spec.first_connection, transfers),
            series: Series::default(),
            fingerprint: seed,
            segments: spec.segments.map(Box::new),
            events: 0,
            packets: 0,
        };
        world.series.links = vec![LinkSeries::default(); world.links.len()];
        world.series.classes = vec![Vec::new(); world.classes.len()];
        world.begin();
        world
    }

    /// Schedules what is known from the start.
    fn begin(&mut self) {
        self.rest(self.warmup_end, Event::WarmupEnd);
        if let Some(sample) = self.sample {
            self.rest(Time::ZERO + sample, Event::Sample);
        }
        for index in 0..self.links.len() {
            self.schedule_rate_change(index as u32);
        }
        for index in 0..self.users.len() as u32 {
            let start = self.users[index as usize].start;
            match self.users[index as usize].entry {
                Entry::Datagrams { .. } => self.next_datagram(index, start),
                Entry::Transfers { .. } => self.next_transfer(index, start),
            }
        }
    }

    /// Handles up to `budget` events.
    ///
    /// # Errors
    /// When the packets under way no longer fit memory, or a capture cannot be written.
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        self.advance_to(self.end, budget)
    }

    /// Handles up to `budget` events, none of them after `until`.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance_to(&mut self, until: Time, budget: u64) -> Result<Progress, RunError> {
        self.stop = until.min(self.end);
        for _ in 0..budget {
            if !self.step() {
                self.now = self.now.max(self.stop);
                if self.stop < self.end {
                    self.check_disciplines()?;
                    return Ok(Progress { share: self.share(), arrived: true, complete: false });
                }
                self.check_disciplines()?;
                for link in &mut self.links {
                    link.finish().map_err(RunError)?;
                }
                if let Some(segments) = self.segments.take() {
                    segments.finish().map_err(RunError)?;
                }
                return Ok(Progress { share: 1.0, arrived: true, complete: true });
            }
        }
        self.check_disciplines()?;
        if self.hold.peak() > MOST_UNDER_WAY {
            return Err(self.overflowed());
        }
        let connections = self.connections.peak();
        if connections > MOST_CONNECTIONS {
            return Err(RunError(format!(
                "{connections} connections at once at {:.3} s, more than memory holds; let files \
                 begin less often, or the link send faster",
                self.now.as_secs_f64()
            )));
        }
        if self.transfers.as_ref().is_some_and(|log| log.rows().len() > TransferLog::MOST) {
            return Err(RunError(format!(
                "more than {} transfers by {:.3} s, more than memory holds as a table; run for \
                 less time, or leave \"transfers\" out of `tables`",
                TransferLog::MOST,
                self.now.as_secs_f64()
            )));
        }
        Ok(Progress { share: self.share(), arrived: false, complete: false })
    }

    /// Share of the simulated time that is over.
    fn share(&self) -> f64 {
        self.now.as_nanos() as f64 / self.end.as_nanos() as f64
    }

    /// Disciplines from elsewhere may have broken their contract.
    fn check_disciplines(&self) -> Result<(), RunError> {
        for link in &self.links {
            if let Some(fault) = link.port().fault() {
                return Err(RunError(format!("link \"{}\": {fault}", link.name)));
            }
        }
        match self.wireless.as_ref().and_then(|wireless| wireless.0.fault()) {
            Some(fault) => Err(RunError(format!("wireless: {fault}"))),
            None => Ok(()),
        }
    }

    fn overflowed(&self) -> RunError {
        let fullest = self.links.iter().max_by_key(|link| link.port().backlog().packets);
        let Some(fullest) = fullest else {
            return RunError("the stations hold more packets than memory; offer less".into());
        };
        RunError(format!(
            "link \"{}\": {} packets wait at {:.3} s, more than memory holds; give its queue a \
             limit, or offer less than the link's rate",
            fullest.name,
            fullest.port().backlog().packets,
            self.now.as_secs_f64()
        ))
    }

    /// Handles the next event; false if none is left before the end.
    #[inline]
    fn step(&mut self) -> bool {
        let moving = self.moving.first();
        let resting = self.resting.first();
        let moves = match (moving, resting) {
            (Some((moving, _)), Some((resting, _))) => moving < resting,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return false,
        };
        let &(key, event) = if moves { moving } else { resting }.expect("one of them has an entry");
        if key.time > self.stop {
            return false;
        }
        debug_assert!(key.time >= self.now);
        self.now = key.time;
        match event {
            Event::Arrival(index) => match self.lanes[index as usize].0.pop(key) {
                Some((packet, next)) => {
                    match next {
                        Some(next) => self.moving.replace_first(next, event),
                        None => self.moving.pop(),
                    }
                    if self.many {
                        self.foresee(index);
                    }
                    self.note(key.time, packet.flow);
                    match self.lanes[index as usize].1 {
                        Target::Link(link) => self.enter(link, packet),
                        Target::Host => self.deliver(packet),
                        Target::GuardForward(guard) => self.guard_forward(guard, packet),
                        Target::GuardBackward(guard) => self.guard_backward(guard, packet),
                        Target::Air(crossing) => self.in_air(|network, now, fx| {
                            network.enter(now, crossing, packet, fx);
                        }),
                    }
                }
                None => self.moving.pop(),
            },
            Event::LinkFree(link) => {
                self.moving.pop();
                if self.links[link as usize].wakes(key) {
                    self.note(key.time, link);
                    self.poll_link(link);
                }
            }
            _ => {
                self.resting.pop();
                self.on_resting(key, event);
            }
        }
        true
    }

    /// Events of timers, sources and measurements.
    fn on_resting(&mut self, key: Key, event: Event) {
        match event {
            Event::SenderTimer(flow) => self.on_sender_timer(flow, key),
            Event::ReceiverTimer(flow) => self.on_receiver_timer(flow, key),
            Event::GuardTimer(guard) => self.on_guard_timer(guard, key),
            Event::Datagram(user) => self.send_datagram(user),
            Event::Transfer(transfer) => self.start_transfer(transfer),
            Event::RateChange(link) => {
                self.links[link as usize].rate_changed(self.now);
                self.schedule_rate_change(link);
            }
            Event::Wireless(wake) => {
                self.in_air(|network, now, fx| network.wake(now, wake, fx));
            }
            Event::WarmupEnd => self.restart(),
            Event::Sample => self.take_sample(),
            Event::Arrival(_) | Event::LinkFree(_) => unreachable!("these move"),
        }
        self.note(key.time, u32::MAX);
    }

    /// Counts an event, and mixes it into the fingerprint.
    #[inline]
    fn note(&mut self, time: Time, whose: u32) {
        self.events += 1;
        let mixed = self.fingerprint ^ time.as_nanos() ^ (u64::from(whose) << 40);
        self.fingerprint = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Schedules an event among those that rest.
    #[inline]
    pub(super) fn rest(&mut self, time: Time, event: Event) {
        let key = self.sequence.key(time, event);
        self.resting.push(key, event);
    }

    /// Sends a packet over the stretch to stop `stop`, from `at` on.
    #[inline]
    pub(super) fn launch(&mut self, packet: Packet, stop: u32, at: Time) {
        self.launch_late(packet, stop, at, Duration::ZERO);
    }

    /// The same with a packet that others may overtake, for it was held back on its way.
    #[inline]
    fn launch_late(&mut self, packet: Packet, stop: u32, at: Time, held: Duration) {
        self.hold.of(&packet).stop = stop;
        let Stop { lane: index, ref mut free_at } = self.stops[stop as usize];
        let lane = &mut self.lanes[index as usize].0;
        let (at, wait) = match &lane.wire {
            // What overtakes it finds the host's link free.
            Some(wire) if held > Duration::ZERO => (wire.carry(&mut { at }, at, packet.len), held),
            Some(wire) => {
                let wait = free_at.since(at);
                (wire.carry(free_at, at, packet.len), wait)
            }
            None => (at, held),
        };
        let key = self.sequence.key(at, Event::Arrival(index));
        if lane.push(key, packet, wait) {
            self.moving.push(key, Event::Arrival(index));
        }
    }

    /// A packet comes to the queue of a link.
    #[inline]
    pub(super) fn enter(&mut self, index: u32, packet: Packet) {
        let link = &mut self.links[index as usize];
        let mut loss = Loss { hold: &mut self.hold, users: &mut self.user_meters };
        if self.many {
            link.expect(packet.id);
        }
        link.offer(self.now, packet, &mut loss);
        if !link.is_busy() {
            self.poll_link(index);
        }
    }

    #[inline]
    fn poll_link(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        let mut loss = Loss { hold: &mut self.hold, users: &mut self.user_meters };
        let mut sent = None;
        let action = link.poll(self.now, &mut loss, |hold, packet, at, held| {
            let stop = hold.of(&packet).stop + 1;
            sent = Some((packet, stop, at, held));
        });
        if let Action::Wake(time) = action
            && time < Time::MAX
        {
            let event = Event::LinkFree(index);
            let key = self.sequence.key(time, event);
            if link.arm(key) {
                self.moving.push(key, event);
            }
        }
        if let Some((packet, stop, at, held)) = sent {
            if self.many {
                self.foresee_queue(index, packet.id);
            }
            self.launch_late(packet, stop, at, held);
        }
    }

    /// Does something in the wireless network, and what follows from it.
    fn in_air(&mut self, act: impl FnOnce(&mut Network, Time, &mut Effects)) {
        let mut wireless = self.wireless.take().expect("only a network has such events");
        let (network, fx) = &mut *wireless;
        act(network, self.now, fx);
        for (time, wake) in fx.wakes.drain(..) {
            self.rest(time, Event::Wireless(wake));
        }
        for (id, wait) in fx.waited.drain(..) {
            self.hold.at(id).waited += wait;
        }
        for id in fx.marked.drain(..) {
            let user = self.hold.at(id).user;
            self.user_meters[user as usize].marked += 1;
        }
        for (packet, _) in fx.lost.drain(..) {
            Loss { hold: &mut self.hold, users: &mut self.user_meters }.charge(packet);
        }
        for packet in fx.arrived.drain(..) {
            let stop = self.hold.of(&packet).stop + 1;
            self.launch(packet, stop, self.now);
        }
        self.wireless = Some(wireless);
    }

    /// A packet is at its host.
    #[inline]
    fn deliver(&mut self, packet: Packet) {
        let is_data = packet.kind == PacketKind::Data;
        let len = packet.len;
        let ecn = packet.ecn();
        let id = self.hold.release(packet);
        let cargo = self.hold.at(id);
        let payload = match cargo.flow {
            DATAGRAM => len.saturating_sub(UDP_HEADERS),
            _ => cargo.segment.len,
        };
        let (flow, user) = (cargo.flow, cargo.user);
        if is_data {
            self.packets += 1;
            let delay = self.now - cargo.sent;
            let meter = &mut self.user_meters[user as usize];
            meter.arrived(delay, cargo.waited);
            let class = &mut self.classes[meter.class as usize];
            class.delay.record(delay);
            class.point_bytes += u64::from(payload);
            if let Some(flows) = &mut self.flow_series {
                flows.arrived(user, payload);
            }
        }
        if flow == DATAGRAM {
            self.user_meters[user as usize].bytes += u64::from(payload);
        } else {
            self.on_segment(id, ecn);
        }
    }

    /// Schedules the source's next datagram, at `after` or later.
    fn next_datagram(&mut self, index: u32, after: Time) {
        let user = &mut self.users[index as usize];
        let Entry::Datagrams { source, pending, .. } = &mut user.entry else {
            unreachable!("the event belongs to a datagram source")
        };
        *pending = source.next(after, &mut user.rng).filter(|datagram| datagram.at < user.stop);
        if let Some(datagram) = *pending {
            self.rest(datagram.at, Event::Datagram(index));
        }
    }

    fn send_datagram(&mut self, index: u32) {
        let user = &mut self.users[index as usize];
        let forward = user.forward;
        let Entry::Datagrams { first_flow, pending: Some(datagram), .. } = user.entry else {
            unreachable!("the event belongs to a datagram source with a datagram to send")
        };
        let cargo = Cargo {
            segment: Segment::default(),
            sent: self.now,
            waited: Duration::ZERO,
            stop: forward,
            flow: DATAGRAM,
            life: 0,
            number: self.user_meters[index as usize].sends(datagram.len),
            user: index,
            backward: false,
        };
        let id = self.hold.store(cargo);
        let mut packet = Packet::new(id, first_flow + datagram.flow, datagram.len);
        datagram.marks.unwrap_or(user.marks).apply(&mut packet);
        if let Some(conditioner) = user.conditioner {
            self.conditioners[conditioner as usize].mark(self.now, &mut packet);
        }
        self.launch(packet, forward, self.now);
        self.next_datagram(index, self.now);
    }

    fn schedule_rate_change(&mut self, index: u32) {
        if let Some(time) = self.links[index as usize].port().capacity().next_change(self.now) {
            self.rest(time, Event::RateChange(index));
        }
    }
}

/// IPv4 and UDP headers in bytes.
pub const UDP_HEADERS: u32 = 28;
