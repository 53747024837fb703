//! The closed-loop simulator: engine, links, traffic, scenarios and measurements.

pub mod agent;
pub mod course;
pub mod engine;
pub mod kernel;
pub mod live;
pub mod measure;
pub mod pcap_in;
pub mod pcap_out;
mod registry;
pub mod scenario;
pub mod summary;
pub mod trace;
pub mod traffic;
pub mod wireless;

pub use engine::{Progress, Run, RunError, World};
pub use live::Live;
pub use registry::{Nameable, Registry};
pub use scenario::Scenario;
pub use summary::{Summary, Table, summary, tables};
