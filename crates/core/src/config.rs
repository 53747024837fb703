//! Reading configuration: one clear message with the path and the remedy.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// What is wrong in a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Where, as a dotted path (`link.queue.target`); empty for the whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl ConfigError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError { path: path.into(), message: message.into() }
    }

    /// The same error, seen from `outer`.
    pub fn within(self, outer: &str) -> Self {
        let path = match (outer.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (false, true) => outer.to_owned(),
            (false, false) if self.path.starts_with('[') => format!("{outer}{}", self.path),
            (false, false) => format!("{outer}.{}", self.path),
        };
        ConfigError { path, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ConfigError {}

/// Reads `value` as a `T`.
///
/// # Errors
/// Names the path inside `value` and what was expected there.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        ConfigError { path, message: error.into_inner().to_string() }
    })
}

/// Checks that `ok` holds for the field at `path`.
///
/// # Errors
/// `path` and the message, if it does not.
pub fn require(ok: bool, path: &str, message: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError::new(path, message())) }
}
