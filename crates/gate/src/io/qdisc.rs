//! A queue discipline of the guest's kernel, in place of a discipline of the gate.
//!
//! `python/forebay/lab/virtual/linux/forebay_qdisc.c` is the other side of the calls.
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

/// Its name: what a configuration writes as `kind`.
pub const KIND: &str = "kernel";

/// The function with which the kernel reports a dropped packet and the reason (`enum loss`).
type Lost = unsafe extern "C" fn(owner: *mut c_void, id: u32, why: c_int);

/// Reasons of the kernel, in their order.
const REASONS: [DropReason; 3] = [DropReason::Aqm, DropReason::Overflow, DropReason::RedundantAck];

/// The values that a queue reports (`enum state`).
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
/// `calls` are those of the kernel whose process this is.
pub unsafe fn kind(calls: Calls) -> Entry<dyn Discipline> {
    let words = [KIND, "a discipline of the kernel", "Linux"].map(Into::into);
    // tc sets its parameters.
    Entry::new(words, Conduct::REORDERS.with_shaping(true), Kind(calls))
}

struct Kind(Calls);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The device that has it.
    device: String,
    /// Its name in Linux, for readers of a recording.
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

/// Packets that the kernel dropped and that are not reported yet.
type Losses = RefCell<VecDeque<(u32, DropReason)>>;

/// A queue of the kernel.
struct Qdisc {
    calls: Calls,
    queue: *mut c_void,
    losses: Box<Losses>,
    /// The packets that the kernel has, by number.
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

    /// Reports the packets that the kernel dropped.
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
            // It is not IP, or its bytes are not available.
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

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Rng, Sink};
    use std::ptr;

    /// A stand-in for the kernel: one queue for two packets.
    #[derive(Default)]
    struct Linux {
        waiting: VecDeque<(u32, u8)>,
        owner: Option<(*mut c_void, Lost)>,
        waits: bool,
    }

    thread_local! {
        static LINUX: RefCell<Linux> = RefCell::default();
    }

    fn linux<T>(act: impl FnOnce(&mut Linux) -> T) -> T {
        LINUX.with_borrow_mut(act)
    }

    unsafe extern "C" fn attach(_: *const c_char, owner: *mut c_void, lost: Lost) -> *mut c_void {
        linux(|linux| linux.owner = Some((owner, lost)));
        ptr::without_provenance_mut(1)
    }

    unsafe extern "C" fn detach(_: *mut c_void, _: *const c_void) {
        linux(|linux| linux.owner = None);
    }

    /// Marks a packet that finds another, and pushes the first out if two wait.
    unsafe extern "C" fn enqueue(_: *mut c_void, id: u32, packet: *const u8, _: usize) -> c_int {
        // SAFETY: the packet has a header.
        let tos = unsafe { *packet.add(1) };
        let (tos, lost) = linux(|linux| {
            let tos = if linux.waiting.is_empty() { tos } else { tos | 0b11 };
            let full = linux.waiting.len() == 2;
            let first = if full { linux.waiting.pop_front() } else { None };
            linux.waiting.push_back((id, tos));
            (tos, first.zip(linux.owner))
        });
        if let Some(((id, _), (owner, lost))) = lost {
            // SAFETY: it is attached.
            unsafe { lost(owner, id, 1) };
        }
        c_int::from(tos)
    }

    unsafe extern "C" fn dequeue(_: *mut c_void, id: *mut u32, tos: *mut u8) -> c_int {
        let next = linux(|linux| if linux.waits { None } else { linux.waiting.pop_front() });
        let Some(given) = next else { return 0 };
        // SAFETY: the caller's variables.
        unsafe { (*id, *tos) = given };
        1
    }

    unsafe extern "C" fn state(_: *const c_void) -> c_int {
        linux(|linux| match (linux.waiting.is_empty(), linux.waits) {
            (true, _) => IDLE,
            (false, waits) => 1 + c_int::from(waits),
        })
    }

    #[derive(Default)]
    struct Seen {
        dropped: Vec<(u32, DropReason)>,
        marked: u32,
    }

    const PACKET: [u8; 20] = [0x45, 0b10, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    impl Sink for Seen {
        fn dropped(&mut self, packet: Packet, reason: DropReason) {
            self.dropped.push((packet.retire(), reason));
        }

        fn marked(&mut self, _: &Packet) {
            self.marked += 1;
        }

        fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
            (arriving.id != 9).then_some(&PACKET)
        }
    }

    #[test]
    fn what_linux_does_is_told_packet_by_packet() {
        let mut queue =
            Qdisc::attach(Calls { attach, detach, enqueue, dequeue, state }, "link0.q0").unwrap();
        let (mut rng, mut seen) = (Rng::named(1, ""), Seen::default());
        let mut offer = |queue: &mut Qdisc, seen: &mut Seen, id| {
            let mut packet = Packet::new(id, 0, 20);
            packet.tos = 0b10;
            queue.enqueue(packet, &mut Context::new(Time::ZERO, &mut rng, seen))
        };
        assert_eq!(queue.wake(Time::ZERO), Wake::Idle);
        for id in 1..=3 {
            assert_eq!(offer(&mut queue, &mut seen, id), Verdict::Queued);
        }
        // The second and the third found another packet; the first was pushed out.
        assert_eq!((seen.marked, &*seen.dropped), (2, &[(1, DropReason::Overflow)][..]));
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 40 });
        // A packet without bytes does not reach the kernel.
        assert_eq!(offer(&mut queue, &mut seen, 9), Verdict::Dropped);
        assert_eq!(seen.dropped.len(), 2);
        let mut rng = Rng::named(1, "");
        let mut cx = Context::new(Time::ZERO, &mut rng, &mut seen);
        linux(|linux| linux.waits = true);
        assert_eq!(queue.dequeue(&mut cx), None);
        assert_eq!(queue.wake(Time::ZERO), Wake::At(Time::MAX));
        linux(|linux| linux.waits = false);
        assert_eq!(queue.wake(Time::ZERO), Wake::Ready);
        let packet = queue.dequeue(&mut cx).unwrap();
        assert_eq!((packet.tos, packet.retire()), (0b11, 2));
        // Packets that it holds when it ends are not reported as dropped.
        drop(queue);
        assert_eq!((seen.marked, linux(|linux| linux.owner.is_none())), (2, true));
    }
}
