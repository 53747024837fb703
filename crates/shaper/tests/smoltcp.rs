//! A TCP stack with virtual time, smoltcp, behind disciplines of forebay.

use forebay_core::{DropReason, Duration, Packet, Poll, Rate, Sink, Time};
use forebay_disciplines::Disciplines;
use forebay_shaper::{Plan, Shaper};
use serde_json::{Value, json};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::{HashMap, VecDeque};

// What is forebay's: a sink, and a link that a stack's frames cross.

/// Frames in the queue by handle, and how many were dropped.
#[derive(Default)]
struct Frames(HashMap<u32, Vec<u8>>, u32);

impl Sink for Frames {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.0.remove(&packet.retire());
        self.1 += 1;
    }
    fn marked(&mut self, _: &Packet) {}
}

/// A link of 10 Mbit/s and 10 ms behind a discipline.
struct Link(Shaper, Frames, u32, VecDeque<(Time, Vec<u8>)>);

impl Link {
    fn new(queue: Value) -> Self {
        let plan = Plan { rate: Rate::from_bps(10_000_000), overhead: 0, mtu: 1500, queue };
        let shaper = Shaper::new(plan, 1, &Disciplines::builtin().into()).unwrap();
        Link(shaper, Frames::default(), 0, VecDeque::new())
    }

    fn send(&mut self, frame: Vec<u8>, now: Time) {
        self.2 += 1;
        let packet = Packet::new(self.2, 0, frame.len() as u32);
        self.1.0.insert(self.2, frame);
        self.0.offer(packet, now, &mut self.1);
    }

    fn advance(&mut self, now: Time) {
        while let Poll::Send { packet, done_at } = self.0.poll(now, &mut self.1) {
            let frame = self.1.0.remove(&packet.retire()).expect("it was offered");
            self.3.push_back((done_at + Duration::from_millis(10), frame));
        }
    }
}

/// What has come by `now`.
fn due(line: &mut VecDeque<(Time, Vec<u8>)>, now: Time) -> Option<Vec<u8>> {
    if line.front()?.0 <= now { line.pop_front().map(|(_, frame)| frame) } else { None }
}

// What is smoltcp's: hosts with an interface and a socket.

/// Frames to be received, and frames sent.
#[derive(Default)]
struct Nic(VecDeque<Vec<u8>>, Vec<Vec<u8>>);
struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut frame = vec![0; len];
        let filled = fill(&mut frame);
        self.0.push(frame);
        filled
    }
}

impl Device for Nic {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;
    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        self.0.pop_front().map(|frame| (Rx(frame), Tx(&mut self.1)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.1))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut about = DeviceCapabilities::default();
        (about.medium, about.max_transmission_unit) = (Medium::Ip, 1500);
        about
    }
}

/// Bytes in flight: smoltcp 0.12 keeps no more out of the network after a loss. The link holds 25 kB.
const WINDOW: usize = 1 << 17;

fn host(address: u8) -> (Nic, Interface, SocketSet<'static>, SocketHandle) {
    let mut nic = Nic::default();
    let mut iface = Interface::new(Config::new(HardwareAddress::Ip), &mut nic, Instant::ZERO);
    let own = IpCidr::new(IpAddress::v4(10, 0, 0, address), 24);
    iface.update_ip_addrs(|addresses| addresses.push(own).unwrap());
    let buffer = || SocketBuffer::new(vec![0; WINDOW]);
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(Socket::new(buffer(), buffer()));
    (nic, iface, sockets, handle)
}

/// Five seconds of a transfer: (bytes received, packets dropped, most bytes that waited).
fn transfer(queue: Value) -> (usize, u32, u64) {
    let mut link = Link::new(queue);
    let (mut near, mut sender, mut from, client) = host(1);
    let (mut far, mut receiver, mut to, server) = host(2);
    to.get_mut::<Socket>(server).listen(80).unwrap();
    let peer = (IpAddress::v4(10, 0, 0, 2), 80);
    from.get_mut::<Socket>(client).connect(sender.context(), peer, 49_152).unwrap();
    let (mut back, mut received, mut most) = (VecDeque::new(), 0, 0);
    for tick in 0..50_000 {
        let (now, instant) =
            (Time::from_nanos(tick * 100_000), Instant::from_micros(tick as i64 * 100));
        far.0.extend(std::iter::from_fn(|| due(&mut link.3, now)));
        near.0.extend(std::iter::from_fn(|| due(&mut back, now)));
        let socket = from.get_mut::<Socket>(client);
        while socket.can_send() && socket.send_slice(&[0; 65_536]).unwrap() > 0 {}
        sender.poll(instant, &mut near, &mut from);
        receiver.poll(instant, &mut far, &mut to);
        let socket = to.get_mut::<Socket>(server);
        while socket.can_recv() {
            received += socket.recv(|data| (data.len(), data.len())).unwrap();
        }
        back.extend(far.1.drain(..).map(|frame| (now + Duration::from_millis(10), frame)));
        near.1.drain(..).for_each(|frame| link.send(frame, now));
        link.advance(now);
        most = most.max(link.0.backlog().bytes);
    }
    (received, link.1.1, most)
}

#[test]
fn smoltcp_sends_through_codel_and_cq_aqm() {
    let fifo = transfer(json!({ "kind": "fifo", "limit": "1000p" }));
    let codel = transfer(json!({ "kind": "codel" }));
    let queues = [json!({ "limit": "50p" }), json!({ "limit": "10p" })];
    let cq = transfer(json!({ "kind": "cq-aqm", "queues": queues }));
    let all = format!("fifo {fifo:?}, codel {codel:?}, cq-aqm {cq:?}");
    // 10 Mbit/s for five seconds are 6.25 MB, headers and what smoltcp sends twice included.
    assert!((4_000_000..6_250_000).contains(&fifo.0) && fifo.1 == 0 && fifo.2 > 100_000, "{all}");
    // CoDel does not let that stand, CQ-AQM no more than its 50 packets.
    assert!(codel.0 > 1_000_000 && codel.1 > 0 && codel.2 < fifo.2, "{all}");
    assert!(cq.0 > 1_000_000 && cq.1 > 0 && cq.2 <= 75_000, "{all}");
}
