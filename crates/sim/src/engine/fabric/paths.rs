//! Paths of packets: hops, each over a pipe to the next queue or to a host.

use super::advance::{Advance, Lazy, Moving, Usual};
use super::border::{Border, Leaving};
use super::pipe::{Pipe, Target};
use crate::engine::event::{Event, Key};
use crate::engine::table::Table;
use forebay_core::{Duration, Time};

/// One hop of a path, to the next queue or host. Flows do not share stops, so with many flows they take
/// much memory: a stop has only what differs from flow to flow.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Pipe of this hop.
    pub pipe: u32,
    /// Time at which the host's access link is free, if this hop has one.
    pub free_at: Time,
}

/// All paths, and the events of packets on them.
pub struct Paths {
    pub(super) moving: Moving,
    pub(super) pipes: Vec<Pipe>,
    pub(super) stops: Table<Stop>,
    pub(super) border: Option<Border>,
}

impl Paths {
    /// Sends packet `id`, of `len` bytes, over the hop to stop `stop`, from `at` on. If it was `held` back
    /// on its way, others may overtake it.
    #[inline(always)]
    pub(super) fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time, held: Duration) {
        let Stop { pipe: index, ref mut free_at } = self.stops[stop as usize];
        let pipe = &mut self.pipes[index as usize];
        let (arrival, wait) = match &pipe.access {
            // Packets that overtake it find the host's link free.
            Some(access) if held > Duration::ZERO => (access.carry(&mut { at }, at, len), held),
            Some(access) => {
                let wait = free_at.since(at);
                (access.carry(free_at, at, len), wait)
            }
            None => (at, held),
        };
        // In a pipe, packets with equal keys stay in the order of sending.
        let key = Key::of(arrival, Event::Arrival(index), stop);
        if !pipe.is_plain(wait > Duration::ZERO) {
            return self.put_specially(index, key, id, wait);
        }
        if pipe.append(key, id) {
            let (target, is_lazy) = (pipe.target, pipe.is_lazy);
            self.announce(index, target, is_lazy, key);
        }
    }

    /// Puts packet `id`, which waited for `wait`, into pipe `index`, which may lead into another part of
    /// the network or have packets that are overtaken.
    #[inline(never)]
    fn put_specially(&mut self, index: u32, key: Key, id: u32, wait: Duration) {
        if let Some(border) = &mut self.border
            && border.is_beyond(index)
        {
            return border.leave(Leaving { pipe: index, key, id, wait });
        }
        self.put(index, key, id, wait);
    }

    /// Puts packet `id`, which waited for `wait`, into pipe `index`, at whose end it arrives at `key`.
    pub(super) fn put(&mut self, index: u32, key: Key, id: u32, wait: Duration) {
        let pipe = &mut self.pipes[index as usize];
        if pipe.push(key, id, wait) {
            let (target, is_lazy) = (pipe.target, pipe.is_lazy);
            self.announce(index, target, is_lazy, key);
        }
    }

    /// The first packet of pipe `index`, which leads to `target`, arrives at `key`.
    #[inline(never)]
    fn announce(&mut self, index: u32, target: Target, is_lazy: bool, key: Key) {
        if is_lazy {
            Lazy::expect_arrival(&mut self.moving, index, target, key);
        } else {
            Usual::expect_arrival(&mut self.moving, index, target, key);
        }
    }

    /// Whether pipe `index` leads into another part of the network.
    pub(super) fn is_beyond(&self, index: u32) -> bool {
        self.border.as_ref().is_some_and(|border| border.is_beyond(index))
    }
}
