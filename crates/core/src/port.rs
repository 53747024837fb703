//! A discipline joined to a link: what simulator and gateway share.

use crate::{
    Backlog, Capacity, Context, Discipline, Fifo, Limit, Packet, Rate, Time, Verdict, Wake,
};
use std::any::Any;
use std::collections::VecDeque;

/// What the port wants next.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send this packet; its last bit leaves at `done_at`, and the port is busy until then.
    Send {
        /// The packet.
        packet: Packet,
        /// When the transmission ends.
        done_at: Time,
    },
    /// Ask again at this instant; or, if that is after [`Port::free_at`], with the next packet.
    Until(Time),
    /// Ask again after the next packet.
    Idle,
}

/// A discipline, and the commonest one so that its code is part of what calls it.
enum Queue {
    Fifo(Fifo),
    Other(Box<dyn Discipline>),
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

    /// Calls that do not come with every packet.
    fn any(&self) -> &dyn Discipline {
        match self {
            Queue::Fifo(fifo) => fifo,
            Queue::Other(discipline) => &**discipline,
        }
    }

    fn any_mut(&mut self) -> &mut dyn Discipline {
        match self {
            Queue::Fifo(fifo) => fifo,
            Queue::Other(discipline) => &mut **discipline,
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        match self {
            Queue::Fifo(fifo) => fifo.enqueue(packet, cx),
            Queue::Other(discipline) => discipline.enqueue(packet, cx),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        match self {
            Queue::Fifo(fifo) => fifo.dequeue(cx),
            Queue::Other(discipline) => discipline.dequeue(cx),
        }
    }

    #[inline(always)]
    fn wake(&self, now: Time) -> Wake {
        match self {
            Queue::Fifo(fifo) => fifo.wake(now),
            Queue::Other(discipline) => discipline.wake(now),
        }
    }

    #[inline(always)]
    fn passes(&self, packet: &Packet) -> bool {
        match self {
            Queue::Fifo(fifo) => fifo.passes(packet),
            Queue::Other(discipline) => discipline.passes(packet),
        }
    }
}

/// A discipline and the link that it feeds.
pub struct Port {
    queue: Queue,
    capacity: Capacity,
    overhead: u32,
    free_at: Time,
}

impl Port {
    /// A port that sends what `discipline` gives over a link of `capacity` that adds `overhead`
    /// bytes to every packet.
    pub fn new(discipline: Box<dyn Discipline>, capacity: Capacity, overhead: u32) -> Self {
        Port { queue: Queue::new(discipline), capacity, overhead, free_at: Time::ZERO }
    }

    /// Hands an arriving packet to the discipline.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        packet.queued = cx.now;
        self.queue.enqueue(packet, cx)
    }

    /// Whether `packet`, which comes at `now`, may [`Port::pass`] the discipline, which holds
    /// nothing: the link is free, and nobody could tell the difference.
    #[inline]
    pub fn lets_pass(&self, now: Time, packet: &Packet) -> bool {
        now >= self.free_at && self.queue.passes(packet)
    }

    /// The limit of the discipline, if that is the built-in FIFO. It makes no difference who keeps what
    /// waits in it: packets may be kept outside, in their order, and sent by [`Port::pass`].
    #[inline]
    pub fn fifo(&self) -> Option<Limit> {
        match &self.queue {
            Queue::Fifo(fifo) => Some(fifo.limit()),
            Queue::Other(_) => None,
        }
    }

    /// Gives the built-in FIFO a packet that was kept outside.
    ///
    /// # Panics
    /// If the discipline is another.
    pub fn put_back(&mut self, packet: Packet) {
        let Queue::Fifo(fifo) = &mut self.queue else {
            panic!("no other discipline's packets are kept outside");
        };
        fifo.add(packet);
    }

    /// Sends a packet of `len` bytes that the discipline does not see; answers when its last bit
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
            // An AQM that drops all that it looks at gives nothing; ask it again.
            if let Some(packet) = self.queue.dequeue(cx) {
                let done_at = self.capacity.finish(cx.now, packet.len + self.overhead);
                self.free_at = done_at;
                return Poll::Send { packet, done_at };
            }
        }
    }

    /// When the last transmission ends or ended. A wait beyond that is the discipline's: a packet
    /// that arrives may end it, so ask again then.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What the discipline holds; without the packet in transmission.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.queue.any().backlog()
    }

    /// What arrives from now on joins `discipline`; what waits leaves first. So nothing is dropped,
    /// and the order is kept.
    pub fn exchange(&mut self, discipline: Box<dyn Discipline>) {
        self.wrap(|before| Box::new(Succession([before, discipline].into())));
    }

    /// Puts what `wrap` makes of the discipline in its place: something that holds it, and the same
    /// packets.
    pub fn wrap(&mut self, wrap: impl FnOnce(Box<dyn Discipline>) -> Box<dyn Discipline>) {
        let nothing = Queue::Other(Box::new(Succession::default()));
        self.queue = Queue::new(wrap(std::mem::replace(&mut self.queue, nothing).into_box()));
    }

    /// What [`Discipline::retune`] answers: whether the discipline goes on with the parameters of
    /// `fresh`.
    pub fn retune(&mut self, now: Time, fresh: &mut dyn Discipline) -> bool {
        self.queue.any_mut().retune(now, fresh)
    }

    /// Sends at `rate` from `now` on; a transmission under way ends as it was to end.
    pub fn change_rate(&mut self, now: Time, rate: Rate) {
        self.capacity.change(now, rate);
        self.rate_changed(now);
    }

    /// What the discipline did against the contract, if it was caught.
    pub fn fault(&self) -> Option<String> {
        self.queue.any().fault()
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

    /// Tells the discipline that the rate has changed by schedule.
    pub fn rate_changed(&mut self, now: Time) {
        self.queue.any_mut().set_link_rate(now, self.capacity.rate(now));
    }

    /// Sets a new constant rate (the gateway's reload).
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.capacity = Capacity::constant(rate);
        self.queue.any_mut().set_link_rate(now, rate);
    }

    /// Shows what waits, as [`Discipline::waiting`].
    pub fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.queue.any().waiting(out);
    }

    /// Reports the discipline's internal variables.
    pub fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.any().probe(now, out);
    }
}

/// Disciplines that follow each other: the last takes what arrives, the first that holds something
/// sends. So a port that was never exchanged pays nothing for it.
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
