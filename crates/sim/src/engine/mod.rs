//! The engine: the world, which handles events in order.
//!
//! A world has four parts: the fabric with the packets under way and the agenda, measures, transport with
//! the hosts, and boxes. Each gets its input, the time, and the parts on which it acts, and knows only
//! those before it in this order. The world passes the next event to its part.
//!
//! Speed comes from few events. On a dumbbell a data packet costs three: it arrives at the bottleneck, the
//! bottleneck is free to send it, it arrives at its receiver. An acknowledgment costs two. Most links are
//! advanced lazily, and need only one entry in the agenda for several packets.

mod agenda;
mod boxes;
mod calendar;
mod change;
mod event;
mod fabric;
mod measures;
mod parallel;
mod prefetch;
mod table;
#[cfg(test)]
mod tests;
mod transport;
mod unfinished;
mod watch;
mod world;

pub use boxes::PlacedBox;
pub use change::{Change, Join};
#[cfg(test)]
pub use event::Event;
pub use fabric::{AccessLink, Capture, FabricSpec, Link, LinkChange, LinkSpec, Stop, Target};
pub use measures::{ClassPoint, LinkSeries, MeasuresSpec, SegmentTrace};
pub use parallel::{Parallel, Plan, Run};
pub use transport::{Conditioner, Ends, Entry, TransportSpec, UDP_HEADERS, User};
pub use world::{Progress, RunError, World, WorldSpec};
