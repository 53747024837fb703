//! Transport: the hosts, with their sources of datagrams, users of TCP, and connections.
//!
//! It sends packets into the fabric, and reports to the measures. It knows neither boxes nor the world.

mod connection;
mod endpoint;
mod incoming;
mod tcp;

pub use connection::Connections;
pub use endpoint::Ends;
use incoming::Opening;

use super::event::Event;
use super::fabric::Fabric;
use super::fabric::cargo::{Cargo, DATAGRAM, ENDPOINT};
use super::measures::Measures;
use crate::traffic::{Datagram, Datagrams, Marks, Transfers};
use forebay_core::{Packet, PacketKind, Rng, Time};
use forebay_middlebox::marker::Marker;
use forebay_tcp::Config as TcpConfig;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The source of a user, and its state.
pub enum Entry {
    Datagrams {
        source: Box<dyn Datagrams>,
        /// Number of the source's first flow.
        first_flow: u32,
        /// The next datagram.
        pending: Option<Datagram>,
    },
    /// Transfers over TCP.
    Transfers {
        source: Box<dyn Transfers>,
        tcp: Arc<TcpConfig>,
        /// First stop of the path of acknowledgments.
        backward: u32,
        /// Flow of the connection that stays open for the next transfer.
        open: Option<u32>,
        /// Number of connections so far.
        connections: u32,
    },
    /// Two ends with a protocol of their own.
    Endpoints(Box<Ends>),
    /// The user's sender is in another part of the network.
    Elsewhere,
}

/// A message to the transport of another part of the network.
pub enum Notice {
    /// A sender connects.
    Opens(Opening),
    /// The receiving end of `flow`, of `user`, takes packets until `at`.
    Closes { at: Time, flow: u32, user: u32 },
    /// All `bytes` of connection `flow` have arrived.
    Arrived { at: Time, flow: u32, bytes: u64 },
}

/// A marker at the senders' edge, with its random stream.
pub struct Conditioner {
    pub marker: Box<dyn Marker>,
    pub rng: Rng,
}

impl Conditioner {
    /// Sets the drop precedence of `packet`, which is sent at `now`.
    fn mark(&mut self, now: Time, packet: &mut Packet) {
        packet.drop_precedence = self.marker.mark(now, packet.len, &mut self.rng);
    }
}

/// One user: a flow of a traffic entry.
pub struct User {
    pub entry: Entry,
    pub rng: Rng,
    pub start: Time,
    /// Time after which it sends no more; packets under way are still delivered.
    pub stop: Time,
    /// First stop of the path of data.
    pub forward: u32,
    pub marks: Marks,
    /// Index of the conditioner that sets the drop precedence instead.
    pub conditioner: Option<u32>,
    /// Port at the receiving end.
    pub port: u16,
}

impl User {
    /// Receive buffer of the user's connections in bytes; 0 for datagrams.
    pub fn receive_window(&self) -> u64 {
        match &self.entry {
            Entry::Transfers { tcp, .. } => tcp.connection.receive_window.largest(),
            Entry::Datagrams { .. } | Entry::Endpoints(_) | Entry::Elsewhere => 0,
        }
    }
}

/// The parts of a transport.
pub struct TransportSpec {
    pub users: Vec<User>,
    pub conditioners: Vec<Conditioner>,
    /// Number of the first connection, above all numbers of datagram flows.
    pub first_connection: u32,
    /// Only in a network in several parts.
    pub homes: Option<Homes>,
}

/// The part of the network in which each user is.
pub struct Homes {
    /// The part of this transport.
    pub part: u16,
    /// By user, the part of the receiver.
    pub receivers: Arc<[u16]>,
}

/// Senders and receivers.
pub struct Transport {
    users: Vec<User>,
    conditioners: Vec<Conditioner>,
    connections: Connections,
    /// Indices of users with endpoints. With many other users, a search among all takes long.
    with_ends: Vec<u32>,
    homes: Option<Homes>,
    /// Messages to other parts, with the numbers of these.
    notices: Vec<(u16, Notice)>,
    /// A buffer for the datagrams of endpoints.
    buffer: Vec<u8>,
    /// What an endpoint has done that ends the run.
    fault: Option<String>,
}

impl Transport {
    /// The transport of `spec`, which sends nothing yet.
    pub fn new(spec: TransportSpec) -> Self {
        let users = spec.users.iter();
        let transfers = users.filter(|user| matches!(user.entry, Entry::Transfers { .. })).count();
        let part = spec.homes.as_ref().map_or(0, |homes| homes.part.into());
        let users = spec.users.len() as u32;
        Transport {
            users: spec.users,
            conditioners: spec.conditioners,
            connections: Connections::new(part, spec.first_connection, users, transfers),
            with_ends: Vec::new(),
            homes: spec.homes,
            notices: Vec::new(),
            buffer: Vec::new(),
            fault: None,
        }
    }

    /// The part of the receiver of `user`, if it is another one.
    fn part_of_receiver(&self, user: u32) -> Option<u16> {
        let homes = self.homes.as_ref()?;
        Some(homes.receivers[user as usize]).filter(|part| *part != homes.part)
    }

    /// Takes the messages to other parts.
    pub fn take_notices(&mut self) -> impl Iterator<Item = (u16, Notice)> {
        self.notices.drain(..)
    }

    /// A message of another part arrives.
    pub fn hear(&mut self, notice: Notice, fabric: &mut Fabric, measures: &mut Measures) {
        match notice {
            Notice::Opens(opening) => self.connections.receive(&opening),
            Notice::Closes { at, flow, user } => {
                fabric.rest(at, Event::Closed(flow), user);
            }
            Notice::Arrived { at, flow, bytes } => self.arrived(at, flow, bytes, measures),
        }
    }

    /// Whether the sender of `flow` is in another part.
    pub fn is_guest(&self, flow: u32) -> bool {
        !self.connections.has(flow)
    }

    /// The receiving end of `flow`, whose sender is in another part, takes no more packets.
    pub fn forget(&mut self, flow: u32) {
        self.connections.forget(flow);
    }

    /// Lets every user from index `first` on schedule its first datagram or transfer.
    pub fn begin(&mut self, first: u32, fabric: &mut Fabric) {
        for index in first..self.users.len() as u32 {
            let start = self.users[index as usize].start;
            match self.users[index as usize].entry {
                Entry::Datagrams { .. } => self.next_datagram(index, start, fabric),
                Entry::Transfers { .. } => self.next_transfer(index, start, fabric),
                Entry::Endpoints(_) => self.begin_ends(index, fabric),
                Entry::Elsewhere => {}
            }
        }
    }

    /// Adds users, who begin at `now` or later. Their flows get numbers that no flow has had.
    pub fn join(
        &mut self,
        now: Time,
        users: Vec<User>,
        conditioners: Vec<Conditioner>,
        fabric: &mut Fabric,
    ) {
        let first = self.users.len() as u32;
        self.conditioners.extend(conditioners);
        for mut user in users {
            user.start = user.start.max(now);
            match &mut user.entry {
                Entry::Datagrams { source, first_flow, .. } => {
                    *first_flow = self.connections.take_numbers(source.flows());
                }
                Entry::Endpoints(ends) => ends.number = self.connections.take_numbers(1),
                Entry::Transfers { .. } | Entry::Elsewhere => {}
            }
            self.users.push(user);
        }
        self.begin(first, fabric);
    }

    /// User `index` sends no more from `now` on. Packets under way are still delivered; the rest of its
    /// transfers is not sent.
    pub fn leave(&mut self, now: Time, index: u32, fabric: &mut Fabric, measures: &mut Measures) {
        let user = &mut self.users[index as usize];
        user.stop = user.stop.min(now);
        match &mut user.entry {
            Entry::Datagrams { pending, .. } => *pending = None,
            Entry::Transfers { open, .. } => {
                *open = None;
                if let Some(playback) = measures.playbacks.get_mut(&index) {
                    playback.stop = user.stop;
                }
                self.cut(now, index, fabric, measures);
            }
            Entry::Endpoints(_) => self.attend(now, 2 * index, fabric, measures),
            Entry::Elsewhere => {}
        }
    }

    pub fn users(&self) -> &[User] {
        &self.users
    }

    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// A packet arrives at its host.
    #[inline]
    pub fn deliver(&mut self, now: Time, id: u32, fabric: &mut Fabric, measures: &mut Measures) {
        let cargo = fabric.hold.look(id);
        let (flow, user, ecn) = (cargo.flow, cargo.user, cargo.packet.ecn());
        measures.tally.note(now, cargo.packet.flow);
        if flow == DATAGRAM && cargo.life == ENDPOINT {
            return self.deliver_to_end(now, id, fabric, measures);
        }
        let payload = match flow {
            DATAGRAM => cargo.packet.len.saturating_sub(UDP_HEADERS),
            _ => cargo.segment.len,
        };
        if cargo.packet.kind == PacketKind::Data {
            measures.arrived(user, now - cargo.sent, cargo.waited, payload);
        }
        if flow == DATAGRAM {
            measures.users[user as usize].bytes += u64::from(payload);
            fabric.hold.free(id);
        } else {
            // The packet stays in the hold: its answer takes its place, which is in the cache.
            self.on_segment(now, id, ecn, fabric, measures);
        }
    }

    /// Schedules the source's next datagram, at `after` or later.
    fn next_datagram(&mut self, index: u32, after: Time, fabric: &mut Fabric) {
        let user = &mut self.users[index as usize];
        let Entry::Datagrams { source, pending, .. } = &mut user.entry else {
            unreachable!("the event belongs to a datagram source")
        };
        *pending = source.next(after, &mut user.rng).filter(|datagram| datagram.at < user.stop);
        if let Some(datagram) = *pending {
            fabric.rest(datagram.at, Event::Datagram(index), index);
        }
    }

    /// The source of user `index` sends its next datagram.
    pub fn send_datagram(
        &mut self,
        now: Time,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let user = &mut self.users[index as usize];
        let forward = user.forward;
        // A user who has left has no pending datagram.
        let Entry::Datagrams { first_flow, pending: Some(datagram), .. } = user.entry else {
            return;
        };
        let mut packet = Packet::new(0, first_flow + datagram.flow, datagram.len);
        datagram.marks.unwrap_or(user.marks).apply(&mut packet);
        if let Some(conditioner) = user.conditioner {
            self.conditioners[conditioner as usize].mark(now, &mut packet);
        }
        let id = fabric.hold.store(Cargo {
            packet: ManuallyDrop::new(packet),
            sent: now,
            stop: forward,
            number: measures.users[index as usize].sends(datagram.len),
            user: index,
            ..Cargo::default()
        });
        fabric.launch(id, datagram.len, forward, now);
        self.next_datagram(index, now, fabric);
    }
}

/// IPv4 and UDP headers in bytes.
pub const UDP_HEADERS: u32 = 28;
