//! Measurements during a run.

mod delay;
mod flow_series;
mod loss;
mod playback;
mod queue;
mod responsiveness;
mod transfers;
mod users;
mod voice;

pub use flow_series::FlowSeries;
pub use loss::{Lengths, LossPattern};
pub use playback::{Playback, Watched, mean_watched};
pub use queue::{LEVELS, QueueMeter, QueuePoint};
pub use responsiveness::{Probes, round_trips_per_minute};
pub use transfers::{TransferLog, TransferRow};
pub use users::{ClassMeter, Share, UserMeter, energy_potential, jain, satisfaction};
pub use voice::{mos, r_factor};
