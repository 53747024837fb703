//! A queue behind the C interface.

use crate::convert::{self, text};
use crate::foreign::{Call, Outside};
use crate::interface::*;
use forebay_core::{Packet, Rate, Time};
use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// The functions that every discipline must have.
#[derive(Clone, Copy)]
pub struct Calls {
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub enqueue:
        unsafe extern "C" fn(*mut c_void, *const ForebayPacket, *mut ForebayContext) -> i32,
    pub dequeue: unsafe extern "C" fn(*mut c_void, *mut ForebayPacket, *mut ForebayContext) -> i32,
    pub wake: unsafe extern "C" fn(*const c_void, u64) -> u64,
    pub backlog: unsafe extern "C" fn(*const c_void) -> ForebayBacklog,
}

/// A kind of a shared library.
pub struct Kind {
    /// The library's own struct, which its functions want.
    pub own: *const ForebayDiscipline,
    /// What this version knows of it.
    pub known: ForebayDiscipline,
    /// The functions that every discipline must have.
    pub calls: Calls,
}

// SAFETY: what the pointers in it lead to is never changed and lives as long as the process.
unsafe impl Send for Kind {}
// SAFETY: as above.
unsafe impl Sync for Kind {}

/// A queue of a shared library.
pub struct Native {
    kind: Arc<Kind>,
    calls: Calls,
    state: *mut c_void,
    /// The context that the library gets. `now` and `host` belong to one call.
    context: ForebayContext,
}

// SAFETY: the interface says that calls may come from any thread, one at a time; `&self` calls
// change nothing.
unsafe impl Send for Native {}

/// The call to which a context belongs.
///
/// # Safety
/// `cx` is a context that [`Native::call`] filled in, during that call.
unsafe fn call<'a>(cx: *mut ForebayContext) -> &'a mut Call<'a, 'a> {
    // SAFETY: by the contract above.
    unsafe { &mut *(*cx).host.cast() }
}

unsafe extern "C" fn drop_packet(
    cx: *mut ForebayContext,
    packet: *const ForebayPacket,
    reason: u32,
) {
    // SAFETY: the plug-in hands on the context that it was handed, and a packet.
    let (call, packet) = unsafe { (call(cx), &*packet) };
    call.drop(packet, reason);
}

unsafe extern "C" fn mark_packet(cx: *mut ForebayContext, packet: *mut ForebayPacket) -> bool {
    // SAFETY: as above.
    let (call, packet) = unsafe { (call(cx), &mut *packet) };
    call.mark(packet)
}

unsafe extern "C" fn draw(cx: *mut ForebayContext) -> u64 {
    // SAFETY: as above.
    unsafe { call(cx) }.random()
}

unsafe extern "C" fn read_tcp(
    cx: *mut ForebayContext,
    arriving: *const ForebayPacket,
    to: *mut ForebayTcp,
) -> bool {
    // SAFETY: as above.
    let (call, arriving) = unsafe { (call(cx), &*arriving) };
    let Some(header) = call.tcp_header(arriving) else { return false };
    // SAFETY: the plug-in says how much room there is.
    unsafe { convert::write_tcp(&header, to) };
    true
}

unsafe extern "C" fn show_bytes(
    cx: *mut ForebayContext,
    arriving: *const ForebayPacket,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: as above.
    let (call, arriving) = unsafe { (call(cx), &*arriving) };
    let Some(bytes) = call.bytes(arriving) else { return ptr::null() };
    // SAFETY: the plug-in's own place.
    unsafe { *length = bytes.len() };
    bytes.as_ptr()
}

impl Native {
    /// The queue `state` of `kind`.
    pub fn new(kind: &Arc<Kind>, state: *mut c_void) -> Self {
        let context = ForebayContext {
            struct_size: size_of::<ForebayContext>() as u32,
            now: 0,
            host: ptr::null_mut(),
            drop: drop_packet,
            mark: mark_packet,
            random: draw,
            tcp: Some(read_tcp),
            bytes: Some(show_bytes),
        };
        Native { kind: Arc::clone(kind), calls: kind.calls, state, context }
    }

    /// The context of `call`.
    #[inline]
    fn context(&mut self, call: &mut Call) -> *mut ForebayContext {
        self.context.now = call.now().as_nanos();
        self.context.host = ptr::from_mut(call).cast();
        &mut self.context
    }
}

impl Outside for Native {
    #[inline]
    fn enqueue(&mut self, packet: &ForebayPacket, call: &mut Call) -> i32 {
        let cx = self.context(call);
        // SAFETY: the state is a queue of this kind, and packet and context live during the call.
        unsafe { (self.calls.enqueue)(self.state, packet, cx) }
    }

    #[inline]
    fn dequeue(&mut self, to: &mut ForebayPacket, call: &mut Call) -> i32 {
        let cx = self.context(call);
        // SAFETY: as above.
        unsafe { (self.calls.dequeue)(self.state, to, cx) }
    }

    fn wake(&self, now: Time) -> u64 {
        // SAFETY: the state is a queue of this kind; likewise below.
        unsafe { (self.calls.wake)(self.state, now.as_nanos()) }
    }

    #[inline]
    fn backlog(&self) -> Option<ForebayBacklog> {
        // SAFETY: as above.
        Some(unsafe { (self.calls.backlog)(self.state) })
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        if let Some(tell) = self.kind.known.set_link_rate {
            // SAFETY: as above.
            unsafe { tell(self.state, now.as_nanos(), rate.bps()) };
        }
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&str, f64)) {
        let Some(probe) = self.kind.known.probe else { return };
        let mut out = out;
        let to: *mut &mut dyn FnMut(&str, f64) = &mut out;
        // SAFETY: as above, and `to` lives during the call.
        unsafe { probe(self.state, now.as_nanos(), to.cast(), report) };
    }

    fn retune(&mut self, now: Time, fresh: &mut Self) -> bool {
        if !ptr::eq(self.kind.own, fresh.kind.own) {
            return false;
        }
        let retune = self.kind.known.retune;
        // SAFETY: as above, for both queues.
        retune.is_some_and(|retune| unsafe { retune(self.state, now.as_nanos(), fresh.state) })
    }

    fn passes(&self, packet: &Packet) -> bool {
        let passes = self.kind.known.passes;
        // SAFETY: as above, and the packet lives during the call.
        passes.is_some_and(|passes| unsafe { passes(self.state, convert::to_c(packet)) })
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &ForebayPacket)) {
        let Some(waiting) = self.kind.known.waiting else { return };
        let mut out = out;
        let to: *mut &mut dyn FnMut(usize, &ForebayPacket) = &mut out;
        // SAFETY: as above, and `to` lives during the call.
        unsafe { waiting(self.state, to.cast(), show) };
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        // SAFETY: as above; the text is the plug-in's.
        self.kind
            .known
            .fault
            .and_then(|fault| unsafe { convert::legible(fault(self.state)) })
            .map(Cow::Owned)
    }
}

unsafe extern "C" fn report(to: *mut c_void, name: *const c_char, value: f64) {
    // SAFETY: `to` is what `Native::probe` gave; the name is the plug-in's text.
    let (out, name) = unsafe { (&mut *to.cast::<&mut dyn FnMut(&str, f64)>(), text(name)) };
    out(name.unwrap_or("unnamed"), value);
}

unsafe extern "C" fn show(to: *mut c_void, queue: u32, packet: *const ForebayPacket) {
    // SAFETY: `to` is what `Native::waiting` gave; the packet is the plug-in's.
    let (out, packet) =
        unsafe { (&mut *to.cast::<&mut dyn FnMut(usize, &ForebayPacket)>(), &*packet) };
    out(queue as usize, packet);
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the state is a queue of this kind, and is not used again.
        unsafe { (self.calls.destroy)(self.state) };
    }
}
