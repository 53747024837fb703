//! Faults of Python parts that have no account. The run of this thread ends with an error.

use std::cell::RefCell;

thread_local! {
    static FAULT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the first fault.
#[cold]
pub fn accuse(what: String) {
    let what = super::stopped(Some(&what)).unwrap_or(what);
    FAULT.with_borrow_mut(|fault| {
        fault.get_or_insert(what);
    });
}

/// The first fault since the last call.
pub fn fault() -> Option<String> {
    FAULT.take()
}
