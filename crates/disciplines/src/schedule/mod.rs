//! Who is served next?

mod drr;
mod fifo;
mod strict_priority;
mod weights;
mod wrr;

pub use drr::{Drr, DrrParams};
pub use fifo::{Fifo, FifoParams};
pub use strict_priority::{StrictPriority, StrictPriorityParams};
pub use wrr::{Wrr, WrrParams};
