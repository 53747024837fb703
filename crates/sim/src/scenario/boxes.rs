//! Boxes that a link may name.

use forebay_core::{ConfigError, config};
use forebay_middlebox::aspq::{Controller, Params};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// A kind of box.
pub struct BoxEntry {
    /// What a scenario writes as `kind = "..."`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, section or RFC that it follows.
    pub source: &'static str,
}

/// The boxes.
pub const BOXES: [BoxEntry; 2] = [
    BoxEntry {
        name: "aspq",
        summary: "freezes low-priority TCP senders while traffic of a higher priority comes",
        source: "Rahimi and Pournaghshband, ASPQ, section III-B",
    },
    BoxEntry { name: "none", summary: "as if there were no box, for studies", source: "none" },
];

impl BoxEntry {
    /// JSON Schema of the parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        match self.name {
            "aspq" => Params::json_schema(generator),
            _ => schemars::json_schema!({ "type": "object", "additionalProperties": false }),
        }
    }
}

/// The controller that `block` describes; None for the kind "none".
///
/// # Errors
/// An unknown kind or field, or a value out of range, with its path inside `block`.
pub fn build(block: &Value) -> Result<Option<Controller>, ConfigError> {
    params(block)?.map(|params| Controller::new(&params)).transpose()
}

/// `block` with every default filled in.
///
/// # Errors
/// An unknown kind or field, or a value of the wrong form, with its path inside `block`.
pub fn effective(block: &Value) -> Result<Value, ConfigError> {
    let mut whole = Map::from_iter([("kind".to_owned(), block["kind"].clone())]);
    let params = params(block)?.map(serde_json::to_value);
    if let Some(Ok(Value::Object(params))) = params {
        whole.extend(params);
    }
    Ok(Value::Object(whole))
}

fn params(block: &Value) -> Result<Option<Params>, ConfigError> {
    let names = BOXES.map(|entry| entry.name);
    let Value::Object(block) = block else {
        let message = format!("expected a table such as {{ kind = \"aspq\" }}, got {block}");
        return Err(ConfigError::new("", message));
    };
    let mut given = block.clone();
    let kind = given.remove("kind").unwrap_or_default();
    let given = Value::Object(given);
    match kind.as_str() {
        Some("aspq") => config::read(&given).map(Some),
        Some("none") => match given.as_object().and_then(|given| given.keys().next()) {
            Some(field) => {
                Err(ConfigError::new(field, "unknown field; \"none\" has no parameters"))
            }
            None => Ok(None),
        },
        Some(name) => Err(ConfigError::new("kind", config::unknown("box", name, &names))),
        None => {
            let message = format!("expected a box, one of {}", names.join(", "));
            Err(ConfigError::new("kind", message))
        }
    }
}
