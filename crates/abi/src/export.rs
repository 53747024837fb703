//! Shows disciplines that are written in Rust through the C interface. A panic ends the queue, not
//! the host.

use crate::convert::{c_string, from_c, give, number, read_tcp, text, to_c, write};
use crate::interface::*;
use crate::version::{self, misfit};
use forebay_core::tcp::Tcp;
use forebay_core::{
    ConfigError, Context, Discipline, DropReason, Entry, Packet, Rate, Registry, Rng, Setting,
    Sink, Time, Verdict, Wake,
};
use schemars::SchemaGenerator;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Disciplines, as the C interface shows them.
pub struct Exports(Vec<ForebayDiscipline>);

// SAFETY: what the pointers lead to is never changed and lives as long as the process.
unsafe impl Send for Exports {}
// SAFETY: as above.
unsafe impl Sync for Exports {}

impl Exports {
    /// The kinds of `registry`, which stay for the rest of the process.
    pub fn of(registry: &Registry<dyn Discipline>) -> Self {
        Exports(registry.iter().map(|entry| export(entry.clone())).collect())
    }

    /// The discipline at `index`; NULL after the last.
    pub fn get(&self, index: u32) -> *const ForebayDiscipline {
        self.0.get(index as usize).map_or(ptr::null(), ptr::from_ref)
    }

    /// The discipline called `name`; NULL if there is none.
    #[cfg(feature = "library")]
    pub fn find(&self, name: &str) -> *const ForebayDiscipline {
        // SAFETY: the names are our own.
        let found = self.0.iter().find(|each| unsafe { text(each.name) } == Some(name));
        found.map_or(ptr::null(), ptr::from_ref)
    }
}

/// Text that stays for the rest of the process.
fn forever(text: &str) -> *const c_char {
    c_string(text).into_raw()
}

fn export(entry: Entry<dyn Discipline>) -> ForebayDiscipline {
    let mut generator = SchemaGenerator::default();
    let mut schema = entry.schema(&mut generator).to_value();
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    ForebayDiscipline {
        version: FOREBAY_VERSION,
        struct_size: size_of::<ForebayDiscipline>() as u32,
        name: forever(&entry.name),
        summary: forever(&entry.summary),
        source: forever(&entry.source),
        schema: forever(&schema.to_string()),
        keeps_order: entry.facts.keeps_order,
        shapes: entry.facts.shapes,
        data: ptr::from_ref(Box::leak(Box::new(entry))).cast(),
        create: Some(create),
        destroy: Some(destroy),
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        wake: Some(wake),
        backlog: Some(backlog),
        set_link_rate: Some(set_link_rate),
        probe: Some(probe),
        effective: Some(effective),
        fault: Some(fault),
        retune: Some(retune),
        passes: Some(passes),
        waiting: Some(waiting),
        enqueue_batch: Some(enqueue_batch),
        dequeue_batch: Some(dequeue_batch),
    }
}

/// A queue of this library.
struct Queue {
    discipline: Box<dyn Discipline>,
    /// A random stream of its own, seeded from the port's at the first call.
    rng: Option<Rng>,
    /// The fault because of which it cannot go on.
    fault: OnceCell<CString>,
}

/// The message of a caught panic.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_else(|| "without a message".into()))
}

/// The parameters, the port and the kind in the arguments of a call.
///
/// # Safety
/// The pointers are arguments of `create` or `effective`.
unsafe fn asked<'a>(
    kind: *const ForebayDiscipline,
    params: *const c_char,
    setting: *const ForebaySetting,
) -> Result<(&'a Entry<dyn Discipline>, Value, Setting), ConfigError> {
    // SAFETY: `data` was made of an entry by `export`; the setting is the caller's.
    let (entry, setting) =
        unsafe { (&*(*kind).data.cast::<Entry<dyn Discipline>>(), version::setting(setting)) };
    let setting = setting.map_err(|fault| ConfigError::new("", fault))?;
    // SAFETY: by the contract above.
    let params = match unsafe { text(params) } {
        None if !params.is_null() => {
            return Err(ConfigError::new("", "the parameters are not UTF-8"));
        }
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(text).map_err(|error| {
            ConfigError::new("", format!("the parameters are not JSON: {error}"))
        })?,
    };
    let ForebaySetting { rate, overhead, mtu, .. } = setting;
    Ok((entry, params, Setting::new(Rate::from_bps(rate), overhead, mtu)))
}

unsafe extern "C" fn create(
    kind: *const ForebayDiscipline,
    params: *const c_char,
    setting: *const ForebaySetting,
    error: *mut c_char,
    size: usize,
) -> *mut c_void {
    let made = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the pointers are the caller's.
        let (entry, params, setting) = unsafe { asked(kind, params, setting) }?;
        entry.build(&params, &setting)
    }));
    let message = match made {
        Ok(Ok(discipline)) => {
            let queue = Queue { discipline, rng: None, fault: OnceCell::new() };
            return Box::into_raw(Box::new(queue)).cast();
        }
        Ok(Err(error)) => error.to_string(),
        Err(panic) => said(&*panic),
    };
    // SAFETY: the caller's buffer.
    unsafe { write(&message, error, size) };
    ptr::null_mut()
}

unsafe extern "C" fn effective(
    kind: *const ForebayDiscipline,
    params: *const c_char,
    setting: *const ForebaySetting,
    out: *mut c_char,
    size: usize,
) -> isize {
    let filled = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the pointers are the caller's.
        let (entry, params, setting) = unsafe { asked(kind, params, setting) }?;
        entry.effective(&params, &setting)
    }));
    let (text, answer) = match filled {
        Ok(Ok(value)) => (value.to_string(), true),
        Ok(Err(error)) => (error.to_string(), false),
        Err(panic) => (said(&*panic), false),
    };
    // SAFETY: the caller's buffer.
    unsafe { write(&text, out, size) };
    if answer { text.len() as isize } else { -1 }
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    if state.is_null() {
        return;
    }
    // SAFETY: made by `create`, and destroyed once.
    let queue = unsafe { Box::from_raw(state.cast::<Queue>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(queue)));
}

/// Passes drops and marks to the host.
struct Host(*mut ForebayContext);

impl Sink for Host {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        // SAFETY: the context is valid during the call that it was handed to.
        unsafe { ((*self.0).drop)(self.0, to_c(&packet), number(reason)) };
        packet.retire();
    }

    fn marked(&mut self, packet: &Packet) {
        let mut marked = *to_c(packet);
        // SAFETY: as above.
        unsafe { ((*self.0).mark)(self.0, &mut marked) };
    }

    fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        // SAFETY: as above; every number is a value of the members of a header that are no booleans.
        unsafe {
            let tcp = (*self.0).tcp?;
            let mut header = MaybeUninit::<ForebayTcp>::zeroed().assume_init();
            header.struct_size = size_of::<ForebayTcp>() as u32;
            tcp(self.0, to_c(arriving), &mut header).then(|| read_tcp(&header))
        }
    }

    fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: as above; the bytes are the host's until `enqueue` returns.
        unsafe {
            let bytes = (*self.0).bytes?(self.0, to_c(arriving), &mut length);
            (!bytes.is_null()).then(|| std::slice::from_raw_parts(bytes, length))
        }
    }
}

/// Runs `act` on the queue at `state` under the host's context.
///
/// # Safety
/// `state` is a queue from `create` that nothing else uses now, and `cx` the context of this call.
unsafe fn with<T: From<i8>>(
    state: *mut c_void,
    cx: *mut ForebayContext,
    act: impl FnOnce(&mut dyn Discipline, &mut Context) -> T,
) -> T {
    // Everything happens inside the closure, so that little is captured.
    let answer = catch_unwind(AssertUnwindSafe(move || {
        // SAFETY: by the contract above.
        let (queue, misfit) = unsafe { (&mut *state.cast::<Queue>(), misfit(cx)) };
        if let Some(misfit) = misfit {
            queue.fault.get_or_init(|| c_string(&misfit));
        }
        if queue.fault.get().is_some() {
            return T::from(FAILED);
        }
        // SAFETY: as above.
        let now = unsafe { (*cx).now };
        // SAFETY: the context's own function.
        let begin = || Rng::named(unsafe { ((*cx).random)(cx) }, "plug-in");
        let (rng, mut host) = (queue.rng.get_or_insert_with(begin), Host(cx));
        act(&mut *queue.discipline, &mut Context::new(Time::from_nanos(now), rng, &mut host))
    }));
    answer.unwrap_or_else(|panic| {
        // SAFETY: as above.
        let queue = unsafe { &*state.cast::<Queue>() };
        queue.fault.get_or_init(|| c_string(&said(&*panic)));
        T::from(FAILED)
    })
}

/// The answer of a call that failed, in any width.
const FAILED: i8 = FOREBAY_FAILED as i8;

/// Hands in the packet at `packet`; whether it joined a queue.
///
/// # Safety
/// There is a packet.
#[inline]
unsafe fn takes(
    discipline: &mut dyn Discipline,
    packet: *const ForebayPacket,
    cx: &mut Context,
) -> bool {
    // SAFETY: by the contract above.
    let mut packet = from_c(unsafe { &*packet });
    // As `Port::offer` does for hosts in Rust.
    packet.queued = cx.now;
    discipline.enqueue(packet, cx) == Verdict::Queued
}

unsafe extern "C" fn enqueue(
    state: *mut c_void,
    packet: *const ForebayPacket,
    cx: *mut ForebayContext,
) -> i32 {
    // SAFETY: the pointers are the caller's.
    unsafe {
        with(state, cx, move |discipline, cx| {
            if takes(discipline, packet, cx) { FOREBAY_QUEUED } else { FOREBAY_DROPPED }
        })
    }
}

unsafe extern "C" fn dequeue(
    state: *mut c_void,
    packet: *mut ForebayPacket,
    cx: *mut ForebayContext,
) -> i32 {
    // SAFETY: the pointers are the caller's.
    unsafe {
        with(state, cx, move |discipline, cx| {
            if give(discipline.dequeue(cx), packet) { FOREBAY_SENT } else { FOREBAY_NONE }
        })
    }
}

unsafe extern "C" fn enqueue_batch(
    state: *mut c_void,
    packets: *const ForebayPacket,
    count: usize,
    cx: *mut ForebayContext,
) -> isize {
    // SAFETY: so many packets are the caller's.
    unsafe {
        with(state, cx, move |discipline, cx| {
            let joined = (0..count).filter(|place| takes(discipline, packets.add(*place), cx));
            joined.count() as isize
        })
    }
}

unsafe extern "C" fn dequeue_batch(
    state: *mut c_void,
    packets: *mut ForebayPacket,
    count: usize,
    cx: *mut ForebayContext,
) -> isize {
    // SAFETY: so many packets may be written there.
    unsafe {
        with(state, cx, move |discipline, cx| {
            let mut given = 0;
            while given < count && give(discipline.dequeue(cx), packets.add(given)) {
                given += 1;
            }
            given as isize
        })
    }
}

unsafe extern "C" fn retune(state: *mut c_void, now: u64, fresh: *mut c_void) -> bool {
    // SAFETY: the pointers are the caller's, and nobody else uses the two queues now.
    let (queue, fresh) = unsafe { (&mut *state.cast::<Queue>(), &mut *fresh.cast::<Queue>()) };
    if queue.fault.get().is_some() {
        return false;
    }
    let tell = || queue.discipline.retune(Time::from_nanos(now), &mut *fresh.discipline);
    catch_unwind(AssertUnwindSafe(tell)).unwrap_or_else(|panic| {
        queue.fault.get_or_init(|| c_string(&said(&*panic)));
        false
    })
}

/// Asks the queue at `state` a question that changes nothing. Returns `otherwise` if it fails or
/// has failed.
///
/// # Safety
/// `state` is a queue from `create`.
unsafe fn ask<T>(state: *const c_void, otherwise: T, act: impl FnOnce(&dyn Discipline) -> T) -> T {
    // SAFETY: by the contract above.
    let queue = unsafe { &*state.cast::<Queue>() };
    if queue.fault.get().is_some() {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(|| act(&*queue.discipline))).unwrap_or_else(|panic| {
        queue.fault.get_or_init(|| c_string(&said(&*panic)));
        otherwise
    })
}

unsafe extern "C" fn wake(state: *const c_void, now: u64) -> u64 {
    let answer = |discipline: &dyn Discipline| match discipline.wake(Time::from_nanos(now)) {
        Wake::Idle => FOREBAY_IDLE,
        Wake::Ready => now,
        Wake::At(time) => time.as_nanos(),
    };
    // SAFETY: the pointer is the caller's.
    unsafe { ask(state, FOREBAY_IDLE, answer) }
}

unsafe extern "C" fn backlog(state: *const c_void) -> ForebayBacklog {
    let answer = |discipline: &dyn Discipline| {
        let held = discipline.backlog();
        ForebayBacklog { packets: held.packets as u64, bytes: held.bytes }
    };
    // SAFETY: the pointer is the caller's.
    unsafe { ask(state, ForebayBacklog::default(), answer) }
}

unsafe extern "C" fn set_link_rate(state: *mut c_void, now: u64, rate: u64) {
    // SAFETY: the pointer is the caller's, and nobody else uses the queue now.
    let Queue { discipline, fault, .. } = unsafe { &mut *state.cast::<Queue>() };
    if fault.get().is_none() {
        let tell = || discipline.set_link_rate(Time::from_nanos(now), Rate::from_bps(rate));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(tell)) {
            fault.get_or_init(|| c_string(&said(&*panic)));
        }
    }
}

unsafe extern "C" fn probe(
    state: *const c_void,
    now: u64,
    to: *mut c_void,
    report: unsafe extern "C" fn(to: *mut c_void, name: *const c_char, value: f64),
) {
    let tell = |discipline: &dyn Discipline| {
        discipline.probe(Time::from_nanos(now), &mut |name, value| {
            let name = c_string(name);
            // SAFETY: the caller's own function, with what it gave for it.
            unsafe { report(to, name.as_ptr(), value) };
        });
    };
    // SAFETY: the pointer is the caller's.
    unsafe { ask(state, (), tell) }
}

unsafe extern "C" fn passes(state: *const c_void, packet: *const ForebayPacket) -> bool {
    // SAFETY: the pointers are the caller's.
    unsafe {
        ask(state, false, |discipline| {
            let packet = from_c(&*packet);
            let passes = discipline.passes(&packet);
            packet.retire();
            passes
        })
    }
}

unsafe extern "C" fn waiting(
    state: *const c_void,
    to: *mut c_void,
    report: unsafe extern "C" fn(to: *mut c_void, queue: u32, packet: *const ForebayPacket),
) {
    let tell = |discipline: &dyn Discipline| {
        discipline.waiting(&mut |queue, packet| {
            // SAFETY: the caller's own function, with what it gave for it.
            unsafe { report(to, u32::try_from(queue).unwrap_or(u32::MAX), to_c(packet)) };
        });
    };
    // SAFETY: the pointer is the caller's.
    unsafe { ask(state, (), tell) }
}

unsafe extern "C" fn fault(state: *const c_void) -> *const c_char {
    // SAFETY: the pointer is the caller's; the text is set once.
    let queue = unsafe { &*state.cast::<Queue>() };
    queue.fault.get().map_or(ptr::null(), |text| text.as_ptr())
}
