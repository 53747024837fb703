//! Schedulers: which queue is served next?

mod classic_protection;
mod drr;
mod fair;
mod fifo;
mod strict_priority;
mod weights;
mod wfq;
mod wrr;

pub use classic_protection::{ClassicProtection, ClassicProtectionParams};
pub use drr::{Drr, DrrParams};
pub use fair::{Fair, FairParams};
pub use fifo::Fifo;
pub use strict_priority::StrictPriority;
pub use weights::WeightsParams;
pub use wfq::Wfq;
pub use wrr::Wrr;
