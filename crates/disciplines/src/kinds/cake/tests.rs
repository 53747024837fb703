//! CAKE, tested with numbers from `sch_cake.c` and `tc-cake(8)`.

use crate::fixture::{Rig, ms};
use forebay_core::{Time, Wake};
use serde_json::{Value, json};

fn cake(mut params: Value) -> Rig {
    params["kind"] = "cake".into();
    Rig::new(params)
}

/// Takes packets until `end`, at the times at which they are ready. Returns these times and the
/// ids.
fn drain(rig: &mut Rig, end: Time) -> Vec<(Time, u32)> {
    let mut now = Time::ZERO;
    let mut sent = Vec::new();
    loop {
        match rig.discipline.wake(now) {
            Wake::Idle => return sent,
            Wake::At(time) => now = time,
            Wake::Ready => {}
        }
        if now >= end {
            return sent;
        }
        sent.extend(rig.take(now).map(|id| (now, id)));
    }
}

#[test]
fn it_shapes_to_its_bandwidth_by_the_length_on_the_wire() {
    // 1000 B and 44 more are 21.75 cells: 22 * 53 = 1166 B, 9.328 ms at 1 Mbit/s.
    let atm = json!({ "bandwidth": "1Mbit", "overhead": 44, "framing": "atm" });
    let ptm = json!({ "bandwidth": "1Mbit", "overhead": 22, "framing": "ptm" });
    let plain = json!({ "bandwidth": "1Mbit", "mpu": "256B" });
    for (params, len, micros) in [
        (atm, 1000, 9_328),
        (ptm, 1000, 8 * (1022 + 16)),
        (plain.clone(), 1000, 8_000),
        (plain, 40, 2_048),
    ] {
        let mut rig = cake(params.clone());
        for _ in 0..4 {
            rig.offer(ms(0), |packet| packet.len = len);
        }
        let at: Vec<u64> =
            drain(&mut rig, ms(1000)).iter().map(|(at, _)| at.as_nanos() / 1000).collect();
        assert_eq!(at, [0, micros, 2 * micros, 3 * micros], "{params}");
    }
}

#[test]
fn time_without_packets_is_not_made_up_for() {
    let mut rig = cake(json!({ "bandwidth": "1Mbit" }));
    rig.offer(ms(0), |_| {});
    assert_eq!(rig.take(ms(0)), Some(0));
    for _ in 0..2 {
        rig.offer(ms(500), |_| {});
    }
    assert_eq!((rig.take(ms(500)), rig.take(ms(500))), (Some(1), None));
    assert_eq!(rig.discipline.wake(ms(500)), Wake::At(ms(508)));
}

#[test]
fn codepoints_choose_tins() {
    use super::Diffserv::*;
    // RFC 4594's classes, and where `tc-cake(8)` says that they go.
    let [le, cs1, af11, df, cs2, af21, af31, af41] = [1, 8, 10, 0, 16, 18, 26, 34];
    let [cs3, cs4, cs5, va, ef, cs6, cs7, tos4] = [24, 32, 40, 44, 46, 48, 56, 4];
    let tins = |mode: super::Diffserv, dscps: &[u8]| -> Vec<usize> {
        dscps.iter().map(|dscp| mode.tin(*dscp)).collect()
    };
    assert_eq!(tins(Diffserv3, &[df, af11, cs4, cs5, af41]), [0; 5]);
    assert_eq!(tins(Diffserv3, &[le, cs1]), [1; 2]);
    assert_eq!(tins(Diffserv3, &[tos4, va, ef, cs6, cs7]), [2; 5]);
    assert_eq!(tins(Diffserv4, &[df, af11, 45]), [0; 3]);
    assert_eq!(tins(Diffserv4, &[le, cs1]), [1; 2]);
    assert_eq!(tins(Diffserv4, &[tos4, cs2, cs3, af21, af31, af41]), [2; 6]);
    assert_eq!(tins(Diffserv4, &[cs4, cs5, va, ef, cs6, cs7]), [3; 6]);
    let eight = [le, cs1, af11, df, cs3, af31, af41, af21, tos4, cs2, cs4, cs5, va, ef, cs6, cs7];
    assert_eq!(tins(Diffserv8, &eight), [0, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6, 6, 7, 7]);
    assert_eq!(tins(Precedence, &[0, 7, 8, 46, 63]), [0, 0, 1, 5, 7]);
    assert_eq!(tins(BestEffort, &[ef, le]), [0; 2]);
}

/// Bytes of each DSCP that leave before `end`, while packets of all of them always wait.
fn shares(mut rig: Rig, dscps: &[u8], end: Time) -> Vec<f64> {
    let mut of = Vec::new();
    for (flow, dscp) in dscps.iter().enumerate() {
        for _ in 0..2000 {
            rig.offer(ms(0), |packet| {
                packet.set_dscp(*dscp);
                packet.flow = flow as u32;
            });
            of.push(flow);
        }
    }
    let sent = drain(&mut rig, end);
    let total = sent.len() as f64;
    let count = |flow| sent.iter().filter(|(_, id)| of[*id as usize] == flow).count() as f64;
    (0..dscps.len()).map(|flow| count(flow) / total).collect()
}

#[test]
fn tins_share_by_their_thresholds() {
    let params = json!({ "bandwidth": "10Mbit", "diffserv": "diffserv4", "target": "90ms",
        "rtt": "10s" });
    // Voice and video are first for a quarter and a half, bulk for a sixteenth; best effort has the rest,
    // which is less than its threshold.
    let all = shares(cake(params.clone()), &[46, 34, 0, 8], ms(1000));
    for (share, wanted) in all.iter().zip([0.25, 0.5, 0.1875, 0.0625]) {
        assert!((share - wanted).abs() < 0.01, "{all:?}");
    }
    // Voice alone may use the whole rate.
    assert_eq!(shares(cake(params), &[46], ms(1000)), [1.0]);
}

#[test]
fn without_a_shaper_tins_share_by_weights() {
    // 1024, 512, 256 and 64 of 1856 bytes a round.
    let mut rig = cake(json!({ "diffserv": "diffserv4", "target": "90ms", "rtt": "10s" }));
    let dscps = [0, 34, 46, 8];
    for turn in 0..8000_usize {
        rig.offer(ms(0), |packet| packet.set_dscp(dscps[turn % 4]));
    }
    let mut counts = [0.0; 4];
    for _ in 0..1856 {
        counts[rig.take(ms(0)).unwrap() as usize % 4] += 1.0;
    }
    for (count, weight) in counts.iter().zip([1024.0, 512.0, 256.0, 64.0]) {
        assert!(f64::abs(count - weight) <= 3.0, "{counts:?}");
    }
}

/// Shares of flows between hosts, given as (source, destination) each.
fn by_flow(isolation: &str, flows: &[(u16, u16)]) -> Vec<f64> {
    let mut rig = cake(json!({ "isolation": isolation, "target": "90ms", "rtt": "10s" }));
    for turn in 0..flows.len() * 1000 {
        let flow = turn % flows.len();
        rig.offer(ms(0), |packet| {
            packet.flow = flow as u32;
            (packet.source, packet.destination) = flows[flow];
        });
    }
    let mut counts = vec![0.0; flows.len()];
    for _ in 0..flows.len() * 300 {
        counts[rig.take(ms(0)).unwrap() as usize % flows.len()] += 1.0;
    }
    counts.iter().map(|count| count / (flows.len() * 300) as f64).collect()
}

#[test]
fn hosts_share_fairly_whatever_their_flows() {
    // Host 1 has one flow, host 2 three; all to different hosts.
    let flows = [(1, 11), (2, 12), (2, 13), (2, 14)];
    let near = |shares: Vec<f64>, wanted: [f64; 4]| {
        let apart = shares.iter().zip(wanted).map(|(share, wanted)| (share - wanted).abs());
        assert!(apart.fold(0.0, f64::max) < 0.02, "{shares:?} {wanted:?}");
    };
    let (half, sixth, quarter) = (0.5, 1.0 / 6.0, 0.25);
    near(by_flow("flows", &flows), [quarter; 4]);
    near(by_flow("dual-srchost", &flows), [half, sixth, sixth, sixth]);
    near(by_flow("triple-isolate", &flows), [half, sixth, sixth, sixth]);
    near(by_flow("dual-dsthost", &flows), [quarter; 4]);
    // The same shares hold with sources and destinations exchanged.
    let back = flows.map(|(source, destination)| (destination, source));
    near(by_flow("dual-dsthost", &back), [half, sixth, sixth, sixth]);
    near(by_flow("triple-isolate", &back), [half, sixth, sixth, sixth]);
    near(by_flow("dual-srchost", &back), [quarter; 4]);
    // Unknown hosts do not share.
    near(by_flow("triple-isolate", &[(0, 0); 4]), [quarter; 4]);
}

#[test]
fn hosts_may_be_all_that_counts() {
    let flows = [(1, 11), (2, 11), (2, 12), (2, 12)];
    let shares = by_flow("srchost", &flows);
    assert!((shares[0] - 0.5).abs() < 0.01, "{shares:?}");
    let shares = by_flow("dsthost", &flows);
    assert!((shares[0] + shares[1] - 0.5).abs() < 0.01, "{shares:?}");
    // Three pairs, the last one of two flows.
    let shares = by_flow("hosts", &flows);
    assert!((shares[2] + shares[3] - 1.0 / 3.0).abs() < 0.01, "{shares:?}");
    let shares = by_flow("none", &flows);
    assert!(shares.iter().all(|share| *share == 0.25), "{shares:?}");
}

#[test]
fn flows_seldom_share_a_queue() {
    // A plain hash would put 300 - 1024 (1 - exp(-300 / 1024)) = 40 of 300 flows into others' queues.
    // Sets of 8 hold 2.3 flows on average, more than 8 in one of a thousand.
    for salt in 0..10 {
        let mut rig = cake(json!({ "salt": salt }));
        for flow in 0..300 {
            rig.offer(ms(0), |packet| packet.flow = flow);
        }
        // Each flow's first packet makes it sparse.
        assert!(rig.probe("sparse_flows") >= 298.0, "{}", rig.probe("sparse_flows"));
    }
}

#[test]
fn the_longest_queue_pays_for_an_overflow() {
    let mut rig = cake(json!({ "memory_limit": "100KB" }));
    for turn in 0..100 {
        rig.offer(ms(0), |packet| packet.flow = if turn % 10 == 0 { 1 } else { 2 });
    }
    assert!(rig.drops().is_empty());
    // The drop is from the head of flow 2's queue.
    rig.offer(ms(1), |packet| packet.flow = 3);
    assert_eq!(rig.drops(), [1]);
    rig.offer(ms(2), |packet| (packet.flow, packet.len) = (3, 1500));
    assert_eq!(rig.drops(), [2, 3]);
}

#[test]
fn what_does_not_respond_meets_blue() {
    // A flow of twice the rate without pause: overflows raise its probability, and the other flow, which
    // holds little, loses nothing.
    let mut rig = cake(json!({ "memory_limit": "50KB" }));
    let mut of = Vec::new();
    for now in 0..4000 {
        let due = if now % 4 == 0 { &[1, 1, 2][..] } else { &[1, 1] };
        for flow in due {
            rig.offer(ms(now), |packet| packet.flow = *flow);
            of.push(*flow);
        }
        rig.take(ms(now));
    }
    let lost = rig.drops();
    assert!(lost.len() > 3000);
    assert!(lost.iter().all(|id| of[*id as usize] == 1));
}

#[test]
fn washed_packets_have_no_codepoint() {
    for (wash, left) in [(true, 0), (false, 46)] {
        let mut rig = cake(json!({ "wash": wash }));
        rig.offer(ms(0), |packet| packet.set_dscp(46));
        let mut cx = forebay_core::Context::new(ms(0), &mut rig.rng, &mut rig.record);
        let packet = rig.discipline.dequeue(&mut cx).unwrap();
        assert_eq!(packet.dscp(), left);
        packet.retire();
    }
}

#[test]
fn drops_count_behind_the_bottleneck() {
    // With `ingress` a dropped packet takes its time: 1 Mbit/s is what came in, not what went out.
    let sent = |ingress| {
        let mut rig =
            cake(json!({ "bandwidth": "1Mbit", "ingress": ingress, "memory_limit": "20KB" }));
        let mut sent = 0;
        let mut now = 0;
        while now < 2000 {
            rig.offer(ms(now), |_| {});
            rig.offer(ms(now), |_| {});
            while rig.take(ms(now)).is_some() {
                sent += 1;
            }
            now += 8;
        }
        sent
    };
    let (with, without) = (sent(true), sent(false));
    assert!((245..=251).contains(&without), "{without}");
    // The shaper is held by its failsafe at two thirds of the rate.
    assert!((160..=175).contains(&with), "{with}");
}

#[test]
fn parameters_out_of_range_are_named() {
    for (params, path) in [
        (json!({ "bandwidth": "0bit" }), "bandwidth"),
        (json!({ "rtt": "0ms" }), "rtt"),
        (json!({ "target": "100ms" }), "target"),
        (json!({ "overhead": 300 }), "overhead"),
        (json!({ "mpu": "300B" }), "mpu"),
        (json!({ "memory_limit": "0B" }), "memory_limit"),
    ] {
        let mut block = params;
        block["kind"] = "cake".into();
        let error = crate::Disciplines::builtin().build(&block, &crate::fixture::SETTING);
        assert_eq!(error.err().unwrap().path, path);
    }
}
