//! LibreQoS' files: a network, a NUL byte, and its devices.

use forebay_core::{Rate, Setting};
use forebay_disciplines::Disciplines;
use forebay_isp::{Direction, Network, Prefixes, Shaping};
use serde_json::json;

/// What is read makes a tree that `htb` takes, and every address is found. What is wrong is told in
/// one line that names its file.
pub fn subscribers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (tree, devices) = text.split_once('\0').unwrap_or(("{}", text));
    let told = |error: forebay_core::ConfigError, file: &str| {
        assert!(error.path.starts_with(file), "{error}");
    };
    let mut network = match Network::read(tree, "network.json") {
        Ok(network) => network,
        Err(error) => return told(error, "network.json"),
    };
    if let Err(error) = network.add_devices(devices, "devices.csv") {
        return told(error, "devices.csv");
    }
    match Prefixes::of(&network, "devices.csv") {
        Err(error) => told(error, "devices.csv"),
        Ok(prefixes) => {
            for net in network.circuits.iter().flat_map(|circuit| &circuit.addresses) {
                assert!(prefixes.find(net.addr()).is_some(), "{net}");
            }
        }
    }
    for (direction, link) in [(Direction::Down, 1_000_000_000), (Direction::Up, 64_000)] {
        let link = Rate::from_bps(link);
        let shaping = Shaping { link, others: link, queue: json!({ "kind": "fifo" }) };
        let Ok(found) = network.tree(direction, &shaping) else { continue };
        let setting = Setting::new(link, 0, 1500);
        if let Err(error) = Disciplines::builtin().build(&found.queue, &setting) {
            panic!("{error}");
        }
    }
}
