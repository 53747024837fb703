//! Paths of packets: hop after hop, each over a pipe to the next queue or to a host.

use super::advance::{Advance, Eager, Lazy, Moving};
use super::border::{Border, Leaving};
use super::pipe::{Pipe, Target};
use crate::engine::event::{Event, Key};
use crate::engine::table::Table;
use forebay_core::{Duration, Time};

/// One hop of a path, to the next queue or host. Every packet touches one of its flow's own, so it has
/// only what differs from flow to flow.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Pipe that the packets of this hop travel through.
    pub pipe: u32,
    /// When the host's own access link is free, if there is one on this hop.
    pub free_at: Time,
}

/// All paths, with the events of what moves on them. A link that sends a packet puts it into the next
/// pipe itself.
pub struct Paths {
    pub(super) moving: Moving,
    pub(super) pipes: Vec<Pipe>,
    pub(super) stops: Table<Stop>,
    pub(super) border: Option<Border>,
}

impl Paths {
    /// Sends a packet of `len` bytes over the hop to stop `stop`, from `at` on. Others may overtake it if
    /// it was `held` back on its way.
    #[inline(always)]
    pub(super) fn launch(&mut self, id: u32, len: u32, stop: u32, at: Time, held: Duration) {
        let Stop { pipe: index, ref mut free_at } = self.stops[stop as usize];
        let pipe = &mut self.pipes[index as usize];
        let (arrival, wait) = match &pipe.access {
            // What overtakes it finds the host's link free.
            Some(access) if held > Duration::ZERO => (access.carry(&mut { at }, at, len), held),
            Some(access) => {
                let wait = free_at.since(at);
                (access.carry(free_at, at, len), wait)
            }
            None => (at, held),
        };
        // The pipe keeps those of one instant in the order in which they were sent.
        let key = Key::of(arrival, Event::Arrival(index), stop);
        if !pipe.is_plain(wait > Duration::ZERO) {
            return self.put_specially(index, key, id, wait);
        }
        if pipe.append(key, id) {
            let (target, is_lazy) = (pipe.target, pipe.is_lazy);
            self.announce(index, target, is_lazy, key);
        }
    }

    /// Puts a packet that waited for `wait` into pipe `index`, which may lead into another part of the
    /// network or have packets that others overtake. It arrives at `key`.
    #[inline(never)]
    fn put_specially(&mut self, index: u32, key: Key, id: u32, wait: Duration) {
        if let Some(border) = &mut self.border
            && border.is_beyond(index)
        {
            return border.leave(Leaving { pipe: index, key, id, wait });
        }
        self.put(index, key, id, wait);
    }

    /// Puts a packet that waited for `wait` into pipe `index`, at whose end it arrives at `key`.
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
            Eager::expect_arrival(&mut self.moving, index, target, key);
        }
    }

    /// Whether pipe `index` leads into another part of the network.
    pub(super) fn is_beyond(&self, index: u32) -> bool {
        self.border.as_ref().is_some_and(|border| border.is_beyond(index))
    }
}
