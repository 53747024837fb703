//! An end of a flow whose protocol is a class in Python.

use super::fault::accuse;
use super::{Class, words};
use forebay::{Calls, Function};
use forebay_core::{Ecn, Time};
use forebay_sim::traffic::{Account, Endpoint};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// An instance for one end.
pub struct End {
    class: Arc<Class>,
    under_way: Arc<Calls>,
    handle: Py<PyAny>,
    transmit: Py<PyAny>,
    timeout: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    begin: Option<Py<PyAny>>,
    end: Option<Py<PyAny>>,
    delivered: Option<Py<PyAny>>,
    /// What `delivered` returned last.
    account: Option<u64>,
    /// It is not asked again.
    has_failed: bool,
}

impl End {
    /// The end of `instance`.
    ///
    /// # Errors
    /// It lacks methods of an endpoint.
    pub fn of(class: &Arc<Class>, instance: &Bound<'_, PyAny>) -> PyResult<Self> {
        // A parameter may have the name of a method.
        let optional = |name| {
            let method = instance.getattr_opt(name)?.filter(|found| found.is_callable());
            PyResult::Ok(method.map(Bound::unbind))
        };
        Ok(End {
            class: Arc::clone(class),
            under_way: Calls::of(&class.who),
            handle: instance.getattr("handle")?.unbind(),
            transmit: instance.getattr("transmit")?.unbind(),
            timeout: optional("timeout")?,
            on_timeout: optional("on_timeout")?,
            begin: optional("begin")?,
            end: optional("end")?,
            delivered: optional("delivered")?,
            account: None,
            has_failed: false,
        })
    }

    /// Lets `work` call a method, unless a method has failed.
    fn ask<T>(
        &mut self,
        function: Function,
        work: impl FnOnce(&Self, Python<'_>) -> Result<T, String>,
    ) -> Option<T> {
        if self.has_failed {
            return None;
        }
        let done = self.under_way.during(function, || Python::attach(|py| work(self, py)));
        done.map_err(|what| {
            self.has_failed = true;
            accuse(format!("{}: {what}", self.class.who));
        })
        .ok()
    }

    /// Asks how many bytes its application has got.
    fn count(&mut self) {
        if self.delivered.is_some() {
            self.account = self.ask(Function::Delivered, |end, py| {
                called(py, end.delivered.as_ref(), (), "a whole number of bytes", |answer| {
                    answer.extract().ok()
                })
            });
        }
    }
}

/// What `method` returns for `arguments`, if it is there and `read` understands it.
fn called<'py, T: Default>(
    py: Python<'py>,
    method: Option<&Py<PyAny>>,
    arguments: impl PyCallArgs<'py>,
    may: &str,
    read: impl FnOnce(&Bound<'py, PyAny>) -> Option<T>,
) -> Result<T, String> {
    let Some(method) = method.map(|method| method.bind(py)) else { return Ok(T::default()) };
    let answer = method.call1(arguments).map_err(|error| words::blame(py, &error))?;
    read(&answer).ok_or_else(|| words::wrong(method, &answer, may))
}

fn nothing(answer: &Bound<'_, PyAny>) -> Option<()> {
    answer.is_none().then_some(())
}

impl Endpoint for End {
    fn begin(&mut self, now: Time) {
        self.ask(Function::Begin, |end, py| {
            called(py, end.begin.as_ref(), (now.as_nanos(),), "nothing", nothing)
        });
    }

    fn receive(&mut self, now: Time, datagram: &[u8], _: Ecn) {
        self.ask(Function::Handle, |end, py| {
            let arguments = (PyBytes::new(py, datagram), now.as_nanos());
            called(py, Some(&end.handle), arguments, "nothing", nothing)
        });
        self.count();
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
        let sends = self.ask(Function::Transmit, |end, py| {
            let may = "bytes that are not empty, or None";
            called(py, Some(&end.transmit), (now.as_nanos(),), may, |answer| {
                if answer.is_none() {
                    return Some(false);
                }
                let bytes = answer.cast::<PyBytes>().ok()?.as_bytes();
                datagram.extend_from_slice(bytes);
                (!bytes.is_empty()).then_some(true)
            })
        });
        (sends == Some(true)).then_some(Ecn::NotEct)
    }

    fn deadline(&mut self, _: Time) -> Option<Time> {
        let at: Option<u64> = self.ask(Function::Timeout, |end, py| {
            let may = "an instant in whole nanoseconds, or None";
            called(py, end.timeout.as_ref(), (), may, |answer| answer.extract().ok())
        })?;
        at.map(Time::from_nanos)
    }

    fn on_deadline(&mut self, now: Time) {
        self.ask(Function::OnTimeout, |end, py| {
            called(py, end.on_timeout.as_ref(), (now.as_nanos(),), "nothing", nothing)
        });
    }

    fn end(&mut self, now: Time) {
        self.ask(Function::End, |end, py| {
            called(py, end.end.as_ref(), (now.as_nanos(),), "nothing", nothing)
        });
    }

    fn account(&self) -> Account {
        Account { delivered: self.account, is_open: true, ..Account::default() }
    }
}
