//! May it stay, and if not who goes?

mod average;
mod codel;
mod cp_aqm;
mod cq_aqm;
mod curve;
mod fattest_drop;
mod gsp;
mod pie;
mod policers;
mod red;
mod shared_tail_drop;
mod tail_drop;
mod wred;

pub use average::{Average, Idle, Pace};
pub use codel::{Codel, CodelLaw, CodelParams, CodelState};
pub use cp_aqm::{CpAqm, CpAqmParams};
pub use cq_aqm::{AdaptiveParams, CqAqm, CqAqmParams, CqQueueParams, SharesParams};
pub use curve::{Curve, Measure, Signal, Spacing};
pub use fattest_drop::FattestDrop;
pub use gsp::{Gsp, GspParams};
pub use pie::{DelayEstimation, Pie, PieLaw, PieParams, PieState};
pub use red::{Red, RedParams};
pub use shared_tail_drop::{SharedTailDrop, SharedTailDropParams};
pub use tail_drop::{TailDrop, TailDropParams};
pub use wred::{DropStrategy, Level, Rio, RioParams, Victim, Wred, WredParams, Wrt, WrtParams};
