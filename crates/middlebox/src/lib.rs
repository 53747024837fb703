//! Boxes that see packets pass, and may mark, rewrite or answer them.
//!
//! None does I/O, reads a clock or keeps a timer of its own: whoever carries the packets, the
//! simulator or the gateway, hands over what is in their headers, and the time.

pub mod aspq;
mod header;
pub mod marker;
mod middlebox;
mod registry;

pub use forebay_core::tcp::{SackBlocks, Tcp, flags};
pub use header::{Ack, FiveTuple, Header, Verdict};
pub use middlebox::{Counts, Middlebox};
pub use registry::builtin;
