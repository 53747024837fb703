//! Which flow a packet belongs to.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::net::IpAddr;

/// Hashes five-tuples; equal seeds give equal hashes.
#[derive(Debug, Clone)]
pub struct FlowHash(FixedState);

impl FlowHash {
    /// The hash of `seed`.
    pub fn new(seed: u64) -> Self {
        FlowHash(FixedState::with_seed(seed))
    }

    /// The flow of packets of these addresses, protocol and ports (source, destination).
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
