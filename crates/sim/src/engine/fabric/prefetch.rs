//! Prefetching: the state that the next packets need is read into caches while the present one is handled.
//!
//! With many flows, the state of nearly every packet is not in a cache. But pipes and queues are in order,
//! so the next packets are known. Prefetching does not change results.

use super::cargo::Hold;
use super::link::Link;
use super::paths::{Paths, Stop};
use super::pipe::Pipe;
use forebay_core::fetch;
use std::collections::VecDeque;

/// Number of packets by which memory is read ahead.
pub const AHEAD: usize = 8;

/// Data for prefetching. Runs with few flows, whose state is in caches, have none.
pub struct Prefetch {
    /// By link, the packets that wait, in order of arrival, in which they will probably leave. A FIFO has
    /// its own line.
    expected: Vec<VecDeque<u32>>,
}

impl Prefetch {
    pub fn new(links: usize) -> Self {
        Prefetch { expected: vec![VecDeque::new(); links] }
    }

    /// Packet `id` has joined the queue of link `index`, which is not a FIFO.
    #[inline(never)]
    pub(super) fn queued(&mut self, index: u32, id: u32) {
        self.expected[index as usize].push_back(id);
    }

    /// Packet `id` has left the queue of `link`: fetches the state that the next ones need.
    // Not inlined, so that it costs nothing in runs with few users.
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
            // A guess if the queue is not first in, first out.
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

    /// Fetches the state that packets arriving later over `pipe` at `link` need. Their next hops only if
    /// the queue is so short that they leave it soon.
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
    pub(super) fn after(&self, count: usize) -> Option<u32> {
        self.place(count).map(|(_, id)| *id)
    }

    /// Fetches its place in the ring.
    pub(super) fn fetch_place(&self, count: usize) {
        self.place(count).into_iter().for_each(fetch);
    }
}

impl Paths {
    pub(super) fn fetch_stop(&self, stop: u32) {
        // A packet that was dropped may still be expected here, and its place in the hold be another's.
        self.stops.get(stop as usize).into_iter().for_each(fetch);
    }
}
