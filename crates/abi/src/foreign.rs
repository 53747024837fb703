//! A discipline behind the C interface, watched: what it does against the contract is named, and its
//! packets are dropped.

use crate::convert::{self, text};
use crate::interface::*;
use crate::ledger::{Ledger, Way};
use crate::watch::{self, Function};
use forebay_core::{Backlog, Context, Discipline, DropReason, Packet, Rate, Time, Verdict, Wake};
use std::collections::BTreeSet;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};

/// Calls between two questions what a plug-in holds, and whether it is ready: asking costs as much as
/// a packet.
const QUESTIONS: u32 = 64;
/// Times in a row that a queue may say that it is ready and give nothing.
const MOST_IDLE: u32 = 1000;

/// The functions that no discipline can do without.
#[derive(Clone, Copy)]
pub struct Calls {
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub enqueue:
        unsafe extern "C" fn(*mut c_void, *const ForebayPacket, *mut ForebayContext) -> i32,
    pub dequeue: unsafe extern "C" fn(*mut c_void, *mut ForebayPacket, *mut ForebayContext) -> i32,
    pub wake: unsafe extern "C" fn(*const c_void, u64) -> u64,
    pub backlog: unsafe extern "C" fn(*const c_void) -> ForebayBacklog,
}

/// A queue of a plug-in.
pub struct Foreign {
    /// The plug-in and the kind, for messages.
    who: Arc<str>,
    kind: &'static ForebayDiscipline,
    calls: Calls,
    state: *mut c_void,
    /// What is under way, for who watches.
    under_way: Arc<watch::Calls>,
    /// What the plug-in is handed; `now` and `host` are those of a call.
    context: ForebayContext,
    ledger: Ledger,
    /// How often in a row nothing came of a call that was due.
    idle: u32,
    /// Calls since the books were last closed.
    asked: u32,
}

// SAFETY: the interface says that calls may come from any thread, one at a time; `&self` calls
// change nothing.
unsafe impl Send for Foreign {}

/// What the functions of a context need during one call.
struct Call<'a, 'b> {
    ledger: &'a mut Ledger,
    cx: &'a mut Context<'b>,
}

/// The call that a context belongs to.
///
/// # Safety
/// `cx` is a context that [`Foreign::call`] made, during that call.
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
    let (Call { ledger, cx }, packet) = unsafe { (call(cx), &*packet) };
    if let Some(packet) = ledger.leaves(packet, Way::Dropped) {
        cx.drop(packet, convert::reason(reason));
    }
}

unsafe extern "C" fn mark_packet(cx: *mut ForebayContext, packet: *mut ForebayPacket) -> bool {
    // SAFETY: as above.
    let (Call { ledger, cx }, packet) = unsafe { (call(cx), &mut *packet) };
    ledger.marks(packet, |packet| cx.mark(packet))
}

unsafe extern "C" fn draw(cx: *mut ForebayContext) -> u64 {
    // SAFETY: as above.
    unsafe { call(cx) }.cx.rng.next_u64()
}

impl Foreign {
    /// The queue `state` of `kind`.
    pub fn new(
        who: Arc<str>,
        kind: &'static ForebayDiscipline,
        calls: Calls,
        state: *mut c_void,
        under_way: Arc<watch::Calls>,
    ) -> Self {
        Foreign {
            who,
            kind,
            calls,
            state,
            under_way,
            context: ForebayContext {
                now: 0,
                host: ptr::null_mut(),
                drop: drop_packet,
                mark: mark_packet,
                random: draw,
            },
            ledger: Ledger::new(kind.keeps_order),
            idle: 0,
            asked: 0,
        }
    }

    /// Calls `function` of the plug-in, which is `act`, with its context.
    #[inline]
    fn call(
        &mut self,
        function: Function,
        cx: &mut Context,
        act: impl FnOnce(&Calls, *mut c_void, *mut ForebayContext) -> i32,
    ) -> i32 {
        self.context.now = cx.now.as_nanos();
        let mut call = Call { ledger: &mut self.ledger, cx };
        let host: *mut Call = &mut call;
        self.context.host = host.cast();
        let answer =
            self.under_way.during(function, || act(&self.calls, self.state, &mut self.context));
        if answer == FOREBAY_FAILED {
            self.ledger.accuse(self.said().unwrap_or("it failed, without saying why").to_owned());
        }
        answer
    }

    /// Closes the books now and then.
    #[inline]
    fn settle(&mut self, now: Time) {
        self.asked += 1;
        if self.asked == QUESTIONS || self.ledger.packets() == 0 {
            self.asked = 0;
            self.close(now);
        }
    }

    /// What the plug-in says why it failed.
    fn said(&self) -> Option<&str> {
        // SAFETY: the state is a queue of this kind; the text is the plug-in's.
        self.kind.fault.and_then(|fault| unsafe { text(fault(self.state)) })
    }

    /// Closes the books: does the plug-in say that it holds what it holds, and is ready if it does not
    /// shape?
    fn close(&self, now: Time) {
        if let Some(complaint) = self.miscount() {
            self.ledger.accuse(self.said().map_or(complaint, str::to_owned));
        }
        if !self.kind.shapes {
            self.asked_when(now);
        }
    }

    /// What is wrong with what the plug-in says that it holds.
    fn miscount(&self) -> Option<String> {
        // SAFETY: the state is a queue of this kind.
        let ask = || unsafe { (self.calls.backlog)(self.state) };
        self.ledger.compare(self.under_way.during(Function::Backlog, ask))
    }

    /// When the plug-in says that its next packet may be sent.
    fn asked_when(&self, now: Time) -> Wake {
        // SAFETY: the state is a queue of this kind.
        let ask = || unsafe { (self.calls.wake)(self.state, now.as_nanos()) };
        let at = self.under_way.during(Function::Wake, ask);
        let held = self.ledger.packets();
        if at != FOREBAY_IDLE && at > now.as_nanos() {
            if !self.kind.shapes {
                self.ledger.accuse(format!(
                    "it holds back {held} packets for {} ns, and does not say that it shapes",
                    at - now.as_nanos()
                ));
            }
            return Wake::At(Time::from_nanos(at));
        }
        if at == FOREBAY_IDLE && held > 0 {
            let idle = || format!("it holds {held} packets and says that it is idle");
            let complaint = self.said().map(str::to_owned).or_else(|| self.miscount());
            self.ledger.accuse(complaint.unwrap_or_else(idle));
        }
        if held > 0 { Wake::Ready } else { Wake::Idle }
    }

    /// What its enqueue says, of packet `number` with `before` packets in the queue, if it is not that
    /// the packet is queued.
    #[cold]
    fn answered(&self, answer: i32, number: u32, before: u32) {
        let complaint = match answer {
            FOREBAY_DROPPED if self.ledger.packets() < before => return,
            FOREBAY_DROPPED => format!("it says that it dropped packet {number}, and did not"),
            FOREBAY_FAILED => return,
            other => format!("its enqueue returned {other}"),
        };
        self.ledger.accuse(complaint);
    }

    /// Its dequeue gave no packet, of `before` that it held.
    #[cold]
    fn gave_nothing(&mut self, answer: i32, before: u32, now: Time) {
        if !(FOREBAY_FAILED..=FOREBAY_SENT).contains(&answer) {
            self.ledger.accuse(format!("its dequeue returned {answer}"));
        }
        let moved = self.ledger.packets() < before;
        self.idle = if moved || before == 0 { 0 } else { self.idle + 1 };
        if self.idle == 1 {
            self.close(now);
        }
        if self.idle > MOST_IDLE {
            self.ledger.accuse(format!(
                "it holds {before} packets, says that one is ready, and gives none"
            ));
        }
    }

    /// Drops what a queue holds that can no longer be trusted.
    #[cold]
    fn flush(&mut self, cx: &mut Context) {
        for packet in self.ledger.take_all() {
            cx.drop(packet, DropReason::Overflow);
        }
    }
}

impl Discipline for Foreign {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        if self.ledger.fault().is_some() {
            self.flush(cx);
            cx.drop(packet, DropReason::Overflow);
            return Verdict::Dropped;
        }
        let shown = &self.ledger.enters(convert::to_c(&packet));
        packet.retire();
        let before = self.ledger.packets();
        // SAFETY: the state is a queue of this kind, and packet and context live during the call.
        let answer = self.call(Function::Enqueue, cx, |calls, state, cx| unsafe {
            (calls.enqueue)(state, shown, cx)
        });
        self.settle(cx.now);
        if answer != FOREBAY_QUEUED {
            self.answered(answer, shown.id, before);
        }
        if self.ledger.fault().is_some() {
            self.flush(cx);
            return Verdict::Dropped;
        }
        if answer == FOREBAY_QUEUED { Verdict::Queued } else { Verdict::Dropped }
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        let mut sent = None;
        if self.ledger.fault().is_none() {
            let before = self.ledger.packets();
            let mut given = ForebayPacket::default();
            let place = &mut given;
            // SAFETY: the state is a queue of this kind; packet and context live during the call.
            let answer = self.call(Function::Dequeue, cx, |calls, state, cx| unsafe {
                (calls.dequeue)(state, place, cx)
            });
            if answer == FOREBAY_SENT {
                sent = self.ledger.leaves(&given, Way::Sent);
            }
            self.settle(cx.now);
            match sent {
                Some(_) => self.idle = 0,
                None => self.gave_nothing(answer, before, cx.now),
            }
        }
        if self.ledger.fault().is_some() {
            self.flush(cx);
        }
        sent
    }

    fn wake(&self, now: Time) -> Wake {
        if self.kind.shapes && self.ledger.fault().is_none() {
            return self.asked_when(now);
        }
        // After a fault, what it holds is still to be dropped.
        if self.ledger.packets() > 0 { Wake::Ready } else { Wake::Idle }
    }

    fn backlog(&self) -> Backlog {
        self.ledger.held()
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        if let Some(tell) = self.kind.set_link_rate {
            // SAFETY: the state is a queue of this kind.
            let tell = || unsafe { tell(self.state, now.as_nanos(), rate.bps()) };
            self.under_way.during(Function::SetLinkRate, tell);
        }
    }

    fn fault(&self) -> Option<String> {
        self.ledger.fault().map(|fault| format!("{}: {fault}", self.who))
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        let Some(probe) = self.kind.probe.filter(|_| self.ledger.fault().is_none()) else { return };
        let mut out = out;
        let to: *mut &mut dyn FnMut(&'static str, f64) = &mut out;
        // SAFETY: the state is a queue of this kind, and `to` lives during the call.
        let ask = || unsafe { probe(self.state, now.as_nanos(), to.cast(), report) };
        self.under_way.during(Function::Probe, ask);
    }
}

unsafe extern "C" fn report(to: *mut c_void, name: *const c_char, value: f64) {
    // SAFETY: `to` is what `Foreign::probe` gave; the name is the plug-in's text.
    let (out, name) = unsafe { (&mut *to.cast::<&mut dyn FnMut(&'static str, f64)>(), text(name)) };
    out(interned(name.unwrap_or("unnamed")), value);
}

/// `name` for the rest of the process's life; equal names are one.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().expect("nothing panics while it is held");
    match names.get(name) {
        Some(known) => known,
        None => {
            let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(new);
            new
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: the state is a queue of this kind, and is not used again.
        unsafe { (self.calls.destroy)(self.state) };
        for packet in self.ledger.take_all() {
            packet.retire();
        }
    }
}
