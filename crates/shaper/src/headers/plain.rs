//! Headers of the usual packets, at the least cost: TCP and UDP directly in IPv4 without options or in
//! IPv6, behind Ethernet with up to two VLAN tags, all lengths right.
//!
//! The general reader moves a description of every layer, which costs as much as the rest of the gate.
//! Whatever is unusual is left to it, and for what is read here, it says the same (a test).

use super::{Frame, IpView, Layer};
use etherparse::ip_number;
use forebay_core::PacketKind;
use forebay_core::tcp::flags;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ethernet types.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// The two bytes at `at`.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

/// The frame in `bytes`. None if it is unusual.
#[inline]
pub fn read(bytes: &[u8], layer: Layer) -> Option<Frame> {
    let (at, version) = match layer {
        Layer::Ip => (0, bytes.first()? >> 4),
        Layer::Ethernet => {
            let mut at = 14;
            let mut kind = word(bytes, 12)?;
            while TAGS.contains(&kind) && at < 22 {
                kind = word(bytes, at + 2)?;
                at += 4;
            }
            match kind {
                IPV4 => (at, 4),
                IPV6 => (at, 6),
                _ => return None,
            }
        }
    };
    let packet = bytes.get(at..)?;
    match version {
        4 => four(packet, at),
        6 => six(packet, at),
        _ => None,
    }
}

/// The IPv4 packet that begins at `at`, in the bytes from there on.
#[inline]
fn four(packet: &[u8], at: usize) -> Option<Frame> {
    let (header, _) = packet.split_first_chunk::<20>()?;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // Version and length; neither a fragment nor followed by any.
    if header[0] != 0x45 || header[6] & 0x3f != 0 || header[7] != 0 {
        return None;
    }
    let address = |from: usize| -> IpAddr {
        Ipv4Addr::new(header[from], header[from + 1], header[from + 2], header[from + 3]).into()
    };
    let tos = header[1];
    transport(packet.get(..len)?, 20, header[9], |protocol| {
        view(at, 4, len, tos, address(12), address(16), protocol)
    })
}

/// The IPv6 packet that begins at `at`, in the bytes from there on.
#[inline]
fn six(packet: &[u8], at: usize) -> Option<Frame> {
    let (header, _) = packet.split_first_chunk::<40>()?;
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // A length of zero stands for a longer one.
    if header[0] >> 4 != 6 || payload == 0 {
        return None;
    }
    let address = |from: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = header[from..from + 16].try_into().ok()?;
        Some(Ipv6Addr::from(octets).into())
    };
    let (source, destination) = (address(8)?, address(24)?);
    let (len, tos) = (40 + payload, header[0] << 4 | header[1] >> 4);
    transport(packet.get(..len)?, 40, header[6], |protocol| {
        view(at, 6, len, tos, source, destination, protocol)
    })
}

#[inline]
fn view(
    at: usize,
    version: u8,
    len: usize,
    tos: u8,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
) -> IpView {
    IpView {
        at: at as u16,
        version,
        len: len as u32,
        tos,
        source,
        destination,
        protocol,
        fragment: false,
        whole: true,
        ports: None,
        transport_at: None,
        kind: PacketKind::Data,
    }
}

/// Completes the view `of` the whole IP `packet` by its TCP or UDP header, which begins at `start`.
#[inline]
fn transport(
    packet: &[u8],
    start: usize,
    protocol: u8,
    of: impl FnOnce(u8) -> IpView,
) -> Option<Frame> {
    let segment = packet.get(start..)?;
    let kind = if protocol == ip_number::TCP.0 {
        let header = 4 * usize::from(*segment.get(12)? >> 4);
        if !(20..=segment.len()).contains(&header) {
            return None;
        }
        let flags = u16::from(segment[13]);
        if flags & (flags::SYN | flags::FIN | flags::RST) != 0 {
            PacketKind::Control
        } else if segment.len() == header {
            PacketKind::PureAck
        } else {
            PacketKind::Data
        }
    } else if protocol == ip_number::UDP.0 {
        if usize::from(word(segment, 4)?) != segment.len() || segment.len() < 8 {
            return None;
        }
        PacketKind::Data
    } else {
        return None;
    };
    let mut view = of(protocol);
    view.kind = kind;
    view.ports = Some((word(segment, 0)?, word(segment, 2)?));
    view.transport_at = Some(view.at + start as u16);
    Some(Frame::Ip(view))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpHeader};
    use proptest::prelude::*;

    /// Packets of all kinds, plain and not, with up to three tags.
    fn samples() -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut header = TcpHeader::new(1, 2, 3, 4);
        header.ack = true;
        let mut with_options = header.clone();
        with_options.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
        for payload in [&[][..], &[1; 8], &[2; 100]] {
            for segment in [&header, &with_options] {
                let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
                let mut write = |write: &dyn Fn(&mut Vec<u8>)| {
                    let mut frame = Vec::new();
                    write(&mut frame);
                    all.push(frame);
                };
                let (four, six) = (([9; 4], [8; 4]), ([1; 16], [2; 16]));
                write(&|out| {
                    let tcp = ethernet().ipv4(four.0, four.1, 9).tcp_header(segment.clone());
                    tcp.write(out, payload).unwrap();
                });
                write(&|out| {
                    let tcp = ethernet().ipv6(six.0, six.1, 9).tcp_header(segment.clone());
                    tcp.write(out, payload).unwrap();
                });
                write(&|out| {
                    ethernet().ipv4(four.0, four.1, 9).udp(5, 6).write(out, payload).unwrap();
                });
                write(&|out| {
                    ethernet().ipv6(six.0, six.1, 9).udp(5, 6).write(out, payload).unwrap();
                });
                write(&|out| {
                    let echo = ethernet().ipv4(four.0, four.1, 9).icmpv4_echo_request(1, 2);
                    echo.write(out, payload).unwrap();
                });
            }
        }
        let mut tagged = all.clone();
        for tags in 1..=3 {
            for (number, frame) in tagged.iter_mut().enumerate() {
                let kind = if number % 2 == 0 { [0x81, 0] } else { [0x88, 0xa8] };
                frame.splice(12..12, [kind[0], kind[1], 0, tags]);
            }
            all.extend(tagged.iter().cloned());
        }
        all
    }

    #[test]
    fn usual_packets_are_read_here_and_as_the_general_reader_reads_them() {
        let mut plain = 0;
        for frame in samples() {
            let mut padded = frame.clone();
            padded.resize(frame.len() + 20, 0);
            for bytes in [&frame, &padded] {
                let found = read(bytes, Layer::Ethernet);
                plain += u32::from(found.is_some());
                assert!(found.is_none_or(|found| found == Frame::read_any(bytes, Layer::Ethernet)));
            }
        }
        // All but those of ICMP and those with three tags.
        assert_eq!(plain as usize, samples().len() * 2 * 4 / 5 * 3 / 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn whatever_is_read_here_the_general_reader_reads_likewise(
            which: prop::sample::Index,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            len: prop::sample::Index,
            is_cut in prop::bool::weighted(0.2),
            is_bare: bool,
        ) {
            let all = samples();
            let mut bytes = all[which.index(all.len())].clone();
            for (place, value) in changes {
                // Mostly headers.
                let end = bytes.len().min(80);
                bytes[place.index(end)] = value;
            }
            if is_cut {
                bytes.truncate(len.index(bytes.len()));
            }
            let (bytes, layer) = match bytes.get(14..) {
                Some(packet) if is_bare => (packet, Layer::Ip),
                _ => (&bytes[..], Layer::Ethernet),
            };
            if let Some(found) = read(bytes, layer) {
                prop_assert_eq!(found, Frame::read_any(bytes, layer));
            }
        }
    }
}
