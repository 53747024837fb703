//! Named kinds: combinations with defaults.

mod fifo;

pub use fifo::Fifo;
