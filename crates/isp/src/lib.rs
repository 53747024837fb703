//! The network of an internet provider: sites, circuits and their plans.
//!
//! It is read from two files of LibreQoS 1.5 and 2.0: `network.json`, a tree of sites with
//! capacities, and `ShapedDevices.csv`, a line for each device with its circuit's plan
//! (docs/v2.0/configuration-advanced.md there). [`Network::tree`] makes the `htb` tree that shapes
//! it, or one for each core ([`Network::spread`]), and [`Prefixes`] finds the circuit of an address. No file is opened here.

mod circuit;
mod cores;
mod devices;
mod network;
mod once;
mod prefixes;
mod tree;

pub use circuit::{Both, Circuit};
pub use cores::Cores;
pub use network::{Network, Node};
pub use prefixes::Prefixes;
pub use tree::{Direction, Place, Shaping, Tree};
