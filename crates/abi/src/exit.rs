//! Distinguishes a process that a plug-in has ended from one that its host has ended.

use crate::watch;
use std::sync::Once;

/// Exit code of a process that a plug-in has ended: that of a run with an error.
const CODE: i32 = 2;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// `atexit` for `quick_exit` (C11, 7.22.4.3).
    fn at_quick_exit(handler: extern "C" fn()) -> libc::c_int;
}

/// Makes `exit` and `quick_exit` check whether a plug-in has called them. A process cannot observe
/// `_exit`.
pub fn guard() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler needs nothing that ends before the process. If there is no room for
        // it, a process that a plug-in ends has the plug-in's code.
        unsafe {
            libc::atexit(ending);
            #[cfg(target_os = "linux")]
            at_quick_exit(ending);
        }
    });
}

/// The thread that has called `exit` runs this.
extern "C" fn ending() {
    if let Some(call) = watch::under_way() {
        eprintln!(
            "error: {call} ended the process, with exit or quick_exit; a plug-in must return"
        );
        // SAFETY: it returns to nobody.
        unsafe { libc::_exit(CODE) };
    }
}
