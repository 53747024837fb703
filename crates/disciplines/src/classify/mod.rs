//! Which queue does this packet join?

mod flow_hash;
mod one;

pub use flow_hash::{FlowHash, FlowHashParams};
pub use one::One;
