//! What is measured, and how a run is summed up.

mod delay;
mod loss;
mod queue;
mod users;
mod voice;

pub use delay::DelayMeter;
pub use loss::{Lengths, LossEvents, LossPattern};
pub use queue::{LEVELS, QueueMeter, QueuePoint};
pub use users::{ClassMeter, Share, UserMeter, energy_potential, jain, satisfaction};
pub use voice::{mos, r_factor};
