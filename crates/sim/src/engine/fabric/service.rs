//! Service of a link: arrivals at its queue, and departures.

use super::advance::Advance;
use super::cargo::{Cargo, Hold};
use super::link::{Link, Loss};
use super::losses::Losses;
use super::paths::Paths;
use super::prefetch::Prefetch;
use crate::measure::UserMeter;
use forebay_core::{Duration, Poll, Time};
use std::marker::PhantomData;

/// A link that is advanced by `A`, and the parts of the fabric on which it acts.
pub(super) struct Service<'a, A> {
    pub(super) index: u32,
    pub(super) link: &'a mut Link,
    pub(super) paths: &'a mut Paths,
    pub(super) hold: &'a mut Hold,
    pub(super) users: &'a mut [UserMeter],
    pub(super) lost: &'a mut Losses,
    pub(super) prefetch: Option<&'a mut Prefetch>,
    pub(super) advance: PhantomData<A>,
}

impl<A: Advance> Service<'_, A> {
    /// A copy for a rare call, which takes it by value, so that this one can stay in registers.
    #[inline(always)]
    fn meanwhile(&mut self) -> Service<'_, A> {
        let Service { index, link, paths, hold, users, lost, prefetch, advance } = self;
        let (index, prefetch, advance) = (*index, prefetch.as_deref_mut(), *advance);
        Service { index, link, paths, hold, users, lost, prefetch, advance }
    }

    /// Packet `id` arrives at the link. It is sent at once, waits, or is dropped. `note` gets its flow.
    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Time, id: u32, note: impl FnOnce(u32)) {
        let cargo = self.hold.at(id);
        note(cargo.packet.flow);
        if self.link.lets_pass(now, &cargo.packet) {
            let done_at = self.link.pass(now, &cargo.packet);
            if !send(self.link, self.paths, id, cargo, done_at) {
                self.meanwhile().send_specially(now, id, done_at);
            }
            return;
        }
        if !self.link.lines_up(now, id, &cargo.packet) {
            self.meanwhile().offer(now, id);
        }
        if !self.link.is_busy() {
            self.send_next(now);
        }
    }

    /// The link sends the next packet of its queue, if it is free.
    #[inline(always)]
    pub(super) fn send_next(&mut self, now: Time) {
        self.link.meter.advance(now);
        if !self.link.is_free_fifo(now) {
            self.meanwhile().ask(now);
        } else if let Some((id, queued)) = self.link.first_in_line() {
            let cargo = self.hold.at(id);
            let done_at = self.link.occupy(now, cargo.packet.len);
            let is_sent = leave(self.link, self.paths, id, cargo, now.since(queued), done_at);
            self.sent(now, id, done_at, is_sent);
        }
    }

    /// Packet `id` has left the queue, and its transmission ends at `done_at`. If not `is_sent`, it is to
    /// be [sent specially](Link::send_specially).
    #[inline(always)]
    fn sent(&mut self, now: Time, id: u32, done_at: Time, is_sent: bool) {
        if !is_sent {
            self.meanwhile().send_specially(now, id, done_at);
        }
        if self.link.meter.waiting() > 0 {
            self.wake(done_at);
        }
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.departed(self.index, id, self.link, self.paths, self.hold);
        }
    }

    /// The link is to send its next packet at `time`, unless it does so earlier.
    #[inline(always)]
    fn wake(&mut self, time: Time) {
        A::expect_free(&mut self.paths.moving, self.link, self.index, time);
    }

    /// Offers packet `id` to the queue.
    #[inline(never)]
    fn offer(self, now: Time, id: u32) {
        let Service { index, link, hold, users, lost, prefetch, .. } = self;
        let waiting = link.meter.waiting();
        link.offer(id, Loss { now, hold, users, lost });
        if let Some(prefetch) = prefetch
            && link.meter.waiting() > waiting
            && !link.is_fifo()
        {
            prefetch.queued(index, id);
        }
    }

    /// Asks the port what to do next.
    #[inline(never)]
    fn ask(mut self, now: Time) {
        let Service { link, hold, users, lost, .. } = self.meanwhile();
        match link.poll(Loss { now, hold, users, lost }) {
            Poll::Idle => {}
            Poll::Until(time) => self.wake(time),
            Poll::Send { packet, done_at } => {
                let wait = now.since(packet.queued);
                let id = self.hold.take_back(packet);
                let cargo = self.hold.at(id);
                let is_sent = leave(self.link, self.paths, id, cargo, wait, done_at);
                self.sent(now, id, done_at, is_sent);
            }
        }
    }

    #[inline(never)]
    fn send_specially(self, now: Time, id: u32, done_at: Time) {
        let Service { link, paths, hold, users, lost, .. } = self;
        let sent = link.send_specially(id, done_at, Loss { now, hold, users, lost });
        if let Some((arrival, held)) = sent {
            let cargo = hold.look(id);
            paths.launch(id, cargo.packet.len, cargo.stop, arrival + held, held);
        }
    }

    /// Fetches the state that the next packets of `pipe` need.
    #[inline(always)]
    pub(super) fn prefetch_arrivals(&self, pipe: u32) {
        if self.prefetch.is_some() {
            let Paths { pipes, stops, .. } = &*self.paths;
            Prefetch::arrivals(&pipes[pipe as usize], self.link, stops, self.hold);
        }
    }
}

/// Packet `id` leaves the queue after `wait`, and is [sent](send).
#[inline(always)]
fn leave(
    link: &mut Link,
    paths: &mut Paths,
    id: u32,
    cargo: &mut Cargo,
    wait: Duration,
    done_at: Time,
) -> bool {
    link.meter.sent(cargo.packet.len, wait);
    cargo.waited += wait;
    send(link, paths, id, cargo, done_at)
}

/// Sends packet `id` until `done_at`, and launches it on the next hop. False if it is to be [sent
/// specially](Link::send_specially).
#[inline(always)]
fn send(link: &mut Link, paths: &mut Paths, id: u32, cargo: &mut Cargo, done_at: Time) -> bool {
    let len = cargo.packet.len;
    let arrival = link.sends(len, done_at);
    if let Some(arrival) = arrival {
        cargo.stop += 1;
        paths.launch(id, len, cargo.stop, arrival, Duration::ZERO);
    }
    arrival.is_some()
}
