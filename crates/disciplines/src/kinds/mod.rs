//! Named kinds: combinations with defaults.

mod fifo;
mod single_queue;

pub use fifo::Fifo;
pub use single_queue::{Codel, Gsp, Pie, Red, Rio, Wred, Wrt};
