//! May it stay, and if not who goes?

mod cp_aqm;
mod cq_aqm;
mod shared_tail_drop;
mod tail_drop;

pub use cp_aqm::{CpAqm, CpAqmParams};
pub use cq_aqm::{CqAqm, CqAqmParams, CqQueueParams};
pub use shared_tail_drop::{SharedTailDrop, SharedTailDropParams};
pub use tail_drop::{TailDrop, TailDropParams};
