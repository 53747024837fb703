//! The ways to advance a link, one type for each.
//!
//! A packet arrives at the queue of a link, or the link becomes free and sends the next packet. Both are
//! done by [`Service`](super::service::Service), whatever the way. The results are equal:
//!
//! - [`Eager`]: each arrival and each departure is an event in the agenda.
//! - [`Lazy`]: one event advances the link over many of them.
//!
//! Lazy links cost less. [`Fabric::advance_lazily`](super::Fabric::advance_lazily) says which links can
//! be lazy.

use super::link::Link;
use super::pipe::Target;
use crate::engine::agenda::Agenda;
use crate::engine::event::{Event, Key, Sequence};
use forebay_core::{Duration, Time};

/// A way to advance links.
pub(super) trait Advance {
    /// The first packet of `pipe`, which leads to `target`, arrives there at `key`.
    fn expect_arrival(moving: &mut Moving, pipe: u32, target: Target, key: Key);

    /// `link`, whose index is `index`, becomes free at `time`, unless it does so earlier.
    fn expect_free(moving: &mut Moving, link: &mut Link, index: u32, time: Time);
}

/// Expected arrivals at the ends of pipes, and links that become free.
pub(super) struct Moving {
    pub sequence: Sequence,
    /// Events of eager links, hosts and boxes, and one for each lazy link.
    pub agenda: Agenda,
    /// By link.
    pub lazy: Vec<Lazy>,
}

impl Moving {
    /// No packets on `links` links, which are eager.
    pub fn new(links: usize) -> Self {
        let lazy = (0..links).map(|_| Lazy::default()).collect();
        Moving { sequence: Sequence::default(), agenda: Agenda::default(), lazy }
    }
}

/// The way of links that cannot be lazy. For another way, write its file and name it here.
pub(super) type Usual = Eager;

/// An event for each arrival and each departure. Hosts and boxes get their packets in this way, too.
pub(super) struct Eager;

impl Advance for Eager {
    fn expect_arrival(moving: &mut Moving, pipe: u32, _: Target, key: Key) {
        moving.agenda.push(key, Event::Arrival(pipe));
    }

    #[inline(always)]
    fn expect_free(moving: &mut Moving, link: &mut Link, index: u32, time: Time) {
        // The end of time means an outage without end.
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
/// Packets that a link sends arrive after its propagation delay, so until then no other part needs to know
/// of them. It is enough to advance the link when the first packet that it may have sent can arrive. By
/// then, all packets that have arrived at the link are in the pipes, in order.
#[derive(Debug)]
pub(super) struct Lazy {
    /// The pipes that lead to the link; none if it is eager.
    pub pipes: Inbound,
    /// Time from an arrival or departure until the link is advanced.
    lag: Duration,
    /// Time of its agenda entry, or the end of time. Other entries are stale.
    pub due: Time,
}

impl Lazy {
    pub fn new(pipes: &[u32], lag: Duration) -> Self {
        Lazy { pipes: Inbound::new(pipes), lag, due: Time::MAX }
    }

    /// A packet arrives at lazy link `index` at `time`, or leaves it.
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

/// Most pipes into a lazy link. All are searched for the first packet.
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

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn all(&self) -> &[u32] {
        &self.pipes[..self.count]
    }
}
