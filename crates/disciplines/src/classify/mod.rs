//! Which queue does this packet join?

mod class;
mod dscp;
mod one;
mod precedence;

pub use class::{Class, ClassParams};
pub use dscp::{Dscp, DscpParams};
pub use one::{One, OneParams};
pub use precedence::{Precedence, PrecedenceParams};
