//! Classifiers: which queue does a packet join?

mod class;
mod dscp;
mod flow_hash;
mod flow_meter;
mod host;
mod low_latency;
mod ncq;
mod one;
mod precedence;
mod queue_protection;
mod service_share;

pub use class::{Class, ClassParams};
pub(crate) use class::{MOST_QUEUES, check_queues};
pub use dscp::{Dscp, DscpParams, Treatment};
pub(crate) use flow_hash::mix;
pub use flow_hash::{FlowHash, FlowHashParams};
pub use host::{End, Host, HostParams};
pub(crate) use low_latency::CLASSIC;
pub use low_latency::{LowLatency, LowLatencyParams};
pub use ncq::{FavourMode, FlowParams, Identify, Ncq, NcqParams};
pub use one::One;
pub use precedence::Precedence;
pub use queue_protection::{QueueProtection, QueueProtectionParams};
pub use service_share::Window;
