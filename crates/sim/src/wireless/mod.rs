//! Wireless networks: stations that share one channel, and relay packets for each other.
//!
//! From the bottom up: [`propagation`] says how strong a signal arrives, [`medium`] who receives a
//! frame when others overlap it, [`contention`] when a station may send (IEEE 802.11 DCF), and
//! [`aodv`] which neighbour is the next hop (RFC 3561). [`Network`] combines them. It does no I/O:
//! it gets packets and wake-ups with the time, and returns [`Effects`].

pub mod aodv;
pub mod contention;
mod exchange;
pub mod medium;
mod meter;
mod network;
pub mod params;
pub mod place;
pub mod propagation;

pub use meter::StationMeter;
pub use network::{Effects, LossReason, Network, NetworkSpec, Wake};
pub use params::{Site, WirelessTable};
pub use place::{Point, Track};

#[cfg(test)]
mod tests;
