//! `fq-codel`: a queue for each flow, served fairly, each under CoDel.
//!
//! Packets are spread over queues by a hash of their flow ([`FlowHash`]). The queues
//! share the link by bytes, new ones first ([`Fair`]), and each has a CoDel state ([`Codel`]). When
//! there are too many packets in total, the queue with the most bytes loses up to 64
//! ([`FattestDrop`]). With `ce_threshold`, packets are also marked above a shallow threshold
//! ([`CeThreshold`]).
//!
//! Source: RFC 8290. Deviations are those of the parts. Cost: that of CoDel and the fair scheduler;
//! memory for every queue's state.

use crate::admit::{
    CeThreshold, CeThresholdParams, Codel, CodelParams, FattestDrop, FattestDropParams,
};
use crate::classify::{FlowHash, FlowHashParams};
use crate::schedule::{Fair, FairParams};
use crate::{Classify, Composed};
use forebay_core::{ConfigError, Discipline, Limit, Named, Setting, compose};

/// Flow queues under CoDel.
pub struct FqCodel;

compose! {
    /// Parameters of FQ-CoDel.
    pub struct FqCodelParams {
        room: FattestDropParams = FattestDropParams::default(),
        hash: FlowHashParams = FlowHashParams::default(),
        fair: FairParams = FairParams::default(),
        codel: CodelParams = CodelParams {
            limit: Limit::Packets(u32::MAX),
            ecn: true,
            ..CodelParams::default()
        } => fixed ["limit", "ce_threshold"],
        marks: CeThresholdParams = CeThresholdParams::default(),
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
        let classify = FlowHash::new(&params.hash)?;
        let inner = setting.with_queues(classify.queues());
        let marked = CeThreshold::new(&params.marks, Codel::new(&params.codel, &inner)?);
        let admit = FattestDrop::new(&params.room, marked)?;
        Ok(Box::new(Composed::new(classify, admit, Fair::new(&params.fair, &inner)?)))
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
    fn linux_spares_a_single_packet_only_if_nothing_else_waits() {
        for (backlog, is_spared) in [("own", true), ("all", false)] {
            let mut rig = Rig::new(json!({ "kind": "fq-codel", "backlog": backlog, "ecn": false }));
            let (mut lost, mut id, mut alone) = (0, 0, None);
            // Each packet of flow 1 waits alone in its queue, beside a queue that is never empty.
            for turn in 0..200 {
                for _ in 0..2 {
                    rig.offer(ms(turn * 20), |p| (p.flow, p.len) = (0, 1500));
                }
                id += 2;
                if alone.is_none() {
                    rig.offer(ms(turn * 20), |p| (p.flow, p.len) = (1, 1500));
                    alone = Some(id);
                    id += 1;
                }
                let sent = rig.take(ms(turn * 20 + 19));
                let is_lost = alone.is_some_and(|alone| rig.drops().contains(&alone));
                lost += u32::from(is_lost);
                if is_lost || sent == alone {
                    alone = None;
                }
            }
            assert_eq!(lost == 0, is_spared, "{backlog}: {lost}");
        }
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
            "backlog": "own", "ce_threshold": null, "ce_threshold_l4s": false,
        });
        assert_eq!(effective, expected);
    }
}
