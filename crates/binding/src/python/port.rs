//! The functions of the host that a discipline in Python calls.

use super::desk::{Act, Desk};
use super::view::View;
use forebay_core::DropReason;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// The base of `forebay.Discipline`, with the functions of the host.
#[pyclass(frozen, subclass, module = "forebay._engine")]
pub struct Port {
    pub desk: Arc<Desk>,
}

#[pymethods]
impl Port {
    #[new]
    #[pyo3(signature = (*_positional, **_named))]
    fn new(_positional: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Port { desk: Arc::default() }
    }

    #[pyo3(signature = (packet, reason = "aqm"))]
    fn drop(&self, packet: &Bound<'_, View>, reason: &str) -> PyResult<()> {
        let number = DropReason::ALL.iter().position(|known| known.name() == reason);
        let number = number.ok_or_else(|| {
            let known: Vec<_> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
            let what = forebay_core::config::unknown("reason", reason, &known);
            PyValueError::new_err(what)
        })?;
        let packet = packet.get().leaves(&self.desk).map_err(PyValueError::new_err)?;
        self.desk.laid().acts.push(Act::Drop(packet, number as u32));
        Ok(())
    }

    fn mark(&self, packet: &Bound<'_, View>) -> PyResult<bool> {
        let marked = packet.get().marked(&self.desk).map_err(PyValueError::new_err)?;
        let Some(packet) = marked else { return Ok(false) };
        self.desk.laid().acts.push(Act::Mark(packet));
        Ok(true)
    }

    fn random(&self) -> PyResult<f64> {
        let mut laid = self.desk.laid();
        let rng = laid.rng.as_mut().ok_or_else(|| {
            PyRuntimeError::new_err("random numbers come with the first packet, not before")
        })?;
        Ok(rng.uniform())
    }
}
