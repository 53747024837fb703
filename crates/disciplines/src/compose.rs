//! The discipline that three answers make.

use crate::classify::One;
use crate::questions::{Admit, Alone, Classify, Schedule};
use crate::schedule::Fifo;
use forebay_core::{Backlog, Bank, Context, Discipline, Packet, Rate, Time, Verdict, Wake};
use std::any::Any;

/// A discipline made of an answer to each of the three questions.
pub struct Composed<C, A, S> {
    classify: C,
    admit: A,
    schedule: S,
    bank: Bank,
}

impl<C: Classify, A: Admit, S: Schedule> Composed<C, A, S> {
    /// The discipline of these three parts.
    pub fn new(classify: C, admit: A, schedule: S) -> Self {
        let bank = admit.bank(classify.queues());
        Composed { classify, admit, schedule, bank }
    }
}

impl<C: Classify, A: Admit, S: Schedule> Discipline for Composed<C, A, S> {
    /// Only if all of its parts can.
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

impl<A: Admit + 'static> Alone for A {
    fn alone(self: Box<Self>) -> Box<dyn Discipline> {
        Box::new(Composed::new(One, *self, Fifo))
    }
}
