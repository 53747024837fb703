//! `network.json`: a tree of sites with their capacities.

use crate::circuit::{Both, Circuit, MOST, NO_RATE, mbps};
use crate::once::Once;
use forebay_core::config::{nearest, unknown};
use forebay_core::{ConfigError, Rate};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// The fields of a node that are used.
const FIELDS: [&str; 7] = [
    "downloadBandwidthMbps",
    "uploadBandwidthMbps",
    "type",
    "children",
    "virtual",
    "latitude",
    "longitude",
];

/// Sites and circuits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// The nodes that shape; a parent stands before its children. Virtual ones are left out.
    pub nodes: Vec<Node>,
    /// The circuits by their nodes, in the order of the nodes; those of one node in the order of
    /// the file.
    pub circuits: Vec<Circuit>,
    /// Names of the virtual nodes, in whose place their children stand.
    pub virtuals: Vec<String>,
    /// Names of fields of nodes that nothing here uses.
    pub unused: BTreeSet<String>,
    /// Circuits of devices after the first one of a circuit, one entry a device.
    pub further: Vec<String>,
    /// The node by which each name of the file is shaped; None for the link above all.
    pub(crate) by_name: HashMap<String, Option<usize>>,
}

/// A site, an access point, or another place with a capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, which no other node has.
    pub name: String,
    /// The node above it; None below the link.
    pub parent: Option<usize>,
    /// Its capacities, if it says any.
    pub capacity: Both<Option<Rate>>,
    /// Its `type`, in lower case.
    pub kind: String,
    /// Longitude and latitude in degrees.
    pub place: Option<(f64, f64)>,
}

impl Network {
    /// The tree in `text`, without circuits. `file` is its name, for errors.
    ///
    /// # Errors
    /// It is no JSON object of nodes, or a node is wrong. The message names the file and the node.
    pub fn read(text: &str, file: &str) -> Result<Network, ConfigError> {
        let fault = |message: String| ConfigError::new(file, message);
        let Once(document) = serde_json::from_str(text).map_err(|error| {
            fault(match error.is_data() {
                true => error.to_string(),
                false => format!("is not JSON: {error}"),
            })
        })?;
        let Value::Object(nodes) = document else {
            return Err(fault("expected an object of nodes by name".into()));
        };
        let mut network = Network::default();
        let mut at = HashMap::new();
        network.add(&nodes, None, "", &mut at).map_err(|error| fault(error.to_string()))?;
        Ok(network)
    }

    /// Adds `nodes` below `parent`. `above` is the path to them, and `at` that of each node so far.
    fn add(
        &mut self,
        nodes: &Map<String, Value>,
        parent: Option<usize>,
        above: &str,
        at: &mut HashMap<String, String>,
    ) -> Result<(), ConfigError> {
        for (name, node) in nodes {
            let path =
                if above.is_empty() { name.clone() } else { format!("{above}.children.{name}") };
            let fault = |message: String| ConfigError::new(&path, message);
            let Value::Object(fields) = node else {
                return Err(fault(
                    "expected an object with downloadBandwidthMbps, uploadBandwidthMbps and \
                     children"
                        .into(),
                ));
            };
            if let Some(other) = at.insert(name.clone(), path.clone()) {
                return Err(fault(format!(
                    "the name occurs twice, also at {other}; a tree has each node once, so rename \
                     one"
                )));
            }
            if at.len() > MOST {
                return Err(fault(format!("is node {}, and at most {MOST} are read", at.len())));
            }
            for field in fields.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
                // Nodes of LibreQoS have more fields than are used here, but none nearly called so.
                if nearest(field, &FIELDS).is_some() {
                    return Err(fault(unknown("field", field, &FIELDS)));
                }
                self.unused.insert(field.clone());
            }
            let own = if fields.get("virtual") == Some(&Value::Bool(true)) {
                self.virtuals.push(name.clone());
                parent
            } else {
                self.nodes.push(read_node(name, fields, parent).map_err(|e| e.within(&path))?);
                Some(self.nodes.len() - 1)
            };
            self.by_name.insert(name.clone(), own);
            match fields.get("children") {
                None | Some(Value::Null) => {}
                Some(Value::Object(children)) => self.add(children, own, &path, at)?,
                Some(_) => {
                    return Err(ConfigError::new(
                        format!("{path}.children"),
                        "expected an object of nodes by name",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The nodes from `node` up to the link.
    pub fn upwards(&self, node: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(node, |node| self.nodes[*node].parent)
    }

    /// The part of the network at the node called `name` and below, with that node's capacities.
    /// None if there is no such node.
    pub fn part(&self, name: &str) -> Option<(Network, Both<Option<Rate>>)> {
        let top = self.nodes.iter().position(|node| node.name == name)?;
        let mut part = Network::default();
        let mut moved = HashMap::from([(top, None)]);
        for (number, node) in self.nodes.iter().enumerate().skip(top + 1) {
            if let Some(parent) = node.parent.and_then(|parent| moved.get(&parent)).copied() {
                moved.insert(number, Some(part.nodes.len()));
                part.nodes.push(Node { parent, ..node.clone() });
            }
        }
        let circuits = self.circuits.iter().filter_map(|circuit| {
            let parent = *moved.get(&circuit.parent?)?;
            Some(Circuit { parent, ..circuit.clone() })
        });
        part.circuits = circuits.collect();
        Some((part, self.nodes[top].capacity))
    }
}

/// A number, which may be written as a text.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

fn read_node(
    name: &str,
    fields: &Map<String, Value>,
    parent: Option<usize>,
) -> Result<Node, ConfigError> {
    let rate = |field| {
        match fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(value) => number(value).map_or(Err(NO_RATE), mbps).map(Some),
        }
        .map_err(|wanted| {
            let got = &fields[field];
            ConfigError::new(field, format!("expected {wanted}, got {got}"))
        })
    };
    let degrees = |field, most: f64| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match number(value).filter(|degrees| degrees.abs() <= most) {
            Some(degrees) => Ok(Some(degrees)),
            None => Err(ConfigError::new(
                field,
                format!("expected degrees from -{most} to {most}, got {value}"),
            )),
        },
    };
    let (down, up) = (rate("downloadBandwidthMbps")?, rate("uploadBandwidthMbps")?);
    let place = degrees("longitude", 180.0)?.zip(degrees("latitude", 90.0)?);
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    Ok(Node { name: name.to_owned(), parent, capacity: Both { down, up }, kind, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_keeps_its_order_and_virtual_nodes_shape_nothing() {
        let text = r#"{
            "Region": { "virtual": true, "children": {
                "Site": { "downloadBandwidthMbps": 1000, "uploadBandwidthMbps": "500", "type": "Site",
                    "longitude": 11.5, "latitude": 48, "uisp": 1,
                    "children": { "AP": { "downloadBandwidthMbps": 10.5 },
                        "Mast": { "uploadBandwidthMbps": 3 } } } } },
            "Other": {} }"#;
        let network = Network::read(text, "network.json").unwrap();
        let names: Vec<_> =
            network.nodes.iter().map(|node| (node.name.as_str(), node.parent)).collect();
        assert_eq!(names, [("Site", None), ("AP", Some(0)), ("Mast", Some(0)), ("Other", None)]);
        let rates = |down: Option<u64>, up: Option<u64>| Both {
            down: down.map(Rate::from_bps),
            up: up.map(Rate::from_bps),
        };
        assert_eq!(network.nodes[0].capacity, rates(Some(1_000_000_000), Some(500_000_000)));
        assert_eq!(network.nodes[1].capacity, rates(Some(10_500_000), None));
        assert_eq!(network.nodes[2].capacity, rates(None, Some(3_000_000)));
        assert_eq!(network.nodes[0].place, Some((11.5, 48.0)));
        assert_eq!(network.nodes[0].kind, "site");
        assert_eq!(network.virtuals, ["Region"]);
        assert_eq!(network.unused.iter().collect::<Vec<_>>(), ["uisp"]);
        assert_eq!(network.by_name["Region"], None);
        assert_eq!(network.upwards(Some(1)).collect::<Vec<_>>(), [1, 0]);
        let (part, capacity) = network.part("Site").unwrap();
        assert_eq!((part.nodes.len(), part.nodes[0].parent), (2, None));
        assert_eq!(capacity, network.nodes[0].capacity);
        assert!(network.part("Nowhere").is_none());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("[]", "n.json: expected an object of nodes"),
            ("{", "n.json: is not JSON: EOF while parsing an object at line 1"),
            (
                r#"{ "A": { "children": { "B": {}, "B": {} } } }"#,
                "n.json: \"B\" occurs twice in one object; rename one at line 1",
            ),
            (
                r#"{ "A": { "uploadBandwidthMbps": "fast" } }"#,
                "n.json: A.uploadBandwidthMbps: expected Mbit/s above 0, got \"fast\"",
            ),
            (r#"{ "A": 3 }"#, "n.json: A: expected an object with"),
            (r#"{ "A": { "children": [] } }"#, "n.json: A.children: expected an object"),
            (
                r#"{ "A": { "children": { "A": {} } } }"#,
                "n.json: A.children.A: the name occurs twice, also at A;",
            ),
            (
                r#"{ "A": { "downloadBandwidthMbps": -1 } }"#,
                "n.json: A.downloadBandwidthMbps: expected Mbit/s above 0, got -1",
            ),
            (
                r#"{ "A": { "downloadBandwithMbps": 6 } }"#,
                "n.json: A: unknown field \"downloadBandwithMbps\" (did you mean \
                 \"downloadBandwidthMbps\"?)",
            ),
            (r#"{ "A": { "latitude": 91 } }"#, "n.json: A.latitude: expected degrees from -90"),
        ] {
            let error = Network::read(text, "n.json").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
