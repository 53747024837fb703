//! Named kinds: combinations with defaults.

mod choice;
mod cp_aqm;
mod cq_aqm;
mod drr;
mod fifo;
mod ncq;
mod prio;
mod wrr;

pub use choice::{ServerParams, SorterParams};
pub use cp_aqm::CpAqm;
pub use cq_aqm::{CqAqm, CqAqmParams};
pub use drr::{Drr, DrrParams};
pub use fifo::Fifo;
pub use ncq::{Ncq, NcqParams};
pub use prio::{Prio, PrioParams};
pub use wrr::{Wrr, WrrParams};
