//! Writes the packets of a link as a capture, for Wireshark and similar programs.
//!
//! The format is pcap with nanoseconds since the beginning of the run (which programs show as times
//! of 1970) and link type raw IP. Packets get the headers that they would have: IPv4 with addresses
//! made from node numbers (node 1 is 10.0.0.1), and TCP or UDP with the flow's port. Only headers
//! are kept, with the length on the wire. Checksums are right if the payload consists of zeros.
//!
//! Sources may send datagrams that are shorter than headers. Those without room for UDP get
//! protocol 253, which is reserved for experiments (RFC 3692). None is shorter than an IPv4 header.

use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader, ip_number,
};
use forebay_core::Time;
use forebay_core::tcp::Tcp;
use forebay_tcp::AccEcnOption;
use std::io::{self, Write};
use std::net::Ipv4Addr;

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// Bytes of a UDP header.
const UDP_HEADER: u32 = 8;
/// Longest headers that are written: IPv4 without options, and TCP with all of them.
const SNAP_LEN: u32 = 20 + 60;
/// Window scale in SYNs (RFC 7323): windows up to 8 MiB, in steps of 128 B.
pub const WINDOW_SCALE: u8 = 7;
/// Largest IPv4 packet.
const MAX_LEN: u32 = 65_535;

static ZEROS: [u8; MAX_LEN as usize] = [0; MAX_LEN as usize];

/// MSS in SYNs; readers only show it.
const MSS: u16 = 1460;

/// A packet to write.
#[derive(Debug, Clone, Copy)]
pub struct WrittenPacket {
    pub at: Time,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// DSCP and ECN, as in the IP header.
    pub tos: u8,
    /// Number of the sending node; below 2^24.
    pub from: u32,
    /// Number of the receiving node; below 2^24.
    pub to: u32,
    /// Flow; the same in both directions of a connection.
    pub flow: u32,
    pub transport: Transport,
}

/// Payload of an IP packet.
#[derive(Debug, Clone, Copy)]
pub enum Transport {
    Udp,
    /// A TCP header. The AccECN option (RFC 9768) is not one of its fields.
    Tcp(Tcp, Option<AccEcnOption>),
}

/// Writes packets to `W`, which should be buffered.
pub struct PcapWriter<W: Write> {
    out: W,
    identification: u16,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a capture.
    pub fn new(mut out: W) -> io::Result<Self> {
        const RAW_IP: u32 = 101;
        out.write_all(&0xa1b2_3c4d_u32.to_le_bytes())?;
        out.write_all(&2_u16.to_le_bytes())?;
        out.write_all(&4_u16.to_le_bytes())?;
        out.write_all(&[0; 8])?;
        out.write_all(&SNAP_LEN.to_le_bytes())?;
        out.write_all(&RAW_IP.to_le_bytes())?;
        Ok(PcapWriter { out, identification: 0 })
    }

    /// Adds a packet.
    pub fn write(&mut self, packet: &WrittenPacket) -> io::Result<()> {
        let (source, destination) = (address(packet.from), address(packet.to));
        let mut ip = Ipv4Header {
            dscp: IpDscp::try_new(packet.tos >> 2).unwrap_or_default(),
            ecn: IpEcn::try_new(packet.tos & 0b11).unwrap_or_default(),
            identification: self.identification,
            dont_fragment: true,
            time_to_live: 64,
            source: source.octets(),
            destination: destination.octets(),
            ..Ipv4Header::default()
        };
        self.identification = self.identification.wrapping_add(1);
        match packet.transport {
            Transport::Tcp(fields, accecn) => {
                let mut tcp = tcp_header(&fields, accecn, port(packet.flow));
                let headers = IP_HEADER + tcp.header_len() as u32;
                let len = packet.len.clamp(headers, MAX_LEN);
                tcp.checksum = tcp
                    .calc_checksum_ipv4_raw(ip.source, ip.destination, zeros(len - headers))
                    .map_err(io::Error::other)?;
                self.record(packet.at, finish(&mut ip, len, ip_number::TCP), len, &tcp.to_bytes())
            }
            Transport::Udp if packet.len >= IP_HEADER + UDP_HEADER => {
                let len = packet.len.min(MAX_LEN);
                let payload = zeros(len - IP_HEADER - UDP_HEADER);
                let udp = UdpHeader::with_ipv4_checksum(
                    port(packet.flow),
                    port(packet.flow),
                    finish(&mut ip, len, ip_number::UDP),
                    payload,
                )
                .map_err(io::Error::other)?;
                self.record(packet.at, &ip, len, &udp.to_bytes())
            }
            Transport::Udp => {
                let len = packet.len.max(IP_HEADER);
                self.record(packet.at, finish(&mut ip, len, IpNumber(253)), len, &[])
            }
        }
    }

    /// Flushes `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn record(&mut self, at: Time, ip: &Ipv4Header, len: u32, transport: &[u8]) -> io::Result<()> {
        let nanos = at.as_nanos();
        let kept = IP_HEADER + transport.len() as u32;
        for field in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, kept, len] {
            self.out.write_all(&field.to_le_bytes())?;
        }
        self.out.write_all(&ip.to_bytes())?;
        self.out.write_all(transport)
    }
}

/// Address of a node: 10.0.0.0 and its number.
pub fn address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits((10 << 24) | (node & 0x00ff_ffff))
}

/// Port of a flow, in the range that is free of services (RFC 6335, section 6).
pub fn port(flow: u32) -> u16 {
    49_152 + (flow % 16_384) as u16
}

/// Completes the header: length, protocol and checksum.
fn finish(ip: &mut Ipv4Header, len: u32, protocol: IpNumber) -> &Ipv4Header {
    ip.total_len = len as u16;
    ip.protocol = protocol;
    ip.header_checksum = ip.calc_header_checksum();
    ip
}

fn zeros(len: u32) -> &'static [u8] {
    &ZEROS[..len as usize]
}

fn tcp_header(fields: &Tcp, accecn: Option<AccEcnOption>, port: u16) -> TcpHeader {
    let is = |bit: u16| fields.flags & bit != 0;
    let mut tcp = TcpHeader::new(port, port, fields.seq, fields.window);
    tcp.acknowledgment_number = fields.ack;
    (tcp.fin, tcp.syn, tcp.rst, tcp.psh) = (is(0x01), is(0x02), is(0x04), is(0x08));
    (tcp.ack, tcp.urg, tcp.ece, tcp.cwr) = (is(0x10), is(0x20), is(0x40), is(0x80));
    tcp.ns = is(0x100);
    match accecn {
        Some(accecn) => {
            let raw = packed_options(fields, accecn, tcp.syn);
            tcp.set_options_raw(&raw).expect("at most 40 bytes of options");
        }
        None => set_options(&mut tcp, fields),
    }
    tcp
}

/// Options in Linux's order and with its padding.
fn set_options(tcp: &mut TcpHeader, fields: &Tcp) {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let mut options = [const { Noop }; 8];
    let mut used = 0;
    let mut add = |elements: &[TcpOptionElement]| {
        options[used..used + elements.len()].clone_from_slice(elements);
        used += elements.len();
    };
    if tcp.syn {
        add(&[MaximumSegmentSize(MSS)]);
    }
    match (tcp.syn, fields.timestamps) {
        (true, Some((value, echo))) => {
            add(&[SelectiveAcknowledgementPermitted, Timestamp(value, echo)]);
        }
        (true, None) => add(&[Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, Some((value, echo))) => add(&[Noop, Noop, Timestamp(value, echo)]),
        (false, None) => {}
    }
    if tcp.syn {
        add(&[Noop, WindowScale(WINDOW_SCALE)]);
    } else if let [first, more @ ..] = fields.sack.as_slice() {
        let more = [more.first().copied(), more.get(1).copied(), None];
        add(&[Noop, Noop, SelectiveAcknowledgement(*first, more)]);
    }
    tcp.set_options(&options[..used]).expect("at most 40 bytes of options");
}

/// Options if there is an AccECN option: without gaps, because room is short.
fn packed_options(fields: &Tcp, accecn: AccEcnOption, syn: bool) -> Vec<u8> {
    let mut raw = Vec::with_capacity(40);
    if syn {
        raw.extend([2, 4]);
        raw.extend(MSS.to_be_bytes());
        raw.extend([4, 2, 3, 3, WINDOW_SCALE]);
    }
    if let Some((value, echo)) = fields.timestamps {
        raw.extend([8, 10]);
        [value, echo].iter().for_each(|stamp| raw.extend(stamp.to_be_bytes()));
    }
    let blocks = fields.sack.as_slice();
    if !blocks.is_empty() {
        raw.extend([5, 2 + 8 * blocks.len() as u8]);
    }
    let edges = blocks.iter().flat_map(|&(start, end)| [start, end]);
    edges.for_each(|edge| raw.extend(edge.to_be_bytes()));
    let AccEcnOption { e0b, ceb, e1b, order, fields: count } = accecn;
    let counters = if order == 0 { [e0b, ceb, e1b] } else { [e1b, ceb, e0b] };
    raw.extend([172 + 2 * order, 2 + 3 * count]);
    counters[..usize::from(count)].iter().for_each(|told| raw.extend(&told.to_be_bytes()[1..]));
    raw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap_in::{FiveTuple, read_capture};
    use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
    use forebay_core::Duration;
    use forebay_core::tcp::SackBlocks;

    fn packet(millis: u64, len: u32, transport: Transport) -> WrittenPacket {
        let at = Time::ZERO + Duration::from_millis(millis);
        WrittenPacket { at, len, tos: 0xba, from: 1, to: 258, flow: 3, transport }
    }

    fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|(left, right)| sack.push(*left, *right));
        sack
    }

    fn written(packets: &[WrittenPacket]) -> Vec<u8> {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        packets.iter().for_each(|packet| writer.write(packet).unwrap());
        writer.out
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let tcp = Transport::Tcp(Tcp { flags: 0x10, ..Tcp::default() }, None);
        let capture = read_capture(&written(&[
            packet(2, 1500, tcp),
            packet(3, 200, Transport::Udp),
            packet(1003, 27, Transport::Udp),
            packet(1004, 7, Transport::Udp),
        ]))
        .unwrap();
        let seen: Vec<_> = capture
            .packets
            .iter()
            .map(|packet| (packet.at_nanos / 1_000_000, packet.len, packet.tuple.protocol))
            .collect();
        assert_eq!(seen, [(0, 1500, 6), (1, 200, 17), (1001, 27, 253), (1002, 20, 253)]);
        assert_eq!(capture.packets[1].dscp, 46);
        let expected = FiveTuple {
            source: "10.0.0.1".parse().unwrap(),
            destination: "10.0.1.2".parse().unwrap(),
            protocol: 17,
            ports: Some((49_155, 49_155)),
        };
        assert_eq!(capture.packets[1].tuple, expected);
    }

    #[test]
    fn headers_are_those_of_the_segment() {
        let fields = Tcp {
            seq: 1_000_000,
            ack: 77,
            flags: 0x50,
            window: 10_000,
            timestamps: Some((5, 6)),
            sack: sack(&[(10, 20), (30, 40)]),
            ..Tcp::default()
        };
        // 24-byte file header, 16-byte record header; options: 12 of timestamps, 20 of SACK.
        let bytes = written(&[packet(0, 72, Transport::Tcp(fields, None))]);
        assert_eq!(bytes.len(), 24 + 16 + 72);
        let ip = Ipv4HeaderSlice::from_slice(&bytes[40..]).unwrap();
        assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        assert_eq!((ip.total_len(), ip.dcp().value(), ip.ecn().value()), (72, 46, 2));
        let tcp = TcpHeaderSlice::from_slice(&bytes[60..]).unwrap();
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (1_000_000, 77));
        assert_eq!(tcp.window_size(), 10_000);
        assert!(tcp.ack() && tcp.ece() && !tcp.syn() && !tcp.cwr());
        let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        use TcpOptionElement::{Noop, SelectiveAcknowledgement, Timestamp};
        let sack = SelectiveAcknowledgement((10, 20), [Some((30, 40)), None, None]);
        assert_eq!(options, [Noop, Noop, Timestamp(5, 6), Noop, Noop, sack]);
    }

    #[test]
    fn an_accecn_option_lies_close_to_the_others() {
        let fields = Tcp {
            flags: 0x150,
            timestamps: Some((5, 6)),
            sack: sack(&[(10, 20)]),
            ..Tcp::default()
        };
        let accecn = AccEcnOption { e0b: 1, ceb: 0x01_0203, e1b: 1448, order: 1, fields: 2 };
        // 10 of timestamps, 10 of SACK, 8 of the option.
        let bytes = written(&[packet(0, 68, Transport::Tcp(fields, Some(accecn)))]);
        assert_eq!(bytes.len(), 24 + 16 + 68);
        let tcp = TcpHeaderSlice::from_slice(&bytes[60..]).unwrap();
        assert!(tcp.ns() && tcp.ece() && !tcp.cwr());
        assert_eq!(tcp.options()[20..], [174, 8, 0, 0x05, 0xa8, 1, 2, 3]);
    }

    #[test]
    fn checksums_are_right_by_the_definition() {
        // RFC 1071: with its checksum in place, the one's complement sum of the data is all ones.
        let sum = |data: &[u8], start: u32| {
            let mut sum = data.chunks(2).fold(start, |sum, pair| {
                sum + u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0))
            });
            while sum > 0xffff {
                sum = (sum >> 16) + (sum & 0xffff);
            }
            sum
        };
        let fields = Tcp { seq: 9, flags: 0x12, ..Tcp::default() };
        let bytes = written(&[packet(0, 552, Transport::Tcp(fields, None))]);
        assert_eq!(sum(&bytes[40..60], 0), 0xffff);
        // Pseudo-header: addresses 10.0.0.1 and 10.0.1.2, protocol 6, length 532.
        let pseudo = 0x0a00 + 0x0001 + 0x0a00 + 0x0102 + 6 + 532;
        assert_eq!(sum(&bytes[60..], pseudo), 0xffff);
    }

    #[test]
    fn a_syn_with_everything_and_the_longest_acknowledgment_fit() {
        let sack = sack(&[(1, 2); 3]);
        let longest = Tcp { flags: 0x10, timestamps: Some((1, 2)), sack, ..Tcp::default() };
        let syn = Tcp { flags: 0x02, ..longest };
        for (fields, len) in [(longest, 80), (syn, 60)] {
            let bytes = written(&[packet(0, 40, Transport::Tcp(fields, None))]);
            assert_eq!(bytes.len(), 40 + len);
        }
    }
}
