//! Marks packets that have waited for longer than a threshold, in addition to another rule.
//!
//! A departing packet that the inner rule lets pass is marked too, if it waited for
//! longer than the threshold and its sender understands marks. Scalable senders need such a step in
//! queues whose own rule is made for classic senders.
//!
//! Source: Linux 6.1, `codel_impl.h` (`ce_threshold`, and its selector for ECT(1)); RFC 9332,
//! section 2.5.1.2. Deviations: D1. The threshold is for ECT(1) and CE, or for all packets; in
//! Linux any bits of the DS field can select packets.
//!
//! Cost: one subtraction and one comparison per packet.

use crate::Admit;
use forebay_core::{
    Bank, Context, DropReason, Duration, Packet, QueueId, Rate, Time, forward, params,
};
use std::any::Any;

params! {
    /// Parameters of the threshold for marks.
    pub struct CeThresholdParams {
        /// Waiting time above which packets of ECN-capable transports are marked regardless of the
        /// AQM's state, a step for scalable senders (Linux's ce_threshold). Default: none.
        pub ce_threshold: Option<Duration> = None,
        /// Whether that threshold is for L4S packets, ECT(1) or CE, alone.
        pub ce_threshold_l4s: bool = false,
    }
}

/// The rule `inner`, and marks above a threshold.
pub struct CeThreshold<A> {
    params: CeThresholdParams,
    inner: A,
}

impl<A: Admit> CeThreshold<A> {
    /// `inner`, with marks above the threshold if there is one.
    pub fn new(params: &CeThresholdParams, inner: A) -> Self {
        CeThreshold { params: params.clone(), inner }
    }
}

impl<A: Admit + 'static> Admit for CeThreshold<A> {
    forward! { self.inner;
        fn bank(&self, queues: usize) -> Bank;
        fn arrive(
            &mut self,
            queue: QueueId,
            packet: &mut Packet,
            bank: &mut Bank,
            cx: &mut Context
        ) -> Result<(), DropReason>;
        fn joined(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context);
        fn set_link_rate(&mut self, now: Time, rate: Rate);
        fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64));
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let mut packet = self.inner.depart(queue, bank, cx)?;
        let late = self.params.ce_threshold.is_some_and(|most| cx.now.since(packet.queued) > most);
        if late && (packet.is_l4s() || !self.params.ce_threshold_l4s) {
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            self.params = fresh.params.clone();
            self.inner.retune(now, &mut fresh.inner)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use forebay_core::Ecn;
    use serde_json::{Value, json};

    /// Which of a classic, an ECT(0) and an ECT(1) packet, of a flow each, are marked after 2 ms.
    fn marked(kind: &str, rest: Value) -> Vec<u32> {
        let mut block = json!({ "kind": kind });
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let mut rig = Rig::new(block);
        for (flow, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
            rig.offer(ms(0), |packet| (packet.flow, _) = (flow as u32, packet.set_ecn(ecn)));
        }
        (0..3).for_each(|_| assert!(rig.take(ms(2)).is_some()));
        rig.record.marked.sort_unstable();
        rig.record.marked
    }

    #[test]
    fn what_waited_for_longer_is_marked_in_every_flow_s_queue() {
        for kind in ["fq-codel", "fq-pie"] {
            assert_eq!(marked(kind, json!({})), [0_u32; 0]);
            assert_eq!(marked(kind, json!({ "ce_threshold": "1ms" })), [1, 2]);
            assert_eq!(marked(kind, json!({ "ce_threshold": "2ms" })), [0_u32; 0]);
            let l4s = json!({ "ce_threshold": "1ms", "ce_threshold_l4s": true });
            assert_eq!(marked(kind, l4s), [2]);
        }
    }
}
