//! Reads packet captures, pcap and pcapng, and keeps the properties of packets that queues see.
//!
//! Link types: Ethernet with or without VLAN tags, raw IP, Linux cooked (versions 1 and 2). A
//! packet counts with the length in its IP header, however much of it the capture contains. If the
//! header has no length, it counts with that of the captured frame: the host passed such a packet
//! to its network card to be split there. These packets are longer than any link carries. To avoid
//! them, record after the card, or without its offloads (`ethtool -K DEVICE tso off gso off gro
//! off`).
//!
//! [`read_segments`] also keeps what the headers of TCP, UDP and ICMP say, for programs that measure.
//!
//! Packets are sorted by time, because a capture of several queues or interfaces may be slightly
//! out of order, but not by more than [`MOST_BACK`]. Anything that is not IP is skipped.

use crate::input;
use etherparse::{LaxIpSlice, TcpOptionElement, TcpSlice};
use pcap_parser::{Block, InterfaceDescriptionBlock, Linktype, PcapError, PcapHeader, nom};
use std::io;
use std::net::IpAddr;
use std::path::Path;

/// One captured IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Nanoseconds since the capture's first packet.
    pub at_nanos: u64,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Addresses, protocol and ports, which identify the flow.
    pub tuple: FiveTuple,
}

/// Addresses, protocol and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Source and destination port; None for fragments and for protocols without ports.
    pub ports: Option<(u16, u16)>,
}

/// The IP packets of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The packets, sorted by time.
    pub packets: Vec<CapturedPacket>,
    /// Number of packets of any kind, IP or not.
    pub recorded: usize,
    /// Time from the first packet of any kind to the last, in nanoseconds.
    pub span_nanos: u64,
}

/// What the headers of a packet say above IP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// ECN codepoint, 0 to 3.
    pub ecn: u8,
    /// TCP's flags as in its header, FIN being the lowest bit; the type of an ICMP message.
    pub flags: u8,
    /// Bytes of payload on the wire, whatever the capture holds of them.
    pub payload: u32,
    /// TCP's sequence number; the number of an echo; the first four bytes of a
    /// datagram.
    pub seq: u32,
    /// TCP's acknowledgment number; the identifier of an echo; bytes 9 to 12 of a
    /// datagram, where the lab's have their number.
    pub ack: u32,
    /// TSval and TSecr (RFC 7323), if the segment has them.
    pub timestamps: Option<(u32, u32)>,
    /// The first block of SACK (RFC 2018), which tells what arrived last.
    pub sack: Option<(u32, u32)>,
    /// Whether the capture cuts the header above IP, so that most of this is not known.
    pub cut: bool,
}

/// Reads the capture file whose content is `bytes`.
///
/// # Errors
/// The file is empty, not a capture, cut off, of an unknown link type, without timestamps, or
/// without any IP packet, or goes back in time by more than [`MOST_BACK`]. The message says what to
/// do.
pub fn read_capture(bytes: &[u8]) -> Result<Capture, String> {
    let Kept { packets, recorded, span_nanos, .. } = read(bytes, |_, packet| packet)?;
    let packets =
        packets.into_iter().map(|(at_nanos, packet)| CapturedPacket { at_nanos, ..packet });
    Ok(Capture { packets: packets.collect(), recorded, span_nanos })
}

/// Reads a capture file as [`read_capture`] does, with the headers above IP; and the time of its
/// first packet of any kind, in nanoseconds since 1970.
///
/// # Errors
/// As [`read_capture`].
pub fn read_segments(bytes: &[u8]) -> Result<(Vec<(CapturedPacket, Segment)>, i128), String> {
    let kept = read(bytes, |ip, packet| (packet, segment(ip, &packet)))?;
    let packets = kept.packets.into_iter();
    let packets = packets
        .map(|(at_nanos, (packet, segment))| (CapturedPacket { at_nanos, ..packet }, segment));
    Ok((packets.collect(), kept.earliest))
}

/// The content of a capture file, unpacked if gzip packed it.
///
/// # Errors
/// It is no regular file, larger than [`LARGEST`], or cannot be read.
pub fn load(path: &Path) -> io::Result<Vec<u8>> {
    input::read(path, LARGEST)
}

/// What is kept of a capture.
struct Kept<T> {
    /// Nanoseconds since the first packet of any kind and what is kept of each IP packet, in order.
    packets: Vec<(u64, T)>,
    /// Packets of any kind.
    recorded: usize,
    /// Time of the first of them.
    earliest: i128,
    span_nanos: u64,
}

fn read<T>(
    bytes: &[u8],
    keep: impl Fn(&LaxIpSlice, CapturedPacket) -> T,
) -> Result<Kept<T>, String> {
    let mut packets: Vec<(i128, T)> = Vec::new();
    let mut keep = |at: i128, data: &[u8], len: u32| {
        if let Some((ip, packet)) = ip_packet(data, len) {
            packets.push((at, keep(&ip, packet)));
        }
    };
    let mut frames =
        Frames { keep: &mut keep, recorded: 0, earliest: None, latest: 0, back: (0, 0), short: 0 };
    match bytes {
        [] => return Err("is empty; record it again".into()),
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => read_pcapng(bytes, &mut frames)?,
        [0x1f, 0x8b, ..] => return Err("is compressed; unpack it with gunzip first".into()),
        _ => read_pcap(bytes, &mut frames)?,
    }
    let Frames { recorded, earliest, latest, back, short, .. } = frames;
    let Some(earliest) = earliest else {
        return Err("holds no packets; record it again".into());
    };
    if packets.is_empty() && 2 * short > recorded {
        return Err(CUT_HEADERS.into());
    }
    if packets.is_empty() {
        return Err(format!(
            "holds {recorded} packets, but none of IPv4 or IPv6; record with the filter \"ip or ip6\""
        ));
    }
    let (back, number) = back;
    if back > MOST_BACK {
        return Err(format!(
            "goes back in time: packet {number} is {:.3} s before an earlier one; if the clock was \
             set, keep one side (`editcap -r FILE PART 1-{}`), otherwise sort it (`reordercap FILE \
             SORTED`)",
            back as f64 / 1e9,
            number - 1
        ));
    }
    let since = |at: i128| u64::try_from(at - earliest).unwrap_or(u64::MAX);
    let mut packets: Vec<_> = packets.into_iter().map(|(at, packet)| (since(at), packet)).collect();
    packets.sort_by_key(|(at, _)| *at);
    Ok(Kept { packets, recorded, earliest, span_nanos: since(latest) })
}

/// The packets of a file, with absolute times.
struct Frames<'a> {
    /// Called with the time, the IP packet as far as it was recorded, and its length on the link.
    keep: &'a mut dyn FnMut(i128, &[u8], u32),
    recorded: usize,
    earliest: Option<i128>,
    latest: i128,
    /// By how much times go back, in nanoseconds, and the number of that packet, from 1.
    back: (i128, usize),
    /// Frames of which less than an IP header was recorded, although they were longer.
    short: usize,
}

impl Frames<'_> {
    fn add(&mut self, at: i128, link: Linktype, frame_len: u32, data: &[u8]) -> Result<(), String> {
        self.recorded += 1;
        self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
        self.latest = if self.recorded == 1 { at } else { self.latest.max(at) };
        if self.latest - at > self.back.0 {
            self.back = (self.latest - at, self.recorded);
        }
        if data.len() < LEAST_HEADERS && (data.len() as u32) < frame_len {
            self.short += 1;
        }
        if let Some(offset) = ip_offset(link, data)? {
            (self.keep)(at, &data[offset..], frame_len - offset as u32);
        }
        Ok(())
    }

    fn parse_error(&self, error: nom::Err<PcapError<&[u8]>>) -> String {
        match error {
            nom::Err::Incomplete(_) => self.cut_off(),
            _ => self.damaged(),
        }
    }

    fn cut_off(&self) -> String {
        format!(
            "is cut off after {} packets; `editcap FILE WHOLE.pcapng` keeps the whole ones",
            self.recorded
        )
    }

    fn damaged(&self) -> String {
        format!(
            "is damaged after {} packets; `editcap FILE WHOLE.pcapng` keeps the whole ones",
            self.recorded
        )
    }
}

/// Largest file in bytes. It is held in memory while it is read.
pub const LARGEST: u64 = 1 << 30;

/// By how much times may go back, in nanoseconds: a clock that is set makes a gap of that length.
pub const MOST_BACK: i128 = 1_000_000_000;

/// Bytes of the headers of Ethernet and IPv4.
const LEAST_HEADERS: usize = 34;

/// What is wrong if headers were not recorded.
pub const CUT_HEADERS: &str =
    "holds so little of each packet that headers are cut; record it with `tcpdump -s 120`";

const NOT_A_CAPTURE: &str = "is neither pcap nor pcapng; if another program's capture, convert it \
                             with `editcap FILE CONVERTED.pcapng`";

fn read_pcap(bytes: &[u8], frames: &mut Frames<'_>) -> Result<(), String> {
    let (mut rest, header): (_, PcapHeader) =
        pcap_parser::parse_pcap_header(bytes).map_err(|error| match error {
            nom::Err::Incomplete(_) if bytes.len() >= 4 => {
                "is cut off within its header; record it again".to_owned()
            }
            _ => NOT_A_CAPTURE.to_owned(),
        })?;
    let parse = if header.is_bigendian() {
        pcap_parser::parse_pcap_frame_be
    } else {
        pcap_parser::parse_pcap_frame
    };
    let unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
    // The upper bits hold the length of a frame check sequence, if any.
    let link = Linktype(header.network.0 & 0xffff);
    while !rest.is_empty() {
        let (next, frame) = parse(rest).map_err(|error| frames.parse_error(error))?;
        let at = i128::from(frame.ts_sec) * 1_000_000_000 + i128::from(frame.ts_usec) * unit;
        frames.add(at, link, frame.origlen.max(frame.caplen), frame.data)?;
        rest = next;
    }
    Ok(())
}

/// An interface: its link type and clock.
struct Interface {
    link: Linktype,
    /// Units of its timestamps per second.
    resolution: u128,
    offset_secs: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock) -> Result<Self, String> {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        // The bound lets 64-bit timestamps times 10^9 fit into 128 bits.
        let resolution = base.checked_pow(exponent).filter(|units| *units <= 1 << 64);
        Ok(Interface {
            link: block.linktype,
            resolution: resolution.ok_or_else(|| {
                format!("states a time resolution of {base}^-{exponent} s, which is not usable")
            })?,
            offset_secs: block.if_tsoffset,
        })
    }

    fn nanos(&self, high: u32, low: u32) -> i128 {
        let units = (u128::from(high) << 32) | u128::from(low);
        (units * 1_000_000_000 / self.resolution) as i128
            + i128::from(self.offset_secs) * 1_000_000_000
    }
}

/// The types of blocks that are read. Others are skipped.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

fn read_pcapng(bytes: &[u8], frames: &mut Frames<'_>) -> Result<(), String> {
    let mut rest = bytes;
    let mut interfaces = Vec::new();
    let mut big_endian = false;
    while !rest.is_empty() {
        let (kind, len) = block_extent(rest, &mut big_endian, frames)?;
        let (block, next) = rest.split_at_checked(len).ok_or_else(|| frames.cut_off())?;
        rest = next;
        match kind {
            SECTION_HEADER => interfaces.clear(),
            INTERFACE_DESCRIPTION => {
                let Block::InterfaceDescription(block) = parse(block, big_endian, frames)? else {
                    return Err(frames.damaged());
                };
                interfaces.push(Interface::new(&block)?);
            }
            ENHANCED_PACKET => {
                let Block::EnhancedPacket(packet) = parse(block, big_endian, frames)? else {
                    return Err(frames.damaged());
                };
                let Some(interface) = interfaces.get(packet.if_id as usize) else {
                    return Err(format!(
                        "is damaged: packet {} is of interface {}, which it does not describe",
                        frames.recorded, packet.if_id
                    ));
                };
                let at = interface.nanos(packet.ts_high, packet.ts_low);
                let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                frames.add(at, interface.link, packet.origlen.max(packet.caplen), data)?;
            }
            SIMPLE_PACKET => {
                return Err("holds packets without timestamps, which cannot be replayed; record \
                            it with tcpdump or dumpcap"
                    .into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Type and length of the first block. A section header says which byte order its words have.
///
/// The parser computes with the lengths that a block states, and overflows for some of them. So it
/// gets only lengths that fit.
fn block_extent(
    bytes: &[u8],
    big_endian: &mut bool,
    frames: &Frames,
) -> Result<(u32, usize), String> {
    let word = |at: usize, big: bool| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        let word: [u8; 4] = word.ok_or_else(|| frames.cut_off())?;
        Ok::<_, String>(if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    };
    let kind = word(0, *big_endian)?;
    if kind == SECTION_HEADER {
        // The byte-order magic.
        *big_endian = match word(8, true)? {
            0x1a2b_3c4d => true,
            0x4d3c_2b1a => false,
            _ => return Err(frames.damaged()),
        };
    }
    let len = word(4, *big_endian)?;
    // A block has its type and two lengths, and that of a packet five more words before the data.
    let least = if kind == ENHANCED_PACKET { 32 } else { 12 };
    if len < least || (kind == ENHANCED_PACKET && word(20, *big_endian)? > len - least) {
        return Err(frames.damaged());
    }
    Ok((kind, len as usize))
}

fn parse<'a>(block: &'a [u8], big_endian: bool, frames: &Frames) -> Result<Block<'a>, String> {
    let parse = if big_endian { pcap_parser::parse_block_be } else { pcap_parser::parse_block_le };
    // The block is complete, so if the parser needs more, the block is damaged.
    parse(block).map(|(_, block)| block).map_err(|_| frames.damaged())
}

/// Offset of the IP packet in a frame of this link type. None if it is not IP.
fn ip_offset(link: Linktype, data: &[u8]) -> Result<Option<usize>, String> {
    let (mut type_at, mut offset) = match link {
        Linktype::ETHERNET => (12, 14),
        Linktype::LINUX_SLL => (14, 16),
        Linktype::LINUX_SLL2 => (0, 20),
        // Raw IP, under its number and under two that some systems write into files.
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) | Linktype(14) => {
            return Ok(Some(0));
        }
        Linktype(number) => {
            return Err(format!(
                "is of link type {number}; those understood are Ethernet (1), raw IP (101), \
                 and Linux cooked (113, 276)"
            ));
        }
    };
    let ether_type = |at: usize| Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]));
    // IEEE 802.1Q and 802.1ad tags, and the number used for the latter before there was one.
    while matches!(ether_type(type_at), Some(0x8100 | 0x88a8 | 0x9100)) {
        (type_at, offset) = (offset + 2, offset + 4);
    }
    let is_ip = matches!(ether_type(type_at), Some(0x0800 | 0x86dd));
    Ok(Some(offset).filter(|offset| is_ip && *offset <= data.len()))
}

/// Longest packet that is accepted if the header has no length, in bytes: more than network cards
/// split (with "big TCP", some hundreds of kB).
const LONGEST: u32 = 1 << 20;

/// Reads the headers of the IP packet at the beginning of `data`, which had `len` bytes on the
/// link. None if they are damaged or cut off.
fn ip_packet(data: &[u8], len: u32) -> Option<(LaxIpSlice<'_>, CapturedPacket)> {
    let (ip, _) = LaxIpSlice::from_slice(data).ok()?;
    let (stated, dscp) = match &ip {
        LaxIpSlice::Ipv4(packet) => {
            (u32::from(packet.header().total_len()), packet.header().dcp().value())
        }
        LaxIpSlice::Ipv6(packet) => {
            let payload = u32::from(packet.header().payload_length());
            (if payload == 0 { 0 } else { payload + 40 }, packet.header().dscp().value())
        }
    };
    let protocol = ip.payload_ip_number().0;
    // TCP, UDP, DCCP, SCTP and UDP-Lite begin with their ports.
    let has_ports = matches!(protocol, 6 | 17 | 33 | 132 | 136) && !ip.is_fragmenting_payload();
    let ports = match ip.payload().payload {
        [a, b, c, d, ..] if has_ports => {
            Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
        }
        _ => None,
    };
    let len = if stated == 0 { len } else { stated };
    let packet = CapturedPacket {
        at_nanos: 0,
        len,
        dscp,
        tuple: FiveTuple {
            source: ip.source_addr(),
            destination: ip.destination_addr(),
            protocol,
            ports,
        },
    };
    (len <= LONGEST).then_some((ip, packet))
}

/// What the headers above IP say; zeros if they were not recorded.
fn segment(ip: &LaxIpSlice, packet: &CapturedPacket) -> Segment {
    let (ecn, header) = match ip {
        LaxIpSlice::Ipv4(each) => (each.header().ecn().value(), each.header().slice().len()),
        LaxIpSlice::Ipv6(each) => (each.header().ecn().value(), 40),
    };
    let data = ip.payload().payload;
    let rest = packet.len.saturating_sub(header as u32);
    let word = |at: usize| {
        let word = data.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_be_bytes)
    };
    let mut found = Segment { ecn, payload: rest, ..Segment::default() };
    match (packet.tuple.protocol, packet.tuple.ports) {
        (6, Some(_)) => {
            let Ok(tcp) = TcpSlice::from_slice(data) else { return Segment { cut: true, ..found } };
            (found.seq, found.ack) = (tcp.sequence_number(), tcp.acknowledgment_number());
            found.flags = data[13];
            found.payload = rest.saturating_sub(u32::from(tcp.data_offset()) * 4);
            for option in tcp.options_iterator().map_while(Result::ok) {
                match option {
                    TcpOptionElement::Timestamp(value, echo) => {
                        found.timestamps = Some((value, echo));
                    }
                    TcpOptionElement::SelectiveAcknowledgement(first, _) => {
                        found.sack = Some(first);
                    }
                    _ => {}
                }
            }
        }
        // Not even the ports.
        (6, None) if !ip.is_fragmenting_payload() => found.cut = true,
        (17, Some(_)) => {
            found.payload = rest.saturating_sub(8);
            (found.seq, found.ack) = (word(8), word(16));
        }
        (1 | 58, _) => {
            found.flags = data.first().copied().unwrap_or_default();
            found.payload = rest.saturating_sub(8);
            (found.seq, found.ack) = (word(4) & 0xffff, word(4) >> 16);
        }
        _ => {}
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const ETHERNET: u32 = 1;

    /// The 40 bytes of an IPv4 and a TCP header, without checksums.
    pub(crate) fn ipv4_tcp(len: u16, dscp: u8, source: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
        let mut packet = vec![0x45, dscp << 2, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet.extend(source);
        packet.extend([10, 9, 9, 9]);
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        packet
    }

    fn ipv6_udp(payload: u16, dscp: u8, ports: (u16, u16)) -> Vec<u8> {
        let mut packet = vec![0x60 | (dscp >> 2), dscp << 6, 0, 0, 0, 0, 17, 64];
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
        packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend([0, 20, 0, 0]);
        packet
    }

    fn ethernet(tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for tag in tags {
            frame.extend(0x8100_u16.to_be_bytes());
            frame.extend(tag.to_be_bytes());
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// A pcap file with microseconds: (microseconds, length on the link, data) each.
    pub(crate) fn pcap(link: u32, frames: &[(u64, u32, Vec<u8>)]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link] {
            file.extend(u32::to_le_bytes(word));
        }
        for (micros, len, data) in frames {
            let (secs, rest) = (micros / 1_000_000, micros % 1_000_000);
            for word in [secs as u32, rest as u32, data.len() as u32, *len] {
                file.extend(word.to_le_bytes());
            }
            file.extend(data);
        }
        file
    }

    fn lens(capture: &Capture) -> Vec<u32> {
        capture.packets.iter().map(|packet| packet.len).collect()
    }

    fn error(bytes: &[u8]) -> String {
        read_capture(bytes).unwrap_err()
    }

    #[test]
    fn ethernet_with_tags_padding_and_strangers() {
        let tcp = |len| ipv4_tcp(len, 46, [10, 1, 2, 3], (1234, 80));
        let capture = read_capture(&pcap(
            ETHERNET,
            &[
                // An ARP request begins the capture.
                (1_000_000, 60, ethernet(&[], 0x0806, &[0; 46])),
                // Cut off by the snap length: 1500 bytes of IP were on the link.
                (1_000_500, 1514, ethernet(&[], 0x0800, &tcp(1500))),
                // A short packet, padded to the least Ethernet frame.
                (1_000_700, 60, ethernet(&[], 0x0800, &tcp(40))),
                (1_001_000, 522, ethernet(&[7, 8], 0x0800, &tcp(500))),
                (1_002_000, 82, ethernet(&[9], 0x86dd, &ipv6_udp(20, 34, (5004, 5005)))),
                // Its header has no length, because the network card was to split it.
                (1_003_000, 2934, ethernet(&[], 0x0800, &tcp(0))),
                // Longer than any packet can be.
                (1_004_000, u32::MAX, ethernet(&[], 0x0800, &tcp(0))),
            ],
        ))
        .unwrap();
        assert_eq!(lens(&capture), [1500, 40, 500, 60, 2920]);
        assert_eq!((capture.recorded, capture.span_nanos), (7, 4_000_000));
        let first = capture.packets[0];
        assert_eq!((first.at_nanos, first.dscp), (500_000, 46));
        assert_eq!(first.tuple.ports, Some((1234, 80)));
        assert_eq!(first.tuple.source, IpAddr::from([10, 1, 2, 3]));
        let sixth = capture.packets[3];
        assert_eq!((sixth.dscp, sixth.tuple.protocol), (34, 17));
        assert_eq!(sixth.tuple.ports, Some((5004, 5005)));
        assert_eq!(sixth.tuple.destination, "2001:db8::2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn cooked_and_raw_link_types() {
        let ip = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
        let cooked = [&[0; 14][..], &[8, 0], &ip].concat();
        let cooked2 = [&[8, 0][..], &[0; 18], &ip].concat();
        for (link, data) in [(101, &ip), (228, &ip), (12, &ip), (113, &cooked), (276, &cooked2)] {
            let file = pcap(link, &[(0, 200, data.clone())]);
            assert_eq!(lens(&read_capture(&file).unwrap()), [100], "link type {link}");
        }
        let alien = pcap(105, &[(0, 200, ip)]);
        assert!(error(&alien).contains("link type 105"), "{}", error(&alien));
    }

    #[test]
    fn big_endian_nanoseconds_and_disorder() {
        let data = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d, 0x0002_0004, 0, 0, 65_535, 101] {
            file.extend(u32::to_be_bytes(word));
        }
        for nanos in [5, 9, 7] {
            for word in [1, nanos, data.len() as u32, 100] {
                file.extend(word.to_be_bytes());
            }
            file.extend(&data);
        }
        let capture = read_capture(&file).unwrap();
        let times: Vec<_> = capture.packets.iter().map(|packet| packet.at_nanos).collect();
        assert_eq!((times, capture.span_nanos), (vec![0, 2, 4], 4));
    }

    #[test]
    fn fragments_have_no_ports() {
        let mut data = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
        data[6] = 0x20;
        let capture = read_capture(&pcap(101, &[(0, 100, data)])).unwrap();
        assert_eq!(capture.packets[0].tuple.ports, None);
    }

    /// A pcapng block of this type and body.
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let padding = body.len().next_multiple_of(4) - body.len();
        let len = (12 + body.len() + padding) as u32;
        [&kind.to_le_bytes()[..], &len.to_le_bytes(), body, &[0; 4][..padding], &len.to_le_bytes()]
            .concat()
    }

    fn section() -> Vec<u8> {
        let body = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        block(0x0a0d_0d0a, &body)
    }

    /// An interface with its time resolution.
    fn interface(link: u16, resolution: u8) -> Vec<u8> {
        let head = [&link.to_le_bytes()[..], &[0, 0], &[0, 0, 1, 0]].concat();
        let option = [9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0];
        block(1, &[&head[..], &option].concat())
    }

    fn enhanced(interface: u32, units: u64, len: u32, data: &[u8]) -> Vec<u8> {
        let words = [interface, (units >> 32) as u32, units as u32, data.len() as u32, len];
        let head: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        block(6, &[&head[..], data].concat())
    }

    #[test]
    fn pcapng_with_two_interfaces_of_different_clocks() {
        let ip = ipv4_tcp(1000, 10, [10, 0, 0, 1], (1, 2));
        let file = [
            section(),
            interface(101, 9),
            interface(1, 0x80 | 10),
            enhanced(0, 2_000_000_000, 1000, &ip),
            // 2.5 s in units of 2^-10 s.
            enhanced(1, 2560, 1014, &ethernet(&[], 0x0800, &ip)),
            block(0x0bad, &[1, 2, 3]),
            enhanced(0, 2_250_000_000, 1000, &ip),
        ]
        .concat();
        let capture = read_capture(&file).unwrap();
        let times: Vec<_> =
            capture.packets.iter().map(|packet| packet.at_nanos / 1_000_000).collect();
        assert_eq!((times, lens(&capture)), (vec![0, 250, 500], vec![1000; 3]));
    }

    #[test]
    fn files_that_are_no_use_say_why_and_what_to_do() {
        let ip = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
        let whole = pcap(101, &[(0, 100, ip.clone()), (1, 100, ip.clone())]);
        assert!(error(b"").contains("is empty"));
        assert!(error(b"time,length\n0.1,1500\n").contains("neither pcap nor pcapng"));
        assert!(error(&[0x1f, 0x8b, 8, 0]).contains("gunzip"));
        assert!(error(&whole[..10]).contains("cut off within its header"));
        let cut = error(&whole[..whole.len() - 1]);
        assert!(cut.contains("cut off after 1 packets") && cut.contains("editcap"), "{cut}");
        assert!(error(&pcap(101, &[])).contains("no packets"));
        let arp = pcap(ETHERNET, &[(0, 60, ethernet(&[], 0x0806, &[0; 46]))]);
        assert!(error(&arp).contains("1 packets, but none of IPv4 or IPv6"));
        let ng = [section(), interface(101, 9), enhanced(0, 1, 100, &ip)].concat();
        assert!(error(&ng[..ng.len() - 5]).contains("cut off after 0 packets"));
        let simple = [section(), interface(101, 9), block(3, &[&[100, 0, 0, 0][..], &ip].concat())];
        assert!(error(&simple.concat()).contains("without timestamps"));
        let unknown = [section(), enhanced(0, 1, 100, &ip)].concat();
        assert!(error(&unknown).contains("interface 0"));
        for (kind, len) in [(1, 8_u32), (6, 31), (0x8000_0001, 0)] {
            let mut short = block(kind, &[0; 32]);
            short[4..8].copy_from_slice(&len.to_le_bytes());
            let damaged = error(&[section(), short].concat());
            assert!(damaged.contains("damaged after 0 packets"), "{damaged}");
        }
        let mut longer = enhanced(0, 1, 100, &ip);
        longer[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(error(&[section(), interface(101, 9), longer].concat()).contains("damaged"));
        let resolution = [section(), interface(101, 40)].concat();
        assert!(error(&resolution).contains("10^-40"));
    }

    #[test]
    fn a_clock_that_was_set() {
        let ip = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
        let at = |micros: &[u64]| {
            let frames: Vec<_> = micros.iter().map(|at| (*at, 100, ip.clone())).collect();
            pcap(101, &frames)
        };
        assert_eq!(read_capture(&at(&[5, 900_005, 6])).unwrap().packets.len(), 3);
        let message = read_capture(&at(&[2_000_000, 3_000_000, 4])).unwrap_err();
        assert!(message.contains("packet 3 is 3.000 s before"), "{message}");
        assert!(message.contains("PART 1-2"), "{message}");
    }

    #[test]
    fn headers_that_were_not_recorded() {
        let ip = ipv4_tcp(1500, 0, [10, 0, 0, 1], (1, 2));
        let frame = ethernet(&[], 0x0800, &ip);
        let short = pcap(ETHERNET, &[(0, 1514, frame[..20].to_vec())]);
        assert_eq!(read_capture(&short).unwrap_err(), CUT_HEADERS);
    }

    #[test]
    fn headers_above_ip() {
        let mut tcp = ipv4_tcp(1500, 0, [10, 0, 0, 1], (1, 2));
        // 20 bytes of options: padding, timestamps, a block of SACK... of which 12 + 12 fit into 24.
        tcp.truncate(40);
        tcp[1] = 1;
        tcp[32] = 0xb0;
        tcp.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        tcp.extend([1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0]);
        let mut echo = ipv4_tcp(84, 0, [10, 0, 0, 1], (0, 0));
        echo[9] = 1;
        echo[20..28].copy_from_slice(&[8, 0, 0, 0, 0x12, 0x34, 0, 5]);
        let cut = ipv4_tcp(1500, 0, [10, 0, 0, 1], (1, 2))[..30].to_vec();
        let file = pcap(101, &[(0, 1500, tcp), (1, 84, echo), (2, 1500, cut)]);
        let found: Vec<_> =
            read_segments(&file).unwrap().0.into_iter().map(|(_, segment)| segment).collect();
        let first = Segment {
            ecn: 1,
            flags: 0x10,
            payload: 1500 - 20 - 44,
            seq: 1,
            ack: 0,
            timestamps: Some((7, 9)),
            sack: Some((256, 512)),
            cut: false,
        };
        assert_eq!(found[0], first);
        let echo = Segment { flags: 8, payload: 56, seq: 5, ack: 0x1234, ..Segment::default() };
        assert_eq!(found[1], echo);
        assert_eq!(found[2], Segment { payload: 1480, cut: true, ..Segment::default() });
    }

    proptest::proptest! {
        #[test]
        fn damage_is_never_fatal(at in 0_usize..300, byte: u8, cut in 0_usize..400) {
            let ip = ipv4_tcp(100, 0, [10, 0, 0, 1], (1, 2));
            let legacy = pcap(ETHERNET, &[
                (0, 114, ethernet(&[1], 0x0800, &ip)),
                (9, 74, ethernet(&[], 0x86dd, &ipv6_udp(20, 0, (1, 2)))),
            ]);
            let ng = [section(), interface(1, 9), enhanced(0, 1, 100, &ip)].concat();
            for mut file in [legacy, ng] {
                let at = at % file.len();
                file[at] = byte;
                file.truncate(cut);
                let whole = read_capture(&file).map(|capture| capture.packets.len());
                proptest::prop_assert_eq!(whole, read_segments(&file).map(|each| each.0.len()));
            }
        }
    }
}
