//! How a link is advanced: who learns when something happens to it, and when it is handled.
//!
//! Two things happen to a link: a packet arrives at its queue, or it becomes free and sends the next
//! packet. Either is handled by [`Service`](super::service::Service). A link is advanced in one of two
//! ways, which give equal results:
//!
//! - [`Eager`]: each arrival and each departure is an event in the agenda, handled in its turn.
//! - [`Lazy`]: both are only noted, and handled together some time later, with one event for all.
//!
//! Lazy links cost less. [`Fabric::advance_lazily`](super::Fabric::advance_lazily) says which links can
//! be lazy.

use super::link::Link;
use super::pipe::Target;
use crate::engine::agenda::Agenda;
use crate::engine::event::{Event, Key, Sequence};
use forebay_core::{Duration, Time};

/// How a link is advanced.
pub(super) trait Advance {
    /// The first packet of `pipe`, which leads to `target`, arrives there at `key`.
    fn expect_arrival(moving: &mut Moving, pipe: u32, target: Target, key: Key);

    /// `link`, whose index is `index`, becomes free at `time`, unless it does so earlier.
    fn expect_free(moving: &mut Moving, link: &mut Link, index: u32, time: Time);
}

/// What is to happen at links and at the ends of pipes.
pub(super) struct Moving {
    pub sequence: Sequence,
    /// Events, which come with every packet.
    pub agenda: Agenda,
    /// Each link that is advanced lazily, by its index.
    pub lazy: Vec<Lazy>,
}

impl Moving {
    /// Nothing on `links` links, which are advanced eagerly.
    pub fn new(links: usize) -> Self {
        let lazy = (0..links).map(|_| Lazy::default()).collect();
        Moving { sequence: Sequence::default(), agenda: Agenda::default(), lazy }
    }
}

/// An event for each arrival and each departure. Hosts and boxes get their packets in the same way.
pub(super) struct Eager;

impl Advance for Eager {
    #[inline]
    fn expect_arrival(moving: &mut Moving, pipe: u32, _: Target, key: Key) {
        moving.agenda.push(key, Event::Arrival(pipe));
    }

    #[inline(always)]
    fn expect_free(moving: &mut Moving, link: &mut Link, index: u32, time: Time) {
        // After an outage without end nothing is sent.
        if time < Time::MAX {
            let event = Event::LinkFree(index);
            let key = moving.sequence.key(time, event, link.number);
            if link.arm(key) {
                moving.agenda.push(key, event);
            }
        }
    }
}

/// One event for many arrivals and departures.
///
/// What a link sends arrives only after its propagation delay, and nobody can know earlier what it did.
/// So it is enough to advance the link when the first packet that it could have sent may arrive. By then
/// all packets that have come to it lie in the pipes, in order.
#[derive(Debug)]
pub(super) struct Lazy {
    /// The pipes that lead to the link; none if it is advanced eagerly.
    pub pipes: Inbound,
    /// How long after something has happened to the link it is advanced.
    lag: Duration,
    /// When it will be, by the agenda's entry that counts; others are stale. The end of time: never.
    pub due: Time,
}

impl Lazy {
    /// A link that is advanced lazily, `lag` after something has happened to it.
    pub fn new(pipes: &[u32], lag: Duration) -> Self {
        Lazy { pipes: Inbound::new(pipes), lag, due: Time::MAX }
    }

    /// Something happens to the link of `index`, which is lazy, at `time`.
    #[inline(always)]
    pub fn expect(moving: &mut Moving, index: u32, time: Time) {
        let lazy = &mut moving.lazy[index as usize];
        let at = time + lazy.lag;
        if at < lazy.due {
            lazy.due = at;
            let event = Event::Advance(index);
            moving.agenda.push(moving.sequence.key(at, event, index), event);
        }
    }
}

impl Default for Lazy {
    fn default() -> Self {
        Lazy { pipes: Inbound::default(), lag: Duration::ZERO, due: Time::MAX }
    }
}

impl Advance for Lazy {
    #[inline]
    fn expect_arrival(moving: &mut Moving, _: u32, target: Target, key: Key) {
        if let Target::Link(link) = target {
            Lazy::expect(moving, link, key.time);
        }
    }

    #[inline(always)]
    fn expect_free(_: &mut Moving, link: &mut Link, _: u32, time: Time) {
        link.arm(Key::at(time));
    }
}

/// Most pipes into a lazy link: all of them are looked at to find the first packet.
pub(super) const FEW_PIPES: usize = 4;

/// Pipes into a link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inbound {
    pipes: [u32; FEW_PIPES],
    count: usize,
}

impl Inbound {
    fn new(pipes: &[u32]) -> Inbound {
        let mut inbound = Inbound { count: pipes.len(), ..Inbound::default() };
        inbound.pipes[..pipes.len()].copy_from_slice(pipes);
        inbound
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    #[inline]
    pub fn all(&self) -> &[u32] {
        &self.pipes[..self.count]
    }
}
