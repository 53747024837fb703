//! Time, packets, queues and the port: the basis of every discipline.
//!
//! A discipline is written once. It is told the time, and does not know whether the simulator or
//! the gate calls it.
//!
//! ```
//! use forebay_core::{Backlog, Bank, Packet};
//!
//! // Packets are moved, never copied, and each leaves once: `retire` ends its life.
//! let mut bank = Bank::new(1);
//! bank.push(0, Packet::new(7, 0, 1500));
//! assert_eq!(bank.total(), Backlog { packets: 1, bytes: 1500 });
//! assert_eq!(bank.pop(0).map(Packet::retire), Some(7));
//! ```

#![warn(missing_debug_implementations)]

mod bank;
mod capacity;
mod codepoint;
pub mod config;
mod dimension;
mod discipline;
mod fifo;
pub mod file;
mod forward;
mod memory;
mod named_enum;
mod overhead;
mod packet;
pub mod params;
mod port;
mod quantity;
mod registry;
mod rng;
mod row;
mod schedule;
pub mod tcp;
mod time;
#[doc(hidden)]
pub mod units;

pub use bank::{Bank, LevelOrder, Place, QueueId};
pub use capacity::Capacity;
pub use codepoint::Codepoint;
pub use config::ConfigError;
pub use dimension::{Dimension, Quantity};
pub use discipline::{Backlog, Context, Discipline, DropReason, Setting, Sink, Verdict, Wake};
pub use fifo::Fifo;
pub use memory::{fetch, fetch_after, fetch_whole};
pub use overhead::Overhead;
pub use packet::{Ecn, Packet, PacketKind};
pub use params::{NoParams, Params};
pub use port::{Poll, Port};
pub use quantity::{Bytes, Length, Limit, Rate};
pub use registry::{Conduct, Entry, Family, Named, Recipe, Registry};
pub use rng::Rng;
pub use row::Row;
pub use schedule::Schedule;
pub use time::{Duration, Time};
pub use units::UnitError;
