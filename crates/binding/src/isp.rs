//! The network of an internet provider, from the text of LibreQoS' files.

use crate::{json, refused};
use forebay_core::{ConfigError, Rate, config};
use forebay_isp::{Direction, Network, Shaping};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// The nodes of a network, its circuits and what was left out, as JSON. A file is its text and its
/// name.
#[pyfunction]
pub fn provider(network: (&str, &str), devices: Option<(&str, &str)>) -> PyResult<String> {
    let network = read(Some(network), devices).map_err(refused)?;
    let nodes = network.nodes.iter().map(|node| {
        json!({
            "node": node.name,
            "parent": node.parent.map(|parent| &network.nodes[parent].name),
            "down": node.capacity.down.map(Rate::bps),
            "up": node.capacity.up.map(Rate::bps),
            "kind": node.kind,
            "place": node.place,
        })
    });
    let found = json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "circuits": circuits(&network),
        "virtual": network.virtuals,
        "unused": network.unused,
        "further": network.further,
    });
    Ok(found.to_string())
}

fn read(
    network: Option<(&str, &str)>,
    devices: Option<(&str, &str)>,
) -> Result<Network, ConfigError> {
    let mut found =
        network.map_or(Ok(Network::default()), |(text, name)| Network::read(text, name))?;
    if let Some((text, name)) = devices {
        found.add_devices(text, name)?;
    }
    Ok(found)
}

/// The circuits in the order of their leaves.
fn circuits(network: &Network) -> Vec<Value> {
    let circuits = network.circuits.iter().map(|circuit| {
        json!({
            "circuit": circuit.id,
            "line": circuit.line,
            "node": circuit.parent.map(|node| &network.nodes[node].name),
            "down": circuit.most.down.map(Rate::bps),
            "up": circuit.most.up.map(Rate::bps),
            "queues": [circuit.queue.down, circuit.queue.up],
        })
    });
    circuits.collect()
}

/// The trees of both directions and the circuits in the order of their leaves, as JSON. A file is
/// its text and its name. `rates` are the link's, down and up; with `part`, the part of the network
/// at that node and below is taken, and rates above its capacities are these.
#[pyfunction]
pub fn subscribers(
    network: Option<(&str, &str)>,
    devices: (&str, &str),
    part: Option<&str>,
    rates: (&str, &str),
    others: Option<&str>,
    queue: &str,
) -> PyResult<String> {
    let queue = json(queue, "queue")?;
    found(network, devices, part, rates, others, &queue)
        .map(|found| found.to_string())
        .map_err(refused)
}

fn found(
    network: Option<(&str, &str)>,
    devices: (&str, &str),
    part: Option<&str>,
    rates: (&str, &str),
    others: Option<&str>,
    queue: &Value,
) -> Result<Value, ConfigError> {
    let mut whole = read(network, Some(devices))?;
    let rate =
        |text: &str, field| config::read::<Rate>(&json!(text)).map_err(|error| error.within(field));
    let mut links = [rate(rates.0, "link.reverse.rate")?, rate(rates.1, "link.rate")?];
    if let Some(part) = part {
        let (below, capacity) = whole.part(part).ok_or_else(|| {
            let names: Vec<_> = whole.nodes.iter().map(|node| node.name.as_str()).collect();
            ConfigError::new("--site", config::unknown("site", part, &names))
        })?;
        for (link, capacity) in links.iter_mut().zip([capacity.down, capacity.up]) {
            *link = (*link).min(capacity.unwrap_or(*link));
        }
        whole = below;
        if whole.circuits.is_empty() {
            return Err(ConfigError::new("--site", format!("{part} has no circuits below it")));
        }
    }
    let others = others.map(|text| rate(text, "subscribers.others")).transpose()?;
    let tree = |direction, link: Rate| {
        let others = others.unwrap_or(link).min(link);
        whole.tree(direction, &Shaping { link, others, queue: queue.clone() })
    };
    let (down, up) = (tree(Direction::Down, links[0])?, tree(Direction::Up, links[1])?);
    Ok(json!({
        "rates": links,
        "down": down.queue,
        "up": up.queue,
        "shrunk": [down.shrunk, up.shrunk],
        "circuits": circuits(&whole),
    }))
}
