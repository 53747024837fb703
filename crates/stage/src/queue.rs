//! Disciplines as people write them in a list.

use crate::host::{Stop, refuse};
use crate::written::text;
use forebay_sim::scenario;
use serde_json::{Map, Value, json};

/// Before Linux' name of a discipline.
const OF_KERNEL: &str = "kernel:";
/// The parts of a combination.
const PARTS: [&str; 3] = ["classify", "admit", "schedule"];

/// The table of a queue that is written as a text: "codel", or "codel:target=15ms" with parameters,
/// whose values are written as in TOML.
///
/// # Errors
/// It has a blank in its kind, or a parameter without a value.
fn table_of(queue: &str) -> Result<Map<String, Value>, Stop> {
    if let Some(qdisc) = queue.strip_prefix(OF_KERNEL) {
        return Ok(table(json!({ "kind": "kernel", "qdisc": qdisc })));
    }
    let mut words = queue.split(':');
    let kind = words.next().unwrap_or_default();
    if kind.contains([' ', '=']) {
        return refuse(format!(
            "no discipline is called \"{queue}\"; a parameter is written :NAME=VALUE, as in \
             fifo:limit=300p or codel:target=15ms:interval=300ms"
        ));
    }
    let mut tree = json!({ "kind": kind });
    for setting in words {
        let Some((name, value)) = setting.split_once('=').filter(|(_, value)| !value.is_empty())
        else {
            return refuse(format!(
                "\"{queue}\": a parameter is written :NAME=VALUE, as in fifo:limit=300p"
            ));
        };
        scenario::path::set(&mut tree, name.trim(), value_of(value.trim()))
            .map_err(|error| Stop::Refused(format!("\"{queue}\": {error}")))?;
    }
    Ok(table(tree))
}

fn table(tree: Value) -> Map<String, Value> {
    let Value::Object(table) = tree else { unreachable!("it is made as a table") };
    table
}

/// The value that `text` writes in TOML, or the text itself.
fn value_of(text: &str) -> Value {
    // serde's form of a date, which a scenario does not have.
    const DATE: &str = "$__toml_private_datetime";
    let read = scenario::parse(&format!("value = {text}")).ok();
    let only = read.filter(|tree| tree.as_object().is_some_and(|fields| fields.len() == 1));
    let value = only.map(|mut tree| tree["value"].take());
    value.filter(|value| !value.to_string().contains(DATE)).unwrap_or_else(|| text.into())
}

/// The label and the table of an entry in a list of disciplines. "fifo:limit=300p" is called
/// "fifo 300p", and "kernel:cake" is Linux' own.
///
/// # Errors
/// It is no text that is understood, and no table.
pub fn labelled(entry: &Value) -> Result<(String, Map<String, Value>), Stop> {
    match entry {
        Value::String(queue) if queue.starts_with(OF_KERNEL) => {
            Ok((queue.clone(), table_of(queue)?))
        }
        Value::String(queue) => {
            let label = queue.replace("fifo:limit=", "fifo ").replace(':', " ");
            Ok((label, table_of(queue)?))
        }
        Value::Object(table) => {
            let mut table = table.clone();
            let label = match (table.remove("label"), table.get("kind")) {
                (Some(Value::String(label)), _) => label,
                (Some(label), _) if !label.is_null() => label.to_string(),
                (_, Some(kind)) => text(kind).to_owned(),
                (_, None) => of_parts(&table),
            };
            Ok((label, table))
        }
        other => refuse(format!("expected a kind or a table of a queue, got {other}")),
    }
}

/// The label of a queue without a kind, by those of its parts.
fn of_parts(table: &Map<String, Value>) -> String {
    let kinds: Vec<&str> =
        PARTS.iter().filter_map(|part| table.get(*part)?["kind"].as_str()).collect();
    if kinds.is_empty() { "without a kind".into() } else { kinds.join(" + ") }
}

/// `label`, or with the first number behind it with which it is not taken.
pub(crate) fn free(label: String, is_taken: impl Fn(&str) -> bool) -> String {
    let mut free = label.clone();
    let mut number = 1;
    while is_taken(&free) {
        number += 1;
        free = format!("{label} ({number})");
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_kind_with_its_parameters() {
        let read = |text: &str| labelled(&text.into()).unwrap();
        for (text, label, table) in [
            ("codel", "codel", json!({ "kind": "codel" })),
            ("fifo:limit=300p", "fifo 300p", json!({ "kind": "fifo", "limit": "300p" })),
            (
                "codel:target=15ms:ecn=true:quantum=3",
                "codel target=15ms ecn=true quantum=3",
                json!({ "kind": "codel", "target": "15ms", "ecn": true, "quantum": 3 }),
            ),
            ("x:day=1979-05-27", "x day=1979-05-27", json!({ "kind": "x", "day": "1979-05-27" })),
            ("kernel:cake", "kernel:cake", json!({ "kind": "kernel", "qdisc": "cake" })),
        ] {
            assert_eq!((read(text).0.as_str(), Value::Object(read(text).1)), (label, table));
        }
        for (wrong, part) in [
            ("fifo:300p", "written :NAME=VALUE"),
            ("fifo 300p", "as in fifo:limit=300p"),
            ("codel=5ms", "codel:target=15ms"),
            ("fifo:a..b=1", "not a path"),
        ] {
            let Err(Stop::Refused(words)) = labelled(&wrong.into()) else { panic!("{wrong}") };
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn a_table_is_called_by_its_label_its_kind_or_its_parts() {
        for (table, label) in [
            (json!({ "kind": "codel", "label": "mine" }), "mine"),
            (json!({ "kind": "codel", "label": null }), "codel"),
            (
                json!({ "classify": { "kind": "dscp" }, "admit": { "kind": "red" },
                     "schedule": { "kind": "drr" } }),
                "dscp + red + drr",
            ),
            // What is no queue is refused by whoever builds it.
            (json!({ "limit": "5p", "schedule": 3 }), "without a kind"),
            (json!({ "admit": { "kind": "red" } }), "red"),
        ] {
            let (found, table) = labelled(&table).unwrap();
            assert_eq!(found, label);
            assert!(!table.contains_key("label"));
        }
    }
}
