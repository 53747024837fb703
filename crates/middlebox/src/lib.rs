//! Boxes that see packets pass, and may mark, rewrite or answer them.
//!
//! No box does I/O, reads a clock or has a timer of its own. The simulator or the gate passes it
//! headers and the time.

pub mod aspq;
mod header;
pub mod marker;
mod middlebox;
mod registry;

pub use forebay_core::tcp::{SackBlocks, Tcp, flags};
pub use header::{Ack, FiveTuple, Header, Verdict};
pub use middlebox::{Counts, Middlebox};
pub use registry::builtin;
