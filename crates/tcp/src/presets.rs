//! Sets of conventions, as `presets.toml` has them.

use forebay_core::ConfigError;
use forebay_core::config::unknown;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Every preset by its name.
static PRESETS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    toml::from_str(include_str!("presets.toml")).expect("presets.toml is a table of tables")
});

/// The fields of the preset called `name`.
///
/// # Errors
/// No preset has this name. The message says what to write.
pub(crate) fn preset(name: &str) -> Result<Map<String, Value>, ConfigError> {
    let Some(Value::Object(own)) = PRESETS.get(name) else {
        let names: Vec<_> = PRESETS.keys().map(String::as_str).collect();
        let message = earlier(name).unwrap_or_else(|| unknown("value", name, &names));
        return Err(ConfigError::new("preset", message));
    };
    let mut own = own.clone();
    own.remove("about");
    let mut whole = match own.remove("preset") {
        Some(base) => preset(base.as_str().unwrap_or_default())?,
        None => Map::new(),
    };
    whole.extend(own);
    Ok(whole)
}

/// The remedy for a preset or a stack of an earlier version.
pub(crate) fn earlier(name: &str) -> Option<String> {
    (name == "linux-2.6").then(|| "\"linux-2.6\" is no more; write \"linux-2.6.26\"".to_owned())
}

/// JSON Schema of the field `preset`.
pub(crate) fn schema() -> Value {
    let one = |(name, preset): (&String, &Value)| serde_json::json!({ "const": name, "description": preset["about"] });
    serde_json::json!({
        "description": "Conventions that every other field given overrides.",
        "oneOf": PRESETS.iter().map(one).collect::<Vec<_>>(),
    })
}
