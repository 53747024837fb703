//! A QUIC host: an endpoint of quinn with one connection, and an application.

use crate::application::{Receiver, Sender, Sending};
use crate::clock;
use crate::control::Controls;
use crate::log::{self, Failure};
use crate::plain::Plain;
use bytes::BytesMut;
use forebay_core::{Ecn, Rng, Time};
use forebay_sim::traffic::{Account, Completed, Endpoint};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    EcnCodepoint, EndpointConfig, Event, NoneTokenStore, QlogStream, ServerConfig, Side,
    TimeSource, TransportConfig, ValidationTokenConfig,
};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What the two hosts of a flow have in common.
#[derive(Clone)]
pub struct HostParams {
    /// What the sender sends.
    pub sending: Sending,
    /// Congestion control of both.
    pub controls: Controls,
    /// Bytes that may be in flight of a stream, and of a connection. None: quinn's 1.25 MB for a stream.
    pub window: Option<u32>,
    /// The longest UDP payload that path MTU discovery tries, in bytes, 1200 or more.
    pub longest: u16,
    /// Folder of qlog files, one for each end of a connection. None: there are none.
    pub qlog: Option<PathBuf>,
}

impl HostParams {
    /// One stream without end, with this congestion control.
    pub fn bulk(controls: Controls) -> Self {
        let sending = Sending { streams: 1, bytes: None, datagrams: None };
        HostParams { sending, controls, window: None, longest: LONGEST, qlog: None }
    }

    fn transport(&self, log: Option<QlogStream>) -> Arc<TransportConfig> {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(Factory(Arc::clone(&self.controls))));
        transport.max_concurrent_uni_streams(self.sending.streams.saturating_mul(2).into());
        // A flow that waits is still one: nobody gives up.
        transport.max_idle_timeout(None);
        if let Some(window) = self.window {
            transport.stream_receive_window(window.into());
            transport.receive_window(window.into());
            transport.send_window(window.into());
        }
        let mut discovery = quinn_proto::MtuDiscoveryConfig::default();
        discovery.upper_bound(self.longest);
        transport.mtu_discovery_config(Some(discovery));
        transport.qlog_stream(log);
        Arc::new(transport)
    }
}

/// A sender and a receiver; random numbers come from `rng`.
pub fn pair(params: &HostParams, mut rng: Rng) -> [Box<dyn Endpoint>; 2] {
    let own = |rng: &mut Rng, name| Rng::named(rng.next_u64(), name);
    let [mut near, far] = ["a", "b"].map(|name| own(&mut rng, name));
    let first = ConnectionId::new(&near.next_u64().to_be_bytes());
    let sender = Host::new(params, Role::Sender(Sender::new(params.sending)), first, near);
    let receiver = Host::new(params, Role::Receiver(Receiver::default()), first, far);
    [Box::new(sender), Box::new(receiver)]
}

enum Role {
    Sender(Sender),
    Receiver(Receiver),
}

enum Own {
    Client(ClientConfig),
    Server(ServerConfig),
}

/// One end of a QUIC connection.
pub struct Host {
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    role: Role,
    params: HostParams,
    /// First ID of the connection.
    first: ConnectionId,
    /// What it begins with.
    own: Option<Own>,
    /// What has happened to its log, if it has one.
    failure: Option<Failure>,
    /// Datagrams of the endpoint itself, without a connection.
    answers: VecDeque<Vec<u8>>,
    /// Room for datagrams that arrive.
    arrived: BytesMut,
    is_open: bool,
    fault: Option<String>,
}

/// The address of the other host. Both have the same: a link joins no more than these two.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// Bytes of the room for datagrams that arrive.
const ARRIVED: usize = 16_384;

/// The longest UDP payload that quinn tries unless it is told otherwise.
pub const LONGEST: u16 = 1452;

/// Bytes of connection IDs.
const ID: usize = 8;

struct Ids(Rng);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_u64().to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Tokens are not used, and the date is always the same.
struct NoDate;

impl TimeSource for NoDate {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl Host {
    fn new(params: &HostParams, role: Role, first: ConnectionId, mut rng: Rng) -> Self {
        let mut seed = [0; 32];
        seed.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.next_u64().to_be_bytes()));
        let ids = rng.next_u64();
        let mut config = EndpointConfig::new(Arc::new(Plain));
        config.rng_seed(Some(seed));
        config.cid_generator(move || Box::new(Ids(Rng::named(ids, "ids"))));
        let own = match role {
            Role::Sender(_) => {
                let mut own = ClientConfig::new(Arc::new(Plain));
                own.initial_dst_cid_provider(Arc::new(move || first));
                own.token_store(Arc::new(NoneTokenStore));
                Own::Client(own)
            }
            Role::Receiver(_) => {
                let mut own = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
                let mut tokens = ValidationTokenConfig::default();
                tokens.sent(0);
                own.validation_token_config(tokens).time_source(Arc::new(NoDate));
                Own::Server(own)
            }
        };
        let endpoint = quinn_proto::Endpoint::new(Arc::new(config), None, true, None);
        Host {
            endpoint,
            connection: None,
            role,
            params: params.clone(),
            first,
            own: Some(own),
            failure: None,
            answers: VecDeque::new(),
            arrived: BytesMut::new(),
            is_open: false,
            fault: None,
        }
    }

    /// Connects, or waits for a connection.
    fn open(&mut self, own: Own, now: Time) -> Result<(), String> {
        let mut log = None;
        if let Some(folder) = &self.params.qlog {
            let side = match own {
                Own::Client(_) => Side::Client,
                Own::Server(_) => Side::Server,
            };
            let failure = Failure::default();
            log = log::begin(folder, self.first, side, &failure)?;
            self.failure = Some(failure);
        }
        let transport = self.params.transport(log);
        match own {
            Own::Client(mut client) => {
                client.transport_config(transport);
                let now = clock::instant(now);
                let connection = self.endpoint.connect(now, client, PEER, "receiver");
                self.connection = Some(connection.map_err(|error| error.to_string())?);
            }
            Own::Server(mut server) => {
                server.transport_config(transport);
                self.endpoint.set_server_config(Some(Arc::new(server)));
            }
        }
        Ok(())
    }

    /// Handles what the connection reports, and lets the application act.
    fn turn(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        let mut has_news = false;
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            match connection.poll() {
                Some(Event::Connected) => (self.is_open, has_news) = (true, true),
                Some(Event::ConnectionLost { reason }) => {
                    self.is_open = false;
                    use quinn_proto::ConnectionError::{ApplicationClosed, LocallyClosed};
                    if !matches!(reason, ApplicationClosed(_) | LocallyClosed) {
                        self.fault = Some(format!("the connection is lost: {reason}"));
                    }
                }
                Some(Event::Stream(_) | Event::DatagramReceived) => has_news = true,
                Some(Event::HandshakeDataReady | Event::DatagramsUnblocked) => {}
                None => break,
            }
        }
        match &mut self.role {
            Role::Sender(sender) if self.is_open => {
                if has_news {
                    sender.write(connection, now);
                }
                sender.send_datagrams(connection, clock::time(now));
            }
            Role::Receiver(receiver) if has_news => receiver.read(connection),
            _ => {}
        }
    }
}

/// A shared factory as quinn wants it.
struct Factory(Controls);

impl quinn_proto::congestion::ControllerFactory for Factory {
    fn build(
        self: Arc<Self>,
        now: Instant,
        mtu: u16,
    ) -> Box<dyn quinn_proto::congestion::Controller> {
        Arc::clone(&self.0).build(now, mtu)
    }
}

impl Endpoint for Host {
    fn begin(&mut self, now: Time) {
        let Some(own) = self.own.take() else { return };
        if let Err(error) = self.open(own, now) {
            self.fault = Some(error);
        }
    }

    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        let now = clock::instant(now);
        // Datagrams lie side by side in one buffer, which is used again when all are read.
        if self.arrived.capacity() < datagram.len() {
            self.arrived.reserve(ARRIVED.max(datagram.len()));
        }
        self.arrived.extend_from_slice(datagram);
        let data = self.arrived.split();
        let mut answer = Vec::new();
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        match self.endpoint.handle(now, PEER, None, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.fault = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(_)) => self.answers.push_back(answer),
            None => {}
        }
        self.turn(now);
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
        if let Some(answer) = self.answers.pop_front() {
            *datagram = answer;
            return Some(Ecn::NotEct);
        }
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(clock::instant(now), 1, datagram)?;
        Some(match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        })
    }

    fn deadline(&mut self, _: Time) -> Option<Time> {
        let own = match &self.role {
            Role::Sender(sender) if self.is_open => sender.deadline(),
            _ => None,
        };
        let timeout =
            self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        timeout.map(clock::time).into_iter().chain(own).min()
    }

    fn on_deadline(&mut self, now: Time) {
        let now = clock::instant(now);
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|timeout| timeout <= now)
        {
            connection.handle_timeout(now);
        }
        self.turn(now);
    }

    fn end(&mut self, now: Time) {
        if let (Some((_, connection)), Role::Sender(sender)) =
            (&mut self.connection, &mut self.role)
        {
            sender.end(connection, clock::instant(now));
        }
    }

    fn account(&self) -> Account {
        // Asked for each packet that arrives: what only a sender is asked for is left out.
        if let Role::Receiver(receiver) = &self.role {
            let delivered = Some(receiver.delivered);
            return Account { delivered, is_open: self.is_open, ..Account::default() };
        }
        let path = self.connection.as_ref().map(|(_, connection)| connection.stats().path);
        Account {
            delivered: None,
            is_open: self.is_open,
            cwnd: path.map(|path| path.cwnd),
            retransmissions: path.map_or(0, |path| path.lost_packets),
            timeouts: 0,
        }
    }

    fn completed(&mut self) -> Option<Completed> {
        match &mut self.role {
            Role::Receiver(receiver) => receiver.completed.pop_front(),
            Role::Sender(_) => None,
        }
    }

    fn fault(&self) -> Option<String> {
        let failure = || self.failure.as_ref()?.lock().ok()?.clone();
        self.fault.clone().or_else(failure)
    }
}
