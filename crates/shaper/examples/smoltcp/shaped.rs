//! A device of smoltcp behind a shaper: what the stack sends waits in a discipline.

use forebay_core::{ConfigError, DropReason, Ecn, Packet, Poll, Sink, Time};
use forebay_disciplines::Disciplines;
use forebay_shaper::headers::{Frame, Layer};
use forebay_shaper::{FlowHash, Plan, Shaper};
use smoltcp::phy::{Device, DeviceCapabilities, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::Ipv4Packet;
use std::collections::HashMap;

/// The device `D`, with medium IP. Its sender is slowed to the rate of a plan, and the plan's
/// discipline decides what is dropped, what is marked and what goes first.
///
/// Call [`Shaped::release`] whenever the interface has been polled, and at the time it returns.
pub struct Shaped<D> {
    device: D,
    port: Port,
}

/// The shaper with the packets that wait in it.
struct Port {
    shaper: Shaper,
    held: Held,
    flows: FlowHash,
    next: u32,
}

/// Packets by their handles.
#[derive(Default)]
struct Held {
    packets: HashMap<u32, Vec<u8>>,
    dropped: u32,
}

impl Sink for Held {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.packets.remove(&packet.retire());
        self.dropped += 1;
    }

    fn marked(&mut self, packet: &Packet) {
        let bytes = self.packets.get_mut(&packet.id).expect("a packet is marked while it waits");
        let mut header = Ipv4Packet::new_unchecked(bytes);
        header.set_ecn(Ecn::Ce as u8);
        header.fill_checksum();
    }
}

impl<D: Device> Shaped<D> {
    /// `device` behind the rate and the discipline of `plan`.
    ///
    /// # Errors
    ///
    /// The plan has a queue that is not understood, or a value out of range.
    pub fn new(device: D, plan: Plan) -> Result<Self, ConfigError> {
        let shaper = Shaper::new(plan, 1, &Disciplines::builtin().into())?;
        let port = Port { shaper, held: Held::default(), flows: FlowHash::new(1), next: 0 };
        Ok(Shaped { device, port })
    }

    /// The device.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Packets that were dropped.
    pub fn dropped(&self) -> u32 {
        self.port.held.dropped
    }

    /// Bytes that wait.
    pub fn backlog(&self) -> u64 {
        self.port.shaper.backlog().bytes
    }

    /// Hands the device what may leave by `now`, and returns when to call this again; none if
    /// nothing waits.
    pub fn release(&mut self, now: Instant) -> Option<Instant> {
        let Port { shaper, held, .. } = &mut self.port;
        loop {
            match shaper.poll(time(now), held) {
                Poll::Send { packet, .. } => {
                    let bytes = held.packets.remove(&packet.retire()).expect("it was offered");
                    if let Some(token) = self.device.transmit(now) {
                        token.consume(bytes.len(), |frame| frame.copy_from_slice(&bytes));
                    }
                }
                // The clock of smoltcp has microseconds.
                Poll::Until(at) => {
                    return Some(Instant::from_micros(at.as_nanos().div_ceil(1000) as i64));
                }
                Poll::Idle => return None,
            }
        }
    }
}

impl Port {
    /// Offers what the stack sends.
    fn offer(&mut self, bytes: Vec<u8>, now: Time) {
        self.next = self.next.wrapping_add(1);
        let packet = match Frame::read(&bytes, Layer::Ip) {
            Frame::Ip(view) => view.packet(self.next, &self.flows),
            Frame::Other { len } => Packet::new(self.next, 0, len),
        };
        self.held.packets.insert(self.next, bytes);
        self.shaper.offer(packet, now, &mut self.held);
    }
}

impl<D: Device> Device for Shaped<D> {
    type RxToken<'a>
        = D::RxToken<'a>
    where
        D: 'a;
    type TxToken<'a>
        = Waits<'a>
    where
        D: 'a;

    fn receive(&mut self, now: Instant) -> Option<(D::RxToken<'_>, Waits<'_>)> {
        let (received, _) = self.device.receive(now)?;
        Some((received, Waits { port: &mut self.port, now }))
    }

    fn transmit(&mut self, now: Instant) -> Option<Waits<'_>> {
        Some(Waits { port: &mut self.port, now })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.device.capabilities()
    }
}

/// A packet that the stack is about to send.
pub struct Waits<'a> {
    port: &'a mut Port,
    now: Instant,
}

impl TxToken for Waits<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut bytes = vec![0; len];
        let filled = fill(&mut bytes);
        self.port.offer(bytes, time(self.now));
        filled
    }
}

fn time(now: Instant) -> Time {
    Time::from_nanos(now.total_micros() as u64 * 1000)
}
