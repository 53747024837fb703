//! A queue discipline of the guest's kernel in the place of a gate's own.
//!
//! `python/forebay/lab/virtual/linux/forebay_qdisc.c` has the other side of the calls.
#![expect(unsafe_code, reason = "the discipline is in a kernel written in C")]

use forebay_core::{
    Backlog, Conduct, ConfigError, Context, Discipline, DropReason, Entry, Packet, Recipe, Setting,
    Time, Verdict, Wake, config,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CString, c_char, c_int, c_void};

/// What a configuration writes as `kind`.
pub const KIND: &str = "kernel";

/// The kernel tells of a packet that it dropped, and why (`enum loss`).
type Lost = unsafe extern "C" fn(owner: *mut c_void, id: u32, why: c_int);

/// Reasons of the kernel, in their order.
const REASONS: [DropReason; 3] = [DropReason::Aqm, DropReason::Overflow, DropReason::RedundantAck];

/// What a queue says of itself (`enum state`).
const IDLE: c_int = 0;
const WAITS: c_int = 2;

/// The kernel's functions for its disciplines (`struct qdisc_calls`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Calls {
    attach: unsafe extern "C" fn(*const c_char, *mut c_void, Lost) -> *mut c_void,
    detach: unsafe extern "C" fn(*mut c_void, *const c_void),
    enqueue: unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> c_int,
    dequeue: unsafe extern "C" fn(*mut c_void, *mut u32, *mut u8) -> c_int,
    state: unsafe extern "C" fn(*const c_void) -> c_int,
}

/// The kind `kernel`.
///
/// # Safety
/// `calls` are those of the kernel that this process is.
pub unsafe fn kind(calls: Calls) -> Entry<dyn Discipline> {
    let words = [KIND, "a discipline of the kernel", "Linux"].map(Into::into);
    // What it does is up to tc.
    Entry::new(words, Conduct { shapes: true, ..Conduct::REORDERS }, Kind(calls))
}

struct Kind(Calls);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The device that has it.
    device: String,
    /// What Linux calls it; for who reads a recording.
    qdisc: String,
}

impl Recipe<dyn Discipline> for Kind {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        Params::json_schema(generator)
    }

    fn effective(&self, block: &Value, _: &Setting) -> Result<Value, ConfigError> {
        let params: Params = config::read(block)?;
        Ok(serde_json::to_value(params).expect("parameters are plain data"))
    }

    fn build(&self, block: &Value, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let params: Params = config::read(block)?;
        Ok(Box::new(Qdisc::attach(self.0, &params.device)?))
    }
}

/// Packets that the kernel dropped and of which nobody has been told yet.
type Losses = RefCell<VecDeque<(u32, DropReason)>>;

/// A queue of the kernel.
struct Qdisc {
    calls: Calls,
    queue: *mut c_void,
    losses: Box<Losses>,
    /// What the kernel has, by number.
    held: Vec<Option<Packet>>,
    backlog: Backlog,
}

// SAFETY: the kernel has one thread.
unsafe impl Send for Qdisc {}

unsafe extern "C" fn lost(owner: *mut c_void, id: u32, why: c_int) {
    // SAFETY: the queue that owns them is attached.
    let losses = unsafe { &*owner.cast::<Losses>() };
    losses.borrow_mut().push_back((id, REASONS[why as usize]));
}

impl Qdisc {
    fn attach(calls: Calls, device: &str) -> Result<Self, ConfigError> {
        let losses = Box::new(Losses::default());
        let owner = std::ptr::from_ref(&*losses).cast_mut().cast();
        let name = CString::new(device).unwrap_or_default();
        // SAFETY: `losses` stay where they are, and are detached when they go.
        let queue = unsafe { (calls.attach)(name.as_ptr(), owner, lost) };
        config::require(!queue.is_null(), "device", || {
            format!("there is no discipline of the kernel at \"{device}\"")
        })?;
        Ok(Qdisc { calls, queue, losses, held: Vec::new(), backlog: Backlog::default() })
    }

    fn hold(&mut self, packet: Packet) {
        let place = packet.id as usize;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, || None);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        self.held[place] = Some(packet);
    }

    fn take(&mut self, id: u32) -> Packet {
        let packet = self.held[id as usize].take().expect("the kernel was handed it");
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        packet
    }

    /// Passes on what the kernel dropped.
    fn report(&mut self, cx: &mut Context) {
        loop {
            let next = self.losses.borrow_mut().pop_front();
            let Some((id, reason)) = next else { return };
            let packet = self.take(id);
            cx.drop(packet, reason);
        }
    }
}

/// Gives `packet` the DS field that it has in the kernel.
fn remark(packet: &mut Packet, tos: u8, cx: &mut Context) {
    if tos & 0b11 == 0b11 {
        cx.mark(packet);
    }
    packet.tos = tos;
}

impl Discipline for Qdisc {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        let Some(bytes) = cx.bytes(&packet) else {
            // It is not IP, or nobody knows what is in it.
            cx.drop(packet, DropReason::Overflow);
            return Verdict::Dropped;
        };
        // SAFETY: the queue is attached, and the bytes outlive the call.
        let tos =
            unsafe { (self.calls.enqueue)(self.queue, packet.id, bytes.as_ptr(), bytes.len()) };
        let tos = u8::try_from(tos).ok();
        if let Some(tos) = tos {
            remark(&mut packet, tos, cx);
        }
        self.hold(packet);
        self.report(cx);
        if tos.is_some() { Verdict::Queued } else { Verdict::Dropped }
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        let (mut id, mut tos) = (0, 0);
        // SAFETY: the queue is attached.
        let given = unsafe { (self.calls.dequeue)(self.queue, &raw mut id, &raw mut tos) } != 0;
        self.report(cx);
        let mut packet = given.then(|| self.take(id))?;
        remark(&mut packet, tos, cx);
        Some(packet)
    }

    fn wake(&self, _: Time) -> Wake {
        // SAFETY: the queue is attached.
        match unsafe { (self.calls.state)(self.queue) } {
            IDLE => Wake::Idle,
            // The kernel says when (`forebay_gate_ready`).
            WAITS => Wake::At(Time::MAX),
            _ => Wake::Ready,
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl Drop for Qdisc {
    fn drop(&mut self) {
        let owner = std::ptr::from_ref(&*self.losses).cast();
        // SAFETY: the queue is attached.
        unsafe { (self.calls.detach)(self.queue, owner) };
        for packet in self.held.drain(..).flatten() {
            packet.retire();
        }
    }
}
