//! A Python class: reads its parameters and makes its instances.

use super::words;
use forebay_core::ConfigError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schemars::Schema;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A class, as its `forebay._plugin.loading.Kind`.
pub struct Class {
    /// Its name in messages.
    pub who: Arc<str>,
    kind: Py<PyAny>,
    schema: Map<String, Value>,
}

impl Class {
    /// The class of `kind`, in the plug-in `path`.
    ///
    /// # Errors
    /// Its parameters are not described as JSON Schema does it.
    pub fn of(path: &str, kind: &Bound<'_, PyAny>) -> PyResult<Self> {
        let owner: String = kind.getattr("owner")?.getattr("__name__")?.extract()?;
        let schema: String = kind.getattr("schema")?.extract()?;
        let schema = serde_json::from_str(&schema).map_err(|error| error.to_string());
        let schema = schema.and_then(forebay::described);
        let schema = schema
            .map_err(|what| PyValueError::new_err(format!("class {owner}: its schema: {what}")))?;
        Ok(Class {
            who: kind.call_method1("called", (path,))?.extract::<String>()?.into(),
            kind: kind.clone().unbind(),
            schema,
        })
    }

    /// The schema of its parameters.
    pub fn schema(&self) -> Schema {
        self.schema.clone().into()
    }

    /// The parameters in `block` with every default filled in.
    ///
    /// # Errors
    /// A parameter is unknown or not allowed.
    pub fn effective(&self, block: &Value) -> Result<Value, ConfigError> {
        Python::attach(|py| {
            let text = self.kind.call_method1(py, "effective", (block.to_string(),));
            let text = text.and_then(|text| text.extract::<String>(py));
            let text = text.map_err(|error| Class::refused(py, &error))?;
            Ok(serde_json::from_str(&text).expect("the package writes JSON"))
        })
    }

    /// An instance with `params` (JSON). It finds `place` among its attributes.
    ///
    /// # Errors
    /// An exception of the class, or of the package about the parameters.
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

    /// Path and message of `error`, which the package raised about parameters, or a class did.
    pub fn refused(py: Python<'_>, error: &PyErr) -> ConfigError {
        let named = error.value(py).getattr("args").and_then(|args| args.extract());
        match named {
            Ok::<(String, String), _>((path, message)) => ConfigError::new(path, message),
            Err(_) => ConfigError::new("", words::blame(py, error)),
        }
    }
}
