//! What is measured, and how a run is summed up.

mod delay;
mod queue;
mod users;
mod voice;

pub use delay::DelayMeter;
pub use queue::{QueueMeter, QueuePoint};
pub use users::{ClassMeter, Share, UserMeter, energy_potential, jain, satisfaction};
pub use voice::{mos, r_factor};
