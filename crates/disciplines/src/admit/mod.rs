//! Admission rules: may a packet stay, and if not, which packet is dropped?

mod agent;
mod average;
mod ce_threshold;
mod cobalt;
mod codel;
mod cp_aqm;
mod cq_aqm;
mod curve;
mod dual_pi2;
mod fattest_drop;
mod gsp;
mod pi2;
mod pie;
mod policers;
mod recur;
mod red;
mod shared_tail_drop;
mod step;
mod tail_drop;
mod wred;

pub use agent::{Agent, AgentParams};
pub use average::{Average, Idle, Pace};
pub use ce_threshold::{CeThreshold, CeThresholdParams};
pub use cobalt::{Cobalt, CobaltLaw, CobaltParams, CobaltState};
pub use codel::{BacklogOf, Codel, CodelLaw, CodelParams, CodelState};
pub use cp_aqm::{CpAqm, CpAqmParams};
pub use cq_aqm::{AdaptiveParams, CqAqm, CqAqmParams, CqQueueParams, SharesParams};
pub use curve::{Curve, Gaps, Measure, Signal, Spacing};
pub use dual_pi2::DualPi2;
pub use fattest_drop::{FattestDrop, FattestDropParams};
pub use gsp::{Gsp, GspParams};
pub use pi2::{Overload, Pi2, Pi2Law, Pi2Params, Pi2State};
pub use pie::{DelayEstimation, Pie, PieLaw, PieParams, PieState};
pub use recur::Recur;
pub use red::{Red, RedParams};
pub use shared_tail_drop::{SharedTailDrop, SharedTailDropParams};
pub use step::{Ramp, Step, StepParams};
pub use tail_drop::{TailDrop, TailDropParams};
pub use wred::{
    DropStrategy, InProfileParams, Level, Rio, RioParams, Victim, Wred, WredParams, Wrt, WrtParams,
};
