//! The Python module `forebay._engine`: the engine with forebay's registry, and the kernel
//! disciplines of the lab.

use forebay_sim::Registry;
use forebay_sim::kernel::Kernel;
use pyo3::prelude::*;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let registry = Registry::builtin().with::<Kernel>();
    #[cfg(feature = "quic")]
    let registry = registry.with::<forebay_quic::Quic>();
    forebay_binding::engine(module, registry)
}
