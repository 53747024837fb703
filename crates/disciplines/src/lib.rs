//! Queue disciplines: answers to three questions, and the named kinds made of them.
//!
//! The questions are: *which queue does this packet join* ([`classify`]); *may it stay, and if not,
//! which packet is dropped* ([`admit`]); *who is served next* ([`schedule`]). Any three answers
//! make a discipline ([`Composed`]). A named kind ([`kinds`]) is a combination with defaults.
//! [`Disciplines`] has all of them by name, and a program can add its own.
//!
//! ```
//! use forebay_core::{Context, DropReason, Packet, Rate, Rng, Setting, Sink, Time};
//! use forebay_disciplines::Disciplines;
//! use serde_json::json;
//!
//! /// Takes dropped packets, and is told of marks.
//! struct Drops(Vec<u32>);
//!
//! impl Sink for Drops {
//!     fn dropped(&mut self, packet: Packet, _: DropReason) {
//!         self.0.push(packet.retire());
//!     }
//!     fn marked(&mut self, _: &Packet) {}
//! }
//!
//! let port = Setting::new(Rate::from_bps(10_000_000), 0, 1500);
//! let block = json!({ "kind": "fifo", "limit": "2p" });
//! let mut queue = Disciplines::builtin().build(&block, &port)?;
//! let (mut rng, mut drops) = (Rng::named(1, "port"), Drops(Vec::new()));
//! let mut now = Context::new(Time::ZERO, &mut rng, &mut drops);
//! for id in 0..3 {
//!     queue.enqueue(Packet::new(id, 0, 1500), &mut now);
//! }
//! assert_eq!(queue.dequeue(&mut now).map(Packet::retire), Some(0));
//! assert_eq!(drops.0, [2]);
//! # queue.dequeue(&mut Context::new(Time::ZERO, &mut rng, &mut drops)).map(Packet::retire);
//! # Ok::<(), forebay_core::ConfigError>(())
//! ```

pub mod admit;
mod builtin;
pub mod classify;
mod compose;
#[cfg(test)]
mod fixture;
pub mod kinds;
mod one_or_each;
mod questions;
mod registry;
mod retune;
pub mod schedule;

pub use compose::Composed;
pub use one_or_each::OneOrEach;
pub use questions::{Admit, Alone, Classify, Schedule};
pub use registry::{Classful, ClassfulSite, Disciplines, Part};
