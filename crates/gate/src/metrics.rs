//! Text for Prometheus (exposition format 0.0.4).

use crate::accounts::{CircuitStatus, Circuits, WayStatus};
use crate::status::{DirectionStatus, Status};
use crate::text::name;
use std::fmt::Write as _;

/// The media type of metrics and of messages.
pub const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answer to an HTTP request, with this `code`, media type `kind` and `body`. A page that it
/// shows may load and ask for things here only.
pub fn answer(code: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
    )
}

/// One metric: its name, its meaning, and its samples as labels and value. By the convention of
/// Prometheus it is a counter if its name ends in `_total`, and otherwise a gauge.
type Metric<'a> = (&'a str, &'a str, Vec<(String, f64)>);

/// The metrics of `status`.
pub fn text(status: &Status) -> String {
    let ways = [("forward", &status.forward), ("reverse", &status.reverse)];
    let each = |value: fn(&DirectionStatus) -> u64| {
        ways.map(|(way, direction)| (format!("direction=\"{way}\""), value(direction) as f64))
            .to_vec()
    };
    let classes = |value: fn(&crate::status::Class) -> f64| {
        let of = |(way, direction): (&'static str, &DirectionStatus)| {
            let class =
                |(class, status)| (format!("direction=\"{way}\",class=\"{class}\""), value(status));
            direction.classes.iter().map(class).collect::<Vec<_>>()
        };
        ways.into_iter().flat_map(of).collect::<Vec<_>>()
    };
    let drops = ways.into_iter().flat_map(|(way, direction)| {
        let drops = direction.dropped.0.iter();
        drops.map(move |(reason, count)| {
            (format!("direction=\"{way}\",reason=\"{reason}\""), *count as f64)
        })
    });
    let rules = status
        .rules
        .iter()
        .map(|rule| (format!("rule=\"{}\"", quoted(Some(&rule.name))), rule.packets as f64));
    let missed = [("inside", &status.inside), ("outside", &status.outside)];
    let missed = missed.into_iter().flat_map(|(side, missed)| {
        [
            ("oversize", missed.oversize),
            ("no_buffer", missed.no_buffer),
            ("kernel", missed.kernel),
            ("refused", missed.refused),
        ]
        .map(|(why, count)| (format!("side=\"{side}\",reason=\"{why}\""), count as f64))
    });
    let metrics: [Metric; 15] = [
        ("received_packets_total", "Packets that came in", each(|d| d.received.packets)),
        ("received_bytes_total", "Bytes of IP packets that came in", each(|d| d.received.bytes)),
        ("passed_packets_total", "Packets that were not queued", each(|d| d.passed.packets)),
        ("sent_packets_total", "Packets that left the queue", each(|d| d.sent.packets)),
        ("sent_bytes_total", "Bytes of IP packets that left the queue", each(|d| d.sent.bytes)),
        ("dropped_packets_total", "Packets dropped by the queue", drops.collect()),
        ("marked_packets_total", "Packets marked congestion-experienced", each(|d| d.marked)),
        ("backlog_packets", "Packets that wait", each(|d| d.backlog_packets)),
        ("backlog_bytes", "Bytes that wait", each(|d| d.backlog_bytes)),
        ("rate_bits", "Rate that is shaped to, in bit/s", each(|d| d.rate_bps.unwrap_or(0))),
        (
            "class_sent_packets_total",
            "Packets of a class that left the queue",
            classes(|c| c.sent.packets as f64),
        ),
        (
            "class_dropped_packets_total",
            "Packets of a class dropped",
            classes(|c| c.dropped as f64),
        ),
        ("class_delay_seconds_total", "Sum of the times in the queue", classes(|c| c.delay_sum_s)),
        ("rule_matched_packets_total", "Packets that a rule matched", rules.collect()),
        ("missed_frames_total", "Frames lost beside the queue", missed.collect()),
    ];
    written(metrics)
}

/// The ways of a circuit, as [`WayStatus`] and rates have them in their order.
const WAYS: [&str; 2] = ["down", "up"];

fn quoted(text: Option<&str>) -> String {
    name(text.unwrap_or_default()).replace('\\', "\\\\").replace('"', "\\\"")
}

/// A sample for each circuit and way that has a value.
fn samples(
    found: &Circuits,
    value: impl Fn(&CircuitStatus, usize) -> Option<f64>,
) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for status in &found.circuits {
        let (circuit, node) = (quoted(status.circuit.as_deref()), quoted(status.node.as_deref()));
        for (place, way) in WAYS.iter().enumerate() {
            if let Some(value) = value(status, place) {
                let labels = format!("circuit=\"{circuit}\",node=\"{node}\",direction=\"{way}\"");
                all.push((labels, value));
            }
        }
    }
    all
}

/// The metrics of each circuit. Circuits have their numbers; nothing here is a name or an address of
/// a person.
pub fn circuits(found: &Circuits) -> String {
    let known = |value: fn(&WayStatus) -> Option<f64>| {
        samples(found, |status, way| value([&status.down, &status.up][way]))
    };
    let each = |value: fn(&WayStatus) -> f64| {
        samples(found, |status, way| Some(value([&status.down, &status.up][way])))
    };
    let plans = samples(found, |status, way| status.plan_bps[way].map(|rate| rate as f64));
    let nodes = found.nodes.iter().flat_map(|status| {
        let (node, parent) = (quoted(Some(&status.node)), quoted(status.parent.as_deref()));
        WAYS.into_iter().zip(status.rate_bps).filter_map(move |(way, rate)| {
            let labels = format!("node=\"{node}\",parent=\"{parent}\",direction=\"{way}\"");
            Some((labels, rate? as f64))
        })
    });
    written([
        ("node_rate_bits", "Capacity of a node, in bit/s", nodes.collect()),
        ("circuit_rate_bits", "Largest rate of a circuit's plan, in bit/s", plans),
        ("circuit_sent_bytes_total", "Bytes of IP packets", each(|way| way.sent.bytes as f64)),
        ("circuit_sent_packets_total", "Packets that left", each(|way| way.sent.packets as f64)),
        ("circuit_dropped_packets_total", "Packets dropped", each(|way| way.dropped as f64)),
        ("circuit_marked_packets_total", "Packets marked", each(|way| way.marked as f64)),
        ("circuit_backlog_packets", "Packets that wait", each(|way| way.waiting as f64)),
        (
            "circuit_delay_seconds_total",
            "Sum of the times in the queue",
            each(|way| way.delay_sum_s),
        ),
        (
            "circuit_p50_delay_seconds",
            "Median of the last times in the queue",
            each(|way| way.p50_delay_ms / 1e3),
        ),
        (
            "circuit_p99_delay_seconds",
            "99th percentile of the last times in the queue",
            each(|way| way.p99_delay_ms / 1e3),
        ),
        (
            "circuit_round_trips_total",
            "Round trips from the gate in this direction and back that were measured",
            each(|way| way.round_trips as f64),
        ),
        (
            "circuit_p50_rtt_seconds",
            "Median of the last round trips",
            known(|way| way.p50_rtt_ms.map(|rtt| rtt / 1e3)),
        ),
        (
            "circuit_p99_rtt_seconds",
            "99th percentile of the last round trips",
            known(|way| way.p99_rtt_ms.map(|rtt| rtt / 1e3)),
        ),
    ])
}

/// The text of `metrics`.
fn written<'a>(metrics: impl IntoIterator<Item = Metric<'a>>) -> String {
    let mut out = String::new();
    for (name, help, samples) in metrics {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "# HELP forebay_gate_{name} {help}.\n# TYPE forebay_gate_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(out, "forebay_gate_{name}{{{labels}}} {value}");
        }
    }
    out
}
