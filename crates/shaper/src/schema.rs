//! JSON Schema that scenarios and the gate's configuration share: queues, and tables with a `kind`.

use forebay_core::{Entry, Family, Registry as Parts};
use forebay_disciplines::Disciplines;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// A queue: a named kind, or one part of each sort. Kinds that contain queues refer to this schema
/// as `#/$defs/queue`.
pub fn queue(disciplines: &Disciplines, generator: &mut SchemaGenerator) -> Value {
    let Disciplines { admissions, schedulers, .. } = disciplines;
    let mut kinds = one_of(&disciplines.every_kind(), generator);
    kinds.push(json!({
        "title": "combination",
        "type": "object",
        "properties": {
            "classify": classifier(disciplines, generator),
            "admit": { "oneOf": one_of(admissions, generator) },
            "schedule": { "oneOf": one_of(schedulers, generator) },
        },
        "required": ["classify", "admit", "schedule"],
        "additionalProperties": false,
    }));
    json!({ "oneOf": kinds })
}

/// A classifier. Kinds refer to this schema as `#/$defs/classifier`.
pub fn classifier(disciplines: &Disciplines, generator: &mut SchemaGenerator) -> Value {
    json!({ "oneOf": one_of(&disciplines.classifiers, generator) })
}

/// Any of `parts`, as a table with its `kind`.
pub fn one_of<F: Family + ?Sized>(parts: &Parts<F>, generator: &mut SchemaGenerator) -> Vec<Value> {
    let named = |entry: &Entry<F>| with_kind(&entry.name, &entry.summary, entry.schema(generator));
    parts.iter().map(named).collect()
}

/// The schema of a table with the kind `name`, from the schema of its parameters.
pub fn with_kind(name: &str, summary: &str, mut schema: Schema) -> Value {
    let kind = json!({ "const": name });
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    properties.as_object_mut().expect("a table").insert("kind".into(), kind);
    let mut schema = schema.to_value();
    schema["required"] = json!(["kind"]);
    schema["title"] = json!(name);
    schema["description"] = json!(summary);
    schema
}
