//! Where a discipline in Python and its host meet: what it did in a call is laid down here, and the
//! host takes it up when the call has returned.

use super::view::View;
use super::words;
use forebay::ForebayPacket;
use forebay_core::{DropReason, Rng};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a discipline did with a packet.
pub enum Act {
    /// It dropped it, for the reason of this number.
    Drop(ForebayPacket, u32),
    /// It marked it.
    Mark(ForebayPacket),
}

/// What has been laid down.
#[derive(Default)]
pub struct Laid {
    pub acts: Vec<Act>,
    /// The packet that was lost first, and the line on which its last reference went, if one did.
    pub lost: Option<(u32, Option<String>)>,
    pub rng: Option<Rng>,
}

/// The place of one queue.
#[derive(Default)]
pub struct Desk {
    closed: AtomicBool,
    laid: Mutex<Laid>,
}

impl Desk {
    /// What has been laid down.
    pub fn laid(&self) -> MutexGuard<'_, Laid> {
        self.laid.lock().expect("nothing panics while it is held")
    }

    /// Nobody asks any more.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// The last reference to a packet has gone that is still held.
    pub fn lose(&self, id: u32) {
        if self.closed.load(Relaxed) || self.laid().lost.is_some() {
            return;
        }
        let line = Python::try_attach(words::here).flatten();
        self.laid().lost = Some((id, line));
    }
}

/// What every discipline in Python has of its host: the base of `forebay.Discipline`.
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
