//! The three questions as traits, and the discipline that their answers make.

use crate::classify::One;
use crate::schedule::Fifo;
use forebay_core::{
    Backlog, Bank, Context, Discipline, DropReason, Packet, QueueId, Rate, Time, Verdict, Wake,
};
use std::any::Any;

/// Which queue does this packet join?
pub trait Classify: Any + Send {
    /// Number of queues; constant.
    fn queues(&self) -> usize;

    /// Reads into `packet`, before it is classified, what admission will ask for (its precedence)
    /// and only this classifier knows.
    fn mark(&self, _packet: &mut Packet) {}

    /// Whether it looks at the length of its queues, so that it needs the bank that holds them.
    fn looks_at_queues(&self) -> bool {
        false
    }

    /// The queue, below [`Classify::queues`], that `packet` joins.
    fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId;

    /// Whether it would do nothing to `packet`, nor to itself, in an empty bank
    /// ([`Discipline::passes`]).
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Learns that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _rate: Rate) {}

    /// As [`Discipline::retune`]; of itself, if it has neither parameters nor state.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        size_of_val(self) == 0
    }

    /// Reports internal variables by name, for plots.
    fn probe(&self, _now: Time, _bank: &Bank, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// May it stay, and if not who goes?
pub trait Admit: Any + Send + Alone {
    /// The bank that this rule works on; one with levels, if it takes packets from the middle.
    fn bank(&self, queues: usize) -> Bank {
        Bank::new(queues)
    }

    /// Judges a packet that arrives for `queue`. May mark it, and may push others out through
    /// [`Context::drop`].
    ///
    /// # Errors
    /// The reason, if the packet itself must go; the caller hands it to the sink.
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason>;

    /// Is told that the packet joined `queue`; may push packets out of any queue, this one included.
    fn joined(&mut self, _queue: QueueId, _bank: &mut Bank, _cx: &mut Context) {}

    /// Takes the next packet of `queue`, dropping or marking as the rule says. None if that leaves
    /// the queue empty.
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, _cx: &mut Context) -> Option<Packet> {
        bank.pop(queue)
    }

    /// Whether it would let `packet` come and go in an empty bank of one queue, and do nothing to it
    /// nor to itself ([`Discipline::passes`]).
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Learns that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _now: Time, _rate: Rate) {}

    /// As [`Discipline::retune`].
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// Reports internal variables by name, for plots.
    fn probe(&self, _now: Time, _bank: &Bank, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// What every admission rule is by itself.
pub trait Alone {
    /// One queue under this rule, first in, first out.
    fn alone(self: Box<Self>) -> Box<dyn Discipline>;
}

impl<A: Admit + 'static> Alone for A {
    fn alone(self: Box<Self>) -> Box<dyn Discipline> {
        Box::new(Composed::new(One, *self, Fifo))
    }
}

/// Who is served next?
pub trait Schedule: Any + Send {
    /// Is told that a packet joined `queue`.
    fn joined(&mut self, _queue: QueueId, _bank: &Bank) {}

    /// A queue that holds packets; None only if the bank is empty. Queues may have been emptied by
    /// admission since the last call. Called again without [`Schedule::served`] when the chosen
    /// queue's packets were all dropped on the way out.
    fn next(&mut self, bank: &Bank) -> Option<QueueId>;

    /// Is told that a packet of `len` bytes of the chosen queue is sent.
    fn served(&mut self, _queue: QueueId, _len: u32, _bank: &Bank) {}

    /// Whether a packet that comes into an empty bank and leaves it at once changes nothing here
    /// ([`Discipline::passes`]).
    fn passes(&self) -> bool {
        false
    }

    /// As [`Discipline::retune`]; of itself, if it has neither parameters nor state.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        size_of_val(self) == 0
    }
}

/// A discipline made of one answer to each question.
pub struct Composed<C, A, S> {
    classify: C,
    admit: A,
    schedule: S,
    bank: Bank,
}

impl<C: Classify, A: Admit, S: Schedule> Composed<C, A, S> {
    /// The discipline that these three make.
    pub fn new(classify: C, admit: A, schedule: S) -> Self {
        let bank = admit.bank(classify.queues());
        Composed { classify, admit, schedule, bank }
    }
}

impl<C: Classify, A: Admit, S: Schedule> Discipline for Composed<C, A, S> {
    /// If each of its parts can.
    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        let Some(Composed { classify, admit, schedule, .. }) = fresh.downcast_mut() else {
            return false;
        };
        let (classify, schedule): (&mut C, &mut S) = (classify, schedule);
        self.classify.retune(now, classify)
            && self.schedule.retune(now, schedule)
            && self.admit.retune(now, admit as &mut A)
    }

    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        self.classify.mark(&mut packet);
        let queue = self.classify.classify(&packet, &self.bank, cx);
        match self.admit.arrive(queue, &mut packet, &mut self.bank, cx) {
            Ok(()) => {
                self.bank.push(queue, packet);
                self.schedule.joined(queue, &self.bank);
                self.admit.joined(queue, &mut self.bank, cx);
                Verdict::Queued
            }
            Err(reason) => {
                cx.drop(packet, reason);
                Verdict::Dropped
            }
        }
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        while let Some(queue) = self.schedule.next(&self.bank) {
            if let Some(packet) = self.admit.depart(queue, &mut self.bank, cx) {
                self.schedule.served(queue, packet.len, &self.bank);
                return Some(packet);
            }
        }
        None
    }

    fn wake(&self, _now: Time) -> Wake {
        if self.bank.total().packets == 0 { Wake::Idle } else { Wake::Ready }
    }

    fn backlog(&self) -> Backlog {
        self.bank.total()
    }

    fn passes(&self, packet: &Packet) -> bool {
        self.classify.passes(packet) && self.admit.passes(packet) && self.schedule.passes()
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.classify.set_link_rate(rate);
        self.admit.set_link_rate(now, rate);
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.classify.probe(now, &self.bank, out);
        self.admit.probe(now, &self.bank, out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.bank.show(out);
    }
}

impl Classify for Box<dyn Classify> {
    fn looks_at_queues(&self) -> bool {
        (**self).looks_at_queues()
    }
    fn mark(&self, packet: &mut Packet) {
        (**self).mark(packet);
    }
    fn queues(&self) -> usize {
        (**self).queues()
    }
    fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId {
        (**self).classify(packet, bank, cx)
    }
    fn passes(&self, packet: &Packet) -> bool {
        (**self).passes(packet)
    }
    fn set_link_rate(&mut self, rate: Rate) {
        (**self).set_link_rate(rate);
    }
    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
    fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(now, bank, out);
    }
}

impl Admit for Box<dyn Admit> {
    fn bank(&self, queues: usize) -> Bank {
        (**self).bank(queues)
    }
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        (**self).arrive(queue, packet, bank, cx)
    }
    fn joined(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) {
        (**self).joined(queue, bank, cx);
    }
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        (**self).depart(queue, bank, cx)
    }
    fn passes(&self, packet: &Packet) -> bool {
        (**self).passes(packet)
    }
    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        (**self).set_link_rate(now, rate);
    }
    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
    fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(now, bank, out);
    }
}

impl Schedule for Box<dyn Schedule> {
    fn joined(&mut self, queue: QueueId, bank: &Bank) {
        (**self).joined(queue, bank);
    }
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        (**self).next(bank)
    }
    fn served(&mut self, queue: QueueId, len: u32, bank: &Bank) {
        (**self).served(queue, len, bank);
    }
    fn passes(&self) -> bool {
        (**self).passes()
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
}
