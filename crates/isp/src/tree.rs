//! The tree of a network as parameters of `htb`.
//!
//! A node's ceiling is its capacity, or that of the nodes above if this is less. A circuit's
//! ceiling is its largest rate. The rates that are always there are the circuits' least rates. If
//! those below a node add up to more than it has, they shrink in proportion: `htb` refuses to
//! promise more than there is, and LibreQoS reduces them, too. A node is promised what its circuits
//! are promised. What is left of every node is shared in turns.

use crate::{Both, Cores, Network};
use forebay_core::{ConfigError, Rate};
use serde_json::{Value, json};

/// Least rate of a circuit whose line has none: 1 Mbit/s, as LibreQoS advises, or its largest rate.
const USUAL: u64 = 1_000_000;
/// `htb`'s least rate.
const LEAST: u64 = 8;
/// Most circuits: packets carry the number of a host in 16 bits, and `htb` has 65534 classes.
const MOST: usize = 65_000;
/// Most levels of nodes: `htb` has eight, of which the link and the circuits take two.
const DEEPEST: usize = 6;

/// A direction of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the subscribers.
    Down,
    /// From the subscribers.
    Up,
}

impl<T: Copy> Both<T> {
    /// The value of `direction`.
    pub fn of(&self, direction: Direction) -> T {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }
}

/// What the files do not say of a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaping {
    /// Rate of the link above all.
    pub link: Rate,
    /// Largest rate of the traffic of unknown addresses.
    pub others: Rate,
    /// The queue of circuits that ask for none.
    pub queue: Value,
}

/// A network as a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The block of `htb`. Leaf 0 is for unknown addresses, and the others for the circuits in
    /// their order; its classifier expects these numbers as hosts.
    pub queue: Value,
    /// The classes that also stand in trees of other cores: each by the places from the top down.
    pub shared: Vec<(Place, Vec<u32>)>,
    /// Names of the nodes below which promises had to shrink; "" is the link.
    pub shrunk: Vec<String>,
}

/// A class with a rate that cores may share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The link.
    Link,
    /// Unknown addresses.
    Others,
    /// The node with this name.
    Node(String),
}

/// What a place of the tree promises and allows, in bit/s.
#[derive(Clone, Copy)]
struct Share {
    promise: u64,
    most: u64,
}

impl Network {
    /// The tree that shapes `direction`.
    ///
    /// # Errors
    /// The network is too deep or has too many circuits.
    pub fn tree(&self, direction: Direction, shaping: &Shaping) -> Result<Tree, ConfigError> {
        let trees = self.trees(direction, shaping, &self.spread(1))?;
        Ok(trees.into_iter().next().expect("a core"))
    }

    /// The trees that shape `direction` on `cores`.
    ///
    /// # Errors
    /// The network is too deep or has too many circuits.
    pub fn trees(
        &self,
        direction: Direction,
        shaping: &Shaping,
        cores: &Cores,
    ) -> Result<Vec<Tree>, ConfigError> {
        if self.circuits.len() > MOST {
            let count = self.circuits.len();
            return Err(ConfigError::new(
                "",
                format!("has {count} circuits, and a tree at most {MOST}"),
            ));
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let deep = self.upwards(Some(number)).count();
            if deep > DEEPEST {
                let message = format!(
                    "is {deep} levels deep, and a tree has at most {DEEPEST}; make a node above it \
                     virtual"
                );
                return Err(ConfigError::new(&node.name, message));
            }
        }
        let link = shaping.link.bps();
        let others = Share {
            promise: USUAL.min(shaping.others.bps()).min(link),
            most: shaping.others.bps().min(link),
        };
        let mut nodes: Vec<Share> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let above = node.parent.map_or(link, |parent| nodes[parent].most);
            let own = node.capacity.of(direction).map_or(above, Rate::bps);
            nodes.push(Share { promise: 0, most: own.min(above).max(LEAST) });
        }
        let circuits = self.circuits.iter().map(|circuit| {
            let above = circuit.parent.map_or(link, |parent| nodes[parent].most);
            let most = circuit.most.of(direction).map_or(above, Rate::bps).min(above).max(LEAST);
            let least = circuit.least.of(direction).map_or(USUAL, Rate::bps).min(most);
            Share { promise: least.max(LEAST), most }
        });
        let mut circuits: Vec<Share> = circuits.collect();
        // Promises add up on the way to the link, and shrink on the way back.
        let mut wanted = vec![0_u64; nodes.len()];
        let mut whole = others.promise;
        for (circuit, share) in self.circuits.iter().zip(&circuits) {
            let sum = circuit.parent.map_or(&mut whole, |parent| &mut wanted[parent]);
            *sum = sum.saturating_add(share.promise);
        }
        for (number, node) in self.nodes.iter().enumerate().rev() {
            nodes[number].promise = wanted[number].min(nodes[number].most);
            let promise = nodes[number].promise;
            let sum = node.parent.map_or(&mut whole, |parent| &mut wanted[parent]);
            *sum = sum.saturating_add(promise);
        }
        let fits = |promise: u64, wanted: u64, has: u64| match wanted > has {
            true => (u128::from(promise) * u128::from(has) / u128::from(wanted)) as u64,
            false => promise,
        };
        let mut shrunk = Vec::new();
        if whole > link {
            shrunk.push(String::new());
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let (want, has) =
                node.parent.map_or((whole, link), |parent| (wanted[parent], nodes[parent].promise));
            nodes[number].promise = fits(nodes[number].promise, want, has);
            if wanted[number] > nodes[number].promise {
                shrunk.push(node.name.clone());
            }
        }
        for (circuit, share) in self.circuits.iter().zip(&mut circuits) {
            let (want, has) = circuit
                .parent
                .map_or((whole, link), |parent| (wanted[parent], nodes[parent].promise));
            share.promise = fits(share.promise, want, has);
        }
        let others = Share { promise: fits(others.promise, whole, link), ..others };
        let poor = circuits.iter().position(|share| share.promise < LEAST);
        if let Some(circuit) = poor.map(|place| &self.circuits[place]) {
            let message = format!(
                "of line {} would be promised less than {LEAST} bit/s; raise the capacities above",
                circuit.line
            );
            return Err(ConfigError::new(format!("circuit {}", circuit.id), message));
        }
        if others.promise < LEAST {
            let message =
                format!("would be promised less than {LEAST} bit/s; raise the link's rate");
            return Err(ConfigError::new("others", message));
        }
        let trees = (0..cores.count).map(|core| {
            let own = |circuit: usize| usize::from(cores.circuits[circuit].0) == core;
            let queue = self.written(direction, shaping, others, &nodes, &circuits, own);
            let shared = if cores.count > 1 { self.shared(cores, core) } else { Vec::new() };
            Tree { queue, shared, shrunk: shrunk.clone() }
        });
        Ok(trees.collect())
    }

    /// The classes of a core's tree that stand in those of others, too.
    fn shared(&self, cores: &Cores, core: usize) -> Vec<(Place, Vec<u32>)> {
        // For each node: whether this core has circuits below it, and whether another has.
        let mut has = vec![[false; 2]; self.nodes.len()];
        // Leaves directly below the link and each node.
        let mut leaves = vec![0_u32; self.nodes.len() + 1];
        leaves[0] = 1;
        for (circuit, (own, _)) in self.circuits.iter().zip(&cores.circuits) {
            let is_own = usize::from(*own) == core;
            leaves[circuit.parent.map_or(0, |parent| parent + 1)] += u32::from(is_own);
            self.upwards(circuit.parent).for_each(|node| has[node][usize::from(!is_own)] = true);
        }
        let mut shared = vec![(Place::Link, vec![0]), (Place::Others, vec![0, 0])];
        let mut paths: Vec<Vec<u32>> = Vec::with_capacity(self.nodes.len());
        for (node, [own, others]) in self.nodes.iter().zip(has) {
            let mut path = node.parent.map_or_else(|| vec![0], |parent| paths[parent].clone());
            if own {
                let next = &mut leaves[node.parent.map_or(0, |parent| parent + 1)];
                path.push(*next);
                *next += 1;
                if others {
                    shared.push((Place::Node(node.name.clone()), path.clone()));
                }
            }
            paths.push(path);
        }
        shared
    }

    fn written(
        &self,
        direction: Direction,
        shaping: &Shaping,
        others: Share,
        nodes: &[Share],
        circuits: &[Share],
        is_own: impl Fn(usize) -> bool,
    ) -> Value {
        let class = |share: &Share| json!({ "rate": Rate::from_bps(share.promise), "ceil": Rate::from_bps(share.most) });
        let place = |parent: Option<usize>| parent.map_or(0, |parent| parent + 1);
        // For the link and each node: the classes of circuits, and those of nodes in reverse.
        let mut leaves = vec![Vec::new(); nodes.len() + 1];
        let mut inner = vec![Vec::new(); nodes.len() + 1];
        leaves[0].push(class(&others));
        let both = self.circuits.iter().zip(circuits).enumerate();
        let mut count = 1;
        for (_, (circuit, share)) in both.filter(|(number, _)| is_own(*number)) {
            count += 1;
            let mut class = class(share);
            if let Some(kind) = circuit.queue.of(direction) {
                class["queue"] = json!({ "kind": kind });
            }
            leaves[place(circuit.parent)].push(class);
        }
        for (number, node) in self.nodes.iter().enumerate().rev() {
            let mut below = std::mem::take(&mut leaves[number + 1]);
            below.extend(std::mem::take(&mut inner[number + 1]).into_iter().rev());
            // A node without circuits would be a leaf.
            if !below.is_empty() {
                let mut class = class(&nodes[number]);
                class["classes"] = Value::Array(below);
                inner[place(node.parent)].push(class);
            }
        }
        let mut below = std::mem::take(&mut leaves[0]);
        below.extend(std::mem::take(&mut inner[0]).into_iter().rev());
        let side = match direction {
            Direction::Down => "destination",
            Direction::Up => "source",
        };
        json!({
            "kind": "htb",
            "leaf": shaping.queue,
            "classify": { "kind": "host", "of": side, "queues": count },
            "classes": [{ "rate": shaping.link, "ceil": shaping.link, "classes": below }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(tree: &str, lines: &str) -> Network {
        let mut network = Network::read(tree, "n").unwrap();
        let head = "Circuit ID,Parent Node,Download Min Mbps,Download Max Mbps,Upload Max Mbps,sqm";
        network.add_devices(&format!("{head}\n{lines}"), "d").unwrap();
        network
    }

    fn shaping(mbps: u64) -> Shaping {
        let rate = |mbps: u64| Rate::from_bps(mbps * 1_000_000);
        Shaping { link: rate(mbps), others: rate(5), queue: json!({ "kind": "fq-codel" }) }
    }

    const TREE: &str = r#"{ "Site": { "downloadBandwidthMbps": 40, "uploadBandwidthMbps": 20, "children": {
        "AP": { "downloadBandwidthMbps": 200 }, "Empty": { "downloadBandwidthMbps": 9 } } } }"#;

    #[test]
    fn ceilings_are_capacities_and_promises_fit() {
        // The least rates below the AP, 30 and 20, exceed the site's 40.
        let network =
            network(TREE, "a,AP,30,100,50,cake\nb,Site,1,10,10,\nc,AP,20,30,5,\nd,,2,9,9,\n");
        let ids: Vec<_> = network.circuits.iter().map(|circuit| circuit.id.as_str()).collect();
        assert_eq!(ids, ["d", "b", "a", "c"]);
        let tree = network.tree(Direction::Down, &shaping(100)).unwrap();
        // The AP may have 40 of the 41 that are wanted below the site, which has 40: 39.02 and 0.97.
        let expected = json!([{ "rate": "100Mbit", "ceil": "100Mbit", "classes": [
            { "rate": "1Mbit", "ceil": "5Mbit" },
            { "rate": "2Mbit", "ceil": "9Mbit" },
            { "rate": "40Mbit", "ceil": "40Mbit", "classes": [
                { "rate": "975.609kbit", "ceil": "10Mbit" },
                { "rate": "39024.39kbit", "ceil": "40Mbit", "classes": [
                    { "rate": "23414.634kbit", "ceil": "40Mbit", "queue": { "kind": "cake" } },
                    { "rate": "15609.756kbit", "ceil": "30Mbit" },
                ] },
            ] },
        ] }]);
        assert_eq!(tree.queue["classes"], expected);
        assert_eq!(
            tree.queue["classify"],
            json!({ "kind": "host", "of": "destination", "queues": 5 })
        );
        assert_eq!(tree.shrunk, ["Site", "AP"]);
        let up = network.tree(Direction::Up, &shaping(100)).unwrap();
        assert_eq!(up.queue["classes"][0]["classes"][2]["classes"][1]["ceil"], "20Mbit");
        assert!(up.shrunk.is_empty());
    }

    #[test]
    fn cores_have_the_same_classes_with_their_own_circuits() {
        let tree =
            r#"{ "A": { "children": { "B": {}, "C": { "downloadBandwidthMbps": 7 } } }, "D": {} }"#;
        let mut lines = String::from("z,D,1,9,9,");
        for node in ["B", "C"] {
            (0..4).for_each(|circuit| lines += &format!("\n{node}{circuit},{node},1,9,9,"));
        }
        let network = network(tree, &lines);
        let cores = network.spread(2);
        let trees = network.trees(Direction::Down, &shaping(100), &cores).unwrap();
        assert_eq!(trees.len(), 2);
        let mut rates = Vec::new();
        for tree in &trees {
            for (place, path) in &tree.shared {
                let mut class = &tree.queue["classes"][path[0] as usize];
                for place in &path[1..] {
                    class = &class["classes"][*place as usize];
                }
                rates.push((format!("{place:?}"), class["ceil"].clone()));
            }
        }
        rates.sort_by_key(|(place, _)| place.clone());
        let expected = [
            ("Link", "100Mbit"),
            ("Link", "100Mbit"),
            ("Node(\"A\")", "100Mbit"),
            ("Node(\"A\")", "100Mbit"),
            ("Others", "5Mbit"),
            ("Others", "5Mbit"),
        ];
        let expected = expected.map(|(place, rate)| (place.to_owned(), json!(rate)));
        assert_eq!(rates, expected);
        let queues: Vec<_> = trees.iter().map(|tree| &tree.queue["classify"]["queues"]).collect();
        assert_eq!(queues, [&json!(6), &json!(5)]);
    }

    #[test]
    fn a_tree_that_htb_cannot_have_is_refused() {
        let deep = r#"{"A":{"children":{"B":{"children":{"C":{"children":{"D":{"children":{"E":
            {"children":{"F":{"children":{"G":{}}}}}}}}}}}}}}"#;
        let error = network(deep, "a,G,1,2,2,").tree(Direction::Up, &shaping(9)).unwrap_err();
        assert!(error.to_string().starts_with("G: is 7 levels deep"), "{error}");
    }
}
