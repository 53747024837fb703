//! `fq-pie`: a queue for each flow, served fairly, each under PIE.
//!
//! What it does: as [`super::FqCodel`], with PIE instead of CoDel in every queue.
//!
//! Source: RFC 8290 and RFC 8033; the combination is Linux's sch_fq_pie. Deviations, beside those
//! of the parts: D1. On overflow the queue with the most bytes loses packets, as in FQ-CoDel; Linux
//! drops the arriving packet. D2. `ce_threshold` is FQ-CoDel's; Linux's FQ-PIE has none.
//!
//! Cost: that of PIE and the fair scheduler; memory for every queue's state.

use crate::admit::{CeThreshold, DelayEstimation, FattestDrop, Pie, PieParams};
use crate::classify::{FlowHash, FlowHashParams};
use crate::schedule::{Fair, FairParams};
use crate::{Classify, Composed};
use forebay_core::{Bytes, ConfigError, Discipline, Duration, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flow queues under PIE.
pub struct FqPie;

/// Parameters of FQ-PIE. Delays are learnt from timestamps: a queue's departure rate is that of
/// the scheduler's rounds, not of the link.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqPieParams {
    /// Room in all queues together, in packets ("10240p") or bytes ("15MB"); above 0. Default
    /// 10240p.
    pub limit: Limit,
    /// Number of queues, 1 to 65536. Default 1024.
    pub queues: u32,
    /// Perturbation of the hash over flows; any whole number. Default 0.
    pub salt: u64,
    /// Bytes that a queue may send in each round; above 0. Default 1514B.
    pub quantum: Bytes,
    /// Target queueing delay (QDELAY_REF); above 0. Default 15ms (RFC 8033, section 4.2).
    pub target: Duration,
    /// Time between updates of the probability (T_UPDATE); above 0. Default 15ms.
    pub t_update: Duration,
    /// Weight of the distance from the target, in 1/s; above 0. Default 0.125.
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s; above 0. Default 1.25.
    pub beta: f64,
    /// Time without drops after a calm period (MAX_BURST). Default 150ms.
    pub max_burst: Duration,
    /// Whether packets of ECN-capable transports are marked rather than dropped while the
    /// probability is below `mark_ecnth`. Default false.
    pub ecn: bool,
    /// Drop probability from which marks give way to drops (MAX_ECNTH), 0 to 1. Default 0.1.
    pub mark_ecnth: f64,
    /// Whether drops that come too close together or too far apart are avoided (section 5.4).
    /// Default true.
    pub derandomize: bool,
    /// Waiting time above which packets of ECN-capable transports are marked regardless of CoDel's
    /// state, a step for scalable senders (Linux's ce_threshold). Default: none.
    pub ce_threshold: Option<Duration>,
    /// Whether that threshold is for L4S packets, ECT(1) or CE, alone. Default false.
    pub ce_threshold_l4s: bool,
}

impl Default for FqPieParams {
    fn default() -> Self {
        let pie = PieParams::default();
        let FlowHashParams { queues, salt } = FlowHashParams::default();
        let FairParams { quantum } = FairParams::default();
        FqPieParams {
            limit: Limit::Packets(10_240),
            queues,
            salt,
            quantum,
            target: pie.target,
            t_update: pie.t_update,
            alpha: pie.alpha,
            beta: pie.beta,
            max_burst: pie.max_burst,
            ecn: pie.ecn,
            mark_ecnth: pie.mark_ecnth,
            derandomize: pie.derandomize,
            ce_threshold: None,
            ce_threshold_l4s: false,
        }
    }
}

impl Named for FqPie {
    type Family = dyn Discipline;
    const NAME: &'static str = "fq-pie";
    const SUMMARY: &'static str = "a queue for each flow, served fairly, each under PIE";
    const SOURCE: &'static str = "RFC 8290 and RFC 8033";
    type Params = FqPieParams;

    fn build(params: &FqPieParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let FqPieParams { limit, queues, salt, quantum, .. } = *params;
        let classify = FlowHash::new(&FlowHashParams { queues, salt })?;
        let inner = Setting { queues: classify.queues(), ..*setting };
        let pie = PieParams {
            limit: Limit::Packets(u32::MAX),
            target: params.target,
            t_update: params.t_update,
            alpha: params.alpha,
            beta: params.beta,
            max_burst: params.max_burst,
            ecn: params.ecn,
            mark_ecnth: params.mark_ecnth,
            delay_estimation: DelayEstimation::Timestamp,
            derandomize: params.derandomize,
        };
        let pie = Pie::new(&pie, &inner)?;
        let marked = CeThreshold::new(params.ce_threshold, params.ce_threshold_l4s, pie);
        let admit = FattestDrop::new(limit, marked)?;
        let schedule = Fair::new(&FairParams { quantum }, &inner)?;
        Ok(Box::new(Composed::new(classify, admit, schedule)))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use serde_json::json;

    #[test]
    fn only_the_flow_that_queues_loses() {
        let mut rig = Rig::new(json!({ "kind": "fq-pie" }));
        let mut of = Vec::new();
        for now in 0..3000 {
            for flow in [0, 0] {
                rig.offer(ms(now), |p| (p.flow, p.len) = (flow, 1000));
                of.push(flow);
            }
            if now % 10 == 0 {
                rig.offer(ms(now), |p| (p.flow, p.len) = (1, 200));
                of.push(1);
            }
            rig.take(ms(now));
        }
        let lost = rig.drops();
        assert!(lost.len() > 100);
        assert!(lost.iter().all(|id| of[*id as usize] == 0));
    }
}
