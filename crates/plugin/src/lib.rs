//! What a queue discipline of your own is built on.
//!
//! A discipline says what happens to packets at a port. It is written once, and runs in forebay's
//! simulator, in its gate, and in programs in C. The usual case is one queue with a rule, [`Admit`]:
//!
//! ```
//! use forebay_plugin::{
//!     Admit, Bank, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Setting, params,
//! };
//!
//! params! {
//!     /// Parameters of the rule.
//!     pub struct Params {
//!         /// Room in the queue, in packets ("100p") or bytes ("150KB").
//!         pub limit: Limit = Limit::Packets(100),
//!     }
//! }
//!
//! /// Drops what does not fit.
//! #[derive(Debug)]
//! pub struct Mine(Params);
//!
//! impl Named for Mine {
//!     type Family = dyn Admit;
//!     const NAME: &'static str = "mine";
//!     const SUMMARY: &'static str = "drops what does not fit";
//!     const SOURCE: &'static str = "none";
//!     type Params = Params;
//!
//!     fn build(params: &Params, _: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
//!         Ok(Box::new(Mine(params.clone())))
//!     }
//! }
//!
//! impl Admit for Mine {
//!     fn arrive(
//!         &mut self,
//!         queue: QueueId,
//!         packet: &mut Packet,
//!         bank: &mut Bank,
//!         _: &mut Context,
//!     ) -> Result<(), DropReason> {
//!         let (packets, bytes) = (bank.packets(queue), bank.bytes(queue));
//!         if self.0.limit.admits(packets, bytes, packet.len) {
//!             Ok(())
//!         } else {
//!             Err(DropReason::Overflow)
//!         }
//!     }
//! }
//!
//! forebay_plugin::plugin!(Mine);
//! # fn main() {}
//! ```
//!
//! A crate of the type `cdylib` with this content is a plug-in. [`Discipline`] is for everything that
//! is not one queue with a rule; its comments are the contract, which [`conformance`] checks. A packet
//! that it holds leaves once: returned from `dequeue`, or through [`Context::drop`]. Code that takes
//! packets out of the system, as a test does, calls [`Packet::retire`].
//!
//! # Stability
//! What this crate exports changes only with its second number (0.x) as long as the first is 0, and
//! only with the first one after that. Until then, a later version adds: variants and fields of types
//! that are `non_exhaustive`, functions of traits that have a default, and types. The rest of the
//! crates `forebay-core`, `forebay-disciplines` and `forebay-abi` promises nothing to plug-ins.

#![warn(missing_debug_implementations)]

pub use forebay::plugin;
pub use forebay_core::config::{above_zero, positive_share, require, within};
pub use forebay_core::tcp::{SackBlocks, Tcp, flags};
pub use forebay_core::{
    Backlog, Bank, Bytes, Conduct, ConfigError, Context, Discipline, DropReason, Duration, Ecn,
    Length, LevelOrder, Limit, Named, NoParams, Packet, PacketKind, Params, Place, QueueId, Rate,
    Rng, Setting, Sink, Time, Verdict, Wake, params,
};
pub use forebay_disciplines::{Admit, Alone, Disciplines};

/// The suite that checks whether a discipline keeps the contract (feature `conformance`).
#[cfg(feature = "conformance")]
pub mod conformance {
    pub use forebay_conformance::{Arrival, Fate, Manner, SETTING, adversarial, check, run};
}
