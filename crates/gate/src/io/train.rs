//! TCP segments of one flow that leave together, sent as one with the order to split it again
//! (generic segmentation offload). The kernel handles it once on the way to the next device, or to
//! a receiver on this machine.
//!
//! Only segments that leave at the same time are combined, and only if splitting restores exactly
//! the same segments. The rules are those by which the kernel itself aggregates what it receives.

use super::BATCH;
use etherparse::checksum::Sum16BitWords;
use forebay_shaper::headers::{Layer, updated};
use std::ops::Range;

/// Longest headers: Ethernet, IPv6, and TCP with all options.
const LONGEST: usize = 14 + 40 + 60;
/// Largest IP packet.
const LARGEST: usize = 65_535;

/// Flags of TCP, in the byte that holds them.
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// The header before a packet that tells the kernel what is left to do: `struct virtio_net_hdr`.
pub type Offload = [u8; 10];

/// Segments that may be sent as one.
pub struct Train {
    /// The kernel's work: checksum and splitting.
    pub offload: Offload,
    /// Headers of the combined packet.
    header: [u8; LONGEST],
    header_len: usize,
    layer: Layer,
    /// Number of frames that it takes from the front, two or more.
    pub frames: usize,
}

impl Train {
    /// The train at the front of `frames`, if there is one, of at most [`BATCH`] frames.
    pub fn find<'a>(frames: impl Iterator<Item = &'a [u8]>, layer: Layer) -> Option<Train> {
        let mut segments = frames.take(BATCH).map_while(|frame| Segment::read(frame, layer));
        let first = segments.next()?;
        let (mut last, mut count, mut payload) = (first, 1, first.payload().len());
        for next in segments {
            let room = LARGEST - (first.header_len() - first.ip);
            if !next.follows(&last, first.payload().len())
                || payload + next.payload().len() > room
                || (count == 1 && !first.is_sound())
                || !next.is_sound()
            {
                break;
            }
            (last, count, payload) = (next, count + 1, payload + next.payload().len());
        }
        (count > 1).then(|| Train::new(&first, &last, count, payload, layer))
    }

    fn new(first: &Segment, last: &Segment, frames: usize, payload: usize, layer: Layer) -> Train {
        let header_len = first.header_len();
        let mut header = [0; LONGEST];
        header[..header_len].copy_from_slice(&first.bytes[..header_len]);
        let Segment { ip, tcp, version, .. } = *first;
        header[tcp + 13] |= last.bytes[tcp + 13] & PSH;
        let transport = header_len - tcp + payload;
        let set = |header: &mut [u8], at: usize, value: u16| {
            header[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        if version == 4 {
            let length = (tcp - ip + transport) as u16;
            let sum = updated(word(&header, ip + 10), word(&header, ip + 2), length);
            set(&mut header, ip + 2, length);
            set(&mut header, ip + 10, sum);
        } else {
            set(&mut header, ip + 4, transport as u16);
        }
        // The pseudo header's sum alone; the kernel adds the rest.
        let partial = !first.pseudo(transport as u16).ones_complement();
        header[tcp + 16..tcp + 18].copy_from_slice(&partial.to_ne_bytes());
        let mut offload = Offload::default();
        // Checksum needed; TCP over IPv4 or IPv6.
        offload[..2].copy_from_slice(&[1, if version == 4 { 1 } else { 4 }]);
        let numbers = [header_len, first.payload().len(), tcp, 16];
        for (to, number) in offload[2..].chunks_exact_mut(2).zip(numbers) {
            to.copy_from_slice(&(number as u16).to_ne_bytes());
        }
        Train { offload, header, header_len, layer, frames }
    }

    /// Headers of the combined packet, without the payload.
    pub fn header(&self) -> &[u8] {
        &self.header[..self.header_len]
    }

    /// The part of a frame that the combined packet contains.
    pub fn payload<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        Segment::read(frame, self.layer).map_or(&[], |segment| segment.payload())
    }
}

/// A TCP segment with payload and nothing unusual in its headers.
#[derive(Clone, Copy)]
struct Segment<'a> {
    /// From the link header to the end of the payload.
    bytes: &'a [u8],
    version: u8,
    /// Offset of its IP header, bytes.
    ip: usize,
    /// Offset of its TCP header, bytes.
    tcp: usize,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn double(bytes: &[u8], at: usize) -> u32 {
    u32::from(word(bytes, at)) << 16 | u32::from(word(bytes, at + 2))
}

impl<'a> Segment<'a> {
    #[inline]
    fn read(frame: &'a [u8], layer: Layer) -> Option<Self> {
        let ip = if layer == Layer::Ethernet { 14 } else { 0 };
        // A shorter frame has no payload.
        if frame.len() <= ip + 40 {
            return None;
        }
        let (version, tcp, length) = match frame[ip] {
            // No options, no fragment.
            0x45 if word(frame, ip + 6) & 0x3fff == 0 && frame[ip + 9] == 6 => {
                (4, ip + 20, usize::from(word(frame, ip + 2)))
            }
            0x60..=0x6f if frame[ip + 6] == 6 => {
                (6, ip + 40, 40 + usize::from(word(frame, ip + 4)))
            }
            _ => return None,
        };
        let kind = if version == 4 { 0x0800 } else { 0x86dd };
        if ip > 0 && word(frame, ip - 2) != kind {
            return None;
        }
        let bytes = frame.get(..ip + length).filter(|bytes| bytes.len() > tcp + 20)?;
        let segment = Segment { bytes, version, ip, tcp };
        let plain = bytes[tcp + 13] & !(PSH | ECE) == ACK && bytes[tcp + 12] & 0x0f == 0;
        let size = segment.header_len() - tcp;
        (plain && size >= 20 && segment.header_len() < bytes.len()).then_some(segment)
    }

    fn header_len(&self) -> usize {
        self.tcp + usize::from(self.bytes[self.tcp + 12] >> 4) * 4
    }

    fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }

    /// Whether it continues where `last` ends, in a train of segments of `size` bytes.
    fn follows(&self, last: &Segment, size: usize) -> bool {
        let Segment { bytes, ip, tcp, version } = *self;
        let header_len = self.header_len();
        if version != last.version || header_len != last.header_len() {
            return false;
        }
        let same = |part: Range<usize>| bytes[part.clone()] == last.bytes[part];
        let same_ip = if version == 4 {
            // A packet that must not be fragmented needs no identification (RFC 6864).
            let (id, before) = (word(bytes, ip + 4), word(last.bytes, ip + 4));
            same(0..ip + 2)
                && (bytes[ip + 6] & 0x40 != 0 || id == before.wrapping_add(1))
                && same(ip + 6..ip + 10)
                && same(ip + 12..tcp + 4)
        } else {
            same(0..ip + 4) && same(ip + 6..tcp + 4)
        };
        let payload = last.payload().len();
        same_ip
            && payload == size
            && self.payload().len() <= size
            && double(bytes, tcp + 4) == double(last.bytes, tcp + 4).wrapping_add(payload as u32)
            && same(tcp + 8..tcp + 13)
            && last.bytes[tcp + 13] == bytes[tcp + 13] & !PSH
            && same(tcp + 14..tcp + 16)
            && same(tcp + 18..header_len)
    }

    /// The sum of the pseudo header, for a segment of `length` bytes.
    fn pseudo(&self, length: u16) -> Sum16BitWords {
        let addresses = if self.version == 4 { self.ip + 12 } else { self.ip + 8 };
        let sum = Sum16BitWords::new().add_slice(&self.bytes[addresses..self.tcp]);
        sum.add_2bytes([0, 6]).add_2bytes(length.to_be_bytes())
    }

    /// Whether its checksum is right. The combined packet gets a new one, which must not hide an
    /// error.
    fn is_sound(&self) -> bool {
        let segment = &self.bytes[self.tcp..];
        self.pseudo(segment.len() as u16).add_slice(segment).ones_complement() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpHeader};

    const MSS: usize = 1_000;

    /// A segment of `len` bytes at `seq`.
    fn frame(six: bool, seq: u32, len: usize, change: impl Fn(&mut TcpHeader)) -> Vec<u8> {
        let mut header = TcpHeader::new(1234, 80, seq, 512);
        (header.ack, header.acknowledgment_number) = (true, 99);
        header.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
        change(&mut header);
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let payload: Vec<u8> = (0..len).map(|at| (seq as usize + at) as u8).collect();
        let mut bytes = Vec::new();
        if six {
            let builder = builder.ipv6([1; 16], [2; 16], 64).tcp_header(header);
            builder.write(&mut bytes, &payload).unwrap();
        } else {
            let builder = builder.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(header);
            builder.write(&mut bytes, &payload).unwrap();
            // Must not be fragmented; the builder says so by default.
            assert_eq!(bytes[20] & 0x40, 0x40);
        }
        bytes
    }

    fn found(frames: &[Vec<u8>], at: usize, layer: Layer) -> Option<(Train, Vec<u8>)> {
        let frames = frames.iter().map(|frame| &frame[at..]);
        let train = Train::find(frames.clone(), layer)?;
        let mut whole = train.header().to_vec();
        frames.take(train.frames).for_each(|frame| whole.extend(train.payload(frame)));
        Some((train, whole))
    }

    /// The number of frames that are sent as one, from changed segments.
    fn length(change: impl Fn(&mut Vec<u8>)) -> usize {
        let mut frames = [0, 1, 2, 3].map(|number| frame(false, number * 1000, MSS, |_| {}));
        change(&mut frames[2]);
        found(&frames, 0, Layer::Ethernet).map_or(1, |(train, _)| train.frames)
    }

    #[test]
    fn segments_in_sequence_are_one() {
        for six in [false, true] {
            for (at, layer) in [(0, Layer::Ethernet), (14, Layer::Ip)] {
                let mut frames: Vec<_> =
                    (0..4).map(|number| frame(six, number * 1000, MSS, |_| {})).collect();
                // The last one is shorter, is pushed, and ends the train.
                frames.push(frame(six, 4_000, 300, |header| header.psh = true));
                frames.push(frame(six, 4_300, MSS, |_| {}));
                let (train, whole) = found(&frames, at, layer).unwrap();
                assert_eq!(train.frames, 5);
                // One segment with the whole payload, apart from its checksum.
                let mut expected = frame(six, 0, 4_300, |header| header.psh = true);
                let tcp = 14 + if six { 40 } else { 20 };
                let field = tcp + 16..tcp + 18;
                let mut sum = Sum16BitWords::new();
                sum = sum.add_slice(&whole[tcp - at..]);
                expected[field.clone()].copy_from_slice(&whole[field.start - at..field.end - at]);
                assert_eq!(whole, expected[at..]);
                // The kernel stores the complement of a sum that includes the checksum field.
                let mut done = whole.clone();
                let bytes = sum.ones_complement().to_ne_bytes();
                done[field.start - at..field.end - at].copy_from_slice(&bytes);
                let ethernet = [&frames[0][..at], &done].concat();
                let segment = Segment::read(&ethernet, Layer::Ethernet).unwrap();
                assert!(segment.is_sound());
                let number =
                    |at: usize| u16::from_ne_bytes([train.offload[at], train.offload[at + 1]]);
                assert_eq!(train.offload[..2], [1, if six { 4 } else { 1 }]);
                let start = tcp - at;
                assert_eq!(
                    [2, 4, 6, 8].map(number),
                    [start + 32, MSS, start, 16].map(|n| n as u16)
                );
            }
        }
    }

    #[test]
    fn what_would_not_split_into_the_same_stays_apart() {
        assert_eq!(length(|_| {}), 4);
        // Another checksum, TTL, acknowledgment, window, option, or a fragment.
        for at in [51, 22, 45, 49, 65, 21] {
            assert_eq!(length(|frame| frame[at] ^= 1), 2, "{at}");
        }
        let other = |seq, len, change: fn(&mut TcpHeader)| {
            length(|bytes| *bytes = frame(false, seq, len, change))
        };
        assert_eq!(other(2_001, MSS, |_| {}), 2);
        assert_eq!(other(2_000, MSS + 1, |_| {}), 2);
        assert_eq!(other(2_000, MSS, |header| header.source_port = 1), 2);
        assert_eq!(other(2_000, MSS, |header| header.fin = true), 2);
        // A shorter segment, or one with PSH, is the last.
        assert_eq!(other(2_000, MSS - 1, |_| {}), 3);
        assert_eq!(other(2_000, MSS, |header| header.psh = true), 3);
        // The first frame cannot begin a train: it has no payload, or is not TCP.
        let bare = [frame(false, 0, 0, |_| {}), frame(false, 0, MSS, |_| {})];
        assert!(found(&bare, 0, Layer::Ethernet).is_none());
    }

    #[test]
    fn an_ip_packet_has_a_largest_size() {
        let frames: Vec<_> =
            (0..60).map(|number| frame(false, number * 1_400, 1_400, |_| {})).collect();
        let (train, whole) = found(&frames, 0, Layer::Ethernet).unwrap();
        assert_eq!(train.frames, (LARGEST - 52) / 1_400);
        assert_eq!(whole.len(), 14 + 52 + train.frames * 1_400);
    }
}
