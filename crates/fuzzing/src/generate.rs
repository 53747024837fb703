//! JSON values that more or less follow a JSON Schema.
//!
//! The schema is the registry's own, so that a new kind or field is fuzzed from its first day.

use arbitrary::{Result, Unstructured};
use forebay_core::tcp::{Tcp, flags};
use serde_json::{Map, Number, Value};

/// Tables within tables go no deeper.
const DEEPEST: u8 = 8;

/// Names of nodes, links, entries and files.
const NAMES: [&str; 10] =
    ["a", "b", "c", "left", "right", "bottleneck", "a-reverse", "", "small.pcap", "small.trace"];

/// A value for `schema`, whose references point into `root`.
pub fn value(schema: &Value, root: &Value, u: &mut Unstructured) -> Result<Value> {
    Generator { root }.value(schema, u, 0)
}

/// The schema that `schema` refers to, or itself.
pub fn target<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.map(|reference| root.pointer(reference.trim_start_matches('#')));
    target.map_or(schema, |target| target.unwrap_or(&Value::Null))
}

/// A TCP header, with numbers that are near each other as often as not.
pub fn tcp(u: &mut Unstructured) -> Result<Tcp> {
    let near = |u: &mut Unstructured| -> Result<u32> {
        Ok(if u.arbitrary()? { u.int_in_range(0..=3000)? } else { u.arbitrary()? })
    };
    let mut tcp = Tcp {
        seq: near(u)?,
        ack: near(u)?,
        flags: if u.arbitrary()? { flags::ACK } else { u.arbitrary::<u8>()?.into() },
        window: u.arbitrary()?,
        payload_len: *u.choose(&[0, 0, 1, 1000, 65_495])?,
        timestamps: u.arbitrary()?,
        window_scale: u.arbitrary()?,
        ..Tcp::default()
    };
    for _ in 0..u.int_in_range(0..=4)? {
        tcp.sack.push(near(u)?, near(u)?);
    }
    Ok(tcp)
}

struct Generator<'a> {
    root: &'a Value,
}

impl Generator<'_> {
    fn value(&self, schema: &Value, u: &mut Unstructured, depth: u8) -> Result<Value> {
        if depth > DEEPEST {
            return Ok(Value::Null);
        }
        if let Some(fixed) = schema.get("const") {
            return Ok(fixed.clone());
        }
        if let Some(one_of) = schema.get("enum").and_then(Value::as_array) {
            return Ok(u.choose(one_of)?.clone());
        }
        if schema.get("$ref").is_some() {
            return self.value(target(schema, self.root), u, depth);
        }
        for options in ["oneOf", "anyOf"] {
            if let Some(options) = schema.get(options).and_then(Value::as_array) {
                return self.value(u.choose(options)?, u, depth + 1);
            }
        }
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => u.choose(kinds)?.as_str(),
            Some(kind) => kind.as_str(),
            None => None,
        };
        match kind {
            Some("object") => self.object(schema, u, depth),
            Some("array") => self.array(schema, u, depth),
            Some("string") => string(schema, u),
            Some("integer") => integer(u),
            Some("number") => number(u),
            Some("boolean") => Ok(u.arbitrary::<bool>()?.into()),
            Some("null") => Ok(Value::Null),
            _ => Ok((*u.choose(&NAMES)?).into()),
        }
    }

    fn object(&self, schema: &Value, u: &mut Unstructured, depth: u8) -> Result<Value> {
        let mut table = Map::new();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        for (name, form) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            // Zero, which is what an exhausted input gives, leaves it out.
            if is_required(name) || u.int_in_range(0..=3)? == 3 {
                table.insert(name.clone(), self.value(form, u, depth + 1)?);
            }
        }
        if let Some(form @ Value::Object(_)) = schema.get("additionalProperties") {
            let names = schema.pointer("/propertyNames/examples").and_then(Value::as_array);
            for _ in 0..u.int_in_range(0..=2)? {
                let name = match names {
                    Some(names) => u.choose(names)?.as_str().unwrap_or_default(),
                    None => u.choose(&["EF", "46", "0", "AF41", "x"])?,
                };
                table.insert(name.to_owned(), self.value(form, u, depth + 1)?);
            }
        }
        Ok(Value::Object(table))
    }

    fn array(&self, schema: &Value, u: &mut Unstructured, depth: u8) -> Result<Value> {
        if let Some(forms) = schema.get("prefixItems").and_then(Value::as_array) {
            return forms.iter().map(|form| self.value(form, u, depth + 1)).collect();
        }
        let form = schema.get("items").unwrap_or(&Value::Null);
        let count = u.int_in_range(0..=3)?;
        (0..count).map(|_| self.value(form, u, depth + 1)).collect()
    }
}

fn string(schema: &Value, u: &mut Unstructured) -> Result<Value> {
    let units: &[&str] = match schema.get("format").and_then(Value::as_str) {
        Some("duration") => &["s", "ms", "us", "ns", "min", "h"],
        Some("rate") => &["Mbit", "kbit", "bit", "Gbit", "b/s"],
        Some("bytes") => &["B", "KB", "MB", "GB", "KiB", "GiB"],
        Some("limit") => &["p", "B", "KB", "MB", "GiB"],
        _ => {
            let examples = schema.get("examples").and_then(Value::as_array);
            return match examples {
                Some(examples) if u.arbitrary()? => Ok(u.choose(examples)?.clone()),
                _ => Ok((*u.choose(&NAMES)?).into()),
            };
        }
    };
    let unit = u.choose(units)?;
    let amount = match u.int_in_range(0..=9)? {
        0 => 10.0,
        1 => f64::from(u.arbitrary::<u32>()?),
        2 => u.arbitrary::<u64>()? as f64,
        3 => f64::from(u.arbitrary::<u8>()?) / 16.0,
        _ => f64::from(u.arbitrary::<u8>()?),
    };
    Ok(format!("{amount}{unit}").into())
}

fn integer(u: &mut Unstructured) -> Result<Value> {
    Ok(match u.int_in_range(0..=9)? {
        0 => u.arbitrary::<u64>()?.into(),
        1 => u.arbitrary::<i64>()?.into(),
        2 => u32::MAX.into(),
        3 | 4 => u.arbitrary::<u16>()?.into(),
        _ => u.int_in_range(0..=9)?.into(),
    })
}

fn number(u: &mut Unstructured) -> Result<Value> {
    let number = match u.int_in_range(0..=5)? {
        0 => u.arbitrary::<f64>()?,
        1 => *u.choose(&[0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 1e-300, 1e18])?,
        2 => f64::from(u.arbitrary::<u16>()?),
        _ => f64::from(u.arbitrary::<u8>()?) / 256.0,
    };
    Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
}
