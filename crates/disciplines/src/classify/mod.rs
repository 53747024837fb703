//! Which queue does this packet join?

mod one;

pub use one::One;
