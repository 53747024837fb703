//! Queue protection against a plain model of RFC 9957's pseudo-code, and by numbers.

use super::{QueueProtection, QueueProtectionParams, mix};
use crate::fixture::{Rig, SETTING, ms, us};
use forebay_core::{Duration, Ecn, Rate, Rng, Setting, Time};
use serde_json::json;

/// The pseudo-code, line by line, in nanoseconds, on 100 Mbit/s, where FLOOR is below MINTH.
struct Model {
    id: [Option<u32>; 33],
    t_exp: [i64; 33],
}

const MINTH: i64 = 475_000;
const RANGE: i64 = 525_000;
const MAXTH: i64 = MINTH + RANGE;
const CRITICALQLSCORE: i64 = 4_000_000;
const QLSCORE_MAX: i64 = 5_000_000_000;

impl Model {
    /// True for EXIT_SANCTION.
    fn qprotect(&mut self, uflw: u32, size: u32, qdelay: i64, now: i64) -> bool {
        let bckt_id = self.pick_bucket(uflw, now);
        let q_lscore = self.fill_bucket(bckt_id, size, Model::calc_prob_native(qdelay), now);
        qdelay > MAXTH
            && i128::from(qdelay) * i128::from(q_lscore)
                > i128::from(MAXTH) * i128::from(CRITICALQLSCORE)
    }

    fn pick_bucket(&mut self, uflw: u32, now: i64) -> usize {
        let mut h32 = mix(0, uflw);
        let mut hsav = 32;
        for _ in 0..2 {
            let h = (h32 & 31) as usize;
            if self.id[h] == Some(uflw) {
                if self.t_exp[h] <= now {
                    self.t_exp[h] = now;
                }
                return h;
            } else if hsav == 32 && self.t_exp[h] <= now {
                hsav = h;
            }
            h32 >>= 5;
        }
        // An expired bucket of the loop, or the dregs if they have expired.
        if hsav != 32 || self.t_exp[hsav] <= now {
            self.t_exp[hsav] = now;
        }
        self.id[hsav] = Some(uflw);
        hsav
    }

    fn fill_bucket(&mut self, bckt_id: usize, pkt_sz: u32, prob_native: f64, now: i64) -> i64 {
        let aging = 1.0 / f64::from(1 << (30 - 19));
        let score = (prob_native * f64::from(pkt_sz) / aging) as i64;
        let q_lscore = (self.t_exp[bckt_id] - now + score).min(QLSCORE_MAX);
        self.t_exp[bckt_id] = now + q_lscore;
        q_lscore
    }

    fn calc_prob_native(qdelay: i64) -> f64 {
        if qdelay >= MAXTH {
            1.0
        } else if qdelay > MINTH {
            (qdelay - MINTH) as f64 / RANGE as f64
        } else {
            0.0
        }
    }
}

const FAST: Setting = SETTING.with_rate(Rate::from_bps(100_000_000));

#[test]
fn every_packet_is_judged_as_by_the_pseudo_code() {
    let mut rng = Rng::named(9, "arrivals");
    // So many flows that buckets are shared, and the dregs used; then few.
    for flows in [3, 20, 100, 2000] {
        let mut ours = QueueProtection::new(&QueueProtectionParams::default(), &FAST).unwrap();
        let mut theirs = Model { id: [None; 33], t_exp: [0; 33] };
        let (mut now, mut bytes, mut sanctioned) = (0_u64, 0_u64, 0);
        for _ in 0..20_000 {
            now += rng.below(150_000);
            // The queue wanders between nothing and 4 ms.
            bytes = (bytes + rng.below(3000)).saturating_sub(rng.below(3000)).min(50_000);
            let (flow, len) = (rng.below(flows) as u32, 60 + rng.below(1441) as u32);
            let delay = (bytes + u64::from(len)) * 80;
            let expected = theirs.qprotect(flow, len, delay as i64, now as i64);
            let held = (7, bytes);
            assert_eq!(ours.sanctions(flow, len, held, Time::from_nanos(now)), expected);
            sanctioned += u64::from(expected);
        }
        assert_eq!(ours.sanctioned(), sanctioned);
        assert!((100..19_000).contains(&sanctioned), "{flows} flows: {sanctioned}");
    }
}

#[test]
fn a_score_runs_off_at_the_aging_rate() {
    let mut ours = QueueProtection::new(&QueueProtectionParams::default(), &FAST).unwrap();
    // 12 500 B are 1 ms, so that a packet counts in full: 1000 B at 2048 ns a byte are 2.048 ms.
    let mut offer = |at: Time| {
        let guilty = ours.sanctions(1, 1000, (10, 12_500), at);
        (guilty, ours.highest(at).as_nanos())
    };
    assert_eq!(offer(ms(0)), (false, 2_048_000));
    assert_eq!(offer(ms(1)), (false, 3_096_000));
    assert_eq!(offer(ms(1)), (true, 5_144_000));
    // The score is below the critical 4 ms; times 1.08, the delay over the critical one, above.
    assert_eq!(offer(us(4400)), (true, 3_792_000));
    assert_eq!(offer(us(6548)), (false, 3_692_000));
    // A score is at most 5 s.
    for _ in 0..5000 {
        ours.sanctions(2, 1500, (10, 12_500), ms(5));
    }
    assert_eq!(ours.highest(ms(5)), Duration::from_millis(5000));
}

#[test]
fn slow_links_have_a_ramp_of_two_packets() {
    let params = QueueProtectionParams::default();
    let mut ours = QueueProtection::new(&params, &SETTING).unwrap();
    // Two of the largest packets take 2.4 ms on 10 Mbit/s.
    assert_eq!(ours.min_th, Duration::from_micros(2400));
    assert_eq!(ours.range, Duration::from_micros(1));
    assert_eq!(ours.critical, Duration::from_micros(2401));
    ours.set_link_rate(Rate::from_bps(40_000_000));
    // 600 us: the ramp ends where it did.
    assert_eq!(ours.min_th, Duration::from_micros(600));
    assert_eq!(ours.range, Duration::from_micros(400));
    assert_eq!(ours.critical, Duration::from_millis(1));
    ours.set_link_rate(Rate::from_bps(0));
    assert_eq!(ours.critical, Duration::from_millis(1));
}

/// Longest delay of a sparse flow's packets in the low-latency queue, in ms, beside one that sends 1.5
/// times what the link carries, both as L4S.
fn longest(queue_protection: serde_json::Value) -> (f64, f64) {
    let mut rig = Rig::new(json!({
        "classify": { "kind": "low-latency", "queue_protection": queue_protection },
        "admit": { "kind": "tail-drop", "limit": "200p" },
        "schedule": { "kind": "strict-priority" },
    }));
    let (mut sparse, mut worst) = (std::collections::HashMap::new(), Duration::ZERO);
    let mut id = 0;
    for turn in 0..3_000_u64 {
        // A packet of 1000 B takes 800 us.
        let now = us(turn * 800);
        for (due, flow) in [(true, 1), (turn % 2 == 0, 1), (turn % 25 == 0, 2)] {
            if due {
                rig.offer(now, |packet| (packet.flow, _) = (flow, packet.set_ecn(Ecn::Ect1)));
                if flow == 2 {
                    sparse.insert(id, now);
                }
                id += 1;
            }
        }
        let left = us((turn + 1) * 800);
        if let Some(at) = rig.take(left).and_then(|id| sparse.remove(&id)) {
            worst = worst.max(left.since(at));
        }
    }
    let sanctioned =
        if queue_protection_is_on(&rig) { rig.probe("sanctioned_packets") } else { 0.0 };
    (worst.as_millis_f64(), sanctioned)
}

fn queue_protection_is_on(rig: &Rig) -> bool {
    let mut found = false;
    rig.discipline.probe(Time::ZERO, &mut |name, _| found |= name == "sanctioned_packets");
    found
}

#[test]
fn a_flow_that_builds_the_queue_leaves_it_to_the_others() {
    let (without, _) = longest(json!(null));
    let (with, sanctioned) = longest(json!({}));
    assert!(without > 150.0, "{without} ms");
    assert!(with < 10.0 && sanctioned > 1000.0, "{with} ms, {sanctioned} packets");
}

#[test]
fn what_is_out_of_range_is_named() {
    for (block, path) in [
        (json!({ "lg_aging": 31 }), "queue_protection.lg_aging"),
        (json!({ "buckets": 33 }), "queue_protection.buckets"),
        (json!({ "attempts": 7 }), "queue_protection.attempts"),
        (json!({ "critical_ql_score": "0ms" }), "queue_protection.critical_ql_score"),
    ] {
        let whole = json!({ "kind": "dualpi2", "queue_protection": block });
        let error = crate::Disciplines::builtin().build(&whole, &SETTING).err().unwrap();
        assert_eq!(error.path, path);
    }
}
