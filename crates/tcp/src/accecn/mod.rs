//! More accurate ECN feedback (AccECN, RFC 9768): how many packets and bytes came marked.
//!
//! The client asks by three flags of its SYN, the server agrees by those of its SYN-ACK, which also
//! tell how the SYN came (section 3.1). From then on each side tells how many packets came marked in
//! three bits of every segment (ACE), and how many bytes came with each codepoint in an option.
//!
//! | RFC | here |
//! |---|---|
//! | r.cep, r.ceb, r.e0b, r.e1b | [`DataReceiver`] |
//! | s.cep, s.ceb | [`DataSender`] |
//! | ECEB, EE0B, EE1B | [`AccEcnOption`] |
//! | feedback mode | [`Feedback`] |
//!
//! # Deviations
//! - D1. Data flow one way, from client to server, so that the server is no data sender: it does not
//!   track `s.cep`, and the client, to whom no payload comes, sends no option (section 3.2.3.2.1
//!   would have one on the first acknowledgment and the first data).
//! - D2. An option is sent with every acknowledgment if a byte counter has changed since the last
//!   (section 3.2.3.3, the recommended scheme), and beside timestamps and two SACK blocks, too: there
//!   is room if all options lie close.
//! - D3. A SYN that comes again is taken for the timeout of the SYN-ACK, which has no timer of its
//!   own: the second SYN-ACK is without option, later ones have no flags (section 3.2.3.2.2).
//! - D4. Marks without end are not taken for mangling: a saturated queue marks every packet, too
//!   (section 3.2.2.3 leaves open how to tell).
//! - D5. Nothing is remembered of earlier connections.
//! - D6. The sender keeps no `s.e0b` and `s.e1b`: only marked bytes matter to it.
//! - D7. Boxes that answer in the receiver's place know nothing of counters: an answer of theirs that a
//!   later timestamp makes news is read as marks.

mod data_receiver;
mod data_sender;
mod option;

pub(crate) use data_receiver::{Asked, DataReceiver};
pub(crate) use data_sender::{DataSender, News};
pub use option::{AccEcnOption, OptionTail};

use forebay_core::Ecn;

/// How a receiver tells its sender of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Not at all: packets are not ECN-capable.
    None,
    /// An echo until it is answered (RFC 3168), or of each change (RFC 8257).
    Classic,
    /// Counts of packets and bytes (RFC 9768).
    Accurate,
}

/// DIVACE: the ACE field counts modulo eight.
const DIVACE: u64 = 8;
/// DIVOPT: the option's fields count modulo 2^24.
const DIVOPT: u32 = 1 << 24;
/// What the packet counter begins with, and the byte counters of ECT(0) and ECT(1) (section 3.2.1).
const FIRST_CEP: u64 = 5;
const FIRST_BYTES: u32 = 1;

/// How a codepoint is told in the handshake, on the SYN-ACK and on its acknowledgment (tables 2 and
/// 3).
fn handshake_ace(came: Ecn) -> u8 {
    match came {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// What it tells; None if it tells nothing.
fn told_in_handshake(ace: u8) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|ecn| handshake_ace(*ecn) == ace)
}

/// Whether a packet sent as `sent` may come as `came`, or something else than congestion changed it
/// (section 3.2.2.3).
fn is_valid_transition(sent: Ecn, came: Ecn) -> bool {
    match (sent, came) {
        (Ecn::NotEct, came) => came == Ecn::NotEct,
        (Ecn::Ce, came) => came == Ecn::Ce,
        (Ecn::Ect0 | Ecn::Ect1, came) => came != Ecn::NotEct,
    }
}
