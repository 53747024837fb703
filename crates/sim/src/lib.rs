//! The closed-loop simulator: engine, links, traffic, scenarios and measurements.

pub mod agent;
mod course;
mod engine;
mod input;
pub mod kernel;
pub mod live;
mod measure;
pub mod pcap_in;
mod pcap_out;
mod registry;
pub mod scenario;
mod student;
pub mod summary;
pub mod trace;
pub mod traffic;
mod wireless;

pub use engine::{Progress, Run, RunError, World};
pub use live::Live;
pub use registry::{Nameable, Registry};
pub use scenario::Scenario;
pub use student::student_quantile;
pub use summary::{Summary, Table, summary, tables};
