//! A class of the package's, and how its parameters are read and its instances made.

use super::words;
use forebay_core::ConfigError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schemars::Schema;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A class, by its `forebay.plugin.loading.Kind`.
pub struct Class {
    /// What messages call it.
    pub who: Arc<str>,
    kind: Py<PyAny>,
    schema: Map<String, Value>,
}

impl Class {
    /// The class of `kind`, of the plug-in `path`.
    ///
    /// # Errors
    /// The package is not whole.
    pub fn of(path: &str, kind: &Bound<'_, PyAny>) -> PyResult<Self> {
        let schema: String = kind.getattr("schema")?.extract()?;
        Ok(Class {
            who: kind.call_method1("called", (path,))?.extract::<String>()?.into(),
            kind: kind.clone().unbind(),
            schema: serde_json::from_str(&schema).expect("the package writes JSON"),
        })
    }

    /// The schema of its parameters.
    pub fn schema(&self) -> Schema {
        self.schema.clone().into()
    }

    /// The parameters in `block` with every default filled in.
    ///
    /// # Errors
    /// One that is unknown, or not allowed.
    pub fn effective(&self, block: &Value) -> Result<Value, ConfigError> {
        Python::attach(|py| {
            let text = self.kind.call_method1(py, "effective", (block.to_string(),));
            let text = text.and_then(|text| text.extract::<String>(py));
            let text = text.map_err(|error| Class::refused(py, &error))?;
            Ok(serde_json::from_str(&text).expect("the package writes JSON"))
        })
    }

    /// An instance with `params` (JSON), which finds `place` among its attributes.
    ///
    /// # Errors
    /// What the class raises, or the package about the parameters.
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        params: &str,
        place: &[(&str, u64)],
    ) -> PyResult<Bound<'py, PyAny>> {
        let attributes = PyDict::new(py);
        for (name, value) in place {
            attributes.set_item(name, value)?;
        }
        self.kind.bind(py).call_method1("make", (params, attributes))
    }

    /// Place and words of `error`, which the package raised about parameters, or a class did.
    pub fn refused(py: Python<'_>, error: &PyErr) -> ConfigError {
        let named = error.value(py).getattr("args").and_then(|args| args.extract());
        match named {
            Ok((path, message)) => ConfigError { path, message },
            Err(_) => ConfigError::new("", words::blame(py, error)),
        }
    }
}
