//! The system of a process that runs a gate.

use crate::gate::{End, Gate};
use crate::status::Status;
use crate::system::{Machine, System};
use std::io;

/// A system in which a gate can run.
pub trait Host: System {
    /// Runs `gate` to its end.
    fn run(&self, gate: &mut Gate) -> (Status, io::Result<End>);
}

impl Host for Machine {
    fn run(&self, gate: &mut Gate) -> (Status, io::Result<End>) {
        gate.run()
    }
}
