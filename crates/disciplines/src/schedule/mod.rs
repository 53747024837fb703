//! Who is served next?

mod fifo;

pub use fifo::Fifo;
