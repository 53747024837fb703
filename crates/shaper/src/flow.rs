//! The flow and the hosts of a packet, from its addresses.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::net::IpAddr;

/// The number of the host with `address`, as packets carry it: 16 bits, never 0.
#[inline]
pub fn host_number(address: IpAddr) -> u16 {
    (FixedState::with_seed(0).hash_one(address) as u16).max(1)
}

/// Hashes five-tuples; equal seeds give equal hashes.
#[derive(Debug, Clone)]
pub struct FlowHash(FixedState);

impl FlowHash {
    /// The hash function for `seed`.
    pub fn new(seed: u64) -> Self {
        FlowHash(FixedState::with_seed(seed))
    }

    /// The flow of packets with these addresses, protocol and ports (source, destination).
    #[inline]
    pub fn of(
        &self,
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        ports: Option<(u16, u16)>,
    ) -> u32 {
        self.0.hash_one((source, destination, protocol, ports)) as u32
    }
}
