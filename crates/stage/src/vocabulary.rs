//! What is known of all scenarios: kinds, boxes, and what fields mean.

use crate::written::{list, text};
use forebay_sim::{Registry, scenario};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// Kinds and boxes of a registry, and the fields of its schema.
pub struct Vocabulary {
    /// As [`scenario::catalogue`] has them.
    kinds: Vec<Value>,
    boxes: Vec<Value>,
    /// What the fields of a link mean.
    link: HashMap<&'static str, String>,
    /// Names of the fields that name files.
    files: BTreeSet<String>,
}

impl Vocabulary {
    /// That of `registry`. The whole schema is not made: the module for pages would be larger.
    pub fn of(registry: &Registry) -> Self {
        let fields = scenario::link_fields();
        let about = |name| (name, text(&fields[name]["description"]).to_owned());
        let mut files = BTreeSet::from(scenario::FILES.map(str::to_owned));
        for schema in scenario::part_schemas(registry) {
            look(&schema, "", &mut files);
        }
        Vocabulary {
            kinds: scenario::described(&registry.disciplines.every_kind()),
            boxes: scenario::described(&registry.boxes),
            link: ["rate", "delay", "loss"].map(about).into(),
            files,
        }
    }

    /// The name in `value` of a field that names a file, if there is one.
    pub(crate) fn names_file(&self, value: &Value) -> Option<&str> {
        match value {
            Value::Object(fields) => {
                let own = self.files.iter().find(|name| fields.contains_key(*name));
                let within = || fields.values().find_map(|inner| self.names_file(inner));
                own.map(String::as_str).or_else(within)
            }
            Value::Array(values) => values.iter().find_map(|inner| self.names_file(inner)),
            _ => None,
        }
    }

    /// The disciplines to choose from, and boxes, which [`Vocabulary::with_box`] puts in front of one.
    /// Linux' own is none of a simulation.
    pub(crate) fn choices(&self) -> Value {
        let choice = |entry: &Value, is_box: bool| {
            json!({ "name": entry["name"], "summary": entry["summary"], "source": entry["source"],
                    "box": is_box })
        };
        let kinds = self.kinds.iter().filter(|entry| entry["name"] != "kernel");
        let kinds = kinds.map(|entry| choice(entry, false));
        kinds.chain(self.boxes.iter().map(|entry| choice(entry, true))).collect()
    }

    /// The parameters of a kind; none of what is no kind.
    pub(crate) fn parameters(&self, kind: &str) -> &[Value] {
        let entry = self.kinds.iter().find(|entry| entry["name"] == kind);
        entry.map_or(&[], |entry| list(&entry["parameters"]))
    }

    /// What the rate, the delay or the loss of a link means.
    pub(crate) fn of_link(&self, field: &str) -> &str {
        &self.link[field]
    }

    /// A box's name as the lane of strict priority behind it; other queues as they are.
    pub(crate) fn with_box(&self, queue: &Value) -> Value {
        match queue.as_str() {
            Some(name) if self.boxes.iter().any(|entry| entry["name"] == name) => {
                json!({ "label": name, "kind": "prio", "box": { "kind": name } })
            }
            _ => queue.clone(),
        }
    }
}

/// Collects the names of fields whose schema is marked as a path.
fn look(schema: &Value, name: &str, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(|format| format == "path") {
                found.insert(name.to_owned());
            }
            for (key, value) in fields {
                let is_within = ["items", "anyOf", "oneOf"].contains(&key.as_str());
                look(value, if is_within { name } else { key }, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|each| look(each, name, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_part_of_the_catalogue() {
        let registry = Registry::builtin();
        let found = Vocabulary::of(&registry);
        let catalogue = scenario::catalogue(&registry);
        assert_eq!(Value::from(found.kinds), catalogue["kinds"]);
        assert_eq!(Value::from(found.boxes), catalogue["boxes"]);
        let schema = scenario::schema(&registry);
        for (name, about) in found.link {
            assert_eq!(schema["$defs"]["link"]["properties"][name]["description"], about);
            assert!(!about.is_empty());
        }
    }

    #[test]
    fn fields_that_name_files_are_known() {
        let found = Vocabulary::of(&Registry::builtin());
        let files: Vec<_> = found.files.iter().map(String::as_str).collect();
        assert_eq!(files, ["file", "pcap", "plugins", "tcp_trace", "trace"]);
        let mut marked = BTreeSet::new();
        look(&scenario::schema(&Registry::builtin()), "", &mut marked);
        assert_eq!(found.files, marked);
        let deep = json!([{ "queues": [{ "kind": "fifo", "trace": "x.txt" }] }]);
        assert_eq!(found.names_file(&deep), Some("trace"));
        assert_eq!(found.names_file(&json!({ "rate": "trace" })), None);
    }
}
