//! May it stay, and if not who goes?

mod cp_aqm;
mod cq_aqm;
mod tail_drop;

pub use cp_aqm::{CpAqm, CpAqmParams};
pub use cq_aqm::{CqAqm, CqAqmParams, CqQueueParams};
pub use tail_drop::{TailDrop, TailDropParams};
