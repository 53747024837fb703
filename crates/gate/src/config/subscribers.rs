//! The subscribers behind a link, from LibreQoS' files.

use crate::plugins::Parts;
use forebay_core::config::require;
use forebay_core::{ConfigError, Rate, Setting, file};
use forebay_isp::{Direction, Network, Prefixes, Shaping, Tree};
use forebay_shaper::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Largest file in bytes.
const LARGEST: u64 = 64 << 20;

/// The subscribers behind the link: their circuits share its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribers {
    /// LibreQoS' `network.json`: sites and their capacities. A relative path begins at the folder of
    /// this file. Without it, all circuits are below the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<PathBuf>,
    /// LibreQoS' `ShapedDevices.csv`: circuits, their plans and addresses.
    pub devices: PathBuf,
    /// Queue discipline of circuits whose `sqm` is empty.
    #[serde(default = "cake")]
    pub queue: Value,
    /// Largest rate of all unknown addresses together, in each direction; the link's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Rate>,
    /// Side of the subscribers: "inside" or "outside".
    #[serde(default)]
    pub side: At,
}

fn cake() -> Value {
    json!({ "kind": "cake" })
}

/// A side of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// At `io.inside`: `link` has what they send.
    #[default]
    Inside,
    /// At `io.outside`: `link` has what they receive.
    Outside,
}

impl At {
    /// Both sides.
    pub const BOTH: [At; 2] = [At::Inside, At::Outside];
}

/// The subscribers as their files have them.
#[derive(Debug)]
pub struct Known {
    /// Sites and circuits.
    pub network: Network,
    prefixes: Prefixes,
    side: At,
    /// The queues of `link` and of its reverse.
    trees: [Tree; 2],
}

impl PartialEq for Known {
    /// Addresses are in the network.
    fn eq(&self, other: &Self) -> bool {
        (&self.network, self.side, &self.trees) == (&other.network, other.side, &other.trees)
    }
}

impl Subscribers {
    /// Reads the files, whose paths begin at `base`. `links` are the rates and settings of both
    /// directions.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong. The message has its name and line.
    pub fn read(
        &self,
        base: &Path,
        links: [Setting; 2],
        parts: &Parts,
    ) -> Result<Known, ConfigError> {
        let read = |path: &Path, field: &str| {
            let path = base.join(path);
            let text = file::read_text(&path, LARGEST);
            text.map_err(|error| ConfigError::new(field, error.to_string()))
        };
        let mut network = match &self.network {
            None => Network::default(),
            Some(path) => Network::read(&read(path, "network")?, &name(path))?,
        };
        let devices = name(&self.devices);
        network.add_devices(&read(&self.devices, "devices")?, &devices)?;
        let prefixes = Prefixes::of(&network, &devices)?;
        let mut trees = Vec::new();
        for (side, setting) in At::BOTH.into_iter().zip(links) {
            let direction = direction(self.side, side);
            let others = self.others.unwrap_or(setting.rate);
            require(others.bps() >= 8, "others", || {
                format!("must be 8bit/s or more, got {others}")
            })?;
            let shaping = Shaping { link: setting.rate, others, queue: self.queue.clone() };
            trees.push(network.tree(direction, &shaping)?);
            // A leaf's discipline is built for the rate of its plan.
            let most = network.circuits.iter().filter_map(|circuit| circuit.most.of(direction));
            let rates: BTreeSet<_> = most.chain([others, setting.rate]).map(Rate::bps).collect();
            for rate in rates.into_iter().filter(|rate| *rate <= setting.rate.bps()) {
                let setting = setting.with_rate(Rate::from_bps(rate));
                let built = parts.disciplines.build(&self.queue, &setting);
                built.map_err(|error| error.within("queue"))?;
            }
        }
        let trees = trees.try_into().expect("two directions");
        Ok(Known { network, prefixes, side: self.side, trees })
    }
}

/// A file's name as messages show it.
fn name(path: &Path) -> String {
    path.display().to_string()
}

/// The direction of packets that arrive on `side`.
fn direction(subscribers: At, side: At) -> Direction {
    match (subscribers, side) {
        (At::Inside, At::Inside) | (At::Outside, At::Outside) => Direction::Up,
        _ => Direction::Down,
    }
}

impl Known {
    /// The plan of a shaper for packets that arrive on `side`, on a link with this setting.
    pub fn plan(&self, side: At, setting: Setting) -> Plan {
        let Setting { rate, overhead, mtu, .. } = setting;
        Plan::new(rate, overhead, mtu, self.trees[side as usize].queue.clone())
    }

    /// The direction of packets that arrive on `side`.
    pub fn direction(&self, side: At) -> Direction {
        direction(self.side, side)
    }

    /// The circuit of `address`, counted from 1; 0 if it is unknown.
    #[inline]
    pub fn find(&self, address: IpAddr) -> u16 {
        self.prefixes.find(address).map_or(0, |circuit| circuit as u16 + 1)
    }

    /// What the files say that an operator should know.
    pub fn notes(&self) -> Vec<String> {
        let network = &self.network;
        let mut notes = vec![format!(
            "{} circuits, {} nodes, {} addresses and prefixes",
            network.circuits.len(),
            network.nodes.len(),
            network.circuits.iter().map(|circuit| circuit.addresses.len()).sum::<usize>(),
        )];
        let bare = network.circuits.iter().filter(|circuit| circuit.addresses.is_empty()).count();
        if bare > 0 {
            notes.push(format!("{bare} circuits have no address: their packets are unknown"));
        }
        for (tree, side) in self.trees.iter().zip(At::BOTH) {
            let way = match self.direction(side) {
                Direction::Down => "down",
                Direction::Up => "up",
            };
            for node in tree.shrunk.iter().take(3) {
                let place = if node.is_empty() { "the link" } else { node };
                notes.push(format!(
                    "{way}: the least rates below {place} add up to more than it has, and shrink"
                ));
            }
            if tree.shrunk.len() > 3 {
                notes.push(format!("{way}: and below {} other nodes", tree.shrunk.len() - 3));
            }
        }
        notes
    }
}
