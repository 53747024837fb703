//! `nqb`: a shallow queue for traffic that builds no queue, beside the default one, with equal
//! shares.
//!
//! Packets with the NQB codepoint join a queue of their own. It is shallow, so a flow
//! that builds a queue there loses packets. All others join the default queue. Both share the link
//! by deficit round robin with equal weights, so a wrong codepoint brings no advantage. With
//! `queue_protection`, packets of flows that build the shallow queue join the default one instead
//! ([`QueueProtection`](crate::classify::QueueProtection)).
//!
//! Source: RFC 9956, read in its last draft (-33): sections 5.1 (separate queue, equal preference,
//! DRR as the example, DSCP 45 and others by configuration, a buffer of at most 10 ms at the shared
//! rate), 5.2 (traffic protection that reclassifies, RFC 9957) and 5.4 (the ECN field changes
//! nothing).
//!
//! | RFC 9956 | here |
//! |---|---|
//! | NQB queue, Default queue | queue 1, queue 0 |
//! | classification by DSCP | `dscp` |
//! | DRR weight of the NQB queue | `weights\[1\]`, at most half by the RFC |
//! | buffer of at most 10 ms | `nqb_limit` |
//! | traffic protection | `queue_protection` |
//!
//! Deviations: D1. The RFC leaves the default queue's AQM open; here it has tail drop. For PI2 and
//! marks there, use `dualpi2` with `dscp = ["NQB"]`. D2. `nqb_limit` always has room for two of the
//! largest packets, which is more than 10 ms below 2.4 Mbit/s; the RFC recommends not to use NQB on
//! links that are so slow. D3. Codepoints are not changed, neither of reclassified packets nor
//! towards other domains.
//!
//! Cost: one look-up in a table of 64 bits and one comparison per packet, and that of DRR.

use crate::Composed;
use crate::admit::{TailDrop, TailDropParams};
use crate::classify::{LowLatency, LowLatencyParams};
use crate::one_or_each::OneOrEach;
use crate::schedule::{Drr, DrrParams};
use forebay_core::config::{above_zero, require};
use forebay_core::{
    Bytes, Conduct, ConfigError, Discipline, Duration, Limit, Named, Setting, compose, params,
};

/// A shallow queue for NQB traffic beside the default one.
pub struct Nqb;

compose! {
    /// Parameters of `nqb`. The shallow queue is queue 1, and its packets are the low-latency ones.
    pub struct NqbParams {
        classify: LowLatencyParams = LowLatencyParams {
            ecn: false,
            dscp: vec!["NQB".parse().expect("it has a name")],
            queue_protection: None,
        } => fixed ["ecn"] => described {
            "dscp": "DSCPs whose packets join the shallow queue, at least one. Default [\"NQB\"], \
                which is 45.",
        },
        rooms: RoomsParams = RoomsParams::default(),
        round: DrrParams = DrrParams { weights: vec![1, 1], quantum: None } => described {
            "weights": "Quanta in a round of the default and the shallow queue; 1 to 65535 each.",
        },
    }
}

params! {
    /// Room in the two queues.
    pub struct RoomsParams {
        /// Room in the default queue, in packets ("1000p") or bytes ("1.5MB"); without the packet
        /// in transmission. Above 0. Default 1000p.
        pub limit: Limit = Limit::Packets(1000),
        /// Room in the shallow queue, in the same units. Default: what the link sends in 10 ms, or
        /// two of the largest packets.
        pub nqb_limit: Option<Limit> = None,
    }
}

impl Named for Nqb {
    type Family = dyn Discipline;
    const NAME: &'static str = "nqb";
    const SUMMARY: &'static str =
        "a shallow queue for NQB traffic beside the default one, with equal priority";
    const SOURCE: &'static str = "RFC 9956";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = NqbParams;

    fn resolve(params: &mut NqbParams, setting: &Setting) {
        let shallow = setting.rate.bytes_in(Duration::from_millis(10)) as u64;
        let least = 2 * u64::from(setting.mtu);
        params.rooms.nqb_limit.get_or_insert(Limit::Bytes(shallow.max(least)));
        params.round.quantum.get_or_insert(Bytes(u64::from(setting.mtu)));
    }

    fn build(params: &NqbParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let RoomsParams { limit, nqb_limit } = params.rooms;
        require(!params.classify.dscp.is_empty(), "dscp", || "must name a codepoint".into())?;
        let shallow = nqb_limit.unwrap_or(limit);
        above_zero("nqb_limit", shallow)?;
        let limit = OneOrEach::Each(vec![limit, shallow]);
        let classify = LowLatency::new(&params.classify, setting)?;
        let admit = TailDrop::new(&TailDropParams { limit }, 2)?;
        let schedule = Drr::new(&params.round, 2)?;
        Ok(Box::new(Composed::new(classify, admit, schedule)))
    }
}

#[cfg(test)]
mod tests {
    use crate::Disciplines;
    use crate::fixture::{Rig, SETTING, ms, us};
    use forebay_core::{Ecn, Rate, Verdict};
    use serde_json::{Value, json};

    fn nqb(rest: Value) -> Rig {
        let mut block = json!({ "kind": "nqb" });
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Rig::new(block)
    }

    #[test]
    fn the_codepoint_decides_and_ecn_does_not() {
        let mut rig = nqb(json!({}));
        for (dscp, ecn) in
            [(0, Ecn::Ect1), (45, Ecn::NotEct), (46, Ecn::NotEct), (45, Ecn::Ce), (0, Ecn::NotEct)]
        {
            rig.offer(ms(0), |packet| (packet.set_dscp(dscp), packet.set_ecn(ecn)).1);
        }
        // A quantum of 1500 B sends one packet of 1000 B, and later two.
        let order: Vec<_> = std::iter::from_fn(|| rig.take(ms(0))).collect();
        assert_eq!(order, [0, 1, 2, 4, 3]);
    }

    #[test]
    fn both_share_the_link_as_equals() {
        // Both are long: whoever marks wrongly gains nothing.
        let share = |weights: Value| {
            let mut rig = nqb(json!({ "weights": weights, "nqb_limit": "1000p" }));
            for turn in 0..800_u32 {
                let dscp = if turn.is_multiple_of(2) { 45 } else { 0 };
                rig.offer(ms(0), |packet| packet.set_dscp(dscp));
            }
            (0..300).filter(|_| rig.take(ms(0)).unwrap().is_multiple_of(2)).count()
        };
        assert_eq!([json!([1, 1]), json!([3, 1]), json!([2, 1])].map(share), [150, 75, 100]);
    }

    #[test]
    fn the_shallow_queue_holds_ten_milliseconds() {
        let mut rig = nqb(json!({}));
        let mut offer = |dscp| {
            rig.offer(ms(0), |packet| (packet.len, _) = (1250, packet.set_dscp(dscp)))
                == Verdict::Queued
        };
        // 10 Mbit/s send 12 500 B in 10 ms.
        assert_eq!((0..15).filter(|_| offer(45)).count(), 10);
        assert_eq!((0..1100).filter(|_| offer(0)).count(), 1000);
        let limit = |bps: u64| {
            let setting = SETTING.with_rate(Rate::from_bps(bps));
            let block = json!({ "kind": "nqb" });
            let whole = Disciplines::builtin().effective(&block, &setting).unwrap();
            whole["nqb_limit"].as_str().unwrap().to_owned()
        };
        assert_eq!((limit(1_000_000_000), limit(1_000_000)), ("1.25MB".into(), "3KB".into()));
    }

    #[test]
    fn protected_it_loses_few_packets_of_others() {
        // A flow that is marked wrongly sends bursts of 20 packets, as many as the link carries; each is
        // followed by a packet of a sparse flow, for which the shallow queue then has no room.
        let lost = |queue_protection: Value| {
            let mut rig = nqb(json!({ "queue_protection": queue_protection }));
            for turn in 0..4000_u64 {
                for flow in if turn % 20 == 0 { 0..21 } else { 0..0 } {
                    rig.offer(us(turn * 800), |packet| {
                        packet.flow = flow / 20;
                        packet.set_dscp(45);
                    });
                }
                rig.take(us((turn + 1) * 800));
            }
            let dropped = rig.drops();
            (dropped.iter().filter(|id| *id % 21 == 20).count(), dropped.len())
        };
        let (sparse, all) = lost(json!(null));
        assert!(sparse == 200 && all > 1000, "{sparse} of {all}");
        let (sparse, all) = lost(json!({}));
        assert!(sparse < 5, "{sparse} of {all}");
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (field, value) in [
            ("dscp", json!([])),
            ("weights", json!([1])),
            ("nqb_limit", json!("0p")),
            ("limit", json!("0p")),
        ] {
            let block = json!({ "kind": "nqb", field: value });
            assert_eq!(Disciplines::builtin().build(&block, &SETTING).err().unwrap().path, field);
        }
    }
}
