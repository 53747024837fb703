//! May it stay, and if not who goes?

mod tail_drop;

pub use tail_drop::{TailDrop, TailDropParams};
