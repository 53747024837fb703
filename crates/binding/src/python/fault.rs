//! What a part in Python did that has no books: the run of this thread ends by it.

use std::cell::RefCell;

thread_local! {
    static FAULT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Books the first fault.
#[cold]
pub fn accuse(what: String) {
    let what = super::stopped(Some(&what)).unwrap_or(what);
    FAULT.with_borrow_mut(|fault| {
        fault.get_or_insert(what);
    });
}

/// The first fault since this was asked last.
pub fn fault() -> Option<String> {
    FAULT.take()
}
