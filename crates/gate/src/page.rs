//! The page of the circuits for a browser. It shows what the metrics have, and can change nothing.

use crate::accounts::{Circuits, WayStatus};
use crate::text::name;
use serde_json::{Value, json};

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, as a browser asks for it.
    path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

const FILES: [File; 3] = [
    File { path: "/", kind: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    File {
        path: "/page.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("page/page.js"),
    },
    File {
        path: "/page.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("page/page.css"),
    },
];

/// The file at `path`.
pub fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// The numbers that the page shows, as JSON. A circuit is an array, because there may be thousands:
/// `page.js` says what is where.
pub fn data(found: &Circuits) -> String {
    let shown = |text: &Option<String>| text.as_deref().map(|text| name(text).into_owned());
    let nodes = found.nodes.iter().map(|node| {
        let [down, up] = node.rate_bps;
        json!([name(&node.node), shown(&node.parent), down, up])
    });
    let circuits = found.circuits.iter().map(|status| {
        let [down, up] = status.plan_bps;
        let (id, node) = (shown(&status.circuit), shown(&status.node));
        json!([id, node, down, up, way(&status.down), way(&status.up)])
    });
    json!({
        "uptime_s": found.uptime_s,
        "reloads": found.reloads,
        "link_bps": found.link_bps,
        "nodes": nodes.collect::<Vec<_>>(),
        "circuits": circuits.collect::<Vec<_>>(),
    })
    .to_string()
}

fn way(status: &WayStatus) -> Value {
    json!([
        status.sent.bytes,
        status.sent.packets,
        status.dropped,
        status.marked,
        status.waiting,
        status.delay_sum_s,
        status.p50_delay_ms,
        status.p99_delay_ms,
        status.round_trips,
        status.p50_rtt_ms,
        status.p99_rtt_ms,
    ])
}
