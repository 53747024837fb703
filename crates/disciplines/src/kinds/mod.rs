//! Named kinds: combinations with defaults.

mod fifo;
mod single_queue;

pub use fifo::Fifo;
pub use single_queue::{Codel, Pie, Red, Rio, Wred, Wrt};
