//! One queue with a limit, first in, first out: the discipline of most links.

use crate::{Backlog, Context, Discipline, DropReason, Limit, Packet, Time, Verdict, Wake};
use std::any::Any;
use std::collections::VecDeque;

/// One queue. A packet that arrives when it is full is dropped. It is faster than a queue in a
/// [`crate::Bank`]: the packets are in a ring, which takes a third of the instructions, and a
/// [`crate::Port`] calls it directly, not through a trait object.
#[derive(Debug)]
pub struct Fifo {
    limit: Limit,
    held: Held,
}

/// The waiting packets, in order.
#[derive(Debug, Default)]
struct Held {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Fifo {
    /// An empty queue with room for `limit`.
    pub fn new(limit: Limit) -> Self {
        Fifo { limit, held: Held::default() }
    }

    /// Room in the queue.
    #[inline]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Adds a packet that was admitted before.
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet) {
        self.held.bytes += u64::from(packet.len);
        self.held.packets.push_back(packet);
    }
}

impl Discipline for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        if !self.limit.admits(self.held.packets.len(), self.held.bytes, packet.len) {
            cx.drop(packet, DropReason::Overflow);
            return Verdict::Dropped;
        }
        self.add(packet);
        Verdict::Queued
    }

    #[inline(always)]
    fn dequeue(&mut self, _: &mut Context) -> Option<Packet> {
        let packet = self.held.packets.pop_front()?;
        self.held.bytes -= u64::from(packet.len);
        Some(packet)
    }

    #[inline]
    fn wake(&self, _: Time) -> Wake {
        if self.held.packets.is_empty() { Wake::Idle } else { Wake::Ready }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.packets.len(), bytes: self.held.bytes }
    }

    #[inline]
    fn passes(&self, packet: &Packet) -> bool {
        self.limit.admits(0, 0, packet.len)
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Fifo>().map(|fresh| self.limit = fresh.limit).is_some()
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.held.packets.iter().for_each(|packet| out(0, packet));
    }
}

/// Retires the remaining packets when a run is dropped.
impl Drop for Held {
    fn drop(&mut self) {
        self.packets.drain(..).for_each(|packet| {
            packet.retire();
        });
    }
}
