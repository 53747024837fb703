//! Schemas of plug-ins' parameters: what is refused when they are loaded, and what the host does
//! with the others for plug-ins that leave it to it.

use forebay_core::{ConfigError, Limit, config};
use serde_json::{Map, Value, json};

/// Types of parameters that `forebay.h` reads.
const LEGIBLE: [&str; 4] = ["number", "integer", "boolean", "string"];
/// Those of JSON.
const TYPES: [&str; 7] = ["number", "integer", "boolean", "string", "null", "array", "object"];
/// A bound of numbers: its name, what it asks in words, and whether a number keeps it.
type Bound = (&'static str, &'static str, fn(f64, f64) -> bool);
const BOUNDS: [Bound; 4] = [
    ("minimum", "at least", |number, bound| number >= bound),
    ("exclusiveMinimum", "greater than", |number, bound| number > bound),
    ("maximum", "at most", |number, bound| number <= bound),
    ("exclusiveMaximum", "less than", |number, bound| number < bound),
];

/// Keywords of a property that the host heeds, and those that tell it nothing.
const KEYWORDS: [&str; 14] = [
    "type",
    "enum",
    "description",
    "default",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "title",
    "examples",
    "format",
    "deprecated",
    "$comment",
    "$id",
];
/// Likewise of the whole schema.
const WHOLE: [&str; 10] = [
    "properties",
    "type",
    "required",
    "additionalProperties",
    "title",
    "description",
    "examples",
    "$schema",
    "$comment",
    "$id",
];

/// The properties of `schema`, which was checked by [`described`].
fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// The schema in `text`, empty if there is none. The host checks parameters by it, and must be able to,
/// unless the plug-in `checks` them itself.
///
/// # Errors
/// What is wrong, and where.
pub fn read(text: Option<&str>, checks: bool) -> Result<Map<String, Value>, String> {
    let schema = text.map_or(Ok(json!({})), serde_json::from_str);
    let schema = described(schema.map_err(|error| error.to_string())?)?;
    if !checks {
        legible(&schema)?;
    }
    Ok(schema)
}

/// `schema`, if it describes parameters: a table, and in each of its properties `type`, `enum`,
/// `description` and the bounds have the form that JSON Schema gives them.
///
/// # Errors
/// What is wrong, and where.
pub fn described(schema: Value) -> Result<Map<String, Value>, String> {
    let Value::Object(schema) = schema else {
        return Err(format!("must be a JSON object, got {schema}"));
    };
    if let Some(other) = schema.get("properties").filter(|found| !found.is_object()) {
        return Err(format!("`properties` must be an object, got {other}"));
    }
    for (name, form) in properties(&schema) {
        let Some(form) = form.as_object() else {
            // JSON Schema's own: everything, and nothing.
            if form.is_boolean() {
                continue;
            }
            return Err(format!("property \"{name}\" must be an object, got {form}"));
        };
        let refuse = |key: &str, wanted: &str, fits: fn(&Value) -> bool| match form.get(key) {
            Some(found) if !fits(found) => {
                Err(format!("property \"{name}\": `{key}` must be {wanted}, got {found}"))
            }
            _ => Ok(()),
        };
        refuse("type", "the name of a type, or a list of them", is_type)?;
        refuse("enum", "a list of values", is_list)?;
        refuse("description", "a text", Value::is_string)?;
        for (bound, ..) in BOUNDS {
            refuse(bound, "a number", Value::is_number)?;
        }
    }
    Ok(schema)
}

fn is_type(found: &Value) -> bool {
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    known(found)
        || found.as_array().is_some_and(|kinds| !kinds.is_empty() && kinds.iter().all(known))
}

fn is_list(found: &Value) -> bool {
    found.as_array().is_some_and(|values| !values.is_empty())
}

/// Checks that `forebay.h` can read every property of `schema`, and that its defaults are allowed.
///
/// # Errors
/// What is wrong, and where.
fn legible(schema: &Map<String, Value>) -> Result<(), String> {
    heeded(schema, &WHOLE)?;
    for (name, form) in properties(schema) {
        let known = form.as_object().map_or(Ok(()), |form| heeded(form, &KEYWORDS));
        known.map_err(|error| format!("property \"{name}\": {error}"))?;
        if !form["type"].as_str().is_some_and(|kind| LEGIBLE.contains(&kind)) {
            return Err(format!(
                "property \"{name}\" needs a type that forebay.h reads: {}; or write `effective`",
                LEGIBLE.join(", ")
            ));
        }
        if name.contains(['"', '\\']) || name.contains(char::is_control) {
            return Err(format!("property {name:?} has a name that forebay.h cannot read"));
        }
        let values = form["enum"].as_array();
        for value in values.into_iter().flatten() {
            check(form, value).map_err(|error| format!("property \"{name}\": `enum`: {error}"))?;
        }
        if let Some(value) = form.get("default") {
            let fits = check(form, &counted(form, value));
            fits.map_err(|error| format!("property \"{name}\": `default`: {error}"))?;
        }
    }
    Ok(())
}

/// Checks that `form` has only `known` keywords: a bound that is not known would not be kept.
///
/// # Errors
/// It has another one.
fn heeded(form: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let other = form.keys().find(|keyword| !known.contains(&keyword.as_str()));
    other.map_or(Ok(()), |other| Err(config::unknown("keyword", other, known)))
}

/// The parameters in `block` with the defaults of `schema`, checked against its types and bounds.
///
/// # Errors
/// A parameter is unknown, or its value is not allowed.
pub fn fill_in(schema: &Map<String, Value>, block: &Value) -> Result<Value, ConfigError> {
    let empty = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let Value::Object(block) = block else {
        return Err(ConfigError::new("", format!("expected a table, got {block}")));
    };
    if let Some(field) = block.keys().find(|field| !known.contains_key(*field)) {
        let names: Vec<_> = known.keys().map(String::as_str).collect();
        return Err(ConfigError::new(field, config::unknown("field", field, &names)));
    }
    let mut whole = Map::new();
    for (field, form) in known {
        let Some(value) = block.get(field).or_else(|| form.get("default")) else { continue };
        let value = counted(form, value);
        check(form, &value).map_err(|message| ConfigError::new(field, message))?;
        whole.insert(field.clone(), value);
    }
    Ok(Value::Object(whole))
}

/// `value`, or the number of packets in it ("50p") if a whole number is expected: suites and
/// studies give such a `limit` to every discipline.
fn counted(form: &Value, value: &Value) -> Value {
    match config::read::<Limit>(value) {
        Ok(Limit::Packets(count)) if form["type"] == "integer" && value.is_string() => count.into(),
        _ => value.clone(),
    }
}

fn check(form: &Value, value: &Value) -> Result<(), String> {
    let kind = form["type"].as_str().unwrap_or_default();
    let fits = match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        _ => value.is_number(),
    };
    if !fits {
        return Err(format!("expected a value of type {kind}, got {value}"));
    }
    if let Some(known) = form["enum"].as_array().filter(|known| !known.contains(value)) {
        let known: Vec<_> = known.iter().map(Value::to_string).collect();
        return Err(format!("must be one of {}, got {value}", known.join(", ")));
    }
    let Some(number) = value.as_f64() else { return Ok(()) };
    for (name, words, keeps) in BOUNDS {
        if let Some(bound) = form[name].as_f64().filter(|bound| !keeps(number, *bound)) {
            return Err(format!("must be {words} {bound}, got {number}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_describes_no_parameters_is_refused_with_its_place() {
        let refused = |schema: Value| {
            described(schema).and_then(|schema| legible(&schema)).expect_err("it is refused")
        };
        assert_eq!(refused(json!([])), "must be a JSON object, got []");
        assert_eq!(refused(json!({ "properties": 5 })), "`properties` must be an object, got 5");
        for (form, expected) in [
            (json!(5), " must be an object, got 5"),
            (json!({ "type": 5 }), ": `type` must be the name of a type, or a list of them, got 5"),
            (json!({ "type": ["integer", "text"] }), ": `type` must be the name of a type"),
            (json!({ "type": "integer", "enum": 5 }), ": `enum` must be a list of values, got 5"),
            (json!({ "type": "integer", "enum": [] }), ": `enum` must be a list of values, got []"),
            (
                json!({ "type": "integer", "enum": ["1"] }),
                ": `enum`: expected a value of type integer",
            ),
            (
                json!({ "type": "number", "minimum": "1" }),
                ": `minimum` must be a number, got \"1\"",
            ),
            (
                json!({ "type": "number", "maximum": null }),
                ": `maximum` must be a number, got null",
            ),
            (
                json!({ "type": "string", "description": 5 }),
                ": `description` must be a text, got 5",
            ),
            (
                json!({ "type": "string", "default": 5 }),
                ": `default`: expected a value of type string",
            ),
            (
                json!({ "type": "number", "maximum": 1, "default": 2 }),
                ": `default`: must be at most 1",
            ),
            (
                json!({ "type": "integer", "exclusiveMaximum": 2, "default": 2 }),
                ": `default`: must be less than 2",
            ),
            (json!(true), " needs a type that forebay.h reads"),
        ] {
            let found = refused(json!({ "properties": { "a": form } }));
            assert!(found.starts_with(&format!("property \"a\"{expected}")), "{found}");
        }
    }

    #[test]
    fn what_json_schema_allows_is_taken_from_those_who_fill_in_themselves() {
        for form in [
            json!(true),
            json!({ "$ref": "#/$defs/Time" }),
            json!({ "type": ["integer", "null"], "default": null }),
        ] {
            assert!(described(json!({ "properties": { "a": form } })).is_ok(), "{form}");
        }
        assert!(described(json!({})).is_ok());
    }
}
