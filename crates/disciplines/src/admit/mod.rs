//! May it stay, and if not who goes?

mod cq_aqm;
mod tail_drop;

pub use cq_aqm::{CqAqm, CqAqmParams, CqQueueParams};
pub use tail_drop::{TailDrop, TailDropParams};
