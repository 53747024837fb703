//! The headers that a box sees, and its decision about a packet.

use forebay_core::tcp::{SackBlocks, Tcp};
use std::net::IpAddr;

/// The five-tuple that identifies a flow.
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

/// The headers of a packet that boxes look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Addresses, ports and protocol, as in the packet.
    pub flow: FiveTuple,
    /// QoS class that the host gives the packet; 0 if it has none.
    pub class: u8,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// The TCP header; None for other protocols and for fragments beyond the first.
    pub tcp: Option<Tcp>,
}

/// A segment made by a box: an acknowledgment without payload, sent to `flow.destination`. ACK is
/// its only control bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// From the host on whose behalf it is sent, to the host that gets it.
    pub flow: FiveTuple,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Window field, unscaled.
    pub window: u16,
    /// TSval and TSecr, if the connection uses timestamps.
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgments.
    pub sack: SackBlocks,
}

/// The decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It passes unchanged.
    Pass,
    /// It passes with this window field and a new checksum. Nothing else changes.
    Rewrite {
        /// Window field, unscaled.
        window: u16,
    },
    /// It does not pass. Its sender gets this answer.
    Answer(Ack),
}
