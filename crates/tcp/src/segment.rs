//! The segment: all that one side tells the other.

/// Control bits of a segment, with one bit of the IP header beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// What was written ends here: the receiving application is to have it (RFC 9293, section
    /// 3.9.1.2).
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The IP packet is sent with ECT(0) (RFC 3168, section 5); not a TCP bit.
    pub const ECT: Flags = Flags(0x20);
    /// ECN echo (RFC 3168, section 6.1).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub const CWR: Flags = Flags(0x80);

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The control bits as they stand in the TCP header (RFC 9293, section 3.1).
    #[inline]
    pub const fn header_bits(self) -> u8 {
        self.0 & !Flags::ECT.0
    }

    /// These bits and those of `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The bits of `other` if `condition` holds, beside these.
    #[inline]
    pub const fn with_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.with(other) } else { self }
    }
}

/// A selective acknowledgment: bytes `start..end`, counted from the segment's `ack`, in two's
/// complement: a D-SACK (RFC 2883) may lie below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte, relative to the acknowledgment number.
    pub start: u32,
    /// Byte after the last, relative to the acknowledgment number.
    pub end: u32,
}

/// One TCP segment without its payload: 64 bytes.
///
/// Sequence numbers are offsets into a stream that never wraps: the SYN is at 0, data begin at 1,
/// the FIN follows the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of the first byte (or of the SYN or FIN, if there is no payload).
    pub seq: u64,
    /// Next offset expected from the other side; significant with [`Flags::ACK`].
    pub ack: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Receive window in bytes, already scaled up.
    pub window: u32,
    /// Sender's clock in microseconds, wrapping (RFC 7323, TSval).
    pub tsval: u32,
    /// The clock value echoed (RFC 7323, TSecr).
    pub tsecr: u32,
    /// SACK blocks, the first `sack_count` of which are significant (RFC 2018).
    pub sack: [SackBlock; 3],
    /// Number of SACK blocks, 0 to 3.
    pub sack_count: u8,
    /// Control bits.
    pub flags: Flags,
    /// Whether the timestamps option is present.
    pub has_timestamp: bool,
}

impl Segment {
    /// Length of the IP packet in bytes: 20 IP, 20 TCP, the options as they are padded on the
    /// wire, and the payload. A SYN carries MSS, SACK-permitted and window scale besides.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        let timestamps = if self.has_timestamp { 12 } else { 0 };
        // NOP NOP, kind and length, then eight bytes a block (RFC 2018, section 3).
        let sack = if self.sack_count > 0 { 4 + 8 * u32::from(self.sack_count) } else { 0 };
        let syn = match (self.flags.has(Flags::SYN), self.has_timestamp) {
            (false, _) => 0,
            // SACK-permitted takes the place of the two NOPs before the timestamps.
            (true, true) => 4 + 4,
            (true, false) => 4 + 4 + 4,
        };
        40 + timestamps + sack + syn + self.len
    }

    /// Whether the IP packet is ECN-capable: new data, but no retransmission, pure ACK, window probe
    /// or SYN (RFC 3168, sections 6.1.1 and 6.1.4 to 6.1.6), unless every mark counts (DCTCP).
    #[inline]
    pub fn is_ect(&self) -> bool {
        self.flags.has(Flags::ECT)
    }

    /// Offset after the last that the segment takes: payload, SYN and FIN.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq
            .saturating_add(u64::from(self.len))
            .saturating_add(u64::from(self.flags.has(Flags::SYN)))
            .saturating_add(u64::from(self.flags.has(Flags::FIN)))
    }

    /// The SACK blocks as offsets `(start, end)` into the stream, as they stand in the segment.
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.iter().take(usize::from(self.sack_count)).map(|block| {
            let offset = |relative: u32| self.ack.saturating_add_signed(i64::from(relative as i32));
            (offset(block.start), offset(block.end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_one_cache_line() {
        assert_eq!(size_of::<Segment>(), 64);
    }

    #[test]
    fn lengths_are_those_on_the_wire() {
        let data = Segment { len: 1460, ..Segment::default() };
        assert_eq!(data.ip_len(), 1500);
        let stamped = Segment { len: 1448, has_timestamp: true, ..data };
        assert_eq!(stamped.ip_len(), 1500);
        // An ACK with timestamps and three SACK blocks: 40 + 12 + 28.
        let ack = Segment { len: 0, sack_count: 3, ..stamped };
        assert_eq!(ack.ip_len(), 80);
        // Linux's SYN with all options is 60 bytes.
        let syn = Segment { flags: Flags::SYN, has_timestamp: true, ..Segment::default() };
        assert_eq!(syn.ip_len(), 60);
        assert_eq!(Segment { has_timestamp: false, ..syn }.ip_len(), 52);
    }
}
