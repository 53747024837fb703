//! `fq-pie`: a queue for each flow, served fairly, each under PIE.
//!
//! As [`super::FqCodel`], with PIE instead of CoDel in every queue.
//!
//! Source: RFC 8290 and RFC 8033; the combination is Linux's sch_fq_pie. Deviations, beside those
//! of the parts: D1. On overflow the queue with the most bytes loses packets, as in FQ-CoDel; Linux
//! drops the arriving packet. D2. `ce_threshold` is FQ-CoDel's; Linux's FQ-PIE has none.
//!
//! Cost: that of PIE and the fair scheduler; memory for every queue's state.

use crate::admit::{
    CeThreshold, CeThresholdParams, FattestDrop, FattestDropParams, Pie, PieParams,
};
use crate::classify::{FlowHash, FlowHashParams};
use crate::schedule::{Fair, FairParams};
use crate::{Classify, Composed};
use forebay_core::{ConfigError, Discipline, Limit, Named, Setting, compose};

/// Flow queues under PIE.
pub struct FqPie;

compose! {
    /// Parameters of FQ-PIE. Delays are learnt from timestamps: a queue's departure rate is that of
    /// the scheduler's rounds, not of the link.
    pub struct FqPieParams {
        room: FattestDropParams = FattestDropParams::default(),
        hash: FlowHashParams = FlowHashParams::default(),
        fair: FairParams = FairParams::default(),
        pie: PieParams = PieParams { limit: Limit::Packets(u32::MAX), ..PieParams::default() }
            => fixed ["limit", "delay_estimation"],
        marks: CeThresholdParams = CeThresholdParams::default(),
    }
}

impl Named for FqPie {
    type Family = dyn Discipline;
    const NAME: &'static str = "fq-pie";
    const SUMMARY: &'static str = "a queue for each flow, served fairly, each under PIE";
    const SOURCE: &'static str = "RFC 8290 and RFC 8033";
    type Params = FqPieParams;

    fn build(params: &FqPieParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = FlowHash::new(&params.hash)?;
        let inner = setting.with_queues(classify.queues());
        let marked = CeThreshold::new(&params.marks, Pie::new(&params.pie, &inner)?);
        let admit = FattestDrop::new(&params.room, marked)?;
        Ok(Box::new(Composed::new(classify, admit, Fair::new(&params.fair, &inner)?)))
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
