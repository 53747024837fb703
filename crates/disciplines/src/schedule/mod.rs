//! Who is served next?

mod fair;
mod fifo;

pub use fair::{Fair, FairParams};
pub use fifo::Fifo;
