//! smoltcp's TCP in a world: whole IP packets of another stack, over links and queues of forebay.

use forebay_world::{Account, Ecn, Endpoint, Ends, Outcome, Rng, Time, World, endpoints, json};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;

/// The packets between a stack and the world.
#[derive(Default)]
struct Nic {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = vec![0; len];
        let filled = fill(&mut packet);
        self.0.push_back(packet);
        filled
    }
}

impl Device for Nic {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.arrived.pop_front()?), Tx(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut about = DeviceCapabilities::default();
        (about.medium, about.max_transmission_unit) = (Medium::Ip, 1500);
        about
    }
}

/// Bytes of a socket's buffers: little more than the link holds.
const WINDOW: usize = 30_000;

/// A stack with one socket. Its program sends without end, or reads.
struct Host {
    iface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    nic: Nic,
    sends: bool,
    read: u64,
}

fn instant(now: Time) -> Instant {
    Instant::from_micros((now.as_nanos() / 1000) as i64)
}

impl Host {
    fn new(address: u8, control: CongestionControl, rng: &mut Rng) -> Host {
        let mut nic = Nic::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = rng.next_u64();
        let mut iface = Interface::new(config, &mut nic, Instant::ZERO);
        let own = IpCidr::new(IpAddress::v4(10, 0, 0, address), 24);
        iface.update_ip_addrs(|addresses| addresses.push(own).expect("there is room for one"));
        let buffer = || SocketBuffer::new(vec![0; WINDOW]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(control);
        let mut sockets = SocketSet::new(vec![]);
        let handle = sockets.add(socket);
        Host { iface, sockets, handle, nic, sends: address == 1, read: 0 }
    }

    fn turn(&mut self, now: Time) {
        self.iface.poll(instant(now), &mut self.nic, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        if self.sends {
            while socket.can_send() && socket.send_slice(&[0; 65_536]).expect("it is open") > 0 {}
        }
        while socket.can_recv() {
            self.read += socket.recv(|data| (data.len(), data.len())).expect("it is open") as u64;
        }
        self.iface.poll(instant(now), &mut self.nic, &mut self.sockets);
    }
}

impl Endpoint for Host {
    fn begin(&mut self, now: Time) {
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        if self.sends {
            let peer = (IpAddress::v4(10, 0, 0, 2), 80);
            socket.connect(self.iface.context(), peer, 49_152).expect("there is an address");
        } else {
            socket.listen(80).expect("the port is free");
        }
        self.turn(now);
    }

    fn receive(&mut self, now: Time, packet: &[u8], _: Ecn) {
        self.nic.arrived.push_back(packet.to_vec());
        self.turn(now);
    }

    fn transmit(&mut self, _: Time, packet: &mut Vec<u8>) -> Option<Ecn> {
        *packet = self.nic.sent.pop_front()?;
        Some(Ecn::NotEct)
    }

    fn deadline(&mut self, now: Time) -> Option<Time> {
        let at = self.iface.poll_at(instant(now), &self.sockets)?;
        Some(Time::from_nanos(at.total_micros() as u64 * 1000))
    }

    fn on_deadline(&mut self, now: Time) {
        self.turn(now);
    }

    /// It writes IP headers itself.
    fn headers(&self) -> u32 {
        0
    }

    fn account(&self) -> Account {
        Account { delivered: Some(self.read), is_open: true, ..Account::default() }
    }
}

fn pair(control: CongestionControl, mut rng: Rng) -> Ends {
    endpoints(Host::new(1, control, &mut rng), Host::new(2, control, &mut rng))
}

fn transfer(control: CongestionControl, loss: f64) -> Outcome {
    World::dumbbell("10Mbit", "10ms")
        .queue("fifo", json!({ "limit": "100p" }))
        .set("dumbbell.loss", loss.into())
        .host("smoltcp", move |rng| pair(control, rng))
        .duration("20s")
        .check_repeats()
}

/// Payload that arrives is 1460 of 1500 bytes of the link, and part of it arrives twice and counts
/// once: smoltcp 0.12.0 does not restart its timer at an acknowledgment while data is outstanding.
const FULL: std::ops::Range<f64> = 6.5e6..9.74e6;

#[test]
fn it_fills_a_link_that_loses_nothing() {
    let outcome = transfer(CongestionControl::Reno, 0.0);
    outcome.goodput("smoltcp", FULL).loss(..=0.0).queue_ms(..15.0);
}

#[test]
fn it_recovers_from_losses() {
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        transfer(control, 0.001).goodput("smoltcp", FULL);
    }
}
