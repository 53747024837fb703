//! The segment: everything that one end sends to the other.

mod option;

use forebay_core::{Duration, Ecn, Time};

pub(crate) use option::DIVOPT;
pub use option::{AccEcnOption, OptionTail};

/// Control bits of a segment, and the ECN codepoint of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// A write ended here, and the receiving application should get the data (RFC 9293, section
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
    /// Accurate ECN (RFC 9768, section 3.1.1); with CWR and ECE the ACE field.
    pub const AE: Flags = Flags(0x100);
    /// The IP packet is sent with ECT(1) (RFC 9331); not a TCP bit.
    pub const ECT1: Flags = Flags(0x200);
    /// The two bits that are not TCP's.
    const IP: Flags = Flags::ECT.with(Flags::ECT1);

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The control bits of the TCP header (RFC 9293, section 3.1).
    #[inline]
    pub const fn header_bits(self) -> u16 {
        self.0 & !Flags::IP.0
    }

    /// The ACE field: AE, CWR and ECE as a number from 0 to 7 (RFC 9768, section 3.2.2).
    #[inline]
    pub const fn ace(self) -> u8 {
        ((self.0 >> 6) & 0b111) as u8
    }

    /// These bits, with the lowest three bits of `ace` as the ACE field.
    #[inline]
    pub const fn with_ace(self, ace: u8) -> Flags {
        Flags((self.0 & !(0b111 << 6)) | ((ace & 0b111) as u16) << 6)
    }

    /// These bits and those of `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These bits, and those of `other` if `condition` holds.
    #[inline]
    pub const fn with_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.with(other) } else { self }
    }
}

/// A selective acknowledgment: bytes `start..end`, relative to the segment's `ack`, in two's
/// complement, because a D-SACK (RFC 2883) may lie below it.
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
    /// Receive window in bytes, already scaled.
    pub window: u32,
    /// Sender's clock in microseconds, wrapping (RFC 7323, TSval).
    pub tsval: u32,
    /// The clock value that is echoed (RFC 7323, TSecr).
    pub tsecr: u32,
    /// SACK blocks, of which the first `sack_count` are significant (RFC 2018). Beside timestamps,
    /// an AccECN option takes the room of the last one.
    pub sack: [SackBlock; 3],
    /// Control bits.
    pub flags: Flags,
    /// Number of SACK blocks, 0 to 3; beside timestamps and an AccECN option, 0 to 2.
    pub sack_count: u8,
    /// Whether the timestamps option is present.
    pub has_timestamp: bool,
    /// Whether an AccECN option is present, and the part of it for which other fields have no room:
    /// [`Segment::accecn`].
    pub option: OptionTail,
}

impl Segment {
    /// Length of the IP packet in bytes: 20 IP, 20 TCP, the options as they are padded on the wire,
    /// and the payload. A SYN also has MSS, SACK-permitted and window scale.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        if self.option.is_present() {
            return 40 + self.packed_options() + self.len;
        }
        let timestamps = if self.has_timestamp { 12 } else { 0 };
        if self.sack_count == 0 && !self.flags.has(Flags::SYN) {
            return 40 + timestamps + self.len;
        }
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

    /// Length of the options if there is an AccECN option. It leaves bytes unused only at the end.
    #[cold]
    fn packed_options(&self) -> u32 {
        let timestamps = if self.has_timestamp { 10 } else { 0 };
        let sack = if self.sack_count > 0 { 2 + 8 * u32::from(self.sack_count) } else { 0 };
        // MSS, SACK-permitted, window scale.
        let syn = if self.flags.has(Flags::SYN) { 4 + 2 + 3 } else { 0 };
        (timestamps + sack + syn + self.option.wire_len()).next_multiple_of(4)
    }

    /// The AccECN option (RFC 9768, section 3.2.3), if there is one.
    #[inline]
    pub fn accecn(&self) -> Option<AccEcnOption> {
        let (e1b, ceb) = if self.has_timestamp {
            (self.sack[2].start, self.sack[2].end)
        } else {
            (self.tsval, self.tsecr)
        };
        self.option.is_present().then(|| self.option.read(e1b, ceb))
    }

    /// Adds the AccECN option. Call it when it is known whether there are timestamps: beside them
    /// at most two SACK blocks remain, as on the wire.
    pub fn set_accecn(&mut self, option: AccEcnOption) {
        if self.has_timestamp {
            self.sack_count = self.sack_count.min(2);
            self.sack[2] = SackBlock { start: option.e1b, end: option.ceb };
        } else {
            (self.tsval, self.tsecr) = (option.e1b, option.ceb);
        }
        self.option = OptionTail::of(&option);
    }

    /// Whether the IP packet is ECN-capable. New data are; retransmissions, pure ACKs, window
    /// probes and SYNs are not (RFC 3168, sections 6.1.1 and 6.1.4 to 6.1.6), unless every mark
    /// counts (DCTCP, Prague).
    #[inline]
    pub fn is_ect(&self) -> bool {
        self.flags.has(Flags::IP)
    }

    /// The codepoint of its packet.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match (self.flags.has(Flags::ECT), self.flags.has(Flags::ECT1)) {
            (false, false) => Ecn::NotEct,
            (true, _) => Ecn::Ect0,
            (false, true) => Ecn::Ect1,
        }
    }

    /// Offset after the segment. Payload, SYN and FIN count.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq
            .saturating_add(u64::from(self.len))
            .saturating_add(u64::from(self.flags.has(Flags::SYN)))
            .saturating_add(u64::from(self.flags.has(Flags::FIN)))
    }

    /// The delay of the data that it acknowledges, by the timestamp clocks of both ends, which count
    /// in `unit`.
    #[inline]
    pub(crate) fn one_way_delay(&self, unit: Duration) -> Option<Duration> {
        let ticks = self.tsval.wrapping_sub(self.tsecr);
        self.has_timestamp.then(|| unit * u64::from(ticks))
    }

    /// The SACK blocks as offsets `(start, end)` into the stream, in the segment's order.
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.iter().take(usize::from(self.sack_count)).map(|block| {
            let offset = |relative: u32| self.ack.saturating_add_signed(i64::from(relative as i32));
            (offset(block.start), offset(block.end))
        })
    }
}

/// Stores what must be sent, if there is something, in `place`. Returns whether there is.
#[inline]
pub(crate) fn put(sent: Option<Segment>, place: &mut Segment) -> bool {
    sent.map(|sent| *place = sent).is_some()
}

/// The timestamp clock of the standards' stack: microseconds, wrapping.
#[inline]
pub(crate) fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// The timestamp clock of Linux: milliseconds (`TCP_TS_HZ`; 2.6 with 1000 ticks a second).
pub(crate) fn millis(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
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
        // Timestamps, two SACK blocks and a whole AccECN option fill the header: 10 + 18 + 11.
        let mut full = ack;
        full.set_accecn(AccEcnOption { e0b: 1, ceb: 2, e1b: 3, order: 1, fields: 3 });
        assert_eq!((full.sack_count, full.ip_len()), (2, 80));
        // As in Linux: 12 of timestamps, in whose gap the option cannot lie, and one field of 5.
        let mut short = Segment { sack_count: 0, ..ack };
        short.set_accecn(AccEcnOption { e0b: 1, ceb: 2, e1b: 3, order: 1, fields: 1 });
        assert_eq!(short.ip_len(), 56);
    }

    #[test]
    fn an_accecn_option_comes_out_as_it_went_in() {
        let option =
            AccEcnOption { e0b: 0xff_ffff, ceb: 0x01_0203, e1b: 0x0a_0b0c, order: 0, fields: 2 };
        for has_timestamp in [false, true] {
            let mut segment = Segment { has_timestamp, sack_count: 3, ..Segment::default() };
            assert_eq!(segment.accecn(), None);
            segment.set_accecn(option);
            assert_eq!(segment.accecn(), Some(option));
            assert_eq!(segment.sack_count, if has_timestamp { 2 } else { 3 });
        }
        let ace = Flags::ACK.with_ace(5);
        assert_eq!((ace, ace.ace()), (Flags::ACK.with(Flags::AE).with(Flags::ECE), 5));
        assert_eq!(Flags::ECT1.with(ace).header_bits(), 0x150);
    }
}
