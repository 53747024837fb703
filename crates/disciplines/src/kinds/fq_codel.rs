//! `fq-codel`: a queue for each flow, served fairly, each under CoDel.
//!
//! What it does: packets are spread over queues by a hash of their flow ([`FlowHash`]). The queues
//! share the link by bytes, new ones first ([`Fair`]), and each has a CoDel state ([`Codel`]). When
//! there are too many packets in total, the queue with the most bytes loses up to 64
//! ([`FattestDrop`]). With `ce_threshold`, packets are also marked above a shallow threshold
//! ([`CeThreshold`]).
//!
//! Source: RFC 8290. Deviations are those of the parts. Cost: that of CoDel and the fair scheduler;
//! memory for every queue's state.

use crate::admit::{CeThreshold, Codel, CodelParams, FattestDrop};
use crate::classify::{FlowHash, FlowHashParams};
use crate::schedule::{Fair, FairParams};
use crate::{Classify, Composed};
use forebay_core::{Bytes, ConfigError, Discipline, Duration, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flow queues under CoDel.
pub struct FqCodel;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelParams {
    /// Room in all queues together, in packets ("10240p") or bytes ("15MB"); above 0. Default
    /// 10240p (RFC 8290, section 5.2.1).
    pub limit: Limit,
    /// Number of queues, 1 to 65536. Default 1024 (section 5.2.2).
    pub queues: u32,
    /// Perturbation of the hash over flows; any whole number. Default 0.
    pub salt: u64,
    /// Bytes that a queue may send in each round; above 0. Default 1514B (section 5.2.3).
    pub quantum: Bytes,
    /// Acceptable standing delay of a queue (TARGET of CoDel); above 0, below `interval`. Default
    /// 5ms (section 5.2.5).
    pub target: Duration,
    /// Time for which a queue's delay must stay above the target before the first drop (INTERVAL
    /// of CoDel). Default 100ms (section 5.2.4).
    pub interval: Duration,
    /// Whether packets of ECN-capable transports are marked rather than dropped. Default true
    /// (section 5.2.6).
    pub ecn: bool,
    /// Waiting time above which packets of ECN-capable transports are marked regardless of CoDel's
    /// state, a step for scalable senders (Linux's ce_threshold). Default: none.
    pub ce_threshold: Option<Duration>,
    /// Whether that threshold is for L4S packets, ECT(1) or CE, alone. Default false.
    pub ce_threshold_l4s: bool,
}

impl Default for FqCodelParams {
    fn default() -> Self {
        let CodelParams { target, interval, .. } = CodelParams::default();
        let FlowHashParams { queues, salt } = FlowHashParams::default();
        let FairParams { quantum } = FairParams::default();
        let limit = Limit::Packets(10_240);
        FqCodelParams {
            limit,
            queues,
            salt,
            quantum,
            target,
            interval,
            ecn: true,
            ce_threshold: None,
            ce_threshold_l4s: false,
        }
    }
}

impl Named for FqCodel {
    type Family = dyn Discipline;
    const NAME: &'static str = "fq-codel";
    const SUMMARY: &'static str = "a queue for each flow, served fairly, each under CoDel";
    const SOURCE: &'static str = "RFC 8290";
    type Params = FqCodelParams;

    fn build(
        params: &FqCodelParams,
        setting: &Setting,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        let FqCodelParams { limit, queues, salt, quantum, target, interval, ecn, .. } = *params;
        let classify = FlowHash::new(&FlowHashParams { queues, salt })?;
        let inner = Setting { queues: classify.queues(), ..*setting };
        let unlimited = Limit::Packets(u32::MAX);
        let codel = Codel::new(
            &CodelParams { limit: unlimited, target, interval, ecn, ..CodelParams::default() },
            &inner,
        )?;
        let marked = CeThreshold::new(params.ce_threshold, params.ce_threshold_l4s, codel);
        let schedule = Fair::new(&FairParams { quantum }, &inner)?;
        Ok(Box::new(Composed::new(classify, FattestDrop::new(limit, marked)?, schedule)))
    }
}

#[cfg(test)]
mod tests {
    use crate::Disciplines;
    use crate::fixture::{Rig, SETTING, ms};
    use forebay_core::{DropReason, Ecn};
    use serde_json::json;

    #[test]
    fn the_fattest_queue_by_bytes_pays_half_but_at_most_64() {
        let mut rig = Rig::new(json!({ "kind": "fq-codel", "limit": "300p" }));
        // Flow 0: 200 small packets, 20 000 bytes; flow 1: 100 large ones, 150 000 bytes.
        for _ in 0..200 {
            rig.offer(ms(0), |p| (p.flow, p.len) = (0, 100));
        }
        for _ in 0..100 {
            rig.offer(ms(0), |p| (p.flow, p.len) = (1, 1500));
        }
        assert!(rig.drops().is_empty());
        // One more of flow 2: flow 1 loses 50 from its head.
        rig.offer(ms(0), |p| p.flow = 2);
        assert!(rig.record.dropped.iter().all(|(_, reason)| *reason == DropReason::Overflow));
        assert_eq!(rig.drops(), (200..250).collect::<Vec<_>>());
        assert_eq!(rig.held(), 251);
        // Half of 301 would be 151.
        let mut rig = Rig::new(json!({ "kind": "fq-codel", "limit": "300p" }));
        for _ in 0..301 {
            rig.offer(ms(0), |p| p.flow = 5);
        }
        assert_eq!(rig.drops().len(), 64);
    }

    #[test]
    fn one_flow_queueing_for_long_does_not_hurt_another() {
        let mut rig = Rig::new(json!({ "kind": "fq-codel" }));
        let mut of = Vec::new();
        for now in 0..2000 {
            // Flow 0 sends two packets a millisecond, flow 1 one every ten, which is the next to
            // leave; one leaves a millisecond.
            for flow in [0, 0] {
                rig.offer(ms(now), |p| (p.flow, p.len) = (flow, 1000));
                of.push(flow);
            }
            if now % 10 == 5 {
                rig.offer(ms(now), |p| (p.flow, p.len) = (1, 200));
                of.push(1);
                assert_eq!(rig.take(ms(now)).map(|id| of[id as usize]), Some(1));
            } else {
                rig.take(ms(now));
            }
        }
        let lost = rig.drops();
        assert!(lost.len() > 20);
        assert!(lost.iter().all(|id| of[*id as usize] == 0));
    }

    #[test]
    fn each_queue_has_its_own_codel() {
        // Two flows that queue for long: dropping begins in both, 100 ms after each one's first
        // late packet.
        let mut rig = Rig::new(json!({ "kind": "fq-codel", "queues": 65536 }));
        for now in 0..400_u32 {
            for flow in 0..2 {
                rig.offer(ms(now.into()), |p| (p.flow, p.len) = (flow, 1500));
            }
            if now >= 20 {
                rig.take(ms(now.into()));
            }
        }
        assert_eq!(rig.probe("queues_dropping"), 2.0);
        assert_eq!(rig.probe("queues_used"), 2.0);
    }

    #[test]
    fn ecn_is_on_by_default() {
        let mut rig = Rig::new(json!({ "kind": "fq-codel" }));
        for now in 0..400 {
            rig.offer(ms(now), |p| p.set_ecn(Ecn::Ect0));
            if now >= 20 {
                rig.take(ms(now));
            }
        }
        assert!(rig.record.dropped.is_empty());
        assert!(rig.record.marked.len() > 3);
    }

    #[test]
    fn defaults_are_those_of_the_rfc() {
        let effective =
            Disciplines::builtin().effective(&json!({ "kind": "fq-codel" }), &SETTING).unwrap();
        let expected = json!({
            "kind": "fq-codel", "limit": "10240p", "queues": 1024, "salt": 0,
            "quantum": "1.514KB", "target": "5ms", "interval": "100ms", "ecn": true,
            "ce_threshold": null, "ce_threshold_l4s": false,
        });
        assert_eq!(effective, expected);
    }
}
