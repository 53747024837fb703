//! A packet as a queue sees it.

use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The content of a packet, as far as disciplines distinguish it. NCQ, for example, does not favour
/// ACKs.
///
/// It has 32 bits, so that a [`Packet`] has no padding. One that a discipline does not know is like
/// data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[repr(u32)]
pub enum PacketKind {
    /// Data.
    #[default]
    Data,
    /// A TCP acknowledgment without payload.
    PureAck,
    /// Connection or routing control: SYN, FIN, RST, route requests.
    Control,
}

/// Explicit congestion notification codepoint (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, codepoint 1 (RFC 9331: low latency, low loss, scalable).
    Ect1 = 0b01,
    /// ECN-capable transport, codepoint 0.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// A packet as a queue sees it: 32 bytes, without the payload.
///
/// Its layout is that of the C interface. It has no padding, so it is copied in whole words. (A
/// copy in overlapping parts, as of a struct with padding, waits for the store buffer.)
///
/// A packet is not `Clone`, because it must leave exactly once. Code that takes a packet out of the
/// system calls [`Packet::retire`]. In debug builds, a packet that is dropped without this panics.
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// Number by which the owner (simulator or gate) finds the rest of the packet.
    pub id: u32,
    /// Length of the IP packet in bytes, without the link's overhead.
    pub len: u32,
    /// The flow, for flow-aware disciplines: the simulator's index, or the gate's five-tuple hash.
    pub flow: u32,
    /// QoS class (CQ-AQM's q), which chooses the queue. Higher is served first.
    pub class: u8,
    /// Precedence (CQ-AQM's p): importance of the content. Higher is more important.
    pub precedence: u8,
    /// Drop precedence (RFC 2597). 0 is in profile; higher is dropped first.
    pub drop_precedence: u8,
    /// DS field and ECN as in the IP header: DSCP in the upper six bits, ECN in the lower two.
    pub tos: u8,
    /// Data, pure ACK or control.
    pub kind: PacketKind,
    /// The host that sent it, for disciplines that share between hosts: the simulator's index or a
    /// hash of the address. 0 if it is not known.
    pub source: u16,
    /// The host to which it goes, likewise. 0 if it is not known.
    pub destination: u16,
    /// Time at which the packet joined its queue. [`crate::Port::offer`] sets it, and so does the C
    /// interface.
    pub queued: Time,
}

impl Packet {
    /// A data packet of `len` bytes of `flow`; all other fields are zero. Set other fields on the
    /// value, not with `..Packet::new()`, which would drop a second packet.
    pub fn new(id: u32, flow: u32, len: u32) -> Self {
        Packet {
            id,
            len,
            flow,
            class: 0,
            precedence: 0,
            drop_precedence: 0,
            tos: 0,
            kind: PacketKind::Data,
            source: 0,
            destination: 0,
            queued: Time::ZERO,
        }
    }

    /// Differentiated services codepoint, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    /// Sets the codepoint; `dscp` is 0 to 63.
    #[inline]
    pub fn set_dscp(&mut self, dscp: u8) {
        self.tos = (dscp << 2) | (self.tos & 0b11);
    }

    /// ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self.tos & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Sets the ECN codepoint.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.tos = (self.tos & !0b11) | ecn as u8;
    }

    /// Whether the transport understands marks.
    #[inline]
    pub fn is_ect(&self) -> bool {
        self.tos & 0b11 != 0
    }

    /// Whether its ECN codepoint puts it into the low-latency queue: ECT(1) or CE (RFC 9331,
    /// section 5.1).
    #[inline]
    pub fn is_l4s(&self) -> bool {
        self.tos & 0b01 != 0
    }

    /// Ends the packet's life and returns its handle.
    #[inline]
    pub fn retire(self) -> u32 {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

#[cfg(debug_assertions)]
impl Drop for Packet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!(
                "packet {} of flow {} was lost: neither sent nor reported as dropped",
                self.id, self.flow
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
        assert_eq!(size_of::<Option<Packet>>(), 32);
    }

    #[test]
    fn dscp_and_ecn_share_the_byte() {
        let mut packet = Packet::new(1, 0, 100);
        packet.set_dscp(46);
        packet.set_ecn(Ecn::Ce);
        assert_eq!((packet.dscp(), packet.ecn(), packet.tos), (46, Ecn::Ce, 0xbb));
        packet.retire();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "was lost")]
    fn a_lost_packet_panics() {
        drop(Packet::new(7, 0, 100));
    }
}
