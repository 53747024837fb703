//! The engine and the stage of `forebay explore` as a WebAssembly module.
//!
//! The module imports nothing. Its interface is four functions and JSON: the caller gets room
//! ([`room`]), writes a request into it, calls [`ask`], and reads the answer at [`answer`]. A page
//! uses `js/engine.js`, which does this, and has types.
//!
//! With the feature `playground` it has the conformance suite, and imports the functions of a
//! discipline that the page brings ([`plug`], `js/discipline.js`).

mod meaning;
#[cfg(feature = "playground")]
mod plug;
mod request;
mod runs;

pub use request::{Open, answered};

use std::cell::RefCell;

/// A panic ends the call; its words are all that is left.
#[cfg(target_arch = "wasm32")]
static HOOK: std::sync::Once = std::sync::Once::new();

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static OPEN: RefCell<request::Open> = RefCell::default();
}

/// Where the next request of `bytes` bytes is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request: the number of bytes of the answer. If it does not return, the answer has the
/// reason, and the module must not be asked again.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    #[cfg(target_arch = "wasm32")]
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            tell(request::failed(&panic.to_string()));
        }));
    });
    let request = REQUEST.take();
    tell(OPEN.with_borrow_mut(|open| answered(&request, open)))
}

/// Where the last answer is, as JSON: `{"ok": ...}` or `{"error": "..."}`.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Number of bytes of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    ANSWER.with_borrow(String::len)
}

fn tell(text: String) -> usize {
    ANSWER.set(text);
    length()
}

/// What the page has written, which is no request.
#[cfg(feature = "playground")]
fn written() -> String {
    String::from_utf8_lossy(&REQUEST.take()).into_owned()
}
