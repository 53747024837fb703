//! The network of an internet provider, from the text of LibreQoS' files.

use crate::{json, refused};
use forebay_core::{ConfigError, Rate, config};
use forebay_isp::{Direction, Network, Shaping};
use pyo3::prelude::*;
use serde_json::{Value, json};

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
    let mut whole =
        network.map_or(Ok(Network::default()), |(text, name)| Network::read(text, name))?;
    whole.add_devices(devices.0, devices.1)?;
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
    let circuits = whole.circuits.iter().map(|circuit| {
        let bps = |rate: Option<Rate>| rate.map(Rate::bps);
        json!({
            "circuit": circuit.id,
            "node": circuit.parent.map(|node| &whole.nodes[node].name),
            "down": bps(circuit.most.down),
            "up": bps(circuit.most.up),
        })
    });
    Ok(json!({
        "rates": links,
        "down": down.queue,
        "up": up.queue,
        "shrunk": [down.shrunk, up.shrunk],
        "circuits": circuits.collect::<Vec<_>>(),
    }))
}
