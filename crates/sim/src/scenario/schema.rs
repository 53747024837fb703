//! JSON Schema of a scenario, made from its tables, the disciplines and the sources.

use super::grammar::{AccessTable, LinkTable, Per, ScenarioTable, TRAFFIC_FIELDS, TrafficTable};
use crate::Registry;
use crate::traffic::Generator;
use forebay_core::{Entry, Family, Registry as Parts};
use forebay_disciplines::Disciplines;
use forebay_middlebox::marker::Marker;
use forebay_shaper::schema::{classifier, one_of, queue, with_kind};
use forebay_tcp::Config as TcpConfig;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a scenario file that can name parts of `registry`.
pub fn schema(registry: &Registry) -> Value {
    let mut generator = SchemaGenerator::default();
    let mut root = ScenarioTable::json_schema(&mut generator).to_value();
    let link = LinkTable::json_schema(&mut generator).to_value();
    let link = with_queue(link);
    let dumbbell = dumbbell(&link, &mut generator);
    let tcp = TcpConfig::schema(&mut generator, &registry.controls, &registry.stacks);
    let traffic = traffic(&registry.sources, &mut generator, &tcp);
    let properties = &mut root["properties"];
    let tables = ["tcp", "dumbbell", "parking_lot", "link", "traffic"];
    let about = tables.map(|name| properties[name]["description"].take());
    properties["tcp"] = tcp;
    properties["profile"]["additionalProperties"] =
        json!({ "oneOf": profiles(&registry.markers, &mut generator) });
    let parking_lot = parking_lot(&dumbbell);
    properties["parking_lot"] = parking_lot;
    properties["dumbbell"] = dumbbell;
    properties["link"] = json!({ "type": "array", "items": { "$ref": "#/$defs/link" } });
    properties["traffic"] = json!({ "type": "array", "items": { "$ref": "#/$defs/traffic" } });
    for (name, description) in tables.into_iter().zip(about) {
        properties[name]["description"] = description;
    }
    let queue = queue(&registry.disciplines, &mut generator);
    let classifier = classifier(&registry.disciplines, &mut generator);
    let boxes = json!({ "oneOf": one_of(&registry.boxes, &mut generator) });
    let mut definitions = generator.take_definitions(true);
    definitions.insert("link".into(), link);
    definitions.insert("traffic".into(), traffic);
    definitions.insert("queue".into(), queue);
    definitions.insert("classifier".into(), classifier);
    definitions.insert("box".into(), boxes);
    let wireless = &mut definitions["WirelessTable"]["properties"]["queue"];
    let describe = wireless["description"].take();
    *wireless = json!({ "$ref": "#/$defs/queue", "description": describe });
    root["$defs"] = Value::Object(definitions);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("forebay scenario");
    root
}

/// Fields of the tables of a scenario that name files. Those of parts are marked in the schemas of
/// these, as all are in [`schema`]: `"format": "path"`.
pub const FILES: [&str; 4] = ["pcap", "plugins", "tcp_trace", "trace"];

/// The schemas of the fields of a link, by name.
pub fn link_fields() -> Value {
    LinkTable::json_schema(&mut SchemaGenerator::default()).to_value()["properties"].take()
}

/// The schemas of all parts in `registry`, and what they refer to.
pub fn part_schemas(registry: &Registry) -> Vec<Value> {
    let mut generator = SchemaGenerator::default();
    let Disciplines { classifiers, admissions, schedulers, .. } = &registry.disciplines;
    let mut found = schemas(&registry.disciplines.every_kind(), &mut generator);
    found.extend(schemas(classifiers, &mut generator));
    found.extend(schemas(admissions, &mut generator));
    found.extend(schemas(schedulers, &mut generator));
    found.extend(schemas(&registry.boxes, &mut generator));
    found.extend(schemas(&registry.sources, &mut generator));
    found.extend(schemas(&registry.stacks, &mut generator));
    found.extend(schemas(&registry.controls, &mut generator));
    found.extend(schemas(&registry.markers, &mut generator));
    found.push(Value::Object(generator.take_definitions(true)));
    found
}

fn schemas<F: Family + ?Sized>(parts: &Parts<F>, generator: &mut SchemaGenerator) -> Vec<Value> {
    parts.iter().map(|entry| entry.schema(generator).to_value()).collect()
}

/// A link's `queue`, `box` and `reverse` are tables with a known form.
fn with_queue(mut link: Value) -> Value {
    let describe = |link: &Value, field: &str| link["properties"][field]["description"].clone();
    let reverse = describe(&link, "reverse");
    for field in ["queue", "box"] {
        let description = describe(&link, field);
        let form = format!("#/$defs/{field}");
        link["properties"][field] = json!({ "$ref": form, "description": description });
    }
    let mut back = link.clone();
    for field in ["name", "from", "to", "reverse"] {
        back["properties"].as_object_mut().expect("a table").remove(field);
    }
    back["required"] = json!([]);
    back["description"] = reverse;
    link["properties"]["reverse"] = back;
    link
}

/// A dumbbell is a link whose ends are known, and the hosts' access.
fn dumbbell(link: &Value, generator: &mut SchemaGenerator) -> Value {
    let mut dumbbell = link.clone();
    let properties = dumbbell["properties"].as_object_mut().expect("a table");
    for field in ["name", "from", "to"] {
        properties.remove(field);
    }
    properties.insert("access".into(), generator.subschema_for::<AccessTable>().to_value());
    dumbbell["required"] = json!([]);
    dumbbell
}

/// A parking lot is a dumbbell of several hops, which may differ.
fn parking_lot(dumbbell: &Value) -> Value {
    let mut hop = dumbbell.clone();
    hop["properties"].as_object_mut().expect("a table").remove("access");
    hop["description"] = json!("What differs on this hop.");
    let mut lot = dumbbell.clone();
    lot["properties"]["hops"] = json!({
        "type": "integer", "minimum": 1, "maximum": 100, "default": 2,
        "description": "Number of congested links in a row.",
    });
    lot["properties"]["hop"] = json!({
        "type": "object",
        "description": "Hops that differ, by their numbers from 1. Their fields replace those that all hops have in common.",
        "propertyNames": { "pattern": "^[1-9][0-9]*$", "examples": ["1", "2"] },
        "additionalProperties": hop,
    });
    lot["properties"]["pcap"]["description"] = json!(
        "File in which each link records what it sends, the link's name before the extension: \
         \"lot.pcap\" makes \"lot-hop1.pcap\" and so on."
    );
    lot
}

/// Each source's parameters are beside the common fields.
fn traffic(sources: &Parts<Generator>, generator: &mut SchemaGenerator, tcp: &Value) -> Value {
    let common = TrafficTable::json_schema(generator).to_value();
    let one_of: Vec<_> = sources
        .iter()
        .map(|entry| {
            let mut whole = entry.schema(generator).to_value();
            let properties = whole["properties"].as_object_mut();
            let mut merged = properties.map(std::mem::take).unwrap_or_default();
            for field in &*TRAFFIC_FIELDS {
                merged.insert((*field).to_owned(), common["properties"][field].clone());
            }
            merged["tcp"] = tcp.clone();
            merged["tcp"]["description"] = common["properties"]["tcp"]["description"].clone();
            merged.insert("kind".into(), json!({ "const": entry.name }));
            whole["properties"] = Value::Object(merged);
            whole["required"] = json!(["kind"]);
            whole["title"] = json!(entry.name);
            whole["description"] = json!(entry.summary);
            whole
        })
        .collect();
    json!({ "oneOf": one_of })
}

/// Each kind of profile, with the field `per`.
fn profiles(markers: &Parts<dyn Marker>, generator: &mut SchemaGenerator) -> Vec<Value> {
    let per = Per::json_schema(generator).to_value();
    let with_per = |kind: &Entry<dyn Marker>| {
        let mut schema = with_kind(&kind.name, &kind.summary, kind.schema(generator));
        schema["properties"]["per"] = per.clone();
        let required = schema["required"].as_array_mut().expect("every kind requires its name");
        required.push(json!("rate"));
        schema
    };
    markers.iter().map(with_per).collect()
}

/// Everything in `registry` that a scenario can name: kinds, parts, boxes, sources, stacks, congestion
/// controls and profiles. Each has its summary, source and parameters (name, type, default,
/// description). `needs` names the fields of `tcp` that must be true for a control.
/// `recovery`, `congestion` and `lacks` say what a stack is able to do.
pub fn catalogue(registry: &Registry) -> Value {
    let mut generator = SchemaGenerator::default();
    let Disciplines { classifiers, admissions, schedulers, .. } = &registry.disciplines;
    let mut sources = describe_all(&registry.sources, &mut generator);
    for (found, entry) in sources.iter_mut().zip(&registry.sources) {
        found["transport"] = json!(entry.facts.transport);
        found["judged_by"] = json!(entry.facts.judged_by);
    }
    let mut stacks = describe_all(&registry.stacks, &mut generator);
    for (found, entry) in stacks.iter_mut().zip(&registry.stacks) {
        let recovery: Vec<_> = entry.facts.recovery.iter().map(|kind| kind.name()).collect();
        found["recovery"] = json!(recovery);
        found["congestion"] = json!(entry.facts.congestion);
        found["lacks"] = json!(entry.facts.lacks);
    }
    let mut controls = describe_all(&registry.controls, &mut generator);
    for (found, entry) in controls.iter_mut().zip(&registry.controls) {
        found["linux"] = json!(entry.facts.linux);
        found["needs"] = json!(entry.facts.needs.fields());
    }
    json!({
        "kinds": describe_all(&registry.disciplines.every_kind(), &mut generator),
        "classifiers": describe_all(classifiers, &mut generator),
        "admissions": describe_all(admissions, &mut generator),
        "schedulers": describe_all(schedulers, &mut generator),
        "boxes": describe_all(&registry.boxes, &mut generator),
        "sources": sources,
        "stacks": stacks,
        "controls": controls,
        "profiles": describe_all(&registry.markers, &mut generator),
    })
}

/// The entries of one family in [`catalogue`].
pub fn described<F: Family + ?Sized>(parts: &Parts<F>) -> Vec<Value> {
    describe_all(parts, &mut SchemaGenerator::default())
}

fn describe_all<F: Family + ?Sized>(
    parts: &Parts<F>,
    generator: &mut SchemaGenerator,
) -> Vec<Value> {
    let one = |entry: &Entry<F>| {
        let schema = entry.schema(generator).to_value();
        describe(&entry.name, &entry.summary, &entry.source, &schema, generator.definitions())
    };
    parts.iter().map(one).collect()
}

fn describe(
    name: &str,
    summary: &str,
    source: &str,
    schema: &Value,
    definitions: &Map<String, Value>,
) -> Value {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let parameters: Vec<_> = properties
        .iter()
        .map(|(name, form)| {
            let mut parameter = json!({
                "name": name,
                "type": type_name(form, definitions),
                "description": form["description"],
            });
            let required = schema["required"].as_array();
            if !required.is_some_and(|required| required.contains(&json!(name))) {
                parameter["default"] = json!(form.get("default"));
            }
            parameter
        })
        .collect();
    json!({ "name": name, "summary": summary, "source": source, "parameters": parameters })
}

/// A short word for a parameter's type: "duration", "rate", "number", "a | b".
fn type_name(form: &Value, definitions: &Map<String, Value>) -> String {
    if let Some(reference) = form["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return definitions.get(name).map_or("table".into(), |form| type_name(form, definitions));
    }
    for options in ["anyOf", "oneOf"] {
        if let Some(options) = form[options].as_array() {
            let names = options.iter().map(|option| type_name(option, definitions));
            let mut names: Vec<_> = names.filter(|name| name != "null").collect();
            names.dedup();
            return names.join(" | ");
        }
    }
    if let Some(value) = form["const"].as_str() {
        return format!("\"{value}\"");
    }
    if let Some(values) = form["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(format) = form["format"].as_str()
        && form["type"] == json!("string")
    {
        return format.to_owned();
    }
    let plain = |name: &str| match name {
        "object" => "table".to_owned(),
        "array" => format!("list of {}", type_name(&form["items"], definitions)),
        name => name.to_owned(),
    };
    match &form["type"] {
        Value::String(name) => plain(name),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(plain).collect::<Vec<_>>().join(" | ")
        }
        _ => "value".to_owned(),
    }
}
