//! The engine: events in order, packets on their way, and the world that they change.
//!
//! Speed comes from few events. A data packet on a dumbbell costs three: it arrives at the
//! bottleneck, the bottleneck is free to send it, it arrives at its receiver; what lies between is
//! computed when the packet enters it. An acknowledgment costs two.

mod capture;
mod cargo;
mod connection;
mod event;
mod foresight;
mod guard;
mod instant;
mod lane;
mod link;
mod measured;
mod segments;
mod series;
mod unfinished;
mod world;

pub use capture::Capture;
pub use event::{Agenda, Event, Key, Sequence};
pub use guard::Guard;
pub use lane::{Lane, Wire};
pub use link::{Course, Link, LinkChange, LinkSpec};
pub use segments::SegmentTrace;
pub use series::{ClassPoint, LinkSeries, Series};
pub use world::{
    Conditioner, Entry, Progress, RunError, Stop, Target, UDP_HEADERS, User, World, WorldSpec,
};
