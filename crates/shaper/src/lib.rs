//! A port as the gate runs it.
//!
//! [`Shaper`] joins a [`forebay_core::Port`] to what real traffic asks for: another discipline or
//! rate without losing a packet, a record of everything that was asked and answered
//! ([`Recorder`]), and a replay that asks the same again and compares ([`replay()`]).

mod flow;
pub mod link;
mod record;
mod replay;
mod shaper;

pub use flow::FlowHash;
pub use record::{Operation, Recorder, Recording};
pub use replay::{Replay, replay};
pub use shaper::{Plan, Shaper};
