//! The parts of a network that the cores of a gate serve.

use crate::Network;
use std::cmp::Reverse;

/// Circuits on cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    /// Number of cores.
    pub count: usize,
    /// The core of each circuit, and its leaf in that core's tree; leaf 0 is for unknown addresses.
    pub circuits: Vec<(u16, u16)>,
}

/// What is put onto a core in one piece.
#[derive(Clone, Copy)]
enum Piece {
    /// A node and all below it.
    Node(usize),
    Circuit(usize),
}

impl Network {
    /// Puts the circuits onto so many cores, equal numbers on each as far as they are multiples of
    /// whole nodes. A node is divided only if a core would have more than a tenth above the mean
    /// otherwise. Plans play no part, so a change of them moves nobody.
    pub fn spread(&self, count: usize) -> Cores {
        let mut below = vec![0_usize; self.nodes.len()];
        for circuit in &self.circuits {
            self.upwards(circuit.parent).for_each(|node| below[node] += 1);
        }
        let children = |parent: Option<usize>| {
            let nodes = self.nodes.iter().enumerate();
            let nodes = nodes.filter(move |(_, node)| node.parent == parent);
            let nodes = nodes.map(|(number, _)| Piece::Node(number));
            let circuits = self.circuits.iter().enumerate();
            let circuits = circuits.filter(move |(_, circuit)| circuit.parent == parent);
            nodes.chain(circuits.map(|(number, _)| Piece::Circuit(number)))
        };
        let size = |piece: &Piece| match piece {
            Piece::Node(node) => below[*node],
            Piece::Circuit(_) => 1,
        };
        let mut pieces: Vec<Piece> = children(None).collect();
        let most = (self.circuits.len() * 11).div_ceil(count * 10);
        loop {
            // The largest first, each onto the core that has least.
            pieces.sort_by_key(|piece| Reverse(size(piece)));
            let mut loads = vec![0; count];
            let mut cores: Vec<Vec<Piece>> = vec![Vec::new(); count];
            for piece in pieces.iter().filter(|piece| size(piece) > 0) {
                let least = (0..count).min_by_key(|core| loads[*core]).unwrap_or_default();
                loads[least] += size(piece);
                cores[least].push(*piece);
            }
            let full =
                (0..count).max_by_key(|core| loads[*core]).filter(|core| loads[*core] > most);
            let largest = full.and_then(|core| cores[core].first());
            match largest {
                Some(Piece::Node(node)) => {
                    let node = *node;
                    pieces.retain(|piece| !matches!(piece, Piece::Node(other) if *other == node));
                    pieces.extend(children(Some(node)));
                }
                _ => return self.placed(count, &cores),
            }
        }
    }

    fn placed(&self, count: usize, cores: &[Vec<Piece>]) -> Cores {
        let mut nodes = vec![0; self.nodes.len()];
        let mut own = vec![None; self.circuits.len()];
        for (core, pieces) in cores.iter().enumerate() {
            for piece in pieces {
                match piece {
                    Piece::Node(node) => nodes[*node] = core + 1,
                    Piece::Circuit(circuit) => own[*circuit] = Some(core),
                }
            }
        }
        let mut leaves = vec![0_u16; count];
        let circuits = self.circuits.iter().zip(own).map(|(circuit, own)| {
            let above = || self.upwards(circuit.parent).find_map(|node| nodes[node].checked_sub(1));
            let core = own.or_else(above).unwrap_or_default();
            leaves[core] += 1;
            (core as u16, leaves[core])
        });
        Cores { count, circuits: circuits.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(tree: &str, circuits: &[(&str, usize)]) -> Network {
        let mut network = Network::read(tree, "n").unwrap();
        let mut lines = String::from("Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps");
        let mut number = 0;
        for (node, count) in circuits {
            for _ in 0..*count {
                number += 1;
                lines += &format!("\n{number},{node},1,1");
            }
        }
        network.add_devices(&lines, "d").unwrap();
        network
    }

    fn loads(network: &Network, count: usize) -> Vec<usize> {
        let cores = network.spread(count);
        let of = |core| cores.circuits.iter().filter(|(own, _)| usize::from(*own) == core).count();
        (0..count).map(of).collect()
    }

    /// Nodes whose circuits are on several cores.
    fn divided(network: &Network, count: usize) -> usize {
        let cores = network.spread(count);
        let of = |node: &usize| {
            let both = network.circuits.iter().zip(&cores.circuits);
            let mut own: Vec<_> = both
                .filter(|(circuit, _)| network.upwards(circuit.parent).any(|other| other == *node))
                .map(|(_, (core, _))| *core)
                .collect();
            own.sort_unstable();
            own.dedup();
            own.len() > 1
        };
        (0..network.nodes.len()).filter(of).count()
    }

    #[test]
    fn whole_nodes_stay_on_one_core() {
        let tree = r#"{ "A": {}, "B": { "children": { "C": {}, "D": {} } }, "E": {} }"#;
        let network = network(tree, &[("A", 5), ("C", 2), ("D", 2), ("E", 4), ("", 3)]);
        assert_eq!(loads(&network, 2), [8, 8]);
        assert_eq!((divided(&network, 2), divided(&network, 1)), (0, 0));
        let leaves: Vec<_> = network.spread(1).circuits.iter().map(|(_, leaf)| *leaf).collect();
        assert_eq!(leaves, (1..=16).collect::<Vec<_>>());
    }

    #[test]
    fn a_node_that_is_too_large_is_divided() {
        let tree = r#"{ "A": { "children": { "B": {}, "C": {} } }, "D": {} }"#;
        let network = network(tree, &[("A", 1), ("B", 20), ("C", 20), ("D", 2)]);
        assert_eq!(loads(&network, 2), [22, 21]);
        assert_eq!(divided(&network, 2), 1);
        assert_eq!(loads(&network, 4).iter().sum::<usize>(), 43);
        assert!(loads(&network, 4).iter().all(|load| (10..=12).contains(load)));
        // More cores than circuits.
        assert_eq!(loads(&network, 50).iter().max(), Some(&1));
    }
}
