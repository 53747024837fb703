//! The subscribers behind a link, from LibreQoS' files.

use super::{Backend, Config};
use crate::plugins::Parts;
use forebay_core::config::require;
use forebay_core::{ConfigError, Rate, Setting, file};
use forebay_isp::{Cores, Direction, Network, Place, Prefixes, Shaping, Tree};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
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
    /// The cores of its circuits.
    cores: Cores,
    /// The queues of `link` and of its reverse, for each core.
    trees: [Vec<Tree>; 2],
}

impl PartialEq for Known {
    /// Addresses are in the network.
    fn eq(&self, other: &Self) -> bool {
        (&self.network, self.side, &self.trees) == (&other.network, other.side, &other.trees)
    }
}

impl Subscribers {
    /// Reads the files, whose paths begin at `base`, for a gate on so many `cores`. `links` are the rates and settings of both
    /// directions.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong. The message has its name and line.
    pub fn read(
        &self,
        base: &Path,
        cores: usize,
        links: [Setting; 2],
        parts: &Parts,
    ) -> Result<Known, ConfigError> {
        let read = |path: &Path, field: &str| {
            let path = base.join(path);
            file::read_text(&path, LARGEST)
                .map_err(|error| ConfigError::new(field, format!("{}: {error}", path.display())))
        };
        let mut network = match &self.network {
            None => Network::default(),
            Some(path) => Network::read(&read(path, "network")?, &name(path))?,
        };
        let devices = name(&self.devices);
        network.add_devices(&read(&self.devices, "devices")?, &devices)?;
        let prefixes = Prefixes::of(&network, &devices)?;
        let cores = network.spread(cores);
        let mut trees = Vec::new();
        for (side, setting) in At::BOTH.into_iter().zip(links) {
            let direction = direction(self.side, side);
            let others = self.others.unwrap_or(setting.rate);
            require(others.bps() >= 8, "others", || {
                format!("must be 8bit/s or more, got {others}")
            })?;
            let shaping = Shaping { link: setting.rate, others, queue: self.queue.clone() };
            trees.push(network.trees(direction, &shaping, &cores)?);
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
        Ok(Known { network, prefixes, side: self.side, cores, trees })
    }
}

impl Config {
    /// Checks what a gate on several cores can do.
    pub(super) fn check_cores(&self) -> Result<(), ConfigError> {
        let refuse = |is_right, why: &str| require(is_right, "io.cores", || why.to_owned());
        refuse(
            self.subscribers.is_some(),
            "must be 1 without `subscribers`, because circuits are what cores divide",
        )?;
        refuse(
            self.io.backend != Backend::Tun,
            "must be 1 with the back end \"tun\"; use \"packet\" or \"xdp\"",
        )?;
        let boxed = At::BOTH.into_iter().filter_map(|side| self.direction(side));
        refuse(
            boxed.into_iter().all(|link| link.middlebox.is_none()),
            "must be 1 with a box, which knows all connections",
        )?;
        refuse(
            !self.parts.are_foreign(),
            "must be 1 with plug-ins, whose calls are watched on one core",
        )
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
    /// The plan of a core's shaper for packets that arrive on `side`, on a link with this setting.
    pub fn plan(&self, side: At, core: usize, setting: Setting) -> Plan {
        let Setting { rate, overhead, mtu, .. } = setting;
        Plan::new(rate, overhead, mtu, self.trees[side as usize][core].queue.clone())
    }

    /// The classes of that plan which other cores have, too.
    pub fn shared(&self, side: At, core: usize) -> &[(Place, Vec<u32>)] {
        &self.trees[side as usize][core].shared
    }

    /// The core and the leaf of a circuit, counted from 1; None for unknown addresses, which stay
    /// where they arrive.
    #[inline]
    pub fn leaf(&self, circuit: u16) -> Option<(usize, u16)> {
        let (core, leaf) = *self.cores.circuits.get(usize::from(circuit).checked_sub(1)?)?;
        Some((core.into(), leaf))
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
        if self.cores.count > 1 {
            let on = |core| self.cores.circuits.iter().filter(|(own, _)| *own == core).count();
            let counts: Vec<_> =
                (0..self.cores.count).map(|core| on(core as u16).to_string()).collect();
            let mut places: Vec<_> = self.trees[0]
                .iter()
                .flat_map(|tree| &tree.shared)
                .filter_map(|(place, _)| match place {
                    Place::Node(name) => Some(name.as_str()),
                    Place::Link | Place::Others => None,
                })
                .collect();
            places.sort_unstable();
            places.dedup();
            notes.push(format!(
                "circuits on each core: {}; nodes that cores share: {}",
                counts.join(", "),
                if places.is_empty() { "none".to_owned() } else { places.join(", ") },
            ));
        }
        for (tree, side) in self.trees.iter().zip(At::BOTH) {
            let tree = &tree[0];
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
