//! DualPI2's rule: PI2 on the classic queue; a step (or ramp) and PI2's coupled marks on the
//! low-latency queue. The kind is [`crate::kinds::DualPi2`], whose page has the source and the
//! deviations.

use super::{Pi2Law, Pi2State, Ramp, Recur, pi2};
use crate::Admit;
use crate::classify::CLASSIC;
use forebay_core::{Bank, Context, DropReason, Limit, Packet, QueueId, Time};
use std::any::Any;

/// PI2 on the classic queue. All other queues are low-latency queues.
pub struct DualPi2 {
    limit: Limit,
    law: Pi2Law,
    ramp: Ramp,
    state: Pi2State,
    classic: Recur,
    low_latency: Recur,
}

impl DualPi2 {
    /// The rule with room for `limit` in all queues together.
    pub fn new(limit: Limit, law: Pi2Law, ramp: Ramp, signals: Recur) -> Self {
        let state = Pi2State::default();
        DualPi2 { limit, law, ramp, state, classic: signals, low_latency: signals }
    }

    /// Whether `packet`, just taken from `queue`, may leave.
    #[inline]
    fn stays(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &Bank,
        cx: &mut Context,
    ) -> bool {
        let DualPi2 { law, state, .. } = self;
        let stands = law.stands(bank.total().bytes);
        if queue == CLASSIC {
            return !stands || state.classic(law, &mut self.classic, packet, cx);
        }
        // A packet that is low-latency by its DSCP alone understands no marks, and should not be
        // dropped.
        if !packet.is_ect() {
            return true;
        }
        let native = self.ramp.likelihood(cx.now.since(packet.queued), bank.packets(queue));
        if stands {
            state.scalable(law, &mut self.low_latency, native, packet, cx)
        } else {
            !self.low_latency.hits(native, cx.rng) || cx.mark(packet)
        }
    }
}

/// Time at which the packet that has waited longest joined its queue.
fn oldest(bank: &Bank) -> Option<Time> {
    (0..bank.queues()).filter_map(|queue| bank.head_since(queue)).min()
}

impl Admit for DualPi2 {
    #[inline]
    fn arrive(
        &mut self,
        _: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        self.state.catch_up(&self.law, cx.now, || oldest(bank));
        let held = bank.total();
        if self.limit.admits(held.packets, held.bytes, packet.len) {
            Ok(())
        } else {
            Err(DropReason::Overflow)
        }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        self.state.catch_up(&self.law, cx.now, || oldest(bank));
        while let Some(mut packet) = bank.pop(queue) {
            if self.stays(queue, &mut packet, bank, cx) {
                return Some(packet);
            }
            cx.drop(packet, DropReason::Aqm);
        }
        None
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        pi2::probe(&self.state, &self.law, out);
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            (self.limit, self.law, self.ramp) = (fresh.limit, fresh.law, fresh.ramp);
            true
        })
    }
}
