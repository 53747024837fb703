//! The command's output for people.

use crate::accounts::{CircuitStatus, Circuits};
use crate::config::{Config, Interface, Link, Marks, Other, Rule};
use crate::rules::shadowed;
use crate::status::{DirectionStatus, Status};
use crate::text::{lines, name};
use forebay_core::ConfigError;
use serde_json::Value;
use std::fmt::Write;

/// The effective configuration as TOML, and what the rules match, as comments.
///
/// # Errors
/// The configuration is wrong.
pub fn check(config: &Config) -> Result<String, ConfigError> {
    let effective = config.effective()?;
    let mut tree = serde_json::to_value(&effective).expect("a configuration is plain data");
    drop_null(&mut tree);
    let toml = toml::to_string(&tree).map_err(|error| ConfigError::new("", error.to_string()))?;
    let mut out = lines(&toml).into_owned();
    out.push('\n');
    let known = config.known.iter().flat_map(|known| known.notes());
    for line in explain(&effective).into_iter().chain(known) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# {}", name(&line));
    }
    Ok(out)
}

/// A table of at most `most` circuits, those with the longest delays first, with the rates between
/// two looks.
pub fn circuits(before: &Circuits, now: &Circuits, most: usize) -> String {
    let span = (now.uptime_s - before.uptime_s).max(1e-3);
    let sent: std::collections::HashMap<_, _> = before
        .circuits
        .iter()
        .map(|status| (&status.circuit, [status.down.sent.bytes, status.up.sent.bytes]))
        .collect();
    let mut rows: Vec<_> = now.circuits.iter().collect();
    // The delays of a direction that sent nothing meanwhile are old.
    let delay = |row: &CircuitStatus| {
        let before = sent.get(&row.circuit).copied().unwrap_or_default();
        let ways = [&row.down, &row.up].into_iter().zip(before);
        let recent = ways.filter(|(way, before)| way.sent.bytes > *before);
        recent.map(|(way, _)| way.p99_delay_ms).fold(0.0, f64::max)
    };
    rows.sort_by(|a, b| delay(b).total_cmp(&delay(a)));
    let mut out = format!(
        "{:<16} {:<16} {:>16} {:>19} {:>15} {:>13}\n",
        "circuit", "node", "Mbit/s down/up", "p99 ms down/up", "drops", "marks"
    );
    for row in rows.into_iter().take(most) {
        let [down, up] = sent.get(&row.circuit).copied().unwrap_or_default();
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8e-6 / span;
        let id = row.circuit.as_deref().unwrap_or("(unknown)");
        let node = row.node.as_deref().unwrap_or("-");
        let _ = writeln!(
            out,
            "{:<16} {:<16} {:>16} {:>19} {:>15} {:>13}",
            name(id),
            name(node),
            format!("{:.1}/{:.1}", rate(row.down.sent.bytes, down), rate(row.up.sent.bytes, up)),
            format!("{:.1}/{:.1}", row.down.p99_delay_ms, row.up.p99_delay_ms),
            format!("{}/{}", row.down.dropped, row.up.dropped),
            format!("{}/{}", row.down.marked, row.up.marked),
        );
    }
    if now.circuits.is_empty() {
        out.push_str("The gate has no subscribers.\n");
    }
    out
}

/// Removes fields without a value, which TOML cannot express.
fn drop_null(tree: &mut Value) {
    match tree {
        Value::Object(table) => {
            table.retain(|_, field| !field.is_null());
            table.values_mut().for_each(drop_null);
        }
        Value::Array(entries) => entries.iter_mut().for_each(drop_null),
        _ => {}
    }
}

/// The configuration in words.
fn explain(config: &Config) -> Vec<String> {
    let place = |interface: &Interface| match interface.netns() {
        None => interface.name().to_owned(),
        Some(netns) => format!("{} in {netns}", interface.name()),
    };
    let (inside, outside) = (place(&config.io.inside), place(&config.io.outside));
    let boxed = |link: Option<&Link>| match link.and_then(|link| link.middlebox.as_ref()) {
        None => String::new(),
        Some(block) => format!(", behind the box {}", block["kind"]),
    };
    let way = |link: Option<&Link>| match link
        .and_then(|link| Some((link.rate?, link.queue.as_ref()?)))
    {
        None if config.subscribers.is_some() => "subscribers share the link".to_owned(),
        None => "packets pass".to_owned(),
        Some((rate, queue)) => {
            let kind = queue["kind"].as_str().unwrap_or("a combination");
            format!("{rate} through {kind}")
        }
    };
    let reverse = config.link.reverse.as_deref();
    let mut lines = vec![
        format!("{inside} -> {outside}: {}{}", way(Some(&config.link)), boxed(Some(&config.link))),
        format!("{outside} -> {inside}: {}{}", way(reverse), boxed(reverse)),
        match config.other {
            Other::Pass => {
                "ARP, neighbour discovery and what is not IP: passes unqueued".to_owned()
            }
            Other::Class(q) => {
                format!("ARP, neighbour discovery and what is not IP: q {q}")
            }
        },
    ];
    for rule in &config.rule {
        let decides = decision(rule.marks());
        lines.push(format!("{}: {} -> {decides}", rule.name, conditions(rule)));
    }
    let decides = decision(config.fallback);
    lines.push(format!("default: the rest, fragments and malformed headers -> {decides}"));
    for link in [Some(&config.link), reverse].into_iter().flatten() {
        let limit = link.queue.as_ref().and_then(|queue| queue["limit"].as_str());
        let packets = limit.and_then(|limit| limit.strip_suffix('p')?.parse::<u32>().ok());
        if let Some(packets) = packets.filter(|packets| *packets > config.io.buffers) {
            lines.push(format!(
                "warning: the queue may hold {packets} packets and the gate {}: what finds no \
                 buffer is dropped before the queue; raise io.buffers",
                config.io.buffers
            ));
        }
    }
    for link in [Some(&config.link), reverse].into_iter().flatten() {
        lines.extend(without_queue(config, link));
    }
    for (earlier, later) in shadowed(&config.rule) {
        let (earlier, later) = (&config.rule[earlier].name, &config.rule[later].name);
        lines.push(format!(
            "warning: {later} can never match: {earlier}, above it, takes all that it names"
        ));
    }
    lines
}

/// In words: the packets whose QoS class has no queue in a direction.
fn without_queue(config: &Config, link: &Link) -> Option<String> {
    let queue = link.queue.as_ref()?;
    let sorter = &queue["classify"];
    let queues = sorter["queues"].as_u64().filter(|_| sorter["kind"] == "class")?;
    let rules = config.rule.iter().map(|rule| (rule.name.as_str(), rule.q));
    let other = match config.other {
        Other::Pass => 0,
        Other::Class(q) => q,
    };
    let given = rules.chain([("default", config.fallback.q), ("other", other)]);
    let beyond = given.filter(|(_, q)| u64::from(*q) >= queues);
    let beyond: Vec<_> = beyond.map(|(name, q)| format!("{name} (q = {q})")).collect();
    (!beyond.is_empty()).then(|| {
        format!(
            "warning: {} has queues for q = 0 to {}; what is above, {}, joins the highest",
            queue["kind"].as_str().unwrap_or("the combination"),
            queues - 1,
            beyond.join(", ")
        )
    })
}

fn decision(marks: Marks) -> String {
    let Marks { q, precedence, drop_precedence } = marks;
    let mut text = format!("q {q}");
    if precedence > 0 {
        let _ = write!(text, ", precedence {precedence}");
    }
    if drop_precedence > 0 {
        let _ = write!(text, ", drop precedence {drop_precedence}");
    }
    text
}

/// The conditions of a rule, in words.
fn conditions(rule: &Rule) -> String {
    fn list<T: serde::Serialize>(what: &str, values: &[T]) -> Option<String> {
        let words = values.iter().map(|value| match serde_json::to_value(value) {
            Ok(serde_json::Value::String(text)) => text,
            Ok(other) => other.to_string(),
            Err(_) => String::new(),
        });
        let words = words.collect::<Vec<_>>().join(" or ");
        (!values.is_empty()).then(|| format!("{what} {words}"))
    }
    let protocol: Vec<_> = rule.protocol.into_iter().collect();
    let parts = [
        list("DSCP", &rule.dscp),
        list("protocol", &protocol),
        list("from", &rule.source),
        list("to", &rule.destination),
        list("from port", &rule.source_port),
        list("to port", &rule.destination_port),
        list("port", &rule.port),
        rule.min_size.map(|size| format!("at least {size}")),
        rule.max_size.map(|size| format!("at most {size}")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

/// The state of a gate for a terminal. With an earlier state, also the rates since then.
pub fn screen(status: &Status, before: Option<&Status>) -> String {
    let mut out = String::new();
    let kind = if status.dry_run { ", dry run: nothing is held or dropped" } else { "" };
    let _ =
        writeln!(out, "forebay-gate {}, up {:.0} s{kind}", name(&status.version), status.uptime_s);
    let span = before.map_or(status.uptime_s, |before| status.uptime_s - before.uptime_s);
    let ways = [
        ("inside -> outside", &status.forward, before.map(|before| &before.forward)),
        ("outside -> inside", &status.reverse, before.map(|before| &before.reverse)),
    ];
    for (way_name, way, before) in ways {
        direction(&mut out, way_name, way, before, span.max(1e-9));
    }
    let _ = writeln!(out, "\n{:<24}{:>14}{:>16}", "rule", "packets", "bytes");
    for rule in &status.rules {
        let never =
            if rule.packets == 0 && rule.name != "default" { "  never matched" } else { "" };
        let _ =
            writeln!(out, "{:<24}{:>14}{:>16}{never}", name(&rule.name), rule.packets, rule.bytes);
    }
    for (side, missed) in [("inside", &status.inside), ("outside", &status.outside)] {
        let parts = [
            (
                missed.oversize,
                "too long (turn off offloads: ethtool -K IF tso off gso off gro off)",
            ),
            (missed.no_buffer, "found no buffer (raise io.buffers)"),
            (missed.kernel, "lost by the kernel before the gate"),
            (missed.refused, "refused by the interface"),
        ];
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(out, "{side}: {count} frames {what}");
        }
    }
    out
}

fn direction(
    out: &mut String,
    way_name: &str,
    way: &DirectionStatus,
    before: Option<&DirectionStatus>,
    span: f64,
) {
    let zero = crate::status::Traffic::default();
    let was = |pick: fn(&DirectionStatus) -> crate::status::Traffic| before.map_or(zero, pick);
    let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / span;
    let (sent, passed) = (was(|way| way.sent), was(|way| way.passed));
    let megabits = |now: u64, then: u64| per_second(now, then) * 8.0 / 1e6;
    let _ = match (&way.kind, way.rate_bps) {
        (Some(kind), Some(rate)) => writeln!(
            out,
            "\n{way_name}: {} at {:.3} Mbit/s; sent {:.3} Mbit/s, {:.0} packets/s",
            name(kind),
            rate as f64 / 1e6,
            megabits(way.sent.bytes, sent.bytes),
            per_second(way.sent.packets, sent.packets),
        ),
        _ => writeln!(
            out,
            "\n{way_name}: passes; {:.3} Mbit/s, {:.0} packets/s",
            megabits(way.passed.bytes, passed.bytes),
            per_second(way.passed.packets, passed.packets),
        ),
    };
    if let Some(counts) = &way.middlebox {
        let _ = writeln!(
            out,
            "  ASPQ: {} flows, {} frozen; {} freezes, {} releases, {} windows rewritten, {} probes \
             answered, {} acknowledgments made, {} lost",
            counts.flows,
            counts.frozen,
            counts.freezes,
            counts.releases,
            counts.rewritten,
            counts.answered,
            counts.made,
            counts.lost,
        );
    }
    if way.kind.is_none() {
        return;
    }
    let drops = way.dropped.0.iter().map(|(reason, count)| format!("{count} {}", name(reason)));
    let drops = drops.collect::<Vec<_>>().join(", ");
    let earlier = match way.earlier_queues {
        0 => String::new(),
        1 => " (an earlier queue leaves first)".to_owned(),
        more => format!(" ({more} earlier queues leave first)"),
    };
    let _ = writeln!(
        out,
        "  waiting {} packets, {} B{earlier}; delay {:.2} ms median, {:.2} ms p99; dropped {}; marked {}",
        way.backlog_packets,
        way.backlog_bytes,
        way.p50_delay_ms,
        way.p99_delay_ms,
        if drops.is_empty() { "0" } else { &drops },
        way.marked,
    );
    if way.stalls > 0 {
        let _ = writeln!(
            out,
            "  {} stalls of more than 20 ms, in which the gate did not run and lost capacity",
            way.stalls
        );
    }
    let _ = writeln!(
        out,
        "  {:>5}{:>13}{:>12}{:>10}{:>12}{:>12}{:>10}",
        "q", "Mbit/s", "packets", "waiting", "delay ms", "dropped", "marked"
    );
    for (name, class) in &way.classes {
        let then = before.and_then(|before| before.classes.get(name));
        let sent = then.map_or(zero, |then| then.sent);
        let packets = class.sent.packets - sent.packets.min(class.sent.packets);
        let waited = class.delay_sum_s - then.map_or(0.0, |then| then.delay_sum_s);
        let _ = writeln!(
            out,
            "  {name:>5}{:>13.3}{:>12}{:>10}{:>12.2}{:>12}{:>10}",
            megabits(class.sent.bytes, sent.bytes),
            class.sent.packets,
            class.waiting,
            waited * 1e3 / packets.max(1) as f64,
            class.dropped,
            class.marked,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{check, circuits};
    use crate::config::Config;
    use crate::plugins::Parts;
    use serde_json::json;

    #[test]
    fn what_is_slow_now_comes_before_what_was_slow() {
        let status = |bytes: [u64; 2]| {
            let way = |bytes: u64, p99: f64| {
                json!({
                    "sent": { "packets": bytes, "bytes": bytes }, "dropped": 0, "marked": 0,
                    "waiting": 0, "delay_sum_s": 0.0, "p50_delay_ms": 0.0, "p90_delay_ms": 0.0,
                    "p99_delay_ms": p99, "max_delay_ms": p99, "round_trips": 0,
                })
            };
            let circuit = |id: &str, bytes, p99| {
                let (down, up) = (way(bytes, p99), way(0, 90.0));
                json!({ "circuit": id, "down": down, "up": up, "plan_bps": [null, null] })
            };
            let [idle, busy] = bytes;
            serde_json::from_value(json!({
                "uptime_s": bytes[1], "reloads": 0, "link_bps": [1, 1], "nodes": [],
                "circuits": [circuit("idle", idle, 80.0), circuit("busy", busy, 5.0)],
            }))
            .unwrap()
        };
        let shown = circuits(&status([7, 1]), &status([7, 2]), 20);
        let first: Vec<_> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(first, ["circuit", "busy", "idle"]);
    }

    #[test]
    fn what_no_queue_has_is_warned_of() {
        let check_with = |queue: &str, more: &str| {
            let text = format!(
                "{more}\n[link]\nrate = \"1Mbit\"\nqueue = {queue}\n[io]\ninside = \"a\"\noutside = \
                 \"b\"\n[[rule]]\nname = \"voice\"\ndscp = [\"EF\"]\nq = 5\n"
            );
            check(&Config::parse(&text, &Parts::builtin()).unwrap()).unwrap()
        };
        let shown = check_with("{ kind = \"prio\" }", "other = 2\ndefault = { q = 1 }");
        let warning = "# warning: prio has queues for q = 0 to 1; what is above, voice (q = 5), \
                       other (q = 2), joins the highest";
        assert!(shown.lines().any(|line| line == warning), "{shown}");
        assert!(shown.contains("# voice: DSCP EF -> q 5"), "{shown}");
        let parts = "{ classify = { kind = \"class\", queues = 4 }, admit = { kind = \"codel\" }, \
                     schedule = { kind = \"drr\" } }";
        let shown = check_with(parts, "");
        assert!(shown.contains("the combination has queues for q = 0 to 3;"), "{shown}");
        for enough in [
            "{ kind = \"prio\", limit = [\"9p\", \"9p\", \"9p\", \"9p\", \"9p\", \"9p\"] }",
            "{ kind = \"fq-codel\" }",
            "{ kind = \"prio\", classify = { kind = \"dscp\" } }",
        ] {
            let shown = check_with(enough, "");
            assert!(!shown.contains("warning"), "{shown}");
        }
    }

    #[test]
    fn every_discipline_can_be_shown() {
        // Some parameters have no value.
        for queue in ["{ kind = \"cq-aqm\" }", "{ kind = \"ncq\" }", "{ kind = \"prio\" }"] {
            let text = format!(
                "[link]\nrate = \"1.5Mbit\"\nqueue = {queue}\n[io]\ninside = \"a\"\noutside = \"b\"\n"
            );
            let shown = check(&Config::parse(&text, &Parts::builtin()).unwrap()).unwrap();
            assert_eq!(
                Config::parse(&shown, &Parts::builtin()).unwrap().effective(),
                Config::parse(&text, &Parts::builtin()).unwrap().effective()
            );
        }
    }
}
