//! More accurate ECN feedback (AccECN, RFC 9768): how many packets and bytes were marked.
//!
//! The client requests it with three flags of its SYN. The server agrees with those of its SYN-ACK,
//! which also report how the SYN arrived (section 3.1). From then on each end reports the number of
//! packets that arrived marked in three bits of every segment (ACE), and the number of bytes that
//! arrived with each codepoint in an option.
//!
//! | RFC | here |
//! |---|---|
//! | r.cep, r.ceb, r.e0b, r.e1b | [`DataReceiver`] |
//! | s.cep, s.ceb | [`DataSender`] |
//! | ECEB, EE0B, EE1B | [`crate::AccEcnOption`] |
//! | feedback mode | [`Feedback`] |
//!
//! # Deviations
//! - D1. Data flow one way, from client to server. So the server is not a data sender and does not
//!   track `s.cep`; the client gets no payload and sends no option (section 3.2.3.2.1 would have
//!   one on the first acknowledgment and the first data).
//! - D2. An option is sent with every acknowledgment if a byte counter has changed since the last
//!   (section 3.2.3.3, the recommended scheme), also beside timestamps and two SACK blocks: there
//!   is room if all options are packed closely.
//! - D3. If a SYN arrives again, the SYN-ACK, which has no timer of its own, is taken as lost: the
//!   second SYN-ACK has no option, later ones have no flags (section 3.2.3.2.2).
//! - D4. Continuous marks are not taken as mangling, because a saturated queue also marks every
//!   packet (section 3.2.2.3 leaves open how to distinguish them).
//! - D5. Nothing is remembered from earlier connections.
//! - D6. The sender keeps no `s.e0b` and `s.e1b`, because it needs only marked bytes.
//! - D7. Boxes that answer for the receiver do not know its counters. If a later timestamp makes
//!   such an answer count as new, it is read as marks.
//! - D8. A Linux receiver acknowledges at once when the codepoint of data changes, and does not do
//!   so for every second mark (`tcp_ecn_received_counters`; section 3.2.2.5.1 would).

mod data_receiver;
mod data_sender;

pub(crate) use data_receiver::{Asked, DataReceiver};
pub(crate) use data_sender::{DataSender, News};

use forebay_core::Ecn;

/// A receiver's way of reporting marks to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Not at all. Packets are not ECN-capable.
    None,
    /// With an echo until it is answered (RFC 3168), or an echo of each change (RFC 8257).
    Classic,
    /// Counts of packets and bytes (RFC 9768).
    Accurate,
}

/// DIVACE: the ACE field counts modulo eight.
const DIVACE: u64 = 8;
/// Initial values of the packet counter, and of the byte counters of ECT(0) and ECT(1) (section
/// 3.2.1).
const FIRST_CEP: u64 = 5;
const FIRST_BYTES: u32 = 1;

/// The handshake's report of a codepoint, on the SYN-ACK and on its acknowledgment (tables 2 and
/// 3).
fn handshake_ace(came: Ecn) -> u8 {
    match came {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The codepoint that is reported. None if nothing is.
fn told_in_handshake(ace: u8) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|ecn| handshake_ace(*ecn) == ace)
}

/// Whether a packet sent as `sent` may arrive as `came`. If not, something other than congestion
/// has changed it (section 3.2.2.3).
fn is_valid_transition(sent: Ecn, came: Ecn) -> bool {
    match (sent, came) {
        (Ecn::NotEct, came) => came == Ecn::NotEct,
        (Ecn::Ce, came) => came == Ecn::Ce,
        (Ecn::Ect0 | Ecn::Ect1, came) => came != Ecn::NotEct,
    }
}
