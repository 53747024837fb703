//! Tail drop: a packet for which its queue has no room is dropped.
//!
//! Source: RFC 7567, section 2 (the traditional technique). Cost: one comparison per packet.

use crate::retune::replaced;
use crate::{Admit, OneOrEach};
use forebay_core::config::above_zero;
use forebay_core::{
    Bank, Conduct, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Setting, Time,
    params,
};
use std::any::Any;

/// Drops packets that arrive at a full queue.
pub struct TailDrop {
    limits: Vec<Limit>,
}

params! {
    /// Parameters of tail drop.
    pub struct TailDropParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"), or a list with one entry
        /// for each queue; without the packet in transmission. Above 0.
        pub limit: OneOrEach<Limit> = OneOrEach::One(Limit::Packets(1000)),
    }
}

impl TailDrop {
    /// Tail drop with these limits in a bank of `queues` queues.
    ///
    /// # Errors
    /// A limit of zero, or a list of another length than `queues`.
    pub fn new(params: &TailDropParams, queues: usize) -> Result<Self, ConfigError> {
        let limits = params.limit.expand(queues, "limit", "queues")?;
        limits.iter().try_for_each(|limit| above_zero("limit", *limit))?;
        Ok(TailDrop { limits })
    }

    /// Room in the first queue.
    pub(crate) fn limit(&self) -> Limit {
        self.limits[0]
    }
}

impl Named for TailDrop {
    type Family = dyn Admit;
    const NAME: &'static str = "tail-drop";
    const SUMMARY: &'static str = "drop what arrives at a full queue";
    const SOURCE: &'static str = "RFC 7567, section 2";
    const FACTS: Conduct = Conduct::PART;
    type Params = TailDropParams;

    fn build(params: &TailDropParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(TailDrop::new(params, setting.queues)?))
    }
}

impl Admit for TailDrop {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        _: &mut Context,
    ) -> Result<(), DropReason> {
        bank.room(queue, self.limits[queue], packet.len)
    }

    #[inline]
    fn passes(&self, packet: &Packet) -> bool {
        self.limits.first().is_some_and(|limit| limit.admits(0, 0, packet.len))
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        replaced(self, fresh)
    }
}
