//! Circuits: the services of subscribers.

use forebay_core::Rate;
use ipnet::IpNet;

/// Most nodes, and most circuits.
pub(crate) const MOST: usize = 50_000;
/// A value for each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// To the subscriber.
    pub down: T,
    /// From the subscriber.
    pub up: T,
}

/// The service of one subscriber.
#[derive(Debug, Clone, PartialEq)]
pub struct Circuit {
    /// Its number or name in the file, which no other circuit has.
    pub id: String,
    /// What people call it, often an address of a street. It may be empty.
    pub name: String,
    /// The line of its first device.
    pub line: u64,
    /// The node that it belongs to; None below the link.
    pub parent: Option<usize>,
    /// The name of this node in the file; empty if it has none.
    pub parent_name: String,
    /// The rates that it always gets.
    pub least: Both<Option<Rate>>,
    /// The rates that it never exceeds.
    pub most: Both<Option<Rate>>,
    /// The kinds of queue that it asks for.
    pub queue: Both<Option<&'static str>>,
    /// Addresses and prefixes of its devices.
    pub addresses: Vec<IpNet>,
}

/// `rate` Mbit/s.
///
/// # Errors
/// What is expected instead.
pub(crate) fn mbps(rate: f64) -> Result<Rate, &'static str> {
    // Half a bit/s and a petabit/s are beyond every plan.
    match rate {
        1e-6..=1e9 => Ok(Rate::from_bps((rate * 1e6).round() as u64)),
        rate if rate > 1e9 => Err("at most 1000000000 Mbit/s"),
        rate if rate > 0.0 => Err("at least 0.000001 Mbit/s"),
        _ => Err(NO_RATE),
    }
}

/// What is expected instead of what is no rate.
pub(crate) const NO_RATE: &str = "Mbit/s above 0";
