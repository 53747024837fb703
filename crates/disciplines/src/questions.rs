//! The three questions as traits.

use forebay_core::{Bank, Context, Discipline, DropReason, Packet, QueueId, Rate, Time, forward};
use std::any::Any;

/// Answers which queue a packet joins.
pub trait Classify: Any + Send {
    /// Number of queues. It never changes.
    fn queues(&self) -> usize;

    /// Called before a packet is classified. Writes into `packet` what only this classifier knows
    /// and the admission rule needs: its precedence.
    fn mark(&self, _packet: &mut Packet) {}

    /// Whether it looks at the length of its queues, and so needs the bank that holds them.
    fn looks_at_queues(&self) -> bool {
        false
    }

    /// The queue, below [`Classify::queues`], that `packet` joins.
    fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId;

    /// Whether `packet` would change nothing in this classifier, nor be changed by it, if the bank
    /// is empty ([`Discipline::passes`]).
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Tells the classifier that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _rate: Rate) {}

    /// As [`Discipline::retune`]. By default only a classifier without parameters and state can do
    /// it.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        size_of_val(self) == 0
    }

    /// Reports internal variables by name, for plots.
    fn probe(&self, _now: Time, _bank: &Bank, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Answers whether a packet may stay, and if not, which packet is dropped.
pub trait Admit: Any + Send + Alone {
    /// The bank for this rule. It has levels if the rule takes packets from the middle.
    fn bank(&self, queues: usize) -> Bank {
        Bank::new(queues)
    }

    /// Decides about a packet that arrives for `queue`. May mark it, and may push others out
    /// through [`Context::drop`].
    ///
    /// # Errors
    /// The reason, if the packet itself is dropped. The caller passes it to the sink.
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason>;

    /// Called when the packet has joined `queue`. May push packets out of any queue, including this
    /// one.
    fn joined(&mut self, _queue: QueueId, _bank: &mut Bank, _cx: &mut Context) {}

    /// Takes the next packet of `queue`, and drops or marks packets by the rule. None if the queue
    /// is empty afterwards.
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, _cx: &mut Context) -> Option<Packet> {
        bank.pop(queue)
    }

    /// Whether `packet` could pass through an empty bank of one queue without any change to itself
    /// or to this rule ([`Discipline::passes`]).
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Tells the rule that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _now: Time, _rate: Rate) {}

    /// As [`Discipline::retune`].
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// Reports internal variables by name, for plots.
    fn probe(&self, _now: Time, _bank: &Bank, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The discipline that an admission rule makes alone.
pub trait Alone {
    /// One queue under this rule, first in, first out.
    fn alone(self: Box<Self>) -> Box<dyn Discipline>;
}

/// Answers which queue is served next.
pub trait Schedule: Any + Send {
    /// Called when a packet has joined `queue`.
    fn joined(&mut self, _queue: QueueId, _bank: &Bank) {}

    /// The queue whose turn it is. None only if the bank is empty. Admission may have emptied queues
    /// since the last call. If the chosen queue is empty, or admission drops all its packets when
    /// they leave, this is called again without [`Schedule::served`].
    fn next(&mut self, bank: &Bank) -> Option<QueueId>;

    /// Called when a packet of `len` bytes of the chosen queue is sent.
    fn served(&mut self, _queue: QueueId, _len: u32, _bank: &Bank) {}

    /// Whether a packet that joins an empty bank and leaves it at once changes nothing here
    /// ([`Discipline::passes`]).
    fn passes(&self) -> bool {
        false
    }

    /// As [`Discipline::retune`]. By default only a scheduler without parameters and state can do
    /// it.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        size_of_val(self) == 0
    }
}

impl Classify for Box<dyn Classify> {
    forward! { (**self);
        fn queues(&self) -> usize;
        fn mark(&self, packet: &mut Packet);
        fn looks_at_queues(&self) -> bool;
        fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId;
        fn passes(&self, packet: &Packet) -> bool;
        fn set_link_rate(&mut self, rate: Rate);
        fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64));
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
}

impl Admit for Box<dyn Admit> {
    forward! { (**self);
        fn bank(&self, queues: usize) -> Bank;
        fn arrive(
            &mut self,
            queue: QueueId,
            packet: &mut Packet,
            bank: &mut Bank,
            cx: &mut Context
        ) -> Result<(), DropReason>;
        fn joined(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context);
        fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet>;
        fn passes(&self, packet: &Packet) -> bool;
        fn set_link_rate(&mut self, now: Time, rate: Rate);
        fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64));
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
}

impl Schedule for Box<dyn Schedule> {
    forward! { (**self);
        fn joined(&mut self, queue: QueueId, bank: &Bank);
        fn next(&mut self, bank: &Bank) -> Option<QueueId>;
        fn served(&mut self, queue: QueueId, len: u32, bank: &Bank);
        fn passes(&self) -> bool;
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| (**self).retune(now, &mut **fresh))
    }
}
