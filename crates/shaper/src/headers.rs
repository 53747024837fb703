//! Packet headers: the fields that a host of real packets reads, and the few that it rewrites.
//!
//! `etherparse` reads them, unless they are [`plain`]. Headers that it cannot read make a packet
//! without ports, or one that is not IP, never an error. Checksums are updated by the difference
//! (RFC 1624, equation 3).

mod plain;

use crate::{FlowHash, host_number};
use etherparse::{
    LaxNetSlice, LaxSlicedPacket, TransportSlice, checksum::Sum16BitWords, ip_number,
};
use forebay_core::{Packet, PacketKind, tcp::Tcp};
use std::net::IpAddr;

/// The beginning of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// With an Ethernet header, perhaps with VLAN tags.
    Ethernet,
    /// With an IP header.
    Ip,
}

/// A frame, as far as disciplines need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// IPv4 or IPv6.
    Ip(IpView),
    /// ARP, spanning tree, neighbour discovery and everything else that must not wait behind data;
    /// also frames that are too short to tell.
    Other {
        /// Bytes after the link header.
        len: u32,
    },
}

/// An IP packet, as far as disciplines and boxes need it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IpView {
    /// Offset of its header in the frame, bytes.
    pub at: u16,
    /// 4 or 6.
    pub version: u8,
    /// Length of the packet by its header, limited to the bytes that are there.
    pub len: u32,
    /// DS field and ECN.
    pub tos: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol after the extension headers.
    pub protocol: u8,
    /// Whether it is a fragment. The first one counts as well, so that all are treated alike.
    pub fragment: bool,
    /// Whether the headers are well-formed, as far as they are read.
    pub whole: bool,
    /// Source and destination port of TCP and UDP.
    pub ports: Option<(u16, u16)>,
    /// Offset of the TCP or UDP header in the frame, if it is complete and not in a fragment.
    pub transport_at: Option<u16>,
    /// Data, pure ACK or control.
    pub kind: PacketKind,
}

impl Frame {
    /// Reads the headers of `bytes`.
    #[inline]
    pub fn read(bytes: &[u8], layer: Layer) -> Frame {
        plain::read(bytes, layer).unwrap_or_else(|| Frame::read_any(bytes, layer))
    }

    /// Reads them whatever they are.
    #[inline(never)]
    fn read_any(bytes: &[u8], layer: Layer) -> Frame {
        let parsed = match layer {
            Layer::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok(),
            Layer::Ip => LaxSlicedPacket::from_ip(bytes).ok(),
        };
        let header = match layer {
            Layer::Ethernet => 14,
            Layer::Ip => 0,
        };
        let other = Frame::Other { len: bytes.len().saturating_sub(header) as u32 };
        parsed.and_then(|parsed| read_ip(&parsed, bytes)).unwrap_or(other)
    }
}

impl IpView {
    /// The packet as a queue sees it, called `id`. Its classes are 0.
    #[inline]
    pub fn packet(&self, id: u32, flows: &FlowHash) -> Packet {
        let flow = flows.of(self.source, self.destination, self.protocol, self.ports);
        let mut packet = Packet::new(id, flow, self.len);
        (packet.tos, packet.kind) = (self.tos, self.kind);
        [packet.source, packet.destination] = [self.source, self.destination].map(host_number);
        packet
    }
}

fn read_ip(parsed: &LaxSlicedPacket, bytes: &[u8]) -> Option<Frame> {
    let offset = |part: &[u8]| (part.as_ptr() as usize - bytes.as_ptr() as usize) as u16;
    let mut whole = parsed.stop_err.is_none();
    let (at, version, tos, source, destination, payload, stated) = match parsed.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let slice = header.slice();
            let stated = u32::from(header.total_len());
            let (from, to) = (header.source_addr(), header.destination_addr());
            (offset(slice), 4, slice[1], from.into(), to.into(), ip.payload(), stated)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let slice = header.slice();
            let tos = slice[0] << 4 | slice[1] >> 4;
            let stated = 40 + u32::from(header.payload_length());
            let (from, to) = (header.source_addr(), header.destination_addr());
            (offset(slice), 6, tos, IpAddr::V6(from), IpAddr::V6(to), ip.payload(), stated)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let there = (bytes.len() - usize::from(at)) as u32;
    // The length must fit into the frame and include the header.
    whole &= stated <= there && stated >= if version == 4 { 20 } else { 40 };
    let len = if whole { stated } else { there };
    let fragment = payload.fragmented;
    let protocol = payload.ip_number.0;
    let mut view = IpView {
        at,
        version,
        len,
        tos,
        source,
        destination,
        protocol,
        fragment,
        whole,
        ports: None,
        transport_at: None,
        kind: PacketKind::Data,
    };
    match parsed.transport.as_ref().filter(|_| !fragment) {
        Some(TransportSlice::Tcp(tcp)) => {
            view.ports = Some((tcp.source_port(), tcp.destination_port()));
            view.transport_at = Some(offset(tcp.slice()));
            view.kind = match tcp.payload() {
                _ if tcp.syn() || tcp.fin() || tcp.rst() => PacketKind::Control,
                [] => PacketKind::PureAck,
                _ => PacketKind::Data,
            };
        }
        Some(TransportSlice::Udp(udp)) => {
            view.ports = Some((udp.source_port(), udp.destination_port()));
            view.transport_at = Some(offset(udp.slice()));
        }
        // Neighbour discovery (RFC 4861): types 133 to 137.
        Some(TransportSlice::Icmpv6(icmp)) if (133..=137).contains(&icmp.type_u8()) => {
            return Some(Frame::Other { len });
        }
        _ => {}
    }
    // A length of zero, which a jumbogram has, is taken for the whole frame by the parser.
    if view.transport_at.is_some_and(|start| u32::from(start - at) >= len) {
        (view.whole, view.len) = (false, there);
    }
    Some(Frame::Ip(view))
}

/// The TCP header of the packet of `view`. None if it has no complete one.
pub fn tcp_header(frame: &[u8], view: &IpView) -> Option<Tcp> {
    let is_tcp = view.whole && view.protocol == ip_number::TCP.0;
    let end = usize::from(view.at) + view.len as usize;
    Tcp::read(frame.get(usize::from(view.transport_at.filter(|_| is_tcp)?)..end)?)
}

/// Sets DS field and ECN of the IP packet that begins at `at`, and updates the header's checksum.
/// Does nothing if there is no IP header of `version`.
pub fn set_tos(frame: &mut [u8], at: u16, version: u8, tos: u8) {
    let Some(header) = frame.get_mut(usize::from(at)..) else { return };
    match (version, header.len()) {
        (4, 20..) => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = tos;
            let new = u16::from_be_bytes([header[0], header[1]]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            header[10..12].copy_from_slice(&updated(sum, old, new).to_be_bytes());
        }
        (6, 40..) => {
            header[0] = header[0] & 0xf0 | tos >> 4;
            header[1] = header[1] & 0x0f | tos << 4;
        }
        _ => {}
    }
}

/// Sets the window of the TCP segment of `view`, and updates its checksum.
pub fn set_window(frame: &mut [u8], view: &IpView, window: u16) {
    let header = view.transport_at.and_then(|at| frame.get_mut(usize::from(at)..));
    let Some(header) = header.filter(|header| header.len() >= 20) else { return };
    let old = u16::from_be_bytes([header[14], header[15]]);
    let sum = u16::from_be_bytes([header[16], header[17]]);
    header[14..16].copy_from_slice(&window.to_be_bytes());
    header[16..18].copy_from_slice(&updated(sum, old, window).to_be_bytes());
}

/// The checksum after one 16-bit word that it covers has changed from `old` to `new` (RFC 1624,
/// equation 3).
#[inline]
pub fn updated(sum: u16, old: u16, new: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Completes the checksum of a TCP or UDP packet that a virtual interface passed on without one (it
/// contains only the sum of the pseudo header, for hardware to complete). Returns true if it did.
pub fn complete_checksum(frame: &mut [u8], view: &IpView) -> bool {
    let (Some(at), true) = (view.transport_at, view.whole) else { return false };
    let (at, end) = (usize::from(at), usize::from(view.at) + view.len as usize);
    let field = at + if view.protocol == ip_number::TCP.0 { 16 } else { 6 };
    if field + 2 > end || end > frame.len() {
        return false;
    }
    let length = (end - at) as u16;
    let sum = match (view.source, view.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Sum16BitWords::new().add_4bytes(from.octets()).add_4bytes(to.octets())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Sum16BitWords::new().add_16bytes(from.octets()).add_16bytes(to.octets())
        }
        _ => return false,
    };
    let pseudo = sum.add_2bytes([0, view.protocol]).add_2bytes(length.to_be_bytes());
    // `ones_complement` gives the sum's complement in the order of memory.
    let partial = !pseudo.ones_complement();
    let held = u16::from_ne_bytes([frame[field], frame[field + 1]]);
    if held != partial {
        return false;
    }
    // A right checksum may look the same, one in 65 536.
    if pseudo.clone().add_slice(&frame[at..end]).ones_complement() == 0 {
        return false;
    }
    frame[field..field + 2].fill(0);
    let sum = pseudo.add_slice(&frame[at..end]).to_ones_complement_with_no_zero();
    frame[field..field + 2].copy_from_slice(&sum.to_ne_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, Ipv4Header, PacketBuilder};
    use forebay_core::tcp::flags;
    use proptest::prelude::*;

    const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

    fn view(bytes: &[u8], layer: Layer) -> IpView {
        match Frame::read(bytes, layer) {
            Frame::Ip(view) => view,
            other => panic!("{other:?}"),
        }
    }

    fn tcp(vlan: bool, payload: &[u8], flags: impl Fn(&mut etherparse::TcpHeader)) -> Vec<u8> {
        let mut header = etherparse::TcpHeader::new(1234, 80, 7, 512);
        header.ack = true;
        flags(&mut header);
        let builder = PacketBuilder::ethernet2(MACS.0, MACS.1);
        let mut bytes = Vec::new();
        if vlan {
            let builder = builder.single_vlan(5.try_into().unwrap());
            let builder = builder.ipv6([1; 16], [2; 16], 64);
            builder.tcp_header(header).write(&mut bytes, payload).unwrap();
        } else {
            let builder = builder.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
            builder.tcp_header(header).write(&mut bytes, payload).unwrap();
        }
        bytes
    }

    #[test]
    fn headers_are_read_behind_ethernet_and_tags() {
        let frame = tcp(false, b"data", |_| {});
        let four = view(&frame, Layer::Ethernet);
        let header = tcp_header(&frame, &four).unwrap();
        assert_eq!((header.seq, header.flags, header.payload_len), (7, flags::ACK, 4));
        assert_eq!((four.at, four.version, four.len, four.transport_at), (14, 4, 44, Some(34)));
        assert_eq!((four.protocol, four.ports, four.kind), (6, Some((1234, 80)), PacketKind::Data));
        let six = view(&tcp(true, b"", |_| {}), Layer::Ethernet);
        assert_eq!((six.at, six.version, six.len, six.transport_at), (18, 6, 60, Some(58)));
        assert_eq!(six.kind, PacketKind::PureAck);
        let syn = view(&tcp(false, b"", |header| header.syn = true)[14..], Layer::Ip);
        assert_eq!((syn.at, syn.kind, syn.whole), (0, PacketKind::Control, true));
        // Ethernet pads short frames; the IP header tells how much is padding.
        let mut padded = tcp(false, b"", |_| {});
        padded.resize(60, 0);
        assert_eq!(view(&padded, Layer::Ethernet).kind, PacketKind::PureAck);
        assert_eq!(view(&padded, Layer::Ethernet).len, 40);
    }

    #[test]
    fn what_is_not_ip_is_told_apart() {
        let arp = [&[0xff; 12][..], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 20]].concat();
        assert_eq!(Frame::read(&arp, Layer::Ethernet), Frame::Other { len: 28 });
        assert_eq!(Frame::read(&[1, 2, 3], Layer::Ethernet), Frame::Other { len: 0 });
        let mut solicitation = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 255)
            .icmpv6_raw(135, 0, [0; 4])
            .write(&mut solicitation, &[0; 16])
            .unwrap();
        assert_eq!(Frame::read(&solicitation, Layer::Ip), Frame::Other { len: 64 });
    }

    #[test]
    fn fragments_and_nonsense_have_no_ports() {
        let mut header = Ipv4Header::new(100, 64, 17.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        header.more_fragments = true;
        let mut first = Vec::new();
        header.write(&mut first).unwrap();
        first.extend([0x13, 0x88, 0, 53, 0, 200, 0, 0]);
        first.resize(120, 0);
        let first = view(&first, Layer::Ip);
        assert_eq!((first.fragment, first.ports, first.protocol), (true, None, 17));
        header.more_fragments = false;
        header.fragment_offset = IpFragOffset::try_new(10).unwrap();
        let mut later = Vec::new();
        header.write(&mut later).unwrap();
        later.resize(120, 0);
        assert_eq!(view(&later, Layer::Ip).ports, None);
        // A length beyond the frame, and a TCP header cut short.
        let mut long = tcp(false, b"data", |_| {});
        long[16] = 200;
        let read = view(&long, Layer::Ethernet);
        assert_eq!((read.whole, read.len), (false, 44));
        let cut = &tcp(false, b"", |_| {})[..40];
        assert!(!view(cut, Layer::Ethernet).whole);
    }

    #[test]
    fn marking_keeps_the_checksum_right() {
        for tos in [0, 0b11, 0xb8 | 0b01, 0xff] {
            let mut four = tcp(false, b"data", |_| {});
            set_tos(&mut four, 14, 4, tos);
            let header = Ipv4Header::from_slice(&four[14..]).unwrap().0;
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            assert_eq!(view(&four, Layer::Ethernet).tos, tos);
            let mut six = tcp(true, b"data", |_| {});
            set_tos(&mut six, 18, 6, tos);
            assert_eq!(view(&six, Layer::Ethernet).tos, tos);
        }
        // RFC 1624, section 4: the example that its equation 3 gets right.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn checksums_left_to_hardware_are_completed() {
        for vlan in [false, true] {
            let whole = tcp(vlan, b"some data", |_| {});
            let read = view(&whole, Layer::Ethernet);
            let mut frame = whole.clone();
            assert!(!complete_checksum(&mut frame, &read), "it is complete");
            // The sum of the pseudo header alone, as the kernel leaves it.
            let at = usize::from(read.transport_at.unwrap());
            let segment = (frame.len() - at) as u16;
            let pseudo = if vlan {
                Sum16BitWords::new().add_16bytes([1; 16]).add_16bytes([2; 16])
            } else {
                Sum16BitWords::new().add_4bytes([10, 0, 0, 1]).add_4bytes([10, 0, 0, 2])
            };
            let pseudo = pseudo.add_2bytes([0, 6]).add_2bytes(segment.to_be_bytes());
            frame[at + 16..at + 18].copy_from_slice(&(!pseudo.ones_complement()).to_ne_bytes());
            assert!(complete_checksum(&mut frame, &read));
            assert_eq!(frame, whole);
        }
    }

    proptest! {
        #[test]
        fn an_updated_checksum_is_a_computed_one(words in proptest::collection::vec(any::<u16>(), 2..20), new: u16) {
            let sum = |words: &[u16]| {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
                u16::from_be(Sum16BitWords::new().add_slice(&bytes).ones_complement())
            };
            let mut after = words.clone();
            after[0] = new;
            let (updated, computed) = (updated(sum(&words), words[0], new), sum(&after));
            // 0 and 0xffff are the same number in ones' complement; a sum of zeros alone differs.
            prop_assert!(updated == computed || updated ^ computed == 0xffff && after.iter().all(|word| *word == 0));
        }
    }
}
