//! Boxes in front of links. They see packets that enter a link, and those that come over its reverse.

use super::event::{Event, Key};
use super::fabric::cargo::DATAGRAM;
use super::fabric::{Fabric, Target};
use super::measures::LinkSeries;
use super::transport::Transport;
use crate::measure::UserMeter;
use crate::pcap_out::port;
use forebay_core::Time;
use forebay_middlebox::{Ack, FiveTuple, Header, Middlebox, Verdict};
use forebay_tcp::{Flags, SackBlock, Segment};
use std::net::{IpAddr, Ipv6Addr};

/// A box in front of a link.
pub struct PlacedBox {
    pub link: u32,
    pub kind: String,
    pub middlebox: Box<dyn Middlebox>,
    /// Key of the timer's agenda entry. Other entries are stale.
    armed: Option<Key>,
}

impl PlacedBox {
    pub fn new(link: u32, kind: String, middlebox: Box<dyn Middlebox>) -> Self {
        PlacedBox { link, kind, middlebox, armed: None }
    }
}

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// An address that identifies a packet's host: fd00:, whether it receives, user, connection, life.
fn address(receives: bool, user: u32, flow: u32, life: u32) -> IpAddr {
    let words = [0xfd00 << 16 | u32::from(receives), user, flow, life];
    let bits = words.into_iter().fold(0, |bits, word| bits << 32 | u128::from(word));
    Ipv6Addr::from_bits(bits).into()
}

/// User, connection and life of an address.
fn read_address(address: IpAddr) -> Option<(u32, u32, u32)> {
    let IpAddr::V6(address) = address else { return None };
    let bits = address.to_bits();
    Some(((bits >> 64) as u32, (bits >> 32) as u32, bits as u32))
}

/// Shift count with which a window field can have `window` bytes (RFC 7323, section 2.3).
fn shift_for(window: u64) -> u8 {
    (0..14).find(|shift| window >> shift <= u64::from(u16::MAX)).unwrap_or(14)
}

/// The segment of `ack`, whose numbers of 32 bits are extended to 64 near `acked`, the offset up to which
/// the sender's data are acknowledged.
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

/// The boxes of a run.
pub struct Boxes(pub Vec<PlacedBox>);

/// The parts of the world on which boxes act.
pub struct Ends<'a> {
    pub transport: &'a Transport,
    pub fabric: &'a mut Fabric,
    pub users: &'a mut [UserMeter],
}

impl Boxes {
    /// Adds the boxes' variables to the last point of their links' series.
    pub fn sample(&self, series: &mut [LinkSeries]) {
        for placed in &self.0 {
            let series = &mut series[placed.link as usize];
            placed.middlebox.probe(&mut |name, value| series.variable(name, value));
        }
    }

    /// Packet `id` arrives at box `index`, on its way into the link.
    pub fn forward(&mut self, now: Time, index: u32, id: u32, ends: &mut Ends) {
        let header = ends.header_of(id);
        let placed = &mut self.0[index as usize];
        let link = placed.link;
        match placed.middlebox.forward(now, &header) {
            Verdict::Pass => ends.fabric.enter(now, link, id, ends.users),
            Verdict::Rewrite { window } => {
                ends.rewrite(id, window);
                ends.fabric.enter(now, link, id, ends.users);
            }
            Verdict::Answer(ack) => {
                ends.fabric.hold.free(id);
                ends.send_made(now, index, &ack);
            }
        }
        self.tend(now, index, ends);
    }

    /// Packet `id` arrives at box `index` from the reverse of the link.
    pub fn backward(&mut self, now: Time, index: u32, id: u32, ends: &mut Ends) {
        let header = ends.header_of(id);
        match self.0[index as usize].middlebox.backward(now, &header) {
            Verdict::Pass => {}
            Verdict::Rewrite { window } => ends.rewrite(id, window),
            Verdict::Answer(_) => unreachable!("boxes answer only packets on their way forward"),
        }
        let cargo = ends.fabric.hold.at(id);
        cargo.stop += 1;
        let (len, stop) = (cargo.packet.len, cargo.stop);
        ends.fabric.launch(id, len, stop, now);
        self.tend(now, index, ends);
    }

    /// The agenda entry at `key` of the timer of box `index` is due.
    pub fn on_timer(&mut self, index: u32, key: Key, ends: &mut Ends) {
        let placed = &mut self.0[index as usize];
        if placed.armed == Some(key) {
            placed.armed = None;
            self.tend(key.time, index, ends);
        }
    }

    /// Sends the acknowledgments that a box has made, and arms its timer.
    fn tend(&mut self, now: Time, index: u32, ends: &mut Ends) {
        let placed = &mut self.0[index as usize];
        while let Some(ack) = placed.middlebox.poll(now) {
            ends.send_made(now, index, &ack);
        }
        if let Some(wake) = placed.middlebox.wake()
            && placed.armed.is_none_or(|key| wake < key.time)
        {
            placed.armed = Some(ends.fabric.rest(wake.max(now), Event::BoxTimer(index), index));
        }
    }
}

impl Ends<'_> {
    fn header_of(&self, id: u32) -> Header {
        let cargo = self.fabric.hold.look(id);
        let packet = &cargo.packet;
        let user = &self.transport.users()[cargo.user as usize];
        let is_tcp = cargo.flow != DATAGRAM;
        // Datagrams have no connection. The number of their flow identifies them.
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
            len: packet.len,
            tcp: cargo.tcp_header(shift),
        }
    }

    /// Writes `window`, a header's field, into a packet's segment.
    fn rewrite(&mut self, id: u32, window: u16) {
        let cargo = self.fabric.hold.at(id);
        let user = &self.transport.users()[cargo.user as usize];
        let shift = if cargo.backward { shift_for(user.receive_window()) } else { 0 };
        cargo.segment.window = u32::from(window) << shift;
    }

    /// Sends an acknowledgment that a box has made, from the place of the box. Drops it if the connection
    /// has ended or does not pass the box.
    fn send_made(&mut self, now: Time, index: u32, ack: &Ack) {
        let Some((user, flow, life)) = read_address(ack.flow.source) else { return };
        let Some((acked, first)) = self.transport.connections().way_back(flow, life) else {
            return;
        };
        let Some(stop) = self.fabric.behind(Target::BoxBackward(index), first) else { return };
        let shift = shift_for(self.transport.users()[user as usize].receive_window());
        let segment = segment_of(ack, acked, shift);
        self.transport.acknowledge_from(now, flow, &segment, stop, self.fabric);
    }
}
