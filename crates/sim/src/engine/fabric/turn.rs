//! What happens at a link: a packet comes, or one leaves.

use super::cargo::{Cargo, Hold};
use super::link::{Link, Loss};
use super::losses::Losses;
use super::{AHEAD, Ways};
use crate::engine::event::Key;
use crate::measure::UserMeter;
use forebay_core::{Duration, Poll, Time};

/// A link, and what it needs to do its work.
pub(super) struct At<'a> {
    pub(super) index: u32,
    pub(super) link: &'a mut Link,
    pub(super) ways: &'a mut Ways,
    pub(super) hold: &'a mut Hold,
    pub(super) users: &'a mut [UserMeter],
    pub(super) lost: &'a mut Losses,
    /// Whether memory is worth reading ahead.
    pub(super) many: bool,
    /// Whether the link is looked at late.
    pub(super) is_late: bool,
}

impl At<'_> {
    /// The same for a while. Calls that are rare take it whole, so that it need not lie in memory.
    #[inline(always)]
    fn meanwhile(&mut self) -> At<'_> {
        let At { index, link, ways, hold, users, lost, many, is_late } = self;
        let (index, many, is_late) = (*index, *many, *is_late);
        At { index, link, ways, hold, users, lost, many, is_late }
    }

    /// The packet with handle `id` comes to the link; `note` is told its flow.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time, id: u32, note: impl FnOnce(u32)) {
        let cargo = self.hold.at(id);
        note(cargo.packet.flow);
        if self.link.lets_pass(now, &cargo.packet) {
            let done_at = self.link.pass(now, &cargo.packet);
            if !send(self.link, self.ways, id, cargo, done_at) {
                self.meanwhile().send_specially(now, id, done_at);
            }
            return;
        }
        if !self.link.lines_up(now, id, &cargo.packet) {
            self.meanwhile().offer(now, id);
        }
        if !self.link.is_busy() {
            self.poll(now);
        }
    }

    /// The link sends the next packet of its queue, if it is free.
    #[inline(always)]
    pub(super) fn poll(&mut self, now: Time) {
        self.link.meter.advance(now);
        if !self.link.is_free_fifo(now) {
            self.meanwhile().ask(now);
        } else if let Some((id, queued)) = self.link.first_in_line() {
            let cargo = self.hold.at(id);
            let done_at = self.link.occupy(now, cargo.packet.len);
            let is_sent = leave(self.link, self.ways, id, cargo, now.since(queued), done_at);
            self.sent(now, id, done_at, is_sent);
        }
    }

    /// The packet with handle `id` has left the queue and is sent until `done_at`; if not `is_sent`, it
    /// is to be sent specially.
    #[inline(always)]
    fn sent(&mut self, now: Time, id: u32, done_at: Time, is_sent: bool) {
        if !is_sent {
            self.meanwhile().send_specially(now, id, done_at);
        }
        if self.link.meter.waiting() > 0 {
            self.wake(done_at);
        }
        if self.many {
            foresee(id, self.link, self.ways, self.hold);
        }
    }

    /// The link is to be woken at `time`, unless it is before.
    #[inline(always)]
    fn wake(&mut self, time: Time) {
        if self.is_late {
            self.link.arm(Key::at(time));
        } else if time < Time::MAX {
            self.ways.wake(self.link, self.index, time);
        }
    }

    /// A packet is offered to the queue.
    #[inline(never)]
    fn offer(self, now: Time, id: u32) {
        let At { link, hold, users, lost, many, .. } = self;
        let waiting = link.meter.waiting();
        link.offer(id, Loss { now, hold, users, lost });
        if many && link.meter.waiting() > waiting {
            link.expect(id);
        }
    }

    /// The port is asked what the link does next.
    #[inline(never)]
    fn ask(mut self, now: Time) {
        let At { link, hold, users, lost, .. } = self.meanwhile();
        match link.poll(Loss { now, hold, users, lost }) {
            Poll::Idle => {}
            Poll::Until(time) => self.wake(time),
            Poll::Send { packet, done_at } => {
                let wait = now.since(packet.queued);
                let id = self.hold.take_back(packet);
                let cargo = self.hold.at(id);
                let is_sent = leave(self.link, self.ways, id, cargo, wait, done_at);
                self.sent(now, id, done_at, is_sent);
            }
        }
    }

    #[inline(never)]
    fn send_specially(self, now: Time, id: u32, done_at: Time) {
        let At { link, ways, hold, users, lost, .. } = self;
        link.send_specially(id, done_at, Loss { now, hold, users, lost }, ways);
    }
}

/// The packet with handle `id` leaves the queue after `wait`; the rest as [`send`].
#[inline(always)]
fn leave(
    link: &mut Link,
    ways: &mut Ways,
    id: u32,
    cargo: &mut Cargo,
    wait: Duration,
    done_at: Time,
) -> bool {
    link.meter.sent(cargo.packet.len, wait);
    cargo.waited += wait;
    send(link, ways, id, cargo, done_at)
}

/// Sends the packet with handle `id` until `done_at`, over the stretch behind the link. False if that is
/// to be done [specially](Link::send_specially).
#[inline(always)]
fn send(link: &mut Link, ways: &mut Ways, id: u32, cargo: &mut Cargo, done_at: Time) -> bool {
    let len = cargo.packet.len;
    let arrival = link.sends(len, done_at);
    if let Some(arrival) = arrival {
        cargo.stop += 1;
        ways.launch(id, len, cargo.stop, arrival, Duration::ZERO);
    }
    arrival.is_some()
}

/// Fetches what packets will touch that leave `link`'s queue later than the one with handle `id`.
// Not inlined, so that it costs nothing where it is not called.
#[inline(never)]
fn foresee(id: u32, link: &mut Link, ways: &Ways, hold: &Hold) {
    let [near, far] = link.foresee(id, AHEAD, 2 * AHEAD);
    far.into_iter().for_each(|id| hold.fetch_packet(id));
    near.into_iter().for_each(|id| ways.fetch_stop(hold.look(id).stop + 1));
}
