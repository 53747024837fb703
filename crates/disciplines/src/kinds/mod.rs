//! Named kinds: combinations with defaults.

mod fifo;
mod fq_codel;
mod fq_pie;
mod single_queue;

pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelParams};
pub use fq_pie::{FqPie, FqPieParams};
pub use single_queue::{Codel, Gsp, Pie, Red, Rio, Wred, Wrt};
