//! A source of datagrams that is a class in Python.

use super::fault::accuse;
use super::{Class, words};
use forebay::{Calls, Function};
use forebay_core::{Rng, Time};
use forebay_sim::traffic::{Datagram, Datagrams};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex};

/// Longest IP packet in bytes.
const LONGEST: u32 = 65_535;

/// The base of `forebay.Source`, with the functions of the host.
#[pyclass(frozen, subclass, module = "forebay._engine")]
#[derive(Default)]
pub struct Stream(Mutex<Option<Rng>>);

impl Stream {
    /// From now on its random numbers come from `rng`.
    pub fn seed(&self, rng: &mut Rng) {
        let own = Rng::named(rng.next_u64(), "plug-in");
        *self.0.lock().expect("nothing panics while it is held") = Some(own);
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (*_positional, **_named))]
    fn new(_positional: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    fn random(&self) -> PyResult<f64> {
        let mut rng = self.0.lock().expect("nothing panics while it is held");
        rng.as_mut().map(Rng::uniform).ok_or_else(|| {
            PyRuntimeError::new_err("random numbers come with the first datagram, not before")
        })
    }
}

/// An instance for one flow.
pub struct Sender {
    class: Arc<Class>,
    under_way: Arc<Calls>,
    next: Py<PyAny>,
    stream: Py<Stream>,
    is_seeded: bool,
}

impl Sender {
    /// The source of `instance`.
    ///
    /// # Errors
    /// It lacks methods of a source.
    pub fn of(class: &Arc<Class>, instance: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stream = instance.cast::<Stream>()?.clone().unbind();
        let next = instance.getattr("next")?.unbind();
        let (class, under_way) = (Arc::clone(class), Calls::of(&class.who));
        Ok(Sender { class, under_way, next, stream, is_seeded: false })
    }

    fn asked(&self, after: Time) -> Result<Option<Datagram>, String> {
        Python::attach(|py| {
            let method = self.next.bind(py);
            let answer = method.call1((after.as_nanos(),));
            let answer = answer.map_err(|error| words::blame(py, &error))?;
            let read = answer.extract::<Option<(u64, u32)>>().ok();
            let fits = |found: &Option<(u64, u32)>| {
                found.is_none_or(|(at, len)| at >= after.as_nanos() && (1..=LONGEST).contains(&len))
            };
            let found = read.filter(fits).ok_or_else(|| {
                let after = after.as_nanos();
                let may = format!("(instant in ns, from {after} on, 1 to {LONGEST} bytes) or None");
                words::wrong(method, &answer, &may)
            })?;
            Ok(found.map(|(at, len)| Datagram {
                at: Time::from_nanos(at),
                len,
                flow: 0,
                marks: None,
            }))
        })
    }
}

impl Datagrams for Sender {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        if !self.is_seeded {
            self.is_seeded = true;
            self.stream.get().seed(rng);
        }
        // Nothing more is sent once it has failed.
        self.under_way.during(Function::Next, || self.asked(after)).unwrap_or_else(|what| {
            accuse(format!("{}: {what}", self.class.who));
            None
        })
    }
}
