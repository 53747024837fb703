//! The network: stations with their queues, contention and routers, and the frames between them.

use super::aodv::{Message, Output, Router};
use super::contention::{Airtimes, Contention};
use super::medium::{Heard, Medium, Station};
use super::meter::StationMeter;
use super::params::Site;
use super::place::Track;
use super::propagation::RadioTable;
use forebay_core::{
    Context, Discipline, DropReason, Duration, Packet, PacketKind, Rng, Sink, Time, Verdict,
    Wake as QueueWake,
};
use std::collections::VecDeque;

/// The parts of a network.
pub struct NetworkSpec {
    pub sites: Vec<Site>,
    /// Each station's queue.
    pub queues: Vec<Box<dyn Discipline>>,
    pub radio: RadioTable,
    pub airtimes: Airtimes,
    /// Transmissions of a frame until its link counts as broken.
    pub attempts: u8,
    /// Entry and exit of the paths through the network.
    pub crossings: Vec<(Station, Station)>,
}

/// A wake-up that the network has requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The frame of a station ends.
    FrameEnd(Station),
    /// A station's countdown ends.
    Access(Station),
    /// A station sends an acknowledgment.
    Acknowledge(Station),
    /// The time of a station for an acknowledgment is over.
    Unanswered(Station),
    /// A timer of a station's router is due.
    Routing(Station),
    /// A delayed routing message is due.
    Jittered(Station),
    /// A station's queue may have a packet.
    Queue(Station),
}

/// The reason for which a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// By a station's queue.
    Queue(DropReason),
    /// Its link broke.
    Link,
    /// There is no route.
    Route,
}

/// Effects on the world.
#[derive(Default)]
pub struct Effects {
    /// Times at which to call [`Network::wake`].
    pub wakes: Vec<(Time, Wake)>,
    /// Packets that have left the network.
    pub arrived: Vec<Packet>,
    pub lost: Vec<(Packet, LossReason)>,
    /// Handles of packets that have left a queue, and their waiting times.
    pub waited: Vec<(u32, Duration)>,
    /// Handles of packets that a queue marked congestion-experienced.
    pub marked: Vec<u32>,
}

impl Sink for Effects {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.lost.push((packet, LossReason::Queue(reason)));
    }

    fn marked(&mut self, packet: &Packet) {
        self.marked.push(packet.id);
    }
}

/// The path of a packet in the network.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trip {
    pub(super) source: Station,
    pub(super) destination: Station,
    pub(super) hops: u8,
}

/// Payload of a frame.
pub(super) enum Body {
    Data(Packet),
    Routing(Message),
    /// The receiver has the packet already. The frame is a repetition.
    Delivered,
}

/// A frame to send.
pub(super) struct Outgoing {
    pub(super) to: Option<Station>,
    pub(super) body: Body,
    pub(super) len: u32,
    pub(super) attempts: u8,
}

/// A kind of transmission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnAir {
    Frame,
    Acknowledgment(Station),
}

pub(super) struct Node {
    pub(super) contention: Contention,
    pub(super) router: Router,
    pub(super) queue: Box<dyn Discipline>,
    /// Routing messages to send.
    pub(super) routing: VecDeque<(Message, Option<Station>)>,
    /// Routing messages that are delayed, to avoid collisions of floods.
    pub(super) jittered: VecDeque<(Time, Message)>,
    /// Packets that wait for a route.
    pub(super) waiting: VecDeque<Packet>,
    pub(super) current: Option<Outgoing>,
    pub(super) on_air: Option<(OnAir, Duration)>,
    /// The pending wake-up for the countdown.
    pub(super) access_at: Option<Time>,
    pub(super) unanswered_at: Option<Time>,
    pub(super) acknowledge: Option<(Time, Station)>,
    pub(super) routing_at: Option<Time>,
    pub(super) rng: Rng,
    pub(super) meter: StationMeter,
}

/// Most packets that wait for a route at one station. The oldest is dropped first (ns-2's length).
const MOST_WAITING: usize = 64;
/// Hops after which a packet is dropped (the usual initial time to live of IP).
const MOST_HOPS: u8 = 64;
/// Each relay delays floods by a random part of this time: stations that heard one frame would all
/// repeat it at once (RFC 5148, section 5; 10 ms is ns-2's).
const JITTER: f64 = 0.010;

/// A wireless network.
pub struct Network {
    names: Vec<String>,
    pub(super) medium: Medium,
    pub(super) airtimes: Airtimes,
    pub(super) attempts: u8,
    pub(super) nodes: Vec<Node>,
    crossings: Vec<(Station, Station)>,
    /// By packet handle.
    pub(super) trips: Vec<Trip>,
    /// Stations whose state has changed.
    pub(super) dirty: Vec<Station>,
    pub(super) turned_busy: Vec<Station>,
    pub(super) heard: Vec<Heard>,
}

impl Network {
    /// A fault of a queue, if there is one.
    pub fn fault(&self) -> Option<String> {
        self.nodes.iter().find_map(|node| node.queue.fault())
    }

    /// The network of `spec`. Each station has a random stream of its name.
    pub fn new(spec: NetworkSpec, seed: u64) -> Self {
        let names: Vec<String> = spec.sites.iter().map(|site| site.name.clone()).collect();
        let node = |(index, queue): (usize, Box<dyn Discipline>)| Node {
            contention: Contention::default(),
            router: Router::new(index as Station),
            queue,
            routing: VecDeque::new(),
            jittered: VecDeque::new(),
            waiting: VecDeque::new(),
            current: None,
            on_air: None,
            access_at: None,
            unanswered_at: None,
            acknowledge: None,
            routing_at: None,
            rng: Rng::named(seed, &format!("station/{}", names[index])),
            meter: StationMeter::default(),
        };
        Network {
            nodes: spec.queues.into_iter().enumerate().map(node).collect(),
            names,
            medium: Medium::new(
                spec.radio,
                spec.sites.into_iter().map(|site| site.track).collect(),
            ),
            airtimes: spec.airtimes,
            attempts: spec.attempts,
            crossings: spec.crossings,
            trips: Vec::new(),
            dirty: Vec::new(),
            turned_busy: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// Adds paths through the network.
    pub fn extend(&mut self, crossings: Vec<(Station, Station)>) {
        self.crossings.extend(crossings);
    }

    pub fn enter(&mut self, now: Time, crossing: u32, packet: Packet, fx: &mut Effects) {
        let (source, destination) = self.crossings[crossing as usize];
        let index = packet.id as usize;
        if index >= self.trips.len() {
            self.trips.resize(index + 1, Trip::default());
        }
        self.trips[index] = Trip { source, destination, hops: 0 };
        self.forward(now, source, None, packet, fx);
        self.settle(now, fx);
    }

    pub fn wake(&mut self, now: Time, wake: Wake, fx: &mut Effects) {
        match wake {
            Wake::FrameEnd(station) => self.frame_ends(now, station, fx),
            Wake::Access(station) => {
                let node = self.node(station);
                if node.access_at == Some(now) {
                    node.access_at = None;
                }
                if node.contention.expires(now) && node.current.is_some() {
                    self.send(now, station, fx);
                }
            }
            Wake::Acknowledge(station) => self.acknowledge(now, station, fx),
            Wake::Unanswered(station) => self.unanswered(now, station, fx),
            Wake::Routing(station) => {
                let node = self.node(station);
                if node.routing_at == Some(now) {
                    node.routing_at = None;
                    node.router.on_deadline(now);
                    self.dirty.push(station);
                }
            }
            Wake::Jittered(station) => {
                let node = self.node(station);
                while node.jittered.front().is_some_and(|(due, _)| *due <= now) {
                    let (_, message) = node.jittered.pop_front().expect("there is a first");
                    node.routing.push_back((message, None));
                }
                self.dirty.push(station);
            }
            Wake::Queue(station) => self.dirty.push(station),
        }
        self.settle(now, fx);
    }

    pub(super) fn node(&mut self, station: Station) -> &mut Node {
        &mut self.nodes[usize::from(station)]
    }

    /// A packet is at `station`, from the neighbour `previous` unless it has just entered.
    pub(super) fn forward(
        &mut self,
        now: Time,
        station: Station,
        previous: Option<Station>,
        packet: Packet,
        fx: &mut Effects,
    ) {
        let Trip { source, destination, hops } = self.trips[packet.id as usize];
        self.node(station).router.used(now, source, destination, previous);
        if station == destination {
            fx.arrived.push(packet);
            return;
        }
        if hops >= MOST_HOPS {
            return self.lose(station, packet, LossReason::Route, fx);
        }
        let node = self.node(station);
        if node.router.next_hop(now, destination).is_some() {
            let Node { queue, rng, .. } = node;
            let lost = fx.lost.len();
            let mut packet = packet;
            packet.queued = now;
            let verdict = queue.enqueue(packet, &mut Context::new(now, rng, fx));
            debug_assert!(verdict == Verdict::Queued || fx.lost.len() > lost);
            node.meter.queue_dropped += (fx.lost.len() - lost) as u64;
            self.dirty.push(station);
        } else {
            self.without_route(now, station, previous, packet, fx);
        }
    }

    /// A packet has no route. Its source looks for one, and so does a router that repairs one.
    pub(super) fn without_route(
        &mut self,
        now: Time,
        station: Station,
        previous: Option<Station>,
        packet: Packet,
        fx: &mut Effects,
    ) {
        let Trip { source, destination, .. } = self.trips[packet.id as usize];
        let node = self.node(station);
        if source == station {
            node.router.request(now, destination);
        }
        self.dirty.push(station);
        let node = self.node(station);
        if node.router.is_looking_for(destination) {
            node.waiting.push_back(packet);
            if node.waiting.len() > MOST_WAITING {
                let oldest = node.waiting.pop_front().expect("it is too long");
                self.lose(station, oldest, LossReason::Route, fx);
            }
        } else {
            node.router.on_no_route(now, destination, previous);
            self.lose(station, packet, LossReason::Route, fx);
        }
    }

    pub(super) fn lose(
        &mut self,
        station: Station,
        packet: Packet,
        reason: LossReason,
        fx: &mut Effects,
    ) {
        let meter = &mut self.node(station).meter;
        if packet.kind == PacketKind::Data {
            match reason {
                LossReason::Link => meter.link_dropped += 1,
                _ => meter.route_dropped += 1,
            }
        }
        fx.lost.push((packet, reason));
    }

    /// Handles the outputs of the routers of all stations whose state has changed, and gives the stations
    /// their next frames.
    fn settle(&mut self, now: Time, fx: &mut Effects) {
        while let Some(station) = self.dirty.pop() {
            while let Some(output) = self.node(station).router.poll() {
                self.act(now, station, output, fx);
            }
            self.take_up(now, station, fx);
            let node = self.node(station);
            if let Some(deadline) = node.router.deadline()
                && node.routing_at.is_none_or(|at| deadline < at)
            {
                let deadline = deadline.max(now);
                node.routing_at = Some(deadline);
                fx.wakes.push((deadline, Wake::Routing(station)));
            }
        }
    }

    fn act(&mut self, now: Time, station: Station, output: Output, fx: &mut Effects) {
        let node = self.node(station);
        match output {
            Output::Send(message, to) => {
                node.meter.routing += 1;
                let relayed = matches!(&message, Message::Request(request) if request.hops > 0);
                if relayed || (to.is_none() && matches!(message, Message::Error { .. })) {
                    let due = now + Duration::from_secs_f64(JITTER * node.rng.uniform());
                    let at = node.jittered.partition_point(|(other, _)| *other <= due);
                    node.jittered.insert(at, (due, message));
                    fx.wakes.push((due, Wake::Jittered(station)));
                } else {
                    node.routing.push_back((message, to));
                }
            }
            Output::Found(destination) | Output::Failed(destination) => {
                let all = std::mem::take(&mut node.waiting);
                let found = matches!(output, Output::Found(_));
                for packet in all {
                    if self.trips[packet.id as usize].destination != destination {
                        self.node(station).waiting.push_back(packet);
                    } else if found {
                        self.forward(now, station, None, packet, fx);
                    } else {
                        self.lose(station, packet, LossReason::Route, fx);
                    }
                }
            }
        }
    }

    /// Gives a station that has none its next frame, and sends it if the medium is free.
    fn take_up(&mut self, now: Time, station: Station, fx: &mut Effects) {
        if self.node(station).current.is_some() {
            return;
        }
        let outgoing = loop {
            let node = self.node(station);
            if let Some((message, to)) = node.routing.pop_front() {
                let len = message.ip_len();
                break Outgoing { to, body: Body::Routing(message), len, attempts: 0 };
            }
            let Node { queue, rng, .. } = node;
            let lost = fx.lost.len();
            let packet = queue.dequeue(&mut Context::new(now, rng, fx));
            node.meter.queue_dropped += (fx.lost.len() - lost) as u64;
            let Some(packet) = packet else {
                if let QueueWake::At(time) = node.queue.wake(now)
                    && time < Time::MAX
                {
                    fx.wakes.push((time, Wake::Queue(station)));
                }
                return;
            };
            fx.waited.push((packet.id, now.since(packet.queued)));
            let destination = self.trips[packet.id as usize].destination;
            let node = self.node(station);
            match node.router.next_hop(now, destination) {
                Some(next) => {
                    let len = packet.len;
                    break Outgoing { to: Some(next), body: Body::Data(packet), len, attempts: 0 };
                }
                None => self.without_route(now, station, None, packet, fx),
            }
        };
        let node = self.node(station);
        node.current = Some(outgoing);
        if node.contention.request(now, &mut node.rng) {
            self.send(now, station, fx);
        } else {
            self.arm(station, fx);
        }
    }

    /// Requests a wake-up at the end of a station's countdown.
    pub(super) fn arm(&mut self, station: Station, fx: &mut Effects) {
        let node = self.node(station);
        let deadline = node.contention.deadline();
        if let Some(time) = deadline
            && node.access_at != deadline
        {
            node.access_at = deadline;
            fx.wakes.push((time, Wake::Access(station)));
        }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn tracks(&self) -> &[Track] {
        self.medium.tracks()
    }

    pub fn meters(&self) -> impl Iterator<Item = &StationMeter> {
        self.nodes.iter().map(|node| &node.meter)
    }

    /// Begins the measurement.
    pub fn restart(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.meter = StationMeter::default());
    }
}

/// Retires the remaining packets when a run is dropped.
impl Drop for Network {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            for packet in node.waiting.drain(..) {
                packet.retire();
            }
            if let Some(Outgoing { body: Body::Data(packet), .. }) = node.current.take() {
                packet.retire();
            }
        }
    }
}
