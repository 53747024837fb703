//! Finds calls into plug-ins that do not return, from another thread.
//!
//! A call does not read a clock. Two stores record when it begins and when it ends. The other
//! thread checks from time to time whether the same call is still in progress. Its own thread knows
//! which call it is in, for the case that the plug-in ends the process or crashes.

use forebay_core::named_enum;
use std::cell::{Cell, RefCell};
use std::ptr;
#[cfg(feature = "load")]
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

named_enum! {
    /// A function of a plug-in: of a queue, a congestion control, a source or an endpoint.
    #[derive(Debug, Clone, Copy)]
    #[expect(missing_docs, reason = "their names are what they are called")]
    pub enum Function {
        Create = "create",
        Effective = "effective",
        Enqueue = "enqueue",
        Dequeue = "dequeue",
        Wake = "wake",
        Backlog = "backlog",
        SetLinkRate = "set_link_rate",
        Probe = "probe",
        Retune = "retune",
        Passes = "passes",
        Waiting = "waiting",
        OnAck = "on_ack",
        OnCongestion = "on_congestion",
        OnRestart = "on_restart",
        PacingRate = "pacing_rate",
        Next = "next",
        Begin = "begin",
        Handle = "handle",
        Transmit = "transmit",
        Timeout = "timeout",
        OnTimeout = "on_timeout",
        End = "end",
        Delivered = "delivered",
        Fault = "fault",
        Destroy = "destroy",
        Load = "loading",
    }
}

/// The part of [`Calls::state`] that is the function: its place in [`Function::ALL`], and one.
const FUNCTION: u64 = 0x1f;

/// The calls of one queue, or of another part.
pub struct Calls {
    /// The plug-in and the kind.
    who: Arc<str>,
    /// The number of calls so far, and in the lowest bits the function in progress, 0 between
    /// calls.
    state: AtomicU64,
    /// The state at the last check, and the number of earlier checks at which it was the same.
    seen: Mutex<(u64, u32)>,
    /// Calls that took too long.
    late: AtomicU32,
}

impl Calls {
    /// The calls of a part of `who`, for the watch that this thread has started.
    pub fn of(who: &Arc<str>) -> Arc<Self> {
        #[cfg(feature = "load")]
        if !cfg!(miri) {
            guard_exit(); // Miri knows no signals.
        }
        let calls = Arc::new(Calls {
            who: Arc::clone(who),
            state: AtomicU64::new(0),
            seen: Mutex::new((0, 0)),
            late: AtomicU32::new(0),
        });
        WATCH.with_borrow(|watch| {
            if let Some(Watch(all)) = watch {
                let mut all = all.lock().expect("nothing panics while it is held");
                if all.len() == all.capacity() {
                    all.retain(|calls| calls.strong_count() > 0);
                }
                all.push(Arc::downgrade(&calls));
            }
        });
        calls
    }

    /// Calls `function`, which is `act`. Only one thread at a time may do so.
    #[inline]
    pub fn during<T>(&self, function: Function, act: impl FnOnce() -> T) -> T {
        let number = self.state.load(Relaxed) + FUNCTION + 1;
        UNDER_WAY.with(|under_way| {
            self.state.store(number | (function as u64 + 1), Relaxed);
            let before = under_way.replace(self);
            let answer = act();
            under_way.set(before);
            self.state.store(number, Relaxed);
            answer
        })
    }

    /// The function in progress as `state` says, if it is not between calls.
    fn function(state: u64) -> Option<&'static str> {
        let place = (state & FUNCTION).checked_sub(1)?;
        Some(Function::ALL[place as usize].name())
    }

    /// The function that has been in progress for exactly `looks` checks, if there is one.
    fn late(&self, looks: u32) -> Option<&'static str> {
        let state = self.state.load(Relaxed);
        let mut seen = self.seen.lock().expect("nothing panics while it is held");
        *seen = if seen.0 == state { (state, seen.1.saturating_add(1)) } else { (state, 0) };
        Self::function(state).filter(|_| seen.1 == looks)
    }
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    /// The calls of which this thread is in one; NULL if it is in none.
    static UNDER_WAY: Cell<*const Calls> = const { Cell::new(ptr::null()) };
}

/// The call that this thread is in, if it is in one: whose it is, and the function.
#[cfg(feature = "load")]
fn under_way() -> Option<(&'static str, &'static str)> {
    // SAFETY: the calls are borrowed as long as one of them is in progress, and who asks ends the
    // process.
    let calls: &'static Calls = unsafe { UNDER_WAY.get().as_ref() }?;
    Some((&calls.who, Calls::function(calls.state.load(Relaxed))?))
}

/// The queues of plug-ins that one thread makes, watched from another thread.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Vec<Weak<Calls>>>>);

impl Watch {
    /// Watches the queues that this thread makes from now on.
    pub fn begin(&self) {
        WATCH.set(Some(self.clone()));
    }

    /// Checks all of them. Returns the calls that have been in progress for `looks` checks. Of many
    /// such calls of one queue, it returns the first, the second, the fourth and so on.
    pub fn look(&self, looks: u32) -> Option<String> {
        let all = self.0.lock().expect("nothing panics while it is held");
        all.iter()
            .filter_map(Weak::upgrade)
            .filter_map(|calls| {
                let function = calls.late(looks)?;
                let times = calls.late.fetch_add(1, Relaxed) + 1;
                let again =
                    if times > 1 { format!(" ({times} times so far)") } else { String::new() };
                let what = || format!("{}: its {function} does not return{again}", calls.who);
                times.is_power_of_two().then(what)
            })
            .reduce(|all, next| format!("{all}; {next}"))
    }
}

/// Exit code of a process that a plug-in has ended: that of a run with an error.
#[cfg(feature = "load")]
const CODE: i32 = 2;

#[cfg(all(feature = "load", target_os = "linux"))]
unsafe extern "C" {
    /// `atexit` for `quick_exit` (C11, 7.22.4.3).
    fn at_quick_exit(handler: extern "C" fn()) -> libc::c_int;
}

/// Threads that may end the process at the same time. The C library runs each handler once, and a
/// thread that finds none left ends the process while another still says what happened.
#[cfg(feature = "load")]
const THREADS: usize = 256;

/// Makes `exit`, `quick_exit` and the signals of a crash check whether a plug-in is the cause. A
/// process cannot observe `_exit`.
#[cfg(feature = "load")]
fn guard_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        crash::guard();
        for _ in 0..THREADS {
            // SAFETY: the handler needs nothing that ends before the process. If there is no room
            // for it, a process that a plug-in ends has the plug-in's code.
            unsafe {
                libc::atexit(ending);
                #[cfg(target_os = "linux")]
                at_quick_exit(ending);
            }
        }
    });
}

/// The thread that has called `exit` runs this.
#[cfg(feature = "load")]
extern "C" fn ending() {
    static FIRST: Mutex<()> = Mutex::new(());
    if let Some((who, function)) = under_way() {
        // The others wait here until the first has ended the process.
        let _first = FIRST.lock();
        eprintln!(
            "error: {who}: its {function} ended the process, with exit or quick_exit; a plug-in \
             must return"
        );
        // SAFETY: it returns to nobody.
        unsafe { libc::_exit(CODE) };
    }
}

/// What a plug-in may not do to memory and the processor ends the process by a signal. It still
/// does, so that debuggers and dumps of memory see it; before that, the call is named.
#[cfg(all(feature = "load", unix))]
mod crash {
    use super::{CODE, under_way};
    use std::{mem, ptr, sync::OnceLock};

    const SIGNALS: [(libc::c_int, &str); 5] = [
        (libc::SIGSEGV, "SIGSEGV: memory that it does not have"),
        (libc::SIGBUS, "SIGBUS: memory that is not there"),
        (libc::SIGILL, "SIGILL: no instruction of this processor"),
        (libc::SIGFPE, "SIGFPE: a division by zero, or its like"),
        (libc::SIGABRT, "SIGABRT: abort, an assertion or damaged memory"),
    ];

    /// What each signal did before, such as the language's or Python's own report.
    static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

    pub(super) fn guard() {
        BEFORE.get_or_init(|| {
            SIGNALS.map(|(signal, _)| {
                // SAFETY: zeros are a valid action, and the handler calls only what a signal
                // interrupts safely.
                unsafe {
                    let mut ours: libc::sigaction = mem::zeroed();
                    ours.sa_sigaction = named as *const () as usize;
                    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    let mut before: libc::sigaction = mem::zeroed();
                    libc::sigaction(signal, &raw const ours, &raw mut before);
                    before
                }
            })
        });
    }

    /// Says which call it was, and leaves the rest to who had the signal before.
    extern "C" fn named(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
        let place = SIGNALS.iter().position(|(each, _)| *each == signal);
        if let (Some((who, function)), Some(place)) = (under_way(), place) {
            for part in ["error: ", who, ": its ", function, " crashed (", SIGNALS[place].1, ")\n"]
            {
                // SAFETY: the text is as long as said.
                unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
            }
        }
        let before =
            BEFORE.get().zip(place).map_or(ptr::null(), |(all, place)| &raw const all[place]);
        // SAFETY: a fault happens again when this returns; what was sent is sent again, and waits
        // until then.
        unsafe {
            if before.is_null() || libc::sigaction(signal, before, ptr::null_mut()) != 0 {
                libc::_exit(CODE);
            }
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_lasts_is_named_once() {
        let watch = Watch::default();
        watch.begin();
        let calls = Calls::of(&"plug-in x".into());
        let look = || watch.look(3);
        for times in 1..=4 {
            for _ in 0..10 {
                assert_eq!(look(), None);
                calls.during(Function::Dequeue, || assert_eq!(look(), None));
            }
            calls.during(Function::Enqueue, || {
                let found: Vec<_> = (0..10).filter_map(|_| look()).collect();
                let again = ["", " (2 times so far)", "", " (4 times so far)"][times - 1];
                let named = [format!("plug-in x: its enqueue does not return{again}")];
                assert_eq!(found, named[..usize::from(times != 3)]);
            });
        }
        // Queues of another thread are not watched.
        let other = std::thread::spawn(|| Calls::of(&"plug-in y".into())).join().unwrap();
        other.during(Function::Probe, || assert!((0..10).all(|_| look().is_none())));
    }
}
