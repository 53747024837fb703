//! Ends calls into Python that do not return, from another thread.

use super::words;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

thread_local! {
    static STOP: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
}

/// Ends the calls of one thread. Without it, a program could not end while a class runs on.
#[derive(Default)]
pub struct Stop {
    /// Python's number of the thread.
    thread: AtomicU64,
    is_stopped: AtomicBool,
    /// The place of the call, as far as is known.
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

    /// Ends the call in progress with an exception, and prevents further calls.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        let number = self.thread.load(Relaxed);
        Python::attach(|py| {
            // A function that is not written in Python does not see the exception.
            let _ = words::home(py).and_then(|home| home.call_method1("stop", (number,)));
        });
    }
}

/// The reason why this thread makes no more calls, if it has been stopped. `what` is the reason
/// then and later.
pub fn stopped(what: Option<&str>) -> Option<String> {
    STOP.with_borrow(|stop| {
        let stop = stop.as_ref().filter(|stop| stop.is_stopped.load(Relaxed))?;
        Some(stop.said.get_or_init(|| what.unwrap_or("it was stopped").to_owned()).clone())
    })
}
