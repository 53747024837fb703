//! Wireless networks: stations that share one channel, and relay packets for each other.
//!
//! From the bottom up: [`propagation`] computes the power of a signal, [`medium`] finds the stations that
//! receive a frame when frames overlap, [`contention`] decides when a station may send (IEEE 802.11 DCF),
//! and [`aodv`] finds the next hop (RFC 3561). [`Network`] combines them. It does no I/O: it gets packets
//! and wake-ups with the time, and returns [`Effects`].

pub mod aodv;
mod contention;
mod exchange;
pub mod medium;
mod meter;
mod network;
mod params;
pub mod place;
mod propagation;

pub use network::{Effects, Network, NetworkSpec, Wake};
pub use params::{Site, WirelessTable};
pub use place::Track;

#[cfg(test)]
mod tests;
