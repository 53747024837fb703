//! What may be changed while a scenario runs, as a page shows it.

use crate::vocabulary::Vocabulary;
use crate::written::text;
use forebay_core::{Dimension, Quantity};
use serde_json::{Map, Value, json};

/// Types of parameters that are quantities or plain values; others are shown as TOML.
const PLAIN: [&str; 8] =
    ["rate", "duration", "limit", "length", "bytes", "number", "integer", "boolean"];
/// A slider ends so many times above what it begins from, and as many below.
const SPAN: f64 = 20.0;
/// Range of the loss of a link.
const LOSS: (f64, f64) = (0.0, 0.1);

/// A number and its base unit; the unit of a plain number is empty.
type Found = (f64, &'static str);

/// What a field's value says, read as the engine reads it; None if it is no quantity.
fn quantity(value: &Value) -> Option<Found> {
    match value {
        Value::Number(number) => Some((number.as_f64()?, "")),
        Value::String(text) => {
            let found = Quantity::parse(text, None).ok()?;
            Some((found.value, found.base_unit))
        }
        _ => None,
    }
}

/// What may change of a link, an entry of `links` of what is resolved.
pub(crate) fn of_link(link: &Value, vocabulary: &Vocabulary) -> Vec<Value> {
    let path = text(&link["path"]);
    let written = |value: &Value, dimension: Dimension| {
        let value = value.as_f64()?;
        Some(Value::from(dimension.format(value).ok()?))
    };
    let rate = written(&link["rate_bps"], Dimension::Rate);
    let delay = written(&link["delay_s"], Dimension::Time);
    let loss = Some(link["loss"].clone()).filter(|loss| !loss.is_null());
    let fields = [
        ("rate", "rate", rate, Value::Null),
        ("delay", "duration", delay, Value::Null),
        ("loss", "number", loss, 0.into()),
    ];
    let shown = fields.into_iter().filter_map(|(name, type_, value, default)| {
        let about = vocabulary.of_link(name);
        let mut shown = field(&format!("{path}.{name}"), type_, &value?, default, about);
        if name == "loss" {
            (shown["low"], shown["high"]) = (LOSS.0.into(), LOSS.1.into());
        }
        Some(shown)
    });
    shown.collect()
}

/// The parameters of a queue written at `path`; none of a combination of parts.
pub(crate) fn of_queue(
    path: &str,
    queue: &Map<String, Value>,
    vocabulary: &Vocabulary,
) -> Vec<Value> {
    let kind = queue.get("kind").map(text).unwrap_or_default();
    let parameters = vocabulary.parameters(kind).iter().map(|parameter| {
        let name = text(&parameter["name"]);
        let value = queue.get(name).unwrap_or(&Value::Null);
        let (type_, about) = (text(&parameter["type"]), text(&parameter["description"]));
        field(&format!("{path}.{name}"), type_, value, parameter["default"].clone(), about)
    });
    parameters.collect()
}

/// The room in a queue, in packets or in bytes, where it has one limit; null where it has not.
pub(crate) fn limits(queue: &Map<String, Value>) -> (Value, Value) {
    match queue.get("limit").and_then(quantity) {
        Some((room, "p")) => ((room as u64).into(), Value::Null),
        Some((room, "B")) => (Value::Null, (room as u64).into()),
        _ => (Value::Null, Value::Null),
    }
}

fn field(path: &str, type_: &str, value: &Value, default: Value, about: &str) -> Value {
    let choices: Vec<&str> = match type_.contains('"') {
        true => type_.split('|').map(|each| each.trim().trim_matches('"')).collect(),
        false => Vec::new(),
    };
    let is_choice = !choices.is_empty() && type_.matches('"').count() == 2 * choices.len();
    let kind = match type_ {
        _ if is_choice => "choice",
        // One limit for all queues, or a list with one for each.
        _ if type_.starts_with("limit |") && !value.is_array() => "limit",
        _ if PLAIN.contains(&type_) => type_,
        _ => "value",
    };
    let is_number = PLAIN.contains(&kind) && kind != "boolean";
    let found = if is_number { quantity(value) } else { None };
    let unit = found.map_or_else(|| unit_of(kind), |(_, unit)| unit);
    let number = found.map(|(number, _)| number);
    let range = if is_number { Some(range(kind, number, unit)) } else { None };
    json!({
        "path": path,
        "name": path.rsplit('.').next(),
        "kind": kind,
        "unit": unit,
        "value": value,
        "number": number,
        "low": range.map(|(low, _)| low),
        "high": range.map(|(_, high)| high),
        "default": default,
        "choices": if is_choice { choices } else { Vec::new() },
        "help": about.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

fn unit_of(kind: &str) -> &'static str {
    match kind {
        "rate" => "bit/s",
        "duration" => "s",
        "limit" | "length" => "p",
        "bytes" => "B",
        _ => "",
    }
}

/// Ends of a slider.
fn range(kind: &str, value: Option<f64>, unit: &str) -> (f64, f64) {
    match value.filter(|value| *value > 0.0) {
        Some(value) => {
            let whole = kind == "integer" || unit == "p" || unit == "B";
            let least = if whole { 1.0 } else { value / SPAN };
            ((value / SPAN).max(least), value * SPAN)
        }
        // There is no value to begin from.
        None => match kind {
            "rate" => (1e4, 1e9),
            "duration" => (1e-4, 1.0),
            "limit" | "length" => (1.0, 1000.0),
            "bytes" => (100.0, 1e6),
            _ => (0.0, 1.0),
        },
    }
}
