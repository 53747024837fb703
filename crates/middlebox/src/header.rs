//! What a box sees of a packet, and what it says of it.

use std::net::IpAddr;

/// Control bits as they stand in the TCP header (RFC 9293, section 3.1).
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronize sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// The acknowledgment field is significant.
    pub const ACK: u8 = 0x10;
}

/// What tells a flow from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// Port of the source; 0 if the protocol has none.
    pub source_port: u16,
    /// Port of the destination; 0 if the protocol has none.
    pub destination_port: u16,
    /// Address of the source.
    pub source: IpAddr,
    /// Address of the destination.
    pub destination: IpAddr,
    /// IP protocol number: 6 is TCP, 17 UDP.
    pub protocol: u8,
}

impl FiveTuple {
    /// The same flow seen from the other end.
    pub fn reversed(self) -> FiveTuple {
        FiveTuple {
            source_port: self.destination_port,
            destination_port: self.source_port,
            source: self.destination,
            destination: self.source,
            protocol: self.protocol,
        }
    }
}

/// A packet's headers, as far as boxes look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Addresses, ports and protocol, as in the packet.
    pub flow: FiveTuple,
    /// QoS class that the host gives the packet, 0 if it has none.
    pub class: u8,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// The TCP header; None for other protocols and for fragments beyond the first.
    pub tcp: Option<Tcp>,
}

/// Fields of a TCP header (RFC 9293, section 3.1), in host byte order and as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; significant with [`flags::ACK`].
    pub ack: u32,
    /// Control bits.
    pub flags: u8,
    /// Window field, not scaled up.
    pub window: u16,
    /// Payload in bytes.
    pub payload_len: u32,
    /// TSval and TSecr (RFC 7323), if the option is present.
    pub timestamps: Option<(u32, u32)>,
    /// Shift count of the window scale option (RFC 7323), which only SYNs carry.
    pub window_scale: Option<u8>,
    /// Selective acknowledgments (RFC 2018).
    pub sack: SackBlocks,
}

impl Tcp {
    /// Whether any of the control bits `bits` is set.
    #[inline]
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// Sequence number after the last that the segment takes: payload, SYN and FIN.
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
    /// Adds a block behind the others; a fifth is ignored, since no segment holds more.
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

/// A segment made by a box: an acknowledgment without payload, to be sent to `flow.destination`.
/// Its one control bit is ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// From the host that it speaks for to the host that it is sent to.
    pub flow: FiveTuple,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Window field, not scaled up.
    pub window: u16,
    /// TSval and TSecr, if the connection uses timestamps.
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgments.
    pub sack: SackBlocks,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Pass,
    /// It goes on with this in its window field, and its checksum computed anew; nothing else
    /// changes.
    Rewrite {
        /// Window field, not scaled up.
        window: u16,
    },
    /// It goes no further; its sender gets this answer.
    Answer(Ack),
}
