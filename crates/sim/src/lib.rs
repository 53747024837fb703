//! The closed-loop simulator: engine, links, traffic, scenarios and measurements.

pub mod pcap_in;
pub mod pcap_out;
pub mod trace;
pub mod traffic;
