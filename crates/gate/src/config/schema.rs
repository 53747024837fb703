//! JSON Schema of the gate's configuration.

use super::Config;
use crate::plugins::Parts;
use forebay_shaper::schema::{classifier, one_of, queue};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// The JSON Schema (draft 2020-12) of a gate's configuration that can name `parts`. Without
/// `queues`, queues refer to a definition in the schema of scenarios.
pub fn schema(parts: &Parts, queues: bool) -> Value {
    let mut generator = SchemaGenerator::default();
    let mut root = Config::json_schema(&mut generator).to_value();
    let boxes = one_of(&parts.boxes, &mut generator);
    let queues = queues.then(|| {
        let disciplines = &parts.disciplines;
        [queue(disciplines, &mut generator), classifier(disciplines, &mut generator)]
    });
    let mut definitions = generator.take_definitions(true);
    let link = &mut definitions["Link"]["properties"];
    for field in ["queue", "box"] {
        let description = link[field]["description"].take();
        let form = format!("#/$defs/{field}");
        link[field] = json!({ "$ref": form, "description": description });
    }
    let queue = &mut definitions["Subscribers"]["properties"]["queue"];
    let description = queue["description"].take();
    *queue = json!({ "$ref": "#/$defs/queue", "description": description });
    definitions.insert("box".into(), json!({ "oneOf": boxes }));
    if let Some([queue, classifier]) = queues {
        definitions.insert("queue".into(), queue);
        definitions.insert("classifier".into(), classifier);
    }
    root["$defs"] = Value::Object(definitions);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("forebay gate");
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `forebay explain --for gate` reads this copy, because a wheel contains no gate.
    const KEPT: &str = "../../python/forebay/_reference/gate.schema.json";

    #[test]
    fn the_schema_that_python_has_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(kept == schema(&Parts::builtin(), false), "run make docs");
    }

    #[test]
    fn every_field_of_the_gate_is_explained() {
        let own = schema(&Parts::builtin(), false);
        let tables = own["$defs"].as_object().unwrap().values().chain([&own]);
        let fields = tables.filter_map(|table| table["properties"].as_object()).flatten();
        for (name, field) in fields {
            assert!(field["description"].is_string(), "{name}");
        }
        for (table, field) in [("Link", "rate"), ("Io", "inside"), ("Rule", "q"), ("Marks", "q")] {
            assert!(own["$defs"][table]["properties"][field].is_object(), "{table}.{field}");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references<'a>(at: &'a Value, found: &mut Vec<&'a str>) {
            match at {
                Value::Object(table) => {
                    found.extend(table.get("$ref").and_then(Value::as_str));
                    table.values().for_each(|at| references(at, found));
                }
                Value::Array(list) => list.iter().for_each(|at| references(at, found)),
                _ => {}
            }
        }
        let whole = schema(&Parts::builtin(), true);
        let mut found = Vec::new();
        references(&whole, &mut found);
        assert!(found.contains(&"#/$defs/queue") && found.contains(&"#/$defs/box"));
        for target in found {
            let name = target.strip_prefix("#/$defs/").expect("a definition");
            assert!(whole["$defs"].get(name).is_some(), "{target}");
        }
        let kinds = whole["$defs"]["queue"]["oneOf"].as_array().unwrap();
        assert!(kinds.iter().any(|kind| kind["title"] == "fq-codel"));
    }
}
