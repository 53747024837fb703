//! A user-space stack shapes its own device: a transfer of smoltcp's TCP over 10 Mbit/s and 20 ms.
//!
//! `cargo run -p forebay-shaper --example smoltcp -- '{"kind": "codel"}'`

#[path = "shaped.rs"]
mod shaped;

use forebay_core::{ConfigError, Rate};
use forebay_shaper::Plan;
use serde_json::Value;
use shaped::Shaped;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;

/// A wire, seen from one end: packets that come, and packets that were sent.
#[derive(Default)]
struct Nic {
    comes: VecDeque<(Instant, Vec<u8>)>,
    sent: Vec<Vec<u8>>,
}

struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut bytes = vec![0; len];
        let filled = fill(&mut bytes);
        self.0.push(bytes);
        filled
    }
}

impl Device for Nic {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, now: Instant) -> Option<(Rx, Tx<'_>)> {
        if self.comes.front()?.0 > now {
            return None;
        }
        let (_, bytes) = self.comes.pop_front()?;
        Some((Rx(bytes), Tx(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut about = DeviceCapabilities::default();
        (about.medium, about.max_transmission_unit) = (Medium::Ip, MTU);
        about
    }
}

const MTU: usize = 1500;
/// Bytes in flight: smoltcp 0.12 keeps no more out of the network after a loss. The link holds 25 kB.
const WINDOW: usize = 1 << 17;
const ONE_WAY: Duration = Duration::from_millis(10);

fn host(address: u8, device: &mut impl Device) -> (Interface, SocketSet<'static>, SocketHandle) {
    let mut iface = Interface::new(Config::new(HardwareAddress::Ip), device, Instant::ZERO);
    let own = IpCidr::new(IpAddress::v4(10, 0, 0, address), 24);
    iface.update_ip_addrs(|addresses| addresses.push(own).expect("there is room for one"));
    let buffer = || SocketBuffer::new(vec![0; WINDOW]);
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(Socket::new(buffer(), buffer()));
    (iface, sockets, handle)
}

/// What a transfer came to.
#[derive(Debug)]
pub struct Found {
    /// Bytes that the receiver's program got.
    pub received: usize,
    /// Packets that the discipline dropped.
    pub dropped: u32,
    /// Most bytes that waited.
    pub most: u64,
}

/// Five seconds of a transfer over 10 Mbit/s, whose sender shapes its device with `queue`.
///
/// # Errors
///
/// The queue is not understood.
pub fn transfer(queue: Value) -> Result<Found, ConfigError> {
    let plan = Plan::new(Rate::from_bps(10_000_000), 0, MTU as u32, queue);
    let mut near = Shaped::new(Nic::default(), plan)?;
    let mut far = Nic::default();
    let (mut sender, mut from, client) = host(1, &mut near);
    let (mut receiver, mut to, server) = host(2, &mut far);
    to.get_mut::<Socket>(server).listen(80).expect("the port is free");
    let peer = (IpAddress::v4(10, 0, 0, 2), 80);
    let socket = from.get_mut::<Socket>(client);
    socket.connect(sender.context(), peer, 49_152).expect("there is an address");
    let mut found = Found { received: 0, dropped: 0, most: 0 };
    let mut now = Instant::ZERO;
    while now < Instant::from_secs(5) {
        let socket = from.get_mut::<Socket>(client);
        while socket.can_send() && socket.send_slice(&[0; 65_536]).expect("it is open") > 0 {}
        sender.poll(now, &mut near, &mut from);
        let shaper = near.release(now);
        receiver.poll(now, &mut far, &mut to);
        let socket = to.get_mut::<Socket>(server);
        while socket.can_recv() {
            found.received += socket.recv(|data| (data.len(), data.len())).expect("it is open");
        }
        let arrives = now + ONE_WAY;
        far.comes.extend(near.device().sent.drain(..).map(|bytes| (arrives, bytes)));
        near.device().comes.extend(far.sent.drain(..).map(|bytes| (arrives, bytes)));
        found.most = found.most.max(near.backlog());
        // The earliest of: the shaper, both stacks, both wires.
        let wires = [near.device().comes.front(), far.comes.front()];
        let stacks = [sender.poll_at(now, &from), receiver.poll_at(now, &to)];
        let next = wires.into_iter().flatten().map(|each| each.0);
        let next = next.chain(stacks.into_iter().flatten()).chain(shaper).min();
        now = next.unwrap_or(now).max(now + Duration::from_micros(1));
    }
    found.dropped = near.dropped();
    Ok(found)
}

fn main() {
    let queue = std::env::args().nth(1).unwrap_or_else(|| r#"{"kind": "codel"}"#.into());
    let found = serde_json::from_str(&queue).map_err(|error| error.to_string());
    match found.and_then(|queue| transfer(queue).map_err(|error| error.to_string())) {
        Ok(found) => println!(
            "{:.2} Mbit/s received, {} packets dropped, at most {} bytes waited",
            found.received as f64 * 8e-6 / 5.0,
            found.dropped,
            found.most
        ),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}
