//! A box in front of a direction's queue. It sees the packets of both directions, and may rewrite
//! their window or answer them.

use crate::io::Pool;
use crate::rules::Rules;
use crate::status::BoxStatus;
use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};
use forebay_core::Time;
use forebay_middlebox::{Ack, FiveTuple, Header, Middlebox, Verdict};
use forebay_shaper::headers::{Frame, IpView, Layer, set_window, tcp_header};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// Time to live of packets that the box makes.
const HOPS: u8 = 64;

/// A middlebox that works on frames.
pub struct FrameBox {
    controller: Box<dyn Middlebox>,
    layer: Layer,
    neighbours: Neighbours,
    /// Number of frames at the front of the other direction's output that it has seen.
    seen: usize,
    /// Answers in progress.
    made: Vec<u32>,
    scratch: Vec<u8>,
    /// Packets that did not pass because the box answered them.
    pub answered: u64,
    /// Frames of the box that left in the other direction.
    pub handed: u64,
    /// Packets of the box for which there was no buffer.
    lost: u64,
}

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It passes.
    Pass,
    /// It does not pass. The answer is on its way.
    Ended,
}

impl FrameBox {
    /// The box `controller` for frames of `layer`.
    pub fn new(controller: Box<dyn Middlebox>, layer: Layer) -> Self {
        FrameBox {
            layer,
            neighbours: Neighbours::new(controller.most_flows()),
            controller,
            seen: 0,
            made: Vec::new(),
            scratch: Vec::with_capacity(256),
            answered: 0,
            handed: 0,
            lost: 0,
        }
    }

    /// A frame on its way to the queue, of QoS class `class`.
    pub fn forward(
        &mut self,
        now: Time,
        view: &IpView,
        class: u8,
        index: u32,
        pool: &mut Pool,
    ) -> Fate {
        let frame = pool.frame_mut(index);
        let Some(header) = header(view, class, frame) else { return Fate::Pass };
        match self.controller.forward(now, &header) {
            Verdict::Pass => Fate::Pass,
            Verdict::Rewrite { window } => {
                set_window(frame, view, window);
                Fate::Pass
            }
            Verdict::Answer(ack) => {
                // The answer goes back to the sender of the frame, with the same VLAN tags.
                let mut link = frame[..usize::from(view.at)].to_vec();
                if link.len() >= 12 {
                    let (to, from) = link.split_at_mut(6);
                    to.swap_with_slice(&mut from[..6]);
                }
                self.answered += 1;
                self.make(&link, &ack, pool);
                Fate::Ended
            }
        }
    }

    /// Looks at the frames in `back`, which go to the senders, that it has not seen yet, and adds
    /// its own frames.
    pub fn backward(
        &mut self,
        now: Time,
        rules: &Rules,
        pool: &mut Pool,
        back: &mut VecDeque<u32>,
    ) {
        for index in back.range(self.seen.min(back.len())..) {
            let frame = pool.frame_mut(*index);
            let Frame::Ip(view) = Frame::read(frame, self.layer) else { continue };
            let Some(header) = header(&view, rules.class(&view), frame) else { continue };
            if header.tcp.is_some() && self.layer == Layer::Ethernet {
                self.neighbours.learn(&header.flow, &frame[..usize::from(view.at)]);
            }
            if let Verdict::Rewrite { window } = self.controller.backward(now, &header) {
                set_window(frame, &view, window);
            }
        }
        while let Some(ack) = self.controller.poll(now) {
            match self.layer {
                Layer::Ip => self.make(&[], &ack, pool),
                Layer::Ethernet => match self.neighbours.find(&ack.flow) {
                    Some(link) => self.make(&link, &ack, pool),
                    None => self.lost += 1,
                },
            }
        }
        self.hand(back);
        self.seen = back.len();
    }

    /// Adds its finished frames to `back`.
    pub fn hand(&mut self, back: &mut VecDeque<u32>) {
        self.handed += self.made.len() as u64;
        back.extend(self.made.drain(..));
    }

    /// Notes that the first `frames` frames, which it has seen, could not be sent yet.
    pub fn left(&mut self, frames: usize) {
        self.seen = frames;
    }

    /// When [`FrameBox::backward`] has a frame to make.
    pub fn wake(&self) -> Option<Time> {
        self.controller.wake()
    }

    /// Its counts since its start.
    pub fn status(&self) -> BoxStatus {
        let counts = self.controller.counts();
        BoxStatus {
            freezes: counts.freezes,
            releases: counts.releases,
            rewritten: counts.rewritten,
            answered: self.answered,
            made: counts.made,
            lost: self.lost,
            evicted: counts.evicted,
            flows: counts.flows,
            frozen: counts.frozen,
            active: counts.active,
        }
    }

    fn make(&mut self, link: &[u8], ack: &Ack, pool: &mut Pool) {
        self.scratch.clear();
        self.scratch.extend_from_slice(link);
        let index = pool.take().filter(|_| write(ack, &mut self.scratch));
        let Some(index) = index else {
            self.lost += 1;
            return;
        };
        pool.buffer(index)[..self.scratch.len()].copy_from_slice(&self.scratch);
        pool.set_extent(index, 0, self.scratch.len());
        self.made.push(index);
    }
}

/// A frame as a box sees it. None if its headers are malformed.
fn header(view: &IpView, class: u8, frame: &[u8]) -> Option<Header> {
    if !view.whole {
        return None;
    }
    let (source_port, destination_port) = view.ports.unwrap_or_default();
    let flow = FiveTuple {
        source_port,
        destination_port,
        source: view.source,
        destination: view.destination,
        protocol: view.protocol,
    };
    Some(Header { flow, class, dscp: view.tos >> 2, len: view.len, tcp: tcp_header(frame, view) })
}

/// Appends the IP packet of `ack` to `out`. Returns false if that is impossible.
fn write(ack: &Ack, out: &mut Vec<u8>) -> bool {
    let FiveTuple { source_port, destination_port, source, destination, .. } = ack.flow;
    let builder = match (source, destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), HOPS),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), HOPS),
        _ => return false,
    };
    let mut header = TcpHeader::new(source_port, destination_port, ack.seq, ack.window);
    header.ack = true;
    header.acknowledgment_number = ack.ack;
    let mut options = Vec::new();
    if let Some((value, echo)) = ack.timestamps {
        options.extend([
            TcpOptionElement::Noop,
            TcpOptionElement::Noop,
            TcpOptionElement::Timestamp(value, echo),
        ]);
    }
    // Beside timestamps there is room for three blocks (RFC 2018, section 3).
    let most = if ack.timestamps.is_some() { 3 } else { 4 };
    if let [first, more @ ..] = &ack.sack.as_slice()[..ack.sack.as_slice().len().min(most)] {
        let more = [0, 1, 2].map(|at| more.get(at).copied());
        let blocks = TcpOptionElement::SelectiveAcknowledgement(*first, more);
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, blocks]);
    }
    if header.set_options(&options).is_err() {
        return false;
    }
    builder.tcp_header(header).write(out, &[]).is_ok()
}

/// Link headers with which hosts are reached, learned from frames to them.
///
/// There are two generations, each with at most half the room. A host without frames for a whole
/// generation is forgotten.
struct Neighbours {
    room: usize,
    young: HashMap<(IpAddr, IpAddr), Link>,
    old: HashMap<(IpAddr, IpAddr), Link>,
}

/// Addresses, tags and type: at most two tags.
#[derive(Clone, Copy)]
struct Link {
    bytes: [u8; 22],
    len: u8,
}

impl std::ops::Deref for Link {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Neighbours {
    fn new(room: usize) -> Self {
        Neighbours { room, young: HashMap::new(), old: HashMap::new() }
    }

    /// Remembers the link header of a frame of `flow`.
    fn learn(&mut self, flow: &FiveTuple, header: &[u8]) {
        let mut link = Link { bytes: [0; 22], len: header.len() as u8 };
        let Some(bytes) = link.bytes.get_mut(..header.len()) else { return };
        bytes.copy_from_slice(header);
        if self.young.len() > self.room / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert((flow.source, flow.destination), link);
    }

    fn find(&self, flow: &FiveTuple) -> Option<Link> {
        let key = (flow.source, flow.destination);
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }
}
