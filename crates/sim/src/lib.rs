//! The closed-loop simulator: engine, links, traffic, scenarios and measurements.

pub mod traffic;
