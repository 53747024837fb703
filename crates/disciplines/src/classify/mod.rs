//! Which queue does this packet join?

mod class;
mod dscp;
mod flow_hash;
mod one;
mod precedence;

pub use class::{Class, ClassParams};
pub use dscp::{Dscp, DscpParams};
pub use flow_hash::{FlowHash, FlowHashParams};
pub use one::{One, OneParams};
pub use precedence::{Precedence, PrecedenceParams};
