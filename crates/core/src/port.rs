//! A discipline and its link: what the simulator and the gate share.

use crate::{
    Backlog, Capacity, Context, Discipline, Fifo, Limit, Packet, Rate, Time, Verdict, Wake,
};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;

/// The next step of a port's caller.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send this packet. Its last bit leaves at `done_at`; the port is busy until then.
    Send {
        /// The packet.
        packet: Packet,
        /// The end of the transmission.
        done_at: Time,
    },
    /// Ask again at this time. If it is after [`Port::free_at`], ask also when a packet arrives.
    Until(Time),
    /// Ask again when a packet arrives.
    Idle,
}

/// A discipline. The most common one is a variant of its own, so that its code can be inlined.
enum Queue {
    Fifo(Fifo),
    Other(Box<dyn Discipline>),
}

/// Calls a discipline of either variant.
macro_rules! call {
    ($queue:expr, $discipline:ident => $call:expr) => {
        match $queue {
            Queue::Fifo($discipline) => $call,
            Queue::Other($discipline) => $call,
        }
    };
}

impl Queue {
    fn new(discipline: Box<dyn Discipline>) -> Self {
        if !(&*discipline as &dyn Any).is::<Fifo>() {
            return Queue::Other(discipline);
        }
        let fifo = (discipline as Box<dyn Any>).downcast().expect("its type has been looked at");
        Queue::Fifo(*fifo)
    }

    fn into_box(self) -> Box<dyn Discipline> {
        match self {
            Queue::Fifo(fifo) => Box::new(fifo),
            Queue::Other(discipline) => discipline,
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        call!(self, discipline => discipline.enqueue(packet, cx))
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        call!(self, discipline => discipline.dequeue(cx))
    }

    #[inline(always)]
    fn wake(&self, now: Time) -> Wake {
        call!(self, discipline => discipline.wake(now))
    }

    #[inline(always)]
    fn passes(&self, packet: &Packet) -> bool {
        call!(self, discipline => discipline.passes(packet))
    }
}

/// A discipline and the link that it fills.
pub struct Port {
    queue: Queue,
    capacity: Capacity,
    overhead: u32,
    free_at: Time,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("backlog", &self.backlog())
            .field("free_at", &self.free_at)
            .finish_non_exhaustive()
    }
}

impl Port {
    /// A port that sends the packets of `discipline` over a link with `capacity`, which adds
    /// `overhead` bytes to every packet.
    pub fn new(discipline: Box<dyn Discipline>, capacity: Capacity, overhead: u32) -> Self {
        Port { queue: Queue::new(discipline), capacity, overhead, free_at: Time::ZERO }
    }

    /// Passes an arriving packet to the discipline.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        packet.queued = cx.now;
        self.queue.enqueue(packet, cx)
    }

    /// Whether `packet`, which arrives at `now`, may skip the empty discipline ([`Port::pass`]):
    /// the link is free, and the discipline would do nothing.
    #[inline]
    pub fn lets_pass(&self, now: Time, packet: &Packet) -> bool {
        now >= self.free_at && self.queue.passes(packet)
    }

    /// The limit of the discipline, if it is the built-in FIFO. Its packets may then be kept
    /// outside, in order, and sent by [`Port::pass`], with the same result.
    #[inline]
    pub fn fifo(&self) -> Option<Limit> {
        match &self.queue {
            Queue::Fifo(fifo) => Some(fifo.limit()),
            Queue::Other(_) => None,
        }
    }

    /// Returns a packet that was kept outside to the built-in FIFO.
    ///
    /// # Panics
    /// If the discipline is not the built-in FIFO.
    pub fn put_back(&mut self, packet: Packet) {
        let Queue::Fifo(fifo) = &mut self.queue else {
            panic!("no other discipline's packets are kept outside");
        };
        fifo.add(packet);
    }

    /// Sends a packet of `len` bytes that the discipline does not see. Returns when its last bit
    /// leaves.
    #[inline]
    pub fn pass(&mut self, now: Time, len: u32) -> Time {
        self.free_at = self.capacity.finish(now, len + self.overhead);
        self.free_at
    }

    /// Starts the next transmission if the link is free.
    #[inline(always)]
    pub fn poll(&mut self, cx: &mut Context) -> Poll {
        if cx.now < self.free_at {
            return if self.backlog().packets == 0 {
                Poll::Idle
            } else {
                Poll::Until(self.free_at)
            };
        }
        loop {
            match self.queue.wake(cx.now) {
                Wake::Idle => return Poll::Idle,
                Wake::At(time) if time > cx.now => return Poll::Until(time),
                Wake::Ready | Wake::At(_) => {}
            }
            // An AQM may drop every packet that it looks at and return none. It is asked again.
            if let Some(packet) = self.queue.dequeue(cx) {
                let done_at = self.capacity.finish(cx.now, packet.len + self.overhead);
                self.free_at = done_at;
                return Poll::Send { packet, done_at };
            }
        }
    }

    /// End of the last transmission. If the port waits longer, the discipline has asked for it, and
    /// an arriving packet may end the wait. So ask again when one arrives.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Content of the discipline, without the packet in transmission.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        call!(&self.queue, discipline => discipline.backlog())
    }

    /// Replaces the discipline. Packets that arrive from now on join `discipline`; those that wait
    /// leave first. So none is dropped, and the order is kept.
    pub fn exchange(&mut self, discipline: Box<dyn Discipline>) {
        self.wrap(|before| Box::new(Succession([before, discipline].into())));
    }

    /// Replaces the discipline by what `wrap` makes of it, which contains it and the same packets.
    pub fn wrap(&mut self, wrap: impl FnOnce(Box<dyn Discipline>) -> Box<dyn Discipline>) {
        let nothing = Queue::Other(Box::new(Succession::default()));
        self.queue = Queue::new(wrap(std::mem::replace(&mut self.queue, nothing).into_box()));
    }

    /// Calls [`Discipline::retune`]: the discipline takes over the parameters of `fresh`. Returns
    /// false if it cannot.
    pub fn retune(&mut self, now: Time, fresh: &mut dyn Discipline) -> bool {
        call!(&mut self.queue, discipline => discipline.retune(now, fresh))
    }

    /// Changes the rate from `now` on. A transmission in progress ends as planned.
    pub fn change_rate(&mut self, now: Time, rate: Rate) {
        self.capacity.change(now, rate);
        self.rate_changed(now);
    }

    /// The discipline.
    pub fn discipline(&self) -> &dyn Discipline {
        match &self.queue {
            Queue::Fifo(fifo) => fifo,
            Queue::Other(discipline) => &**discipline,
        }
    }

    /// The contract that the discipline broke, if it was caught.
    pub fn fault(&self) -> Option<String> {
        call!(&self.queue, discipline => discipline.fault())
    }

    /// The link.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Bytes that the link adds to every packet.
    #[inline]
    pub fn overhead(&self) -> u32 {
        self.overhead
    }

    /// Tells the discipline that the schedule has changed the rate.
    pub fn rate_changed(&mut self, now: Time) {
        let rate = self.capacity.rate(now);
        call!(&mut self.queue, discipline => discipline.set_link_rate(now, rate));
    }

    /// Sets a new constant rate, for the gate's reload.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.capacity = Capacity::constant(rate);
        call!(&mut self.queue, discipline => discipline.set_link_rate(now, rate));
    }

    /// Lets the link have another capacity, before the first packet.
    pub fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    /// Shows the waiting packets, as [`Discipline::waiting`].
    pub fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        call!(&self.queue, discipline => discipline.waiting(out));
    }

    /// Reports the discipline's internal variables.
    pub fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        call!(&self.queue, discipline => discipline.probe(now, out));
    }
}

/// Disciplines in succession: the last one takes arriving packets, the first one that is not empty
/// sends. A port whose discipline was never replaced pays nothing for it.
#[derive(Default)]
struct Succession(VecDeque<Box<dyn Discipline>>);

impl Succession {
    fn last(&self) -> &dyn Discipline {
        &**self.0.back().expect("a port has a discipline")
    }
}

impl Discipline for Succession {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        self.0.back_mut().expect("a port has a discipline").enqueue(packet, cx)
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        while self.0.len() > 1 && self.0[0].wake(cx.now) == Wake::Idle {
            self.0.pop_front();
        }
        self.0[0].dequeue(cx)
    }

    fn wake(&self, now: Time) -> Wake {
        let mut wakes = self.0.iter().map(|each| each.wake(now));
        wakes.find(|wake| *wake != Wake::Idle).unwrap_or(Wake::Idle)
    }

    fn backlog(&self) -> Backlog {
        self.0.iter().fold(Backlog::default(), |held, each| {
            let Backlog { packets, bytes } = each.backlog();
            Backlog { packets: held.packets + packets, bytes: held.bytes + bytes }
        })
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.0.iter_mut().for_each(|each| each.set_link_rate(now, rate));
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        self.0.back_mut().expect("a port has a discipline").retune(now, fresh)
    }

    fn fault(&self) -> Option<String> {
        self.0.iter().find_map(|each| each.fault())
    }

    fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.last().probe(now, out);
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.0.iter().for_each(|each| each.waiting(out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropReason, Rng, Sink};

    /// A first-in, first-out queue, for its order.
    #[derive(Default)]
    struct Plain(VecDeque<Packet>);

    impl Discipline for Plain {
        fn enqueue(&mut self, packet: Packet, _: &mut Context) -> Verdict {
            self.0.push_back(packet);
            Verdict::Queued
        }
        fn dequeue(&mut self, _: &mut Context) -> Option<Packet> {
            self.0.pop_front()
        }
        fn wake(&self, _: Time) -> Wake {
            if self.0.is_empty() { Wake::Idle } else { Wake::Ready }
        }
        fn backlog(&self) -> Backlog {
            let bytes = self.0.iter().map(|packet| u64::from(packet.len)).sum();
            Backlog { packets: self.0.len(), bytes }
        }
    }

    struct Nowhere;

    impl Sink for Nowhere {
        fn dropped(&mut self, packet: Packet, _: DropReason) {
            panic!("packet {} was dropped", packet.retire());
        }
        fn marked(&mut self, _: &Packet) {}
    }

    #[test]
    fn exchanges_keep_the_order_and_lose_nothing() {
        let rate = Rate::from_bps(8_000_000);
        let plain = || Box::new(Plain::default());
        let mut port = Port::new(plain(), Capacity::constant(rate), 0);
        let (mut rng, mut sink) = (Rng::named(1, "port"), Nowhere);
        for id in 0..9 {
            let cx = &mut Context::new(Time::ZERO, &mut rng, &mut sink);
            port.offer(Packet::new(id, 0, 1000), cx);
            // Also twice in a row, with nothing in between.
            if id % 3 == 0 {
                port.exchange(plain());
                port.exchange(plain());
            }
        }
        assert_eq!(port.backlog(), Backlog { packets: 9, bytes: 9000 });
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        // 1 ms each, and half of that once the rate has doubled.
        while let Poll::Send { packet, done_at } =
            port.poll(&mut Context::new(now, &mut rng, &mut sink))
        {
            sent.push((packet.retire(), done_at.since(now).as_nanos()));
            now = done_at;
            if sent.len() == 4 {
                port.change_rate(now, Rate::from_bps(16_000_000));
            }
        }
        let expected = (0..9).map(|id| (id, if id < 4 { 1_000_000 } else { 500_000 }));
        assert_eq!(sent, expected.collect::<Vec<_>>());
        let bits = port.capacity().bits_between(Time::ZERO, now);
        assert!((bits - 72_000.0).abs() < 1e-6, "{bits}");
    }
}
