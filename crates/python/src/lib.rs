//! The Python module `forebay._engine`: the engine, with what comes with forebay, and the disciplines
//! of Linux that labs have.

use forebay_sim::Registry;
use forebay_sim::kernel::Kernel;
use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    forebay_binding::engine(module, Registry::builtin().with::<Kernel>())
}
