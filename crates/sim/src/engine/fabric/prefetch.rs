//! Prefetching: what the next packets will touch is read into caches while the present one is handled.
//!
//! With many flows nearly every packet meets state that lies far away in memory. But pipes and queues are
//! in order, so it is known which packets come next. Nothing here changes a result.

use super::cargo::Hold;
use super::link::Link;
use super::paths::{Paths, Stop};
use super::pipe::Pipe;
use forebay_core::fetch;
use std::collections::VecDeque;

/// How many packets ahead memory is read.
pub const AHEAD: usize = 8;

/// What is remembered for prefetching. Runs with few flows, whose state lies in caches, have none.
pub struct Prefetch {
    /// By link, packets that have come and not left, in order of arrival: the order in which they will
    /// likely leave. A FIFO has its own line.
    expected: Vec<VecDeque<u32>>,
}

impl Prefetch {
    /// For `links` links.
    pub fn new(links: usize) -> Self {
        Prefetch { expected: vec![VecDeque::new(); links] }
    }

    /// The packet with handle `id` has come to link number `index`, whose queue is no FIFO, and waits.
    #[inline(never)]
    pub(super) fn queued(&mut self, index: u32, id: u32) {
        self.expected[index as usize].push_back(id);
    }

    /// The packet with handle `id` has left the queue of `link`: fetches what others will touch that
    /// leave it later.
    // Not inlined, so that it costs nothing where it is not called.
    #[inline(never)]
    pub(super) fn departed(
        &mut self,
        index: u32,
        id: u32,
        link: &Link,
        paths: &Paths,
        hold: &Hold,
    ) {
        let [near, far] = if link.is_fifo() {
            [AHEAD, 2 * AHEAD].map(|count| link.in_line(count))
        } else {
            // Where the queue is not first in, first out, this is a guess that stays near.
            let expected = &mut self.expected[index as usize];
            let waiting = link.meter.waiting() as usize;
            while let Some(next) = expected.pop_front()
                && next != id
                && expected.len() > waiting
            {}
            [AHEAD, 2 * AHEAD].map(|count| expected.get(count).copied())
        };
        far.into_iter().for_each(|id| hold.fetch_packet(id));
        near.into_iter().for_each(|id| paths.fetch_stop(hold.look(id).stop + 1));
    }

    /// Fetches what packets will touch that arrive later over `pipe`, which leads to `link`. Their next
    /// hops only if the link's queue is so short that they leave it soon.
    #[inline(never)]
    pub(super) fn arrivals(pipe: &Pipe, link: &Link, stops: &[Stop], hold: &Hold) {
        pipe.fetch_place(4 * AHEAD);
        pipe.after(2 * AHEAD).into_iter().for_each(|id| hold.fetch_packet(id));
        if (link.meter.waiting() as usize) < AHEAD
            && let Some(id) = pipe.after(AHEAD)
        {
            stops.get(hold.look(id).stop as usize + 1).into_iter().for_each(fetch);
        }
    }
}

impl Pipe {
    /// The packet that arrives after `count` others.
    #[inline]
    pub(super) fn after(&self, count: usize) -> Option<u32> {
        self.place(count).map(|(_, id)| *id)
    }

    /// Fetches the place of that packet.
    #[inline]
    pub(super) fn fetch_place(&self, count: usize) {
        self.place(count).into_iter().for_each(fetch);
    }
}

impl Paths {
    /// Fetches what a packet that goes to stop `stop` touches.
    #[inline]
    pub(super) fn fetch_stop(&self, stop: u32) {
        // A packet that a queue has dropped may still be expected, its place another's.
        self.stops.get(stop as usize).into_iter().for_each(fetch);
    }
}
