//! Named kinds: combinations with defaults.

mod choice;
mod cq_aqm;
mod drr;
mod fifo;
mod prio;
mod wrr;

pub use choice::{ServerParams, SorterParams};
pub use cq_aqm::{CqAqm, CqAqmParams};
pub use drr::{Drr, DrrParams};
pub use fifo::Fifo;
pub use prio::{Prio, PrioParams};
pub use wrr::{Wrr, WrrParams};
