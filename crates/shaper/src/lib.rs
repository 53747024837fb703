//! A port for real packets, as the gate runs it.
//!
//! [`Shaper`] adds to a [`forebay_core::Port`] what real traffic needs. Its discipline and rate can
//! be changed without losing a packet. A recording contains all of its calls and results
//! ([`Recorder`]), and a replay repeats and compares them ([`replay()`]).
//!
//! ```
//! use forebay_core::{DropReason, Packet, Poll, Rate, Sink, Time};
//! use forebay_disciplines::Disciplines;
//! use forebay_shaper::{Plan, Shaper};
//! use serde_json::json;
//!
//! struct Forget;
//!
//! impl Sink for Forget {
//!     fn dropped(&mut self, packet: Packet, _: DropReason) {
//!         packet.retire();
//!     }
//!     fn marked(&mut self, _: &Packet) {}
//! }
//!
//! let queue = json!({ "kind": "codel" });
//! let plan = Plan::new(Rate::from_bps(8_000_000), 0, 1500, queue);
//! let mut shaper = Shaper::new(plan, 1, &Disciplines::builtin().into())?;
//! shaper.offer(Packet::new(1, 0, 1000), Time::ZERO, &mut Forget);
//! let Poll::Send { packet, done_at } = shaper.poll(Time::ZERO, &mut Forget) else { panic!() };
//! // 1000 bytes at 8 Mbit/s.
//! assert_eq!((packet.retire(), done_at.as_nanos()), (1, 1_000_000));
//! # Ok::<(), forebay_core::ConfigError>(())
//! ```

#![warn(missing_debug_implementations)]

mod flow;
pub mod headers;
pub mod link;
mod plan;
mod record;
mod replay;
pub mod schema;
mod shaper;
mod variation;

pub use flow::{FlowHash, host_number};
pub use plan::{Built, Plan};
pub use record::{Operation, Recorder, Recording, Storage};
pub use replay::{Replay, replay};
pub use shaper::{MOST_EARLIER, Shaper};
pub use variation::{Variation, Wire};
