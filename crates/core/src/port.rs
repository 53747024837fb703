//! A discipline joined to a link: what simulator and gateway share.

use crate::{Backlog, Capacity, Context, Discipline, Packet, Rate, Time, Verdict, Wake};

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

/// A discipline and the link that it feeds.
pub struct Port {
    discipline: Box<dyn Discipline>,
    capacity: Capacity,
    overhead: u32,
    free_at: Time,
}

impl Port {
    /// A port that sends what `discipline` gives over a link of `capacity` that adds `overhead`
    /// bytes to every packet.
    pub fn new(discipline: Box<dyn Discipline>, capacity: Capacity, overhead: u32) -> Self {
        Port { discipline, capacity, overhead, free_at: Time::ZERO }
    }

    /// Hands an arriving packet to the discipline.
    #[inline]
    pub fn offer(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        packet.queued = cx.now;
        self.discipline.enqueue(packet, cx)
    }

    /// Starts the next transmission if the link is free.
    #[inline]
    pub fn poll(&mut self, cx: &mut Context) -> Poll {
        if cx.now < self.free_at {
            return if self.backlog().packets == 0 {
                Poll::Idle
            } else {
                Poll::Until(self.free_at)
            };
        }
        loop {
            match self.discipline.wake(cx.now) {
                Wake::Idle => return Poll::Idle,
                Wake::At(time) if time > cx.now => return Poll::Until(time),
                Wake::Ready | Wake::At(_) => {}
            }
            // An AQM that drops all that it looks at gives nothing; ask it again.
            if let Some(packet) = self.discipline.dequeue(cx) {
                let done_at = self.capacity.finish(cx.now, packet.len + self.overhead);
                self.free_at = done_at;
                return Poll::Send { packet, done_at };
            }
        }
    }

    /// When the last transmission ends or ended. A wait beyond that is the discipline's: a packet that
    /// arrives may end it, so ask again then.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// What the discipline holds; the packet in transmission not counted.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// What the discipline did against the contract, if it was caught.
    pub fn fault(&self) -> Option<String> {
        self.discipline.fault()
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
        self.discipline.set_link_rate(now, self.capacity.rate(now));
    }

    /// Sets a new constant rate (the gateway's reload).
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.capacity = Capacity::constant(rate);
        self.discipline.set_link_rate(now, rate);
    }

    /// Reports the discipline's internal variables.
    pub fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.probe(now, out);
    }
}
