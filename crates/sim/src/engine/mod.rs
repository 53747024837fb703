//! The engine: events in order, packets on their way, and the world that they change.
//!
//! A world is four parts and a loop. The fabric has the packets under way and the agenda, transport
//! what sends and receives, boxes see what passes them, and measures keep what was found. Each is
//! handed input, the time and the parts that its effects go to; the world only hands on. Whoever
//! stands further down knows those above: fabric, transport, boxes, world.
//!
//! Speed comes from few events. A data packet on a dumbbell costs three: it arrives at the
//! bottleneck, the bottleneck is free to send it, it arrives at its receiver; what lies between is
//! computed when the packet enters it. An acknowledgment costs two. Most links are advanced lazily, and
//! need an entry in the agenda only for several packets together.

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

pub use agenda::Agenda;
pub use boxes::PlacedBox;
pub use change::{Change, Join};
pub use event::{Event, Key, Sequence};
pub use fabric::{
    AccessLink, Border, Capture, FabricSpec, Link, LinkChange, LinkSpec, Schedule, Stop, Target,
};
pub use measures::{ClassPoint, LinkSeries, MeasuresSpec, SegmentTrace, Series};
pub use parallel::{Parallel, Plan, Run};
pub use transport::{Conditioner, Entry, Homes, TransportSpec, UDP_HEADERS, User};
pub use world::{Progress, RunError, World, WorldSpec};
