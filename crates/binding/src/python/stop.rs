//! Calls into Python that do not return, ended from another thread.

use super::words;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

thread_local! {
    static STOP: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
}

/// What ends calls of one thread: without it, a program could not end while a class runs on.
#[derive(Default)]
pub struct Stop {
    /// Python's number of the thread.
    thread: AtomicU64,
    is_stopped: AtomicBool,
    /// Where the call was, as far as is known.
    said: OnceLock<String>,
}

impl Stop {
    /// From now on this thread can be stopped.
    pub fn begin(self: &Arc<Self>) {
        let number = Python::attach(|py| {
            py.import("threading")?.call_method0("get_ident")?.extract::<u64>()
        });
        self.thread.store(number.unwrap_or_default(), Relaxed);
        STOP.set(Some(Arc::clone(self)));
    }

    /// Ends the call that is under way, by an exception where it is, and lets none begin.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        let number = self.thread.load(Relaxed);
        Python::attach(|py| {
            // If it is in a function that is not written in Python, it hears nothing.
            let _ = words::home(py).and_then(|home| home.call_method1("stop", (number,)));
        });
    }
}

/// Why nothing is called any more in this thread, if it has been stopped; `what` is said then, and
/// later on.
pub fn stopped(what: Option<&str>) -> Option<String> {
    STOP.with_borrow(|stop| {
        let stop = stop.as_ref().filter(|stop| stop.is_stopped.load(Relaxed))?;
        Some(stop.said.get_or_init(|| what.unwrap_or("it was stopped").to_owned()).clone())
    })
}
