//! Boxes in front of links: they see what enters a link, and what comes back over its reverse.

use super::cargo::DATAGRAM;
use super::event::{Event, Key};
use super::world::{Target, World};
use crate::pcap_out::port;
use forebay_core::Packet;
use forebay_middlebox::{Ack, FiveTuple, Header, Middlebox, SackBlocks, Tcp, Verdict};
use forebay_tcp::{Flags, SackBlock, Segment};
use std::net::{IpAddr, Ipv6Addr};

/// A box in front of a link.
pub struct Guard {
    /// The link.
    pub link: u32,
    /// What sort of box it is.
    pub kind: String,
    /// What decides.
    pub controller: Box<dyn Middlebox>,
    /// Key of the agenda entry at which it wants to be asked; others are stale.
    armed: Option<Key>,
}

impl Guard {
    /// The box `controller` of sort `kind` in front of link `link`.
    pub fn new(link: u32, kind: String, controller: Box<dyn Middlebox>) -> Self {
        Guard { link, kind, controller, armed: None }
    }
}

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Addresses tell whose a packet is: fd00:, whether its host receives, user, connection, life.
fn address(receives: bool, user: u32, flow: u32, life: u32) -> IpAddr {
    let words = [0xfd00 << 16 | u32::from(receives), user, flow, life];
    let bits = words.into_iter().fold(0, |bits, word| bits << 32 | u128::from(word));
    Ipv6Addr::from_bits(bits).into()
}

/// User, connection and life that an address tells.
fn read_address(address: IpAddr) -> Option<(u32, u32, u32)> {
    let IpAddr::V6(address) = address else { return None };
    let bits = address.to_bits();
    Some(((bits >> 64) as u32, (bits >> 32) as u32, bits as u32))
}

/// Shift count of a window field that can state `window` bytes (RFC 7323, section 2.3).
fn shift_for(window: u64) -> u8 {
    (0..14).find(|shift| window >> shift <= u64::from(u16::MAX)).unwrap_or(14)
}

/// The segment as it would stand in a header, its window in units of 2^`shift` bytes.
fn fields(segment: &Segment, shift: u8) -> Tcp {
    let is_syn = segment.flags.has(Flags::SYN);
    let mut sack = SackBlocks::default();
    segment.sack_blocks().for_each(|(start, end)| sack.push(start as u32, end as u32));
    // A SYN's window is never scaled (RFC 7323, section 2.2).
    let window = if is_syn { segment.window } else { segment.window >> shift };
    Tcp {
        seq: segment.seq as u32,
        ack: segment.ack as u32,
        flags: segment.flags.header_bits(),
        window: window.min(u32::from(u16::MAX)) as u16,
        payload_len: segment.len,
        timestamps: segment.has_timestamp.then_some((segment.tsval, segment.tsecr)),
        window_scale: is_syn.then_some(shift),
        sack,
        other_options: is_syn || segment.accecn().is_some(),
    }
}

/// The segment that `ack` is, with numbers of 64 bits near `acked`, up to which the sender knows its
/// data to be acknowledged.
fn segment_of(ack: &Ack, acked: u64, shift: u8) -> Segment {
    let wide = |number: u32, near: u64| {
        near.saturating_add_signed(i64::from(number.wrapping_sub(near as u32) as i32))
    };
    let mut segment = Segment {
        seq: wide(ack.seq, 1),
        ack: wide(ack.ack, acked),
        window: u32::from(ack.window) << shift,
        flags: Flags::ACK,
        has_timestamp: ack.timestamps.is_some(),
        ..Segment::default()
    };
    (segment.tsval, segment.tsecr) = ack.timestamps.unwrap_or_default();
    for (block, &(left, right)) in segment.sack.iter_mut().zip(ack.sack.as_slice()) {
        let relative = |edge: u32| edge.wrapping_sub(ack.ack);
        *block = SackBlock { start: relative(left), end: relative(right) };
        segment.sack_count += 1;
    }
    segment
}

impl World {
    /// A packet comes to the box in front of a link.
    pub(super) fn guard_forward(&mut self, index: u32, packet: Packet) {
        let header = self.header_of(&packet);
        let guard = &mut self.guards[index as usize];
        let link = guard.link;
        match guard.controller.forward(self.now, &header) {
            Verdict::Pass => self.enter(link, packet),
            Verdict::Rewrite { window } => {
                self.rewrite(&packet, window);
                self.enter(link, packet);
            }
            Verdict::Answer(ack) => {
                self.hold.retire(packet);
                self.send_made(index, &ack);
            }
        }
        self.tend_guard(index);
    }

    /// A packet that came over the reverse of a box's link comes to the box.
    pub(super) fn guard_backward(&mut self, index: u32, packet: Packet) {
        let header = self.header_of(&packet);
        let next = self.hold.of(&packet).stop + 1;
        match self.guards[index as usize].controller.backward(self.now, &header) {
            Verdict::Pass => self.launch(packet, next, self.now),
            Verdict::Rewrite { window } => {
                self.rewrite(&packet, window);
                self.launch(packet, next, self.now);
            }
            Verdict::Answer(_) => unreachable!("only what goes forward is answered"),
        }
        self.tend_guard(index);
    }

    /// The time has come that a box named.
    pub(super) fn on_guard_timer(&mut self, index: u32, key: Key) {
        let guard = &mut self.guards[index as usize];
        if guard.armed == Some(key) {
            guard.armed = None;
            self.tend_guard(index);
        }
    }

    /// Sends what a box has to send, and sees to its timer.
    fn tend_guard(&mut self, index: u32) {
        while let Some(ack) = self.guards[index as usize].controller.poll(self.now) {
            self.send_made(index, &ack);
        }
        let guard = &mut self.guards[index as usize];
        if let Some(wake) = guard.controller.wake()
            && guard.armed.is_none_or(|key| wake < key.time)
        {
            let event = Event::GuardTimer(index);
            let key = self.sequence.key(wake.max(self.now), event);
            guard.armed = Some(key);
            self.resting.push(key, event);
        }
    }

    fn header_of(&mut self, packet: &Packet) -> Header {
        let cargo = self.hold.of(packet);
        let user = &self.users[cargo.user as usize];
        let is_tcp = cargo.flow != DATAGRAM;
        // Datagrams have no connection; the number of their flow tells them apart.
        let life = if is_tcp { cargo.life } else { packet.flow };
        let forward = FiveTuple {
            source_port: port(packet.flow),
            destination_port: user.port,
            source: address(false, cargo.user, cargo.flow, life),
            destination: address(true, cargo.user, cargo.flow, life),
            protocol: if is_tcp { TCP } else { UDP },
        };
        let shift = if cargo.backward { shift_for(user.receive_window()) } else { 0 };
        Header {
            flow: if cargo.backward { forward.reversed() } else { forward },
            class: packet.class,
            dscp: packet.dscp(),
            tcp: is_tcp.then(|| fields(&cargo.segment, shift)),
        }
    }

    /// States `window`, as in the header, in a packet's segment.
    fn rewrite(&mut self, packet: &Packet, window: u16) {
        let cargo = self.hold.of(packet);
        let user = &self.users[cargo.user as usize];
        let shift = if cargo.backward { shift_for(user.receive_window()) } else { 0 };
        cargo.segment.window = u32::from(window) << shift;
    }

    /// Sends an acknowledgment that a box has made, from where it stands; nowhere, if the
    /// connection has ended or does not pass there.
    fn send_made(&mut self, index: u32, ack: &Ack) {
        let Some((user, flow, life)) = read_address(ack.flow.source) else { return };
        let Some((acked, first)) = self.connections.way_back(flow, life) else { return };
        let path = self.stops[first as usize..].iter().map(|stop| self.lanes[stop.lane as usize].1);
        let mut path = path.take_while(|target| *target != Target::Host);
        let Some(at) = path.position(|target| target == Target::GuardBackward(index)) else {
            return;
        };
        let shift = shift_for(self.users[user as usize].receive_window());
        let segment = segment_of(ack, acked, shift);
        self.acknowledge_from(flow, segment, first + at as u32 + 1);
    }
}
