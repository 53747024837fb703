//! Parameters of a TCP connection.

use crate::ConnectionParams;
use crate::congestion::{self, CongestionControl, CongestionController, NewReno};
use crate::presets::{self, preset};
use crate::stacks::{self, Stack, Standard};
use forebay_core::config::{read, unknown};
use forebay_core::{ConfigError, Entry, Params, Registry};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A connection: its parameters, its congestion control and its stack. Both ends take the same.
///
/// In a file these are one table. `preset = "linux"` chooses a set of conventions, and every other
/// field given overrides it. `congestion` names the control, whose parameters are in a table of its
/// name. `stack` names the stack, or is a table of its `kind` and its parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Parameters that do not depend on the stack.
    pub connection: ConnectionParams,
    /// The congestion control.
    pub congestion: CongestionControl,
    /// The stack.
    pub stack: Stack,
}

impl Default for Config {
    /// The standards' stack with New Reno, and the defaults of [`ConnectionParams`].
    fn default() -> Self {
        Config {
            connection: ConnectionParams::default(),
            congestion: CongestionControl::of::<NewReno>(),
            stack: Stack::of::<Standard>(),
        }
    }
}

impl Config {
    /// The conventions of the preset called `name`.
    ///
    /// # Errors
    /// No preset has this name.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        Config::read(&json!({ "preset": name }))
    }

    /// Reads a table as a file has it, with the congestion controls and stacks of this crate.
    ///
    /// # Errors
    /// A field that is unknown or not of its form, with its path.
    pub fn read(given: &Value) -> Result<Self, ConfigError> {
        Config::read_with(given, &congestion::builtin(), &stacks::builtin())
    }

    /// The same, with the congestion controls of `controls` and the stacks of `stacks`.
    ///
    /// # Errors
    /// As [`Config::read`], and a parameter of a congestion control or a stack that is out of its
    /// range.
    pub fn read_with(
        given: &Value,
        controls: &Registry<dyn CongestionController>,
        stacks: &Registry<Stack>,
    ) -> Result<Self, ConfigError> {
        let mut given: Map<String, Value> = read(given)?;
        let mut tables = take_tables(&mut given, controls)?;
        let mut whole = match given.remove("preset") {
            Some(name) => preset(&read::<String>(&name).map_err(|error| error.within("preset"))?)?,
            None => Map::new(),
        };
        let stack = choose_stack(stacks, whole.remove("stack"), given.remove("stack"))?;
        whole.extend(given);
        let name = match whole.remove("congestion") {
            Some(name) => read(&name).map_err(|error| error.within("congestion"))?,
            None => "new-reno".to_owned(),
        };
        let params = tables.remove(&name).unwrap_or_default();
        controls.find(&name).map_err(|error| ConfigError::new("congestion", error.message))?;
        let congestion = choose_control(controls, &name, &params)?;
        let connection = read_connection(whole, controls, stacks, &stack)?;
        Ok(Config { connection, congestion, stack })
    }

    /// Reads a table as [`Config::read_with`] does, and checks it as [`Config::validate_with`] does. If
    /// the stack lacks what the table does not write, the message says where that comes from.
    ///
    /// # Errors
    /// As both.
    pub fn read_valid(
        given: &Map<String, Value>,
        controls: &Registry<dyn CongestionController>,
        stacks: &Registry<Stack>,
    ) -> Result<Self, ConfigError> {
        let config = Config::read_with(&Value::Object(given.clone()), controls, stacks)?;
        let checked = config.validate_with(stacks).map_err(|error| {
            if given.contains_key(&error.path) { error } else { config.unwritten(given, error) }
        });
        checked.map(|()| config)
    }

    /// `error` about a field that is not in `given`, with the origin of its value and the remedy.
    fn unwritten(&self, given: &Map<String, Value>, error: ConfigError) -> ConfigError {
        let chosen = given.get("preset").and_then(Value::as_str);
        let chosen =
            chosen.filter(|name| preset(name).is_ok_and(|own| own.contains_key(&error.path)));
        let origin = match chosen {
            Some(name) => format!("comes from preset = \"{name}\""),
            None => "is the default".to_owned(),
        };
        let stack = self.stack.name();
        let remedy = match preset(stack) {
            Ok(_) => format!("write preset = \"{stack}\", or another `{}`", error.path),
            Err(_) => format!("write another `{}`", error.path),
        };
        let message = format!("{}; this value {origin}: {remedy}", error.message);
        ConfigError::new(error.path, message)
    }

    /// Payload of a full segment in bytes.
    pub fn mss(&self) -> u64 {
        self.connection.mss()
    }

    /// Checks every field, and that the stack has what they ask for.
    ///
    /// # Errors
    /// The first field that is out of range, with the range, or that the stack lacks.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_with(&stacks::builtin())
    }

    /// The same. `stacks` are those of which a message names the ones that have what this one lacks.
    ///
    /// # Errors
    /// As [`Config::validate`].
    pub fn validate_with(&self, stacks: &Registry<Stack>) -> Result<(), ConfigError> {
        self.stack.check(&self.connection, &self.congestion, stacks)?;
        self.congestion.check(&self.connection)?;
        self.connection.validate()
    }

    /// JSON Schema of the table, with every control of `controls` and every stack of `stacks`.
    pub fn schema(
        generator: &mut SchemaGenerator,
        controls: &Registry<dyn CongestionController>,
        stacks: &Registry<Stack>,
    ) -> Value {
        let mut table = ConnectionParams::json_schema(generator).to_value();
        table["description"] = json!("Parameters of TCP; both ends take the same.");
        let properties = &mut table["properties"];
        properties["preset"] = presets::schema();
        let one = |entry: &Entry<_>| {
            let about = format!("{} ({}).", entry.summary, entry.source);
            json!({ "const": entry.name, "description": about })
        };
        properties["congestion"] = json!({
            "description": "Congestion control by its name; its parameters, if it has any, are in \
                            a table of that name.",
            "default": "new-reno",
            "oneOf": controls.iter().map(one).collect::<Vec<_>>(),
        });
        for entry in controls {
            let mut table = entry.schema(generator).to_value();
            if table["properties"].as_object().is_some_and(|fields| !fields.is_empty()) {
                table["description"] =
                    json!(format!("Parameters of `congestion = \"{}\"`.", entry.name));
                properties[&*entry.name] = table;
            }
        }
        properties["stack"] = stack_schema(generator, stacks);
        table
    }
}

/// A name, or a table of a kind and its parameters.
fn stack_schema(generator: &mut SchemaGenerator, stacks: &Registry<Stack>) -> Value {
    let names: Vec<_> = stacks.iter().map(|entry| &*entry.name).collect();
    let tables = stacks.iter().map(|entry| {
        let mut table = entry.schema(generator).to_value();
        table["title"] = json!(entry.name);
        table["description"] = json!(format!("{} ({}).", entry.summary, entry.source));
        table["properties"]["kind"] = json!({ "const": entry.name });
        table
    });
    let forms: Vec<_> = std::iter::once(json!({ "enum": names })).chain(tables).collect();
    json!({
        "description": "Whose rules for losses, timers and acknowledgments apply: the name of a \
                        stack, or a table of its `kind` and its parameters. Without `kind`, the \
                        parameters are those of the preset's stack.",
        "default": "standard",
        "anyOf": forms,
    })
}

/// The control called `name`. Errors are at the table of its name.
fn choose_control(
    controls: &Registry<dyn CongestionController>,
    name: &str,
    params: &Map<String, Value>,
) -> Result<CongestionControl, ConfigError> {
    CongestionControl::choose(controls, name, params).map_err(|error| error.within(name))
}

/// The stack that `given` names. What it does not give is as `base` has it, if the kind is the same.
fn choose_stack(
    stacks: &Registry<Stack>,
    base: Option<Value>,
    given: Option<Value>,
) -> Result<Stack, ConfigError> {
    let table = |value: Option<Value>| -> Result<Map<String, Value>, ConfigError> {
        match value {
            None => Ok(Map::new()),
            Some(Value::String(name)) => Ok(Map::from_iter([("kind".to_owned(), json!(name))])),
            Some(Value::Object(table)) => Ok(table),
            Some(other) => Err(ConfigError::new(
                "stack",
                format!(
                    "expected a name or a table such as {{ kind = \"linux-6.1\" }}, got {other}"
                ),
            )),
        }
    };
    let (mut whole, given) = (table(base)?, table(given)?);
    if given.get("kind").is_some_and(|kind| Some(kind) != whole.get("kind")) {
        whole.clear();
    }
    whole.extend(given);
    let name = match whole.remove("kind") {
        Some(kind) => read(&kind).map_err(|error: ConfigError| error.within("stack.kind"))?,
        None => "standard".to_owned(),
    };
    Stack::choose(stacks, &name, &whole).map_err(|error| {
        let earlier = presets::earlier(&name).filter(|_| error.path == "kind");
        let message = earlier.unwrap_or(error.message);
        ConfigError::new(error.path, message).within("stack")
    })
}

/// Reads what is left of a table. A field that is a parameter of a stack, or was a field once, gives
/// an error that says where it is now.
fn read_connection(
    given: Map<String, Value>,
    controls: &Registry<dyn CongestionController>,
    stacks: &Registry<Stack>,
    chosen: &Stack,
) -> Result<ConnectionParams, ConfigError> {
    let fields = ConnectionParams::fields();
    let Some((name, value)) = given.iter().find(|(name, _)| !fields.contains(&name.as_str()))
    else {
        return read(&Value::Object(given));
    };
    let owners = stacks.iter().filter(|entry| entry.fields().contains(name));
    let owners: Vec<_> = owners.map(|entry| &*entry.name).collect();
    let own = owners.iter().find(|owner| **owner == chosen.name());
    let message = if let Some((_, now)) = MOVED.iter().find(|(old, _)| old == name) {
        (*now).to_owned()
    } else if let Some(owner) = own.or(owners.first()) {
        format!(
            "is a parameter of stacks; write stack = {{ kind = \"{owner}\", {name} = {value} }}"
        )
    } else {
        let others = ["congestion", "preset", "stack"];
        let known = fields.into_iter().chain(others);
        let known = known.chain(controls.iter().map(|entry| &*entry.name));
        unknown("field", name, &known.collect::<Vec<_>>())
    };
    Err(ConfigError::new(name, message))
}

/// Fields that earlier versions had, and what to write instead.
const MOVED: [(&str, &str); 4] = [
    (
        "legacy",
        "is no more; write `repair_order` and `timeout_recovery` in stack = { kind = \"standard\", \
         ... }, and `cubic_beta` as cubic-2008 = { beta = ... }",
    ),
    ("loss_detection", "is no more: losses are found as in RFC 6675; leave it out"),
    ("adaptive_delayed_ack", "is no more; stack = \"linux-2.6.26\" has Linux's delay"),
    ("quick_acks_after", "is no more; stack = \"linux-2.6.26\" has Linux's rules"),
];

/// Removes the tables of congestion controls from `given`. Those of controls that are not chosen
/// are checked, too.
fn take_tables(
    given: &mut Map<String, Value>,
    known: &Registry<dyn CongestionController>,
) -> Result<HashMap<String, Map<String, Value>>, ConfigError> {
    let mut tables = HashMap::new();
    for entry in known {
        if let Some(table) = given.remove(&*entry.name) {
            let table = read(&table).map_err(|error: ConfigError| error.within(&entry.name))?;
            choose_control(known, &entry.name, &table)?;
            tables.insert(entry.name.to_string(), table);
        }
    }
    Ok(tables)
}

/// The fields, and the parameters of the congestion control in a table of its name.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let connection = serde_json::to_value(&self.connection);
        let mut whole = connection.map_err(serde::ser::Error::custom)?;
        whole["stack"] = self.stack.table();
        whole["congestion"] = self.congestion.name().into();
        if !self.congestion.params().is_empty() {
            whole[self.congestion.name()] = Value::Object(self.congestion.params().clone());
        }
        whole.serialize(serializer)
    }
}

/// As [`Config::read`]. The message contains the field's name.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::Object(Map::deserialize(deserializer)?);
        Config::read(&given).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Bytes;

    fn parse(value: Value) -> Result<Config, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// The path of the error that reading or checking `value` gives, and its message.
    fn error(value: &Value) -> (String, String) {
        let read = read(value).and_then(|given| {
            Config::read_valid(&given, &congestion::builtin(), &stacks::builtin())
        });
        let error = read.expect_err(&value.to_string());
        (error.path, error.message)
    }

    #[test]
    fn fields_override_the_preset() {
        let config = parse(json!({"preset": "ns-2", "mtu": "500B", "max_window": 8})).unwrap();
        let mut want = Config::preset("ns-2").unwrap();
        (want.connection.mtu, want.connection.max_window) = (Bytes(500), Some(8));
        assert_eq!(config, want);
        assert_eq!(config.mss(), 460);
        assert_eq!(parse(json!({})).unwrap(), Config::default());
        // Of the stack, too, unless it is another one.
        let table = |value: Value| parse(value).unwrap().stack.table();
        let linux = table(json!({"preset": "linux"}));
        assert_eq!((&linux["kind"], &linux["tick"]), (&json!("linux-6.1"), &json!("4ms")));
        assert_eq!(linux["gso_max_segs"], 65_535);
        assert_eq!(table(json!({"preset": "linux", "stack": "linux-6.1"})), linux);
        let given = json!({"preset": "ns-2", "stack": {"limited_transmit": false}});
        let want = json!({"kind": "ns-2", "tick": "10ms", "limited_transmit": false});
        assert_eq!(table(given), want);
        let given = json!({"preset": "linux", "stack": {"kind": "linux-2.6.26"}});
        assert_eq!(table(given), json!({"kind": "linux-2.6.26", "tick": "1ms"}));
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let schema = presets::schema();
        let names = schema["oneOf"].as_array().unwrap();
        assert_eq!(names.len(), 9);
        for name in names {
            assert!(name["description"].is_string(), "{name}");
            let config = Config::preset(name["const"].as_str().unwrap()).unwrap();
            config.validate().unwrap();
            assert_eq!(parse(serde_json::to_value(&config).unwrap()).unwrap(), config);
            let text = toml::to_string(&config).unwrap();
            assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (value, path) in [
            (json!({"min_rto": 0.2}), "min_rto"),
            (json!({"rto": "1s"}), "rto"),
            (json!({"preset": "bsd"}), "preset"),
            (json!({"congestion": "vegas"}), "congestion"),
            (json!({"stack": "bsd"}), "stack.kind"),
            (json!({"stack": 6}), "stack"),
            (json!({"stack": {"kind": "standard", "tick": "1ms"}}), "stack.tick"),
            (json!({"stack": {"kind": "linux-6.1", "tick": "20ms"}}), "stack.tick"),
            (json!({"stack": {"kind": "ns-2", "tick": "0s"}}), "stack.tick"),
            (json!({"stack": {"growth_per_ack": 0}}), "stack.growth_per_ack"),
            (json!({"congestion": "cubic-2008", "cubic-2008": {"beta": 1}}), "cubic-2008.beta"),
            (json!("linux"), ""),
        ] {
            assert_eq!(error(&value).0, path);
            // Where the reader has no path to give, the message has it.
            let error = parse(value).unwrap_err();
            assert!(error.contains(path), "{error}");
        }
        for (value, path) in [
            (json!({"delayed_ack_count": 3}), "delayed_ack_count"),
            (json!({"accurate_ecn": true}), "accurate_ecn"),
            (json!({"max_rto": "100ms"}), "max_rto"),
            (json!({"congestion": "dctcp"}), "congestion"),
        ] {
            assert_eq!(error(&value).0, path);
        }
    }

    #[test]
    fn what_a_stack_lacks_is_an_error_that_names_who_has_it() {
        for (value, path, stack) in [
            (json!({"preset": "ns-2", "congestion": "cubic"}), "congestion", "\"standard\""),
            (json!({"preset": "ns-3.18", "recovery": "sack"}), "recovery", "\"ns-2\""),
            (json!({"preset": "ns-3.18", "max_window": 20}), "max_window", "\"linux-6.1\""),
            (json!({"preset": "linux", "recovery": "reno"}), "recovery", "\"ns-2\""),
            (json!({"preset": "linux", "quick_acks": 2}), "quick_acks", "\"standard\""),
            (
                json!({"preset": "linux-2.6.26", "ecn": true, "accurate_ecn": true}),
                "accurate_ecn",
                ": \"linux-6.1\", \"linux-6.12\", \"standard\"",
            ),
            (json!({"preset": "linux-2.6.26", "congestion": "bbr"}), "congestion", "\"linux-6.1\""),
            (json!({"preset": "linux-2.6.18", "pacing": true}), "pacing", "\"linux-6.1\""),
        ] {
            let (found, message) = error(&value);
            assert_eq!(found, path, "{message}");
            assert!(message.contains(stack), "{message}");
        }
        for control in ["bbr3", "ledbat", "linux-reno", "agent"] {
            let value = json!({"preset": "linux", "congestion": control});
            Config::read(&value).unwrap().validate().unwrap();
        }
        let mut value = json!({"preset": "linux", "congestion": "prague"});
        (value["ecn"], value["accurate_ecn"]) = (true.into(), true.into());
        Config::read(&value).unwrap().validate().unwrap();
        // Prague needs reports of every mark in every stack.
        for field in ["ecn", "accurate_ecn"] {
            let mut value = value.clone();
            value[field] = false.into();
            assert!(error(&value).1.contains(field), "{value}");
        }
    }

    #[test]
    fn what_a_stack_lacks_and_nobody_wrote_has_its_origin_and_remedy() {
        for (value, path, end) in [
            (
                json!({"stack": "ns-3.18"}),
                "recovery",
                "this value is the default: write preset = \"ns-3.18\", or another `recovery`",
            ),
            (
                json!({"stack": "ns-3.18", "recovery": "new-reno"}),
                "slow_start_after_idle",
                "is the default: write preset = \"ns-3.18\", or another `slow_start_after_idle`",
            ),
            (
                json!({"preset": "linux", "stack": {"kind": "ns-2"}}),
                "congestion",
                "comes from preset = \"linux\": write preset = \"ns-2\", or another `congestion`",
            ),
        ] {
            let (found, message) = error(&value);
            assert_eq!(found, path, "{message}");
            assert!(message.ends_with(end), "{message}");
        }
        // What is written needs no origin.
        let (_, message) = error(&json!({"stack": "ns-3.18", "recovery": "sack"}));
        assert!(message.ends_with("\"standard\""), "{message}");
    }

    #[test]
    fn what_has_moved_says_where_it_is() {
        for (value, path, now) in [
            (json!({"preset": "linux-2.6"}), "preset", "no more; write \"linux-2.6.26\""),
            (json!({"stack": "linux-2.6"}), "stack.kind", "no more; write \"linux-2.6.26\""),
            (
                json!({"limited_transmit": false}),
                "limited_transmit",
                "kind = \"standard\", limited",
            ),
            (json!({"preset": "ns-2", "limited_transmit": true}), "limited_transmit", "\"ns-2\""),
            (json!({"tick": "1ms"}), "tick", "kind = \"linux-2.6.18\", tick = \"1ms\""),
            (json!({"legacy": {"cubic_beta": 0.8}}), "legacy", "cubic-2008"),
            (json!({"loss_detection": "fack"}), "loss_detection", "RFC 6675"),
        ] {
            let (found, message) = error(&value);
            assert_eq!(found, path);
            assert!(message.contains(now), "{message}");
        }
    }

    #[test]
    fn parameters_of_a_control_stand_in_a_table_of_its_name() {
        let given = json!({"congestion": "ledbat", "timestamps": true, "ledbat": {"gain": 10.0}});
        let config = parse(given).unwrap();
        let whole = serde_json::to_value(&config).unwrap();
        assert_eq!(whole["congestion"], "ledbat");
        assert_eq!(whole["ledbat"], json!({"target": "100ms", "gain": 10.0}));
        assert_eq!(parse(whole).unwrap(), config);
        // What is not chosen is of no account, but must be right.
        let other = parse(json!({"congestion": "cubic", "ledbat": {"gain": 10.0}})).unwrap();
        assert_eq!(other, parse(json!({"congestion": "cubic"})).unwrap());
        for control in ["cubic", "ledbat"] {
            for (table, path) in [
                (json!({"target": "101ms"}), "ledbat.target"),
                (json!({"target": "0s"}), "ledbat.target"),
                (json!({"gain": -1}), "ledbat.gain"),
                (json!({"gian": 1}), "ledbat.gian"),
                (json!(1), "ledbat"),
            ] {
                let bad = json!({"congestion": control, "timestamps": true, "ledbat": table});
                assert_eq!(error(&bad).0, path);
            }
        }
    }

    #[test]
    fn the_schema_has_presets_controls_and_stacks() {
        let mut generator = SchemaGenerator::default();
        let schema = Config::schema(&mut generator, &congestion::builtin(), &stacks::builtin());
        let properties = schema["properties"].as_object().unwrap();
        for field in ["preset", "min_rto", "congestion", "ledbat"] {
            assert!(properties.contains_key(field), "{field}");
        }
        let stacks = properties["stack"]["anyOf"].as_array().unwrap();
        assert_eq!(stacks.len(), 1 + stacks[0]["enum"].as_array().unwrap().len());
        for table in &stacks[1..] {
            for (field, form) in table["properties"].as_object().unwrap() {
                assert!(field == "kind" || form["description"].is_string(), "{table}");
            }
        }
    }
}
