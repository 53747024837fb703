//! Two queues: low-latency packets join queue 1, all others queue 0, the classic one.
//!
//! A packet is low-latency if its sender is scalable, by its ECN field ECT(1), or if
//! it was marked on the way, CE. A packet with one of the given DSCPs is low-latency too, such as
//! that of non-queue-building traffic (NQB). With `queue_protection`, packets of flows that build
//! the queue join the classic one ([`QueueProtection`]).
//!
//! Source: RFC 9331, section 5.1 (ECT(1) and CE); RFC 9332, section 2.5.1 (other identifiers); RFC
//! 9956 (NQB, DSCP 45); RFC 9957 (queue protection).
//!
//! Deviations: D1. CE packets count as low-latency even if their flow's other packets are ECT(0).
//! RFC 9331, section 5.3, permits a guess from the flow.
//!
//! Cost: one test of the ECN field and one of a table of 64 bits, and the cost of the protection.

use super::queue_protection::{QueueProtection, QueueProtectionParams};
use crate::Classify;
use forebay_core::{
    Bank, Codepoint, Conduct, ConfigError, Context, Named, Packet, QueueId, Rate, Setting, Time,
    params,
};
use std::any::Any;

/// The queue of packets that are not low-latency.
pub const CLASSIC: QueueId = 0;

/// The queue of low-latency packets.
const LOW_LATENCY: QueueId = 1;

/// Queue 1 for low-latency packets, queue 0 for others.
pub struct LowLatency {
    ecn: bool,
    /// A bit for each DSCP.
    dscp: u64,
    protection: Option<QueueProtection>,
}

params! {
    /// Parameters of `low-latency`.
    pub struct LowLatencyParams {
        /// Whether ECT(1) and CE packets are low-latency (L4S). Default true.
        pub ecn: bool = true,
        /// DSCPs whose packets are low-latency too, such as ["NQB", "EF"] (RFC 9332, section
        /// 2.5.1.1).
        pub dscp: Vec<Codepoint> = Vec::new(),
        /// Queue protection (RFC 9957), which moves packets of flows that build up the low-latency
        /// queue to the other one: {} for the RFC's values, or any of `min_th`, `range`,
        /// `critical_ql`, `critical_ql_score`, `lg_aging`, `buckets`, `attempts` and
        /// `max_ql_score`. Default: off.
        pub queue_protection: Option<QueueProtectionParams> = None,
    }
}

impl LowLatency {
    /// The classifier with these parameters.
    ///
    /// # Errors
    /// A protection that is out of range, as the field `queue_protection`.
    pub fn new(params: &LowLatencyParams, setting: &Setting) -> Result<Self, ConfigError> {
        let dscp = params.dscp.iter().fold(0, |bits, codepoint| bits | 1 << codepoint.value());
        let protection = params.queue_protection.as_ref();
        let protection = protection.map(|params| QueueProtection::new(params, setting));
        let protection =
            protection.transpose().map_err(|error| error.within("queue_protection"))?;
        Ok(LowLatency { ecn: params.ecn, dscp, protection })
    }
}

impl Named for LowLatency {
    type Family = dyn Classify;
    const NAME: &'static str = "low-latency";
    const SUMMARY: &'static str = "queue 1 for L4S (ECT(1), CE) and given DSCPs such as NQB";
    const SOURCE: &'static str =
        "RFC 9331, section 5.1; RFC 9332, section 2.5.1; RFC 9956; RFC 9957";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = LowLatencyParams;

    fn build(
        params: &LowLatencyParams,
        setting: &Setting,
    ) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(LowLatency::new(params, setting)?))
    }
}

impl Classify for LowLatency {
    #[inline]
    fn queues(&self) -> usize {
        2
    }

    fn looks_at_queues(&self) -> bool {
        self.protection.is_some()
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId {
        let fast = (self.ecn && packet.is_l4s()) || self.dscp >> packet.dscp() & 1 == 1;
        match &mut self.protection {
            Some(protection) if fast => {
                let held = (bank.packets(LOW_LATENCY), bank.bytes(LOW_LATENCY));
                usize::from(!protection.sanctions(packet.flow, packet.len, held, cx.now))
            }
            _ => usize::from(fast),
        }
    }

    fn set_link_rate(&mut self, rate: Rate) {
        if let Some(protection) = &mut self.protection {
            protection.set_link_rate(rate);
        }
    }

    fn probe(&self, now: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(protection) = &self.protection {
            out("sanctioned_packets", protection.sanctioned() as f64);
            out("highest_score_ms", protection.highest(now).as_millis_f64());
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            let protection =
                |of: &Self| of.protection.as_ref().map(QueueProtection::params).cloned();
            (self.ecn, self.dscp, protection(self)) == (fresh.ecn, fresh.dscp, protection(fresh))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use forebay_core::Ecn;
    use serde_json::{Value, json};

    /// The order in which four packets, of ECN field and DSCP each, leave under strict priority.
    fn order(classify: Value) -> Vec<u32> {
        let mut rig = Rig::new(json!({
            "classify": classify,
            "admit": { "kind": "tail-drop" },
            "schedule": { "kind": "strict-priority" },
        }));
        for (ecn, dscp) in [(Ecn::NotEct, 0), (Ecn::Ect0, 45), (Ecn::Ect1, 0), (Ecn::Ce, 0)] {
            rig.offer(ms(0), |packet| {
                packet.set_dscp(dscp);
                packet.set_ecn(ecn);
            });
        }
        std::iter::from_fn(|| rig.take(ms(0))).collect()
    }

    #[test]
    fn ecn_and_dscp_decide() {
        let classify = |rest: Value| {
            let mut block = json!({ "kind": "low-latency" });
            block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            order(block)
        };
        assert_eq!(classify(json!({})), [2, 3, 0, 1]);
        assert_eq!(classify(json!({ "dscp": ["NQB"] })), [1, 2, 3, 0]);
        assert_eq!(classify(json!({ "ecn": false, "dscp": [45, "EF"] })), [1, 0, 2, 3]);
        assert_eq!(classify(json!({ "ecn": false })), [0, 1, 2, 3]);
    }
}
