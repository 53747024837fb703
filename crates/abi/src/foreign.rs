//! A discipline that others wrote, in any language, under supervision. If it breaks the contract,
//! it is named and its packets are dropped.

use crate::convert;
use crate::interface::*;
use crate::ledger::{Ledger, Way};
use crate::watch::{self, Function};
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Conduct, Context, Discipline, DropReason, Packet, Rate, Time, Verdict, Wake,
};
use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

/// Number of departures between two questions to a plug-in: what it holds, and whether it is ready.
/// Asking costs as much as a packet.
const QUESTIONS: u32 = 64;
/// The most times in a row that a queue may say that it is ready and then give no packet.
const MOST_IDLE: u32 = 1000;
/// The longest time, in ns, for which a queue may hold packets back: a day. More is a negative number
/// or another unit.
const LONGEST_HOLD: u64 = 86_400_000_000_000;
/// What [`Foreign::promised`] is after a change.
const NOTHING_SAID: (u64, u32) = (u64::MAX, 0);

/// A queue of a plug-in. `forebay.h` explains its functions and their results.
pub trait Outside: Send + Sized {
    /// Takes an arriving packet: `FOREBAY_QUEUED`, `FOREBAY_DROPPED` or `FOREBAY_FAILED`.
    fn enqueue(&mut self, packet: &ForebayPacket, call: &mut Call) -> i32;

    /// The next packet to send: `FOREBAY_SENT`, with the packet in `to`, `FOREBAY_NONE` or
    /// `FOREBAY_FAILED`.
    fn dequeue(&mut self, to: &mut ForebayPacket, call: &mut Call) -> i32;

    /// When to call `dequeue` next, in ns, or `FOREBAY_IDLE`. This changes nothing.
    fn wake(&self, now: Time) -> u64;

    /// Its own count of what it holds, if it counts.
    fn backlog(&self) -> Option<ForebayBacklog>;

    /// Tells it that the link's rate is now `rate`.
    fn set_link_rate(&mut self, now: Time, rate: Rate);

    /// Reports internal variables by name.
    fn probe(&self, now: Time, out: &mut dyn FnMut(&str, f64));

    /// Takes over the parameters of `fresh`, which was just made, from `now` on; false if it cannot.
    fn retune(&mut self, _now: Time, _fresh: &mut Self) -> bool {
        false
    }

    /// Whether `packet` may skip the queue, which is empty.
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Shows the packets that it holds, each with the number of its inner queue, or none.
    fn waiting(&self, _out: &mut dyn FnMut(usize, &ForebayPacket)) {}

    /// The fault because of which it cannot go on.
    fn said(&self) -> Option<Cow<'_, str>>;
}

/// The functions that the plug-in may use during one call.
pub struct Call<'a, 'b> {
    ledger: &'a mut Ledger,
    cx: &'a mut Context<'b>,
}

impl Call<'_, '_> {
    /// The current time.
    #[inline]
    pub fn now(&self) -> Time {
        self.cx.now
    }

    /// Drops a packet for the reason `FOREBAY_OVERFLOW` and so on.
    pub fn drop(&mut self, packet: &ForebayPacket, reason: u32) {
        if let Some(packet) = self.ledger.leaves(packet, Way::Dropped) {
            self.cx.drop(packet, convert::reason(reason));
        }
    }

    /// Marks a packet if its transport understands marks. False means that the packet must be
    /// dropped.
    pub fn mark(&mut self, packet: &mut ForebayPacket) -> bool {
        self.ledger.marks(packet, |packet| self.cx.mark(packet))
    }

    /// 64 random bits of the port's own stream.
    pub fn random(&mut self) -> u64 {
        self.cx.rng.next_u64()
    }

    /// The TCP header of the packet that is being enqueued, if it has one and the host knows it.
    pub fn tcp_header(&mut self, arriving: &ForebayPacket) -> Option<Tcp> {
        let packet = self.ledger.copy(arriving.id)?;
        let header = self.cx.tcp_header(&packet);
        packet.retire();
        header
    }

    /// The bytes of the packet that is being enqueued, if the host has them.
    pub fn bytes(&mut self, arriving: &ForebayPacket) -> Option<&[u8]> {
        let packet = self.ledger.copy(arriving.id)?;
        let bytes = self.cx.bytes(&packet);
        packet.retire();
        bytes
    }
}

/// A discipline of a plug-in, and the account of its packets.
pub struct Foreign<T> {
    /// The plug-in and the kind, for messages.
    who: Arc<str>,
    /// Dropped as the last call of the plug-in, under watch as the others.
    outside: ManuallyDrop<T>,
    shapes: bool,
    /// The call in progress, for the watching thread.
    under_way: Arc<watch::Calls>,
    ledger: Ledger,
    /// Number of calls in a row that were due and gave nothing.
    idle: u32,
    /// When the next packet may be sent, as last said since anything changed, and how many times in a
    /// row it was said anew at the time that was said.
    promised: Cell<(u64, u32)>,
    /// Departures requested since the last check of the account.
    asked: u32,
}

impl<T: Outside> Foreign<T> {
    /// The queue that `make` makes. `who` names its kind in messages.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new<E>(
        who: &Arc<str>,
        conduct: Conduct,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Self, E> {
        let under_way = watch::Calls::of(who);
        let outside = under_way.during(Function::Create, make)?;
        Ok(Foreign {
            who: Arc::clone(who),
            outside: ManuallyDrop::new(outside),
            shapes: conduct.shapes,
            under_way,
            ledger: Ledger::new(conduct.keeps_order),
            idle: 0,
            promised: Cell::new(NOTHING_SAID),
            asked: 0,
        })
    }

    /// Calls `function` of the plug-in, which is `act`.
    #[inline]
    fn call(
        &mut self,
        function: Function,
        cx: &mut Context,
        act: impl FnOnce(&mut T, &mut Call) -> i32,
    ) -> i32 {
        self.promised.set(NOTHING_SAID);
        let mut call = Call { ledger: &mut self.ledger, cx };
        let outside = &mut *self.outside;
        self.under_way.during(function, || act(outside, &mut call))
    }

    /// Its reason why it cannot go on.
    fn failed(&self) -> String {
        self.outside.said().unwrap_or("it failed, without saying why".into()).into_owned()
    }

    /// Checks the account from time to time.
    #[inline]
    fn settle(&mut self, now: Time) {
        self.asked += 1;
        if self.asked == QUESTIONS || self.ledger.packets() == 0 {
            self.asked = 0;
            self.close(now);
        }
    }

    /// Checks the account: the plug-in must say that it holds what it holds, and it must be ready
    /// if it does not shape.
    fn close(&self, now: Time) {
        if let Some(complaint) = self.miscount() {
            self.ledger.accuse(self.outside.said().map_or(complaint, Cow::into_owned));
        }
        if !self.shapes {
            self.asked_when(now);
        }
    }

    /// The error in the plug-in's count of what it holds.
    fn miscount(&self) -> Option<String> {
        let said = self.under_way.during(Function::Backlog, || self.outside.backlog());
        said.and_then(|said| self.ledger.compare(said))
    }

    /// When the plug-in says that its next packet may be sent.
    fn asked_when(&self, now: Time) -> Wake {
        let at = self.under_way.during(Function::Wake, || self.outside.wake(now));
        let held = self.ledger.packets();
        if at != FOREBAY_IDLE && at > now.as_nanos() {
            let wait = at - now.as_nanos();
            let (said, times) = self.promised.get();
            let times = if said <= now.as_nanos() { times + 1 } else { times };
            self.promised.set((at, times));
            let holds =
                format_args!("it holds back {held} packet{}", if held == 1 { "" } else { "s" });
            if !self.shapes {
                self.ledger
                    .accuse(format!("{holds} for {wait} ns, but does not declare that it shapes"));
            } else if wait > LONGEST_HOLD {
                self.ledger.accuse(format!("{holds} for {wait} ns, which is more than a day"));
            } else if times > MOST_IDLE {
                self.ledger.accuse(format!(
                    "{holds} for ever: whenever the time comes that its wake said, it says a later one"
                ));
            }
            return Wake::At(Time::from_nanos(at));
        }
        if at == FOREBAY_IDLE && held > 0 {
            let idle = || format!("it holds {held} packets and says that it is idle");
            let complaint = self.outside.said().map(Cow::into_owned).or_else(|| self.miscount());
            self.ledger.accuse(complaint.unwrap_or_else(idle));
        }
        if held > 0 { Wake::Ready } else { Wake::Idle }
    }

    /// The fault of `enqueue`, if packet `number` is not queued.
    #[cold]
    fn answered(&self, answer: i32, number: u32) {
        let complaint = match answer {
            FOREBAY_DROPPED if !self.ledger.holds(number) => return,
            FOREBAY_DROPPED => format!("it says that it dropped packet {number}, but it did not"),
            FOREBAY_FAILED => self.failed(),
            other => format!("its enqueue returned {other}"),
        };
        self.ledger.accuse(complaint);
    }

    /// Its `dequeue` gave no packet although it held `before` packets.
    #[cold]
    fn gave_nothing(&mut self, answer: i32, before: u32, now: Time) {
        match answer {
            FOREBAY_SENT | FOREBAY_NONE => {}
            FOREBAY_FAILED => self.ledger.accuse(self.failed()),
            other => self.ledger.accuse(format!("its dequeue returned {other}")),
        }
        let moved = self.ledger.packets() < before;
        self.idle = if moved || before == 0 { 0 } else { self.idle + 1 };
        if self.idle == 1 {
            self.close(now);
        }
        if self.idle > MOST_IDLE {
            self.ledger.accuse(format!(
                "it holds {before} packets and says that one is ready, but returns none"
            ));
        }
    }

    /// Drops the packets of a queue that can no longer be trusted.
    #[cold]
    fn flush(&mut self, cx: &mut Context) {
        for packet in self.ledger.take_all() {
            cx.drop(packet, DropReason::Overflow);
        }
    }
}

impl<T: Outside + 'static> Discipline for Foreign<T> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        if self.ledger.fault().is_some() {
            self.flush(cx);
            cx.drop(packet, DropReason::Overflow);
            return Verdict::Dropped;
        }
        let shown = &self.ledger.enters(convert::to_c(&packet));
        packet.retire();
        let answer = self.call(Function::Enqueue, cx, |outside, call| outside.enqueue(shown, call));
        if answer != FOREBAY_QUEUED {
            self.answered(answer, shown.id);
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
            let answer =
                self.call(Function::Dequeue, cx, |outside, call| outside.dequeue(place, call));
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
        if self.shapes && self.ledger.fault().is_none() {
            return self.asked_when(now);
        }
        // After a fault, the packets that it holds must still be dropped.
        if self.ledger.packets() > 0 { Wake::Ready } else { Wake::Idle }
    }

    fn backlog(&self) -> Backlog {
        self.ledger.held()
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.promised.set(NOTHING_SAID);
        let outside = &mut self.outside;
        self.under_way.during(Function::SetLinkRate, || outside.set_link_rate(now, rate));
    }

    fn fault(&self) -> Option<String> {
        self.ledger.fault().map(|fault| format!("{}: {fault}", self.who))
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        let Some(fresh) = fresh.downcast_mut::<Self>() else { return false };
        self.promised.set(NOTHING_SAID);
        let outside = &mut self.outside;
        let retune = || outside.retune(now, &mut fresh.outside);
        self.ledger.fault().is_none() && self.under_way.during(Function::Retune, retune)
    }

    #[inline]
    fn passes(&self, packet: &Packet) -> bool {
        let passes = || self.outside.passes(packet);
        self.ledger.fault().is_none() && self.under_way.during(Function::Passes, passes)
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        if self.ledger.fault().is_some() {
            return;
        }
        let mut named = |name: &str, value| out(interned(name), value);
        self.under_way.during(Function::Probe, || self.outside.probe(now, &mut named));
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        let mut shown = Vec::new();
        if self.ledger.fault().is_none() {
            let mut note = |queue, packet: &ForebayPacket| shown.push((packet.id, queue));
            self.under_way.during(Function::Waiting, || self.outside.waiting(&mut note));
        }
        self.ledger.show(&shown, out);
    }
}

/// `name`, kept for the rest of the process. Equal names are stored once.
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

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        for packet in self.ledger.take_all() {
            packet.retire();
        }
        let outside = &mut self.outside;
        // SAFETY: it is not used again.
        self.under_way.during(Function::Destroy, || unsafe { ManuallyDrop::drop(outside) });
    }
}
