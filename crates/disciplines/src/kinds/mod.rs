//! Named kinds: combinations with defaults.

mod choice;
mod cp_aqm;
mod cq_aqm;
mod drr;
mod fifo;
mod fq_codel;
mod fq_pie;
mod ncq;
mod prio;
mod single_queue;
mod wrr;

pub use choice::{ServerParams, SorterParams};
pub use cp_aqm::CpAqm;
pub use cq_aqm::{CqAqm, CqAqmParams};
pub use drr::{Drr, DrrParams};
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelParams};
pub use fq_pie::{FqPie, FqPieParams};
pub use ncq::{Ncq, NcqParams};
pub use prio::{Prio, PrioParams};
pub use single_queue::{Codel, Gsp, Pie, Red, Rio, Wred, Wrt};
pub use wrr::{Wrr, WrrParams};
