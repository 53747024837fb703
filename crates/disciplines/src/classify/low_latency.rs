//! Two queues: low-latency packets join queue 1, all others queue 0, the classic one.
//!
//! What it does: a packet whose ECN field says that its sender is scalable, ECT(1), or that was marked
//! on the way, CE, is low-latency; so is one that carries a given DSCP, such as that of non-queue-building
//! traffic (NQB).
//!
//! Source: RFC 9331, section 5.1 (ECT(1) and CE); RFC 9332, section 2.5.1 (other identifiers); RFC
//! 9956 (NQB, DSCP 45).
//!
//! Deviations: D1. Which CE packets were ECT(0) before is not guessed from their flows (RFC 9331,
//! section 5.3, permits that).
//!
//! Cost: one look at the ECN field, and one at a table of 64 bits.

use crate::Classify;
use forebay_core::{
    Bank, Codepoint, Conduct, ConfigError, Context, Named, Packet, QueueId, Setting,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The queue of all that is not low-latency.
pub const CLASSIC: QueueId = 0;

/// Queue 1 for low-latency packets, queue 0 for others.
pub struct LowLatency {
    ecn: bool,
    /// A bit for each DSCP.
    dscp: u64,
}

/// Parameters of `low-latency`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LowLatencyParams {
    /// Whether ECT(1) and CE packets are low-latency (L4S). Default true.
    pub ecn: bool,
    /// DSCPs whose packets are low-latency, such as ["NQB", "EF"]. Default: none.
    pub dscp: Vec<Codepoint>,
}

impl Default for LowLatencyParams {
    fn default() -> Self {
        LowLatencyParams { ecn: true, dscp: Vec::new() }
    }
}

impl LowLatency {
    /// The classifier with these parameters.
    pub fn new(params: &LowLatencyParams) -> Self {
        let dscp = params.dscp.iter().fold(0, |bits, codepoint| bits | 1 << codepoint.value());
        LowLatency { ecn: params.ecn, dscp }
    }
}

impl Named for LowLatency {
    type Family = dyn Classify;
    const NAME: &'static str = "low-latency";
    const SUMMARY: &'static str = "queue 1 for L4S (ECT(1), CE) and given DSCPs such as NQB";
    const SOURCE: &'static str = "RFC 9331, section 5.1; RFC 9332, section 2.5.1; RFC 9956";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = LowLatencyParams;

    fn build(params: &LowLatencyParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(LowLatency::new(params)))
    }
}

impl Classify for LowLatency {
    #[inline]
    fn queues(&self) -> usize {
        2
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        let fast = (self.ecn && packet.is_l4s()) || self.dscp >> packet.dscp() & 1 == 1;
        usize::from(fast)
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
