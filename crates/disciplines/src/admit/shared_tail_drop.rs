//! Tail drop over one buffer that all queues share: a packet that arrives when it is full is
//! dropped, whichever queue it is for. With `push_out` it replaces the last packet of the lowest
//! queue, if that queue is lower than its own.
//!
//! Source: RFC 7567, section 2; the NCQ paper's "within the same buffer" (section 3). `push_out`
//! does what ns-2's `Queue/DropTail/PriQueue` does. Cost: one comparison per packet.

use crate::Admit;
use crate::retune::replaced;
use forebay_core::config::above_zero;
use forebay_core::{
    Bank, Conduct, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Setting, Time,
    params,
};
use std::any::Any;

/// Drops packets that arrive when all queues together are full.
pub struct SharedTailDrop(SharedTailDropParams);

params! {
    /// Parameters of shared tail drop.
    pub struct SharedTailDropParams {
        /// Room for all queues together, in packets ("100p") or bytes ("150KB"); without the packet
        /// in transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Whether a packet for a higher queue that finds the buffer full takes the place of the
        /// last one of the lowest.
        pub push_out: bool = false,
    }
}

impl SharedTailDrop {
    /// Shared tail drop with this limit.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(params: &SharedTailDropParams) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        Ok(SharedTailDrop(params.clone()))
    }
}

impl Named for SharedTailDrop {
    type Family = dyn Admit;
    const NAME: &'static str = "shared-tail-drop";
    const SUMMARY: &'static str = "drop what arrives at a full shared buffer";
    const SOURCE: &'static str = "RFC 7567, section 2";
    const FACTS: Conduct = Conduct::PART;
    type Params = SharedTailDropParams;

    fn build(params: &SharedTailDropParams, _: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(SharedTailDrop::new(params)?))
    }
}

impl Admit for SharedTailDrop {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        loop {
            let held = bank.total();
            if self.0.limit.admits(held.packets, held.bytes, packet.len) {
                return Ok(());
            }
            let lower = if self.0.push_out { 0..queue } else { 0..0 };
            let mut last = lower.filter_map(|queue| Some((queue, bank.last(queue)?)));
            let (queue, place) = last.next().ok_or(DropReason::Overflow)?;
            let victim = bank.remove(queue, place);
            cx.drop(victim, DropReason::PushedOut);
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        replaced(self, fresh)
    }
}
