//! The circuit of an address, by the longest prefix that contains it.
//!
//! Each length of prefix in use has a hash table. A look-up asks them from the longest to the
//! shortest, so it costs as many steps as there are lengths: one or two in most networks, however
//! many circuits there are.

use crate::Network;
use foldhash::HashMap;
use forebay_core::ConfigError;
use ipnet::IpNet;
use std::net::IpAddr;

/// Circuits by address.
#[derive(Debug, Clone, Default)]
pub struct Prefixes {
    /// Tables with the mask of their length, the longest first. Addresses of IPv4 have a family
    /// of their own.
    four: Vec<(u32, HashMap<u32, u32>)>,
    six: Vec<(u128, HashMap<u128, u32>)>,
}

impl Prefixes {
    /// The addresses of `network`, whose devices are in `file`. Circuits have their numbers in
    /// [`Network::circuits`].
    ///
    /// # Errors
    /// Two circuits have the same prefix.
    pub fn of(network: &Network, file: &str) -> Result<Self, ConfigError> {
        let mut found = Prefixes::default();
        for (number, circuit) in network.circuits.iter().enumerate() {
            for net in &circuit.addresses {
                let before = found.insert(*net, number as u32);
                if let Some(other) = before.filter(|before| *before != number as u32) {
                    let other = &network.circuits[other as usize];
                    return Err(ConfigError::new(
                        format!("{file}: line {}", circuit.line),
                        format!(
                            "circuit {} has {net}, which circuit {} of line {} has; give it to one \
                             of them",
                            circuit.id, other.id, other.line
                        ),
                    ));
                }
            }
        }
        Ok(found)
    }

    /// Adds `net` for a circuit. Returns the circuit that had it before.
    pub fn insert(&mut self, net: IpNet, circuit: u32) -> Option<u32> {
        match net.trunc() {
            IpNet::V4(net) => {
                let (mask, key) = (net.netmask().to_bits(), net.network().to_bits());
                table(&mut self.four, mask).insert(key, circuit)
            }
            IpNet::V6(net) => {
                let (mask, key) = (net.netmask().to_bits(), net.network().to_bits());
                table(&mut self.six, mask).insert(key, circuit)
            }
        }
    }

    /// The circuit of `address`.
    #[inline]
    pub fn find(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => {
                let bits = address.to_bits();
                self.four.iter().find_map(|(mask, table)| table.get(&(bits & mask)).copied())
            }
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                self.six.iter().find_map(|(mask, table)| table.get(&(bits & mask)).copied())
            }
        }
    }
}

/// The table for `mask`, which is made if there is none.
fn table<K: Ord + Copy>(tables: &mut Vec<(K, HashMap<K, u32>)>, mask: K) -> &mut HashMap<K, u32> {
    let place = match tables.binary_search_by(|(other, _)| mask.cmp(other)) {
        Ok(place) => place,
        Err(place) => {
            tables.insert(place, (mask, HashMap::default()));
            place
        }
    };
    &mut tables[place].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn net() -> impl Strategy<Value = IpNet> {
        // Few bits, so that prefixes contain each other.
        let four = (0_u32..64, 24_u8..=32)
            .prop_map(|(bits, len)| IpNet::new(Ipv4Addr::from(bits).into(), len).unwrap());
        let six = (0_u128..64, 120_u8..=128)
            .prop_map(|(bits, len)| IpNet::new(Ipv6Addr::from(bits).into(), len).unwrap());
        prop_oneof![four, six, Just("0.0.0.0/0".parse().unwrap())]
    }

    proptest! {
        #[test]
        fn the_longest_prefix_is_found(nets in prop::collection::vec(net(), 0..40), bits in 0_u32..80) {
            let mut prefixes = Prefixes::default();
            let mut all: Vec<(IpNet, u32)> = Vec::new();
            for (number, net) in nets.iter().enumerate() {
                prefixes.insert(*net, number as u32);
                all.retain(|(other, _)| *other != net.trunc());
                all.push((net.trunc(), number as u32));
            }
            for address in [
                IpAddr::from(Ipv4Addr::from(bits)), IpAddr::from(Ipv6Addr::from(u128::from(bits))),
            ] {
                let inside = all.iter().filter(|(net, _)| net.contains(&address));
                let longest = inside.max_by_key(|(net, _)| net.prefix_len());
                prop_assert_eq!(prefixes.find(address), longest.map(|(_, number)| *number));
            }
        }
    }
}
