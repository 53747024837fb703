//! A TCP header, for code that looks into packets: boxes, and CAKE's ACK filter.

/// Control bits, as in the TCP header (RFC 9293, section 3.1).
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u16 = 0x01;
    /// Synchronize sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// The acknowledgment field is significant.
    pub const ACK: u16 = 0x10;
    /// ECN echo (RFC 3168, section 6.1).
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub const CWR: u16 = 0x80;
}

/// Fields of a TCP header (RFC 9293, section 3.1), in host byte order and as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; significant with [`flags::ACK`].
    pub ack: u32,
    /// The 12 control bits, including the reserved ones and AE.
    pub flags: u16,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload in bytes.
    pub payload_len: u32,
    /// TSval and TSecr (RFC 7323), if the option is present.
    pub timestamps: Option<(u32, u32)>,
    /// Shift count of the window scale option (RFC 7323), which only SYNs carry.
    pub window_scale: Option<u8>,
    /// Selective acknowledgments (RFC 2018).
    pub sack: SackBlocks,
    /// Whether there are other options, or malformed ones. Padding and signatures (RFC 2385) do not
    /// count.
    pub other_options: bool,
}

/// Kinds of options.
mod option {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const SIGNATURE: u8 = 19;
}

impl Tcp {
    /// The header at the beginning of `segment`, whose rest is the payload. None if the header is
    /// incomplete.
    pub fn read(segment: &[u8]) -> Option<Tcp> {
        let (fixed, _) = segment.split_first_chunk::<20>()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let header = 4 * usize::from(fixed[12] >> 4);
        let mut read = Tcp {
            seq: long(4),
            ack: long(8),
            flags: word(12) & 0xfff,
            window: word(14),
            payload_len: segment.len().checked_sub(header)? as u32,
            ..Tcp::default()
        };
        read.read_options(segment.get(20..header)?);
        Some(read)
    }

    fn read_options(&mut self, mut rest: &[u8]) {
        while let [kind, behind @ ..] = rest {
            match *kind {
                option::END => return,
                option::NO_OPERATION => {
                    rest = behind;
                    continue;
                }
                _ => {}
            }
            let len = usize::from(behind.first().copied().unwrap_or(0));
            let Some(value) = rest.get(2..len) else {
                self.other_options = true;
                return;
            };
            self.read_option(*kind, value);
            rest = &rest[len..];
        }
    }

    fn read_option(&mut self, kind: u8, value: &[u8]) {
        let pairs = || {
            let number =
                |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            value.chunks_exact(8).map(move |pair| (number(&pair[..4]), number(&pair[4..])))
        };
        match (kind, value.len()) {
            (option::TIMESTAMPS, 8) => self.timestamps = pairs().next(),
            (option::SACK, len) if len % 8 == 0 => {
                pairs().for_each(|(left, right)| self.sack.push(left, right));
            }
            (option::WINDOW_SCALE, 1) => self.window_scale = Some(value[0]),
            (option::SIGNATURE, _) => {}
            _ => self.other_options = true,
        }
    }

    /// Whether any of the control bits `bits` is set.
    #[inline]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    /// Sequence number after the segment. Payload, SYN and FIN count.
    #[inline]
    pub fn end(&self) -> u32 {
        let controls = u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN));
        self.seq.wrapping_add(self.payload_len).wrapping_add(controls)
    }
}

/// Up to four SACK blocks: (left edge, right edge), as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block after the others. A fifth is ignored, because no segment has more than four.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (left, right);
            self.count += 1;
        }
    }

    /// The blocks, in the segment's order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u16, options: &[u8], payload: usize) -> Vec<u8> {
        let offset = (20 + options.len()) as u16 / 4;
        let mut bytes = vec![0x12, 0x34, 0, 80, 0, 0, 0, 7, 0xff, 0, 0, 9];
        bytes.extend((offset << 12 | flags).to_be_bytes());
        bytes.extend([2, 0, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes.resize(bytes.len() + payload, 0xaa);
        bytes
    }

    #[test]
    fn headers_are_read_with_their_options() {
        let options = [
            [1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 2, 1, 1, 5, 18].as_slice(),
            &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6],
        ]
        .concat();
        let read = Tcp::read(&segment(0x1c0 | flags::ACK, &options, 3)).unwrap();
        let mut sack = SackBlocks::default();
        sack.push(1, 2);
        sack.push(5, 6);
        let wanted = Tcp {
            seq: 7,
            ack: 0xff00_0009,
            flags: 0x1d0,
            window: 512,
            payload_len: 3,
            timestamps: Some((256, 2)),
            sack,
            ..Tcp::default()
        };
        assert_eq!(read, wanted);
        assert!(read.has(flags::ECE) && read.has(flags::CWR) && !read.has(flags::SYN));
    }

    #[test]
    fn options_that_are_not_known_are_told() {
        let others = |options: &[u8]| Tcp::read(&segment(0x10, options, 0)).unwrap().other_options;
        assert!(!others(&[]) && !others(&[1, 1, 1, 0]) && !others(&[0, 9, 9, 9]));
        assert!(!others(&[3, 3, 7, 0]) && !others(&[19, 4, 0, 0]));
        // MSS, one of AccECN, SACK and timestamps of a wrong length, and lengths of none.
        for wrong in [[2, 4, 5, 180], [172, 3, 0, 1], [5, 3, 0, 1], [8, 4, 0, 0], [8, 1, 0, 0]] {
            assert!(others(&wrong), "{wrong:?}");
        }
        assert!(others(&[8, 10, 0, 0]) && others(&[1, 1, 1, 8]));
        // What follows one that is not known is read.
        assert_eq!(
            Tcp::read(&segment(0x10, &[2, 4, 5, 180, 3, 3, 7, 0], 0)).unwrap().window_scale,
            Some(7)
        );
    }

    #[test]
    fn what_is_not_whole_is_no_header() {
        let whole = segment(0x10, &[1; 8], 0);
        assert!(Tcp::read(&whole).is_some());
        assert!(Tcp::read(&whole[..27]).is_none() && Tcp::read(&whole[..19]).is_none());
        let mut short = whole;
        short[12] = 4 << 4;
        assert_eq!(Tcp::read(&short), None);
    }
}
