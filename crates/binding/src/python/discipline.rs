//! A queue that is a class in Python.

use super::desk::{Act, Desk};
use super::port::Port;
use super::stop::stopped;
use super::view::View;
use super::words;
use forebay::{
    Call, FOREBAY_DROPPED, FOREBAY_FAILED, FOREBAY_IDLE, FOREBAY_NONE, FOREBAY_QUEUED,
    FOREBAY_SENT, ForebayBacklog, ForebayPacket, Outside,
};
use forebay_core::{Rate, Rng, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// An instance of a class, and its methods.
pub struct Queue {
    instance: Py<PyAny>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    wake: Option<Py<PyAny>>,
    probe: Option<Py<PyAny>>,
    desk: Arc<Desk>,
    /// Its actions in the last call. Kept to reuse the memory.
    acts: Vec<Act>,
    is_seeded: bool,
    /// The fault because of which it cannot go on. Calls that change nothing find faults, too.
    fault: RefCell<Option<String>>,
}

impl Queue {
    /// The queue of `instance`.
    ///
    /// # Errors
    /// It lacks methods of a discipline.
    pub fn of(instance: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name| instance.getattr(name).map(Bound::unbind);
        let optional = |name| instance.getattr_opt(name).map(|found| found.map(Bound::unbind));
        Ok(Queue {
            instance: instance.clone().unbind(),
            enqueue: method("enqueue")?,
            dequeue: method("dequeue")?,
            wake: optional("wake")?,
            probe: optional("probe")?,
            desk: Arc::clone(&instance.cast::<Port>()?.get().desk),
            acts: Vec::new(),
            is_seeded: false,
            fault: RefCell::new(stopped(None)),
        })
    }

    /// Whether a call may begin. Its random numbers are seeded from the port's.
    fn begins(&mut self, call: &mut Call) -> bool {
        if !self.is_seeded {
            self.is_seeded = true;
            self.desk.laid().rng = Some(Rng::named(call.random(), "plug-in"));
        }
        self.fault.get_mut().is_none()
    }

    #[cold]
    fn fail(&self, what: String) {
        let what = stopped(Some(&what)).unwrap_or(what);
        self.fault.borrow_mut().get_or_insert(what);
    }

    /// Handles what it did in a call of `method`. Returns whether it can go on.
    fn take_up(&mut self, method: &Py<PyAny>, call: &mut Call) -> bool {
        let lost = {
            let laid = &mut *self.desk.laid();
            std::mem::swap(&mut laid.acts, &mut self.acts);
            laid.lost.take()
        };
        if let Some((id, line)) = lost {
            let line =
                line.unwrap_or_else(|| Python::attach(|py| words::of_method(method.bind(py))));
            self.fail(format!("{line}: packet {id} is neither kept nor sent nor dropped"));
        }
        for act in &mut self.acts {
            match act {
                Act::Drop(packet, reason) => call.drop(packet, *reason),
                Act::Mark(packet) => {
                    call.mark(packet);
                }
            }
        }
        self.fault.borrow().is_none()
    }
}

/// The result of `method`, converted by `read`.
fn asked<'py, T>(
    method: &Bound<'py, PyAny>,
    arguments: impl pyo3::call::PyCallArgs<'py>,
    may: &str,
    read: impl FnOnce(&Bound<'py, PyAny>) -> Option<T>,
) -> Result<T, String> {
    let answer = method.call1(arguments).map_err(|error| words::blame(method.py(), &error))?;
    read(&answer).ok_or_else(|| words::wrong(method, &answer, may))
}

impl Outside for Queue {
    fn enqueue(&mut self, packet: &ForebayPacket, call: &mut Call) -> i32 {
        if !self.begins(call) {
            return FOREBAY_FAILED;
        }
        let now = call.now().as_nanos();
        Python::attach(|py| {
            let answer = Bound::new(py, View::new(packet, &self.desk))
                .map_err(|error| error.to_string())
                .and_then(|view| {
                    let nothing = |answer: &Bound<'_, PyAny>| answer.is_none().then_some(());
                    asked(self.enqueue.bind(py), (view, now), "nothing", nothing)
                });
            if let Err(what) = answer {
                self.fail(what);
            }
            let method = self.enqueue.clone_ref(py);
            let goes_on = self.take_up(&method, call);
            let is_it = |act: &Act| matches!(act, Act::Drop(other, _) if other.id == packet.id);
            let is_dropped = self.acts.drain(..).fold(false, |any, act| any | is_it(&act));
            match (goes_on, is_dropped) {
                (false, _) => FOREBAY_FAILED,
                (true, true) => FOREBAY_DROPPED,
                (true, false) => FOREBAY_QUEUED,
            }
        })
    }

    fn dequeue(&mut self, to: &mut ForebayPacket, call: &mut Call) -> i32 {
        if !self.begins(call) {
            return FOREBAY_FAILED;
        }
        let now = call.now().as_nanos();
        Python::attach(|py| {
            let method = self.dequeue.bind(py);
            let answer = asked(method, (now,), "a packet or None", |answer| {
                if answer.is_none() {
                    return Some(None);
                }
                let view = answer.cast::<View>().ok()?;
                Some(Some(view.get().leaves(&self.desk)))
            });
            let answer = answer.and_then(|found| {
                let refuse = |what| {
                    format!("{}: it returned a wrong value: {what}", words::of_method(method))
                };
                found.transpose().map_err(refuse)
            });
            let sent = answer.unwrap_or_else(|what| {
                self.fail(what);
                None
            });
            let method = self.dequeue.clone_ref(py);
            let goes_on = self.take_up(&method, call);
            self.acts.clear();
            match sent {
                _ if !goes_on => FOREBAY_FAILED,
                None => FOREBAY_NONE,
                Some(packet) => {
                    *to = packet;
                    FOREBAY_SENT
                }
            }
        })
    }

    fn wake(&self, now: Time) -> u64 {
        let Some(wake) = &self.wake else { return now.as_nanos() };
        Python::attach(|py| {
            let may = "an instant in ns or None";
            let answer = asked(wake.bind(py), (now.as_nanos(),), may, |answer| {
                if answer.is_none() { Some(FOREBAY_IDLE) } else { answer.extract().ok() }
            });
            answer.unwrap_or_else(|what| {
                self.fail(what);
                FOREBAY_IDLE
            })
        })
    }

    fn backlog(&self) -> Option<ForebayBacklog> {
        None
    }

    fn set_link_rate(&mut self, _: Time, rate: Rate) {
        Python::attach(|py| {
            if let Err(error) = self.instance.setattr(py, "rate", rate.bps()) {
                self.fail(words::blame(py, &error));
            }
        });
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&str, f64)) {
        let Some(probe) = &self.probe else { return };
        Python::attach(|py| {
            let may = "a dict of names and numbers";
            let items = |answer: &Bound<'_, PyAny>| {
                let values = answer.cast::<PyDict>().ok()?.iter();
                values
                    .map(|(name, value)| Some((name.extract().ok()?, value.extract().ok()?)))
                    .collect()
            };
            match asked::<Vec<(String, f64)>>(probe.bind(py), (now.as_nanos(),), may, items) {
                Ok(values) => values.iter().for_each(|(name, value)| out(name, *value)),
                Err(what) => self.fail(what),
            }
        });
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        self.fault.borrow().clone().map(Cow::Owned)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Packets that it still holds are forgotten, not lost.
        self.desk.close();
    }
}
