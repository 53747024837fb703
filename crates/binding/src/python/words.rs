//! Messages about what a class did. The package makes them, because it knows files and lines.

use pyo3::prelude::*;

/// The module of the package that loads classes.
const HOME: &str = "forebay._plugin.loading";

/// The message of the package's `function` about `arguments`. None if there is none, or it fails.
fn say<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> Option<String> {
    let said = py.import(HOME).and_then(|home| home.getattr(function)?.call1(arguments));
    said.and_then(|said| said.extract()).unwrap_or(None)
}

/// The module of the package that loads classes.
///
/// # Errors
/// The Python package is incomplete.
pub fn home(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(HOME)
}

/// File, line and function of the class that is running, if there is one.
pub fn here(py: Python<'_>) -> Option<String> {
    // These calls would fail while an exception is set.
    let under_way = PyErr::take(py);
    let said = say(py, "here", ());
    if let Some(error) = under_way {
        error.restore(py);
    }
    said
}

/// File and line at which `error` was raised, and its message.
pub fn blame(py: Python<'_>, error: &PyErr) -> String {
    say(py, "blame", (error.value(py), error.traceback(py))).unwrap_or_else(|| error.to_string())
}

/// File and line at which `method` begins, and its name.
pub fn of_method(method: &Bound<'_, PyAny>) -> String {
    say(method.py(), "of_method", (method,)).unwrap_or_else(|| "it".to_owned())
}

/// The error in the result of `method`.
#[cold]
pub fn wrong(method: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>, may: &str) -> String {
    let shown = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    format!("{}: it returned {shown}; it must return {may}", of_method(method))
}
