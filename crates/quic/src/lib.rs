//! QUIC hosts for the simulator: the protocol of quinn, in virtual time.
//!
//! quinn-proto does no I/O. Here it is told the simulator's time, its random numbers come from the run's
//! seed, and its datagrams go over the simulator's links. So equal seeds give equal runs. Cryptography is
//! replaced by one that keeps lengths and round trips ([`plain`]).
//!
//! [`Quic`] is a source of traffic. A program adds it to its registry:
//!
//! ```
//! let registry = forebay_sim::Registry::builtin().with::<forebay_quic::Quic>();
//! assert!(registry.sources.find("quic").is_ok());
//! ```

mod application;
mod clock;
mod control;
mod host;
mod log;
pub mod plain;
mod source;

pub use application::Sending;
pub use control::{Controls, control};
pub use host::{Host, HostParams, pair};
pub use quinn_proto;
pub use source::{Quic, QuicParams};
