//! The Python module `forebay._engine`: the engine, with what comes with forebay.

use forebay_sim::Registry;
use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    forebay_binding::engine(module, Registry::builtin())
}
