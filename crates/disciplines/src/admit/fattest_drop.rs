//! One limit for all queues together. On overflow, the queue with the most bytes loses packets.
//!
//! When all queues together exceed the limit, up to 64 packets, but at most half of
//! them, are dropped from the head of the queue that holds the most bytes. The inner rule decides
//! everything else.
//!
//! Source: RFC 8290, section 4.1. Deviations: D1. A tie goes to the lowest queue. D2. The inner
//! rule does not learn of these drops; Linux adds them to the flow's CoDel count. D3. The limit may
//! be in bytes; Linux has a memory limit beside the packet limit.
//!
//! Cost: one comparison per packet; a scan of all queues for up to 64 drops.

use crate::Admit;
use forebay_core::config::above_zero;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Limit, Packet, QueueId, Rate, Time, forward, params,
};
use std::any::Any;

params! {
    /// Parameters of the shared limit.
    pub struct FattestDropParams {
        /// Room in all queues together, in packets ("10240p") or bytes ("15MB"); above 0 (RFC 8290,
        /// section 5.2.1).
        pub limit: Limit = Limit::Packets(10_240),
    }
}

/// Most packets that one overflow drops.
const BATCH: usize = 64;

/// A shared limit around the rule `inner`.
pub struct FattestDrop<A> {
    limit: Limit,
    inner: A,
}

impl<A: Admit> FattestDrop<A> {
    /// The rule `inner` under a shared limit.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(params: &FattestDropParams, inner: A) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        Ok(FattestDrop { limit: params.limit, inner })
    }

    fn is_over(&self, bank: &Bank) -> bool {
        match self.limit {
            Limit::Packets(packets) => bank.total().packets > packets as usize,
            Limit::Bytes(bytes) => bank.total().bytes > bytes,
        }
    }
}

#[cold]
fn drop_from_fattest(bank: &mut Bank, cx: &mut Context) {
    let fattest = (0..bank.queues()).rev().max_by_key(|queue| bank.bytes(*queue));
    let Some(queue) = fattest else { return };
    let batch = bank.packets(queue).div_ceil(2).min(BATCH);
    for _ in 0..batch {
        let Some(packet) = bank.pop(queue) else { return };
        cx.drop(packet, DropReason::Overflow);
    }
}

impl<A: Admit + 'static> Admit for FattestDrop<A> {
    forward! { self.inner;
        fn bank(&self, queues: usize) -> Bank;
        fn arrive(
            &mut self,
            queue: QueueId,
            packet: &mut Packet,
            bank: &mut Bank,
            cx: &mut Context
        ) -> Result<(), DropReason>;
        fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet>;
        fn set_link_rate(&mut self, now: Time, rate: Rate);
    }

    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) {
        self.inner.joined(queue, bank, cx);
        while self.is_over(bank) {
            drop_from_fattest(bank, cx);
        }
    }

    fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        self.inner.probe(now, bank, out);
        let used = (0..bank.queues()).filter(|queue| bank.packets(*queue) > 0).count();
        out("queues_used", used as f64);
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            self.limit = fresh.limit;
            self.inner.retune(now, &mut fresh.inner)
        })
    }
}
