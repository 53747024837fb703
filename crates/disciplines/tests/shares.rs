//! Shares that the schedulers give, against the weights.

use forebay_core::{Context, DropReason, Packet, Rate, Rng, Setting, Sink, Time};
use forebay_disciplines::Disciplines;
use proptest::prelude::*;
use serde_json::json;

struct Retire;

impl Sink for Retire {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000), 0, 1500);

/// Packets and bytes that each class gets of `services` services, while all are backlogged with
/// packets of that class's size.
fn shares(kind: &str, weights: &[u32], sizes: &[u32], services: usize) -> Vec<(f64, f64)> {
    let block = json!({ "kind": kind, "weights": weights, "limit": "4p" });
    let mut queue = Disciplines::builtin().build(&block, &SETTING).unwrap();
    let (mut rng, mut sink) = (Rng::named(1, "port"), Retire);
    let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
    let mut got = vec![(0.0, 0.0); weights.len()];
    for _ in 0..services {
        for (class, size) in sizes.iter().enumerate() {
            let mut packet = Packet::new(0, class as u32, *size);
            packet.class = class as u8;
            queue.enqueue(packet, &mut cx);
        }
        let packet = queue.dequeue(&mut cx).unwrap();
        let (packets, bytes) = &mut got[usize::from(packet.class)];
        *packets += 1.0;
        *bytes += f64::from(packet.len);
        packet.retire();
    }
    got
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In n rounds each queue gets weight x n packets: after any number of services the numbers of
    /// rounds done differ by at most one.
    #[test]
    fn wrr_shares_packets(queues in prop::collection::vec((1..20_u32, 40..1500_u32), 2..6)) {
        let (weights, sizes): (Vec<u32>, Vec<u32>) = queues.into_iter().unzip();
        let got = shares("wrr", &weights, &sizes, 3000);
        let rounds: Vec<f64> =
            got.iter().zip(&weights).map(|((packets, _), w)| packets / f64::from(*w)).collect();
        for a in &rounds {
            for b in &rounds {
                prop_assert!((a - b).abs() <= 1.0, "{rounds:?}");
            }
        }
    }

    /// Shreedhar and Varghese, section 3: in m rounds a backlogged queue sends
    /// m x Q_i bytes, more or less by at most the largest packet.
    #[test]
    fn drr_shares_bytes(queues in prop::collection::vec((1..20_u32, 40..1500_u32), 2..6)) {
        let (weights, sizes): (Vec<u32>, Vec<u32>) = queues.into_iter().unzip();
        let got = shares("drr", &weights, &sizes, 3000);
        let rounds: Vec<(f64, f64)> = got
            .iter()
            .zip(weights.iter().zip(&sizes))
            .map(|((_, bytes), (w, size))| {
                let quantum = 1500.0 * f64::from(*w);
                (bytes / quantum, f64::from(*size) / quantum)
            })
            .collect();
        for (a, a_packet) in &rounds {
            for (b, b_packet) in &rounds {
                prop_assert!((a - b).abs() <= 1.0 + a_packet.max(*b_packet), "{rounds:?}");
            }
        }
    }
}

#[test]
fn strict_priority_serves_the_highest_class_first() {
    let mut queue = Disciplines::builtin()
        .build(&json!({ "kind": "prio", "limit": ["5p", "5p", "2p"] }), &SETTING)
        .unwrap();
    let (mut rng, mut sink) = (Rng::named(1, "port"), Retire);
    let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
    for (id, class) in [0, 1, 2, 2, 2, 9, 0].into_iter().enumerate() {
        let mut packet = Packet::new(id as u32, 0, 100);
        packet.class = class;
        queue.enqueue(packet, &mut cx);
    }
    let order: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(&mut cx)).map(Packet::retire).collect();
    assert_eq!(order, [2, 3, 1, 0, 6]);
}

/// After the example of figures 2 and 3 of Shreedhar and Varghese: the first queue sends 200 of its
/// quantum of 500; the 300 left are too few for the next packet of 750, and are kept.
#[test]
fn drr_follows_the_papers_example() {
    let block = json!({ "kind": "drr", "weights": [1, 1, 1, 1], "quantum": "500B" });
    let mut queue = Disciplines::builtin().build(&block, &SETTING).unwrap();
    let (mut rng, mut sink) = (Rng::named(1, "port"), Retire);
    let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
    let queues: [&[u32]; 4] = [&[200, 750, 20], &[500, 500], &[100, 600, 200], &[180, 700, 50]];
    for (class, sizes) in queues.iter().enumerate() {
        for size in *sizes {
            let mut packet = Packet::new(0, class as u32, *size);
            packet.class = class as u8;
            queue.enqueue(packet, &mut cx);
        }
    }
    let sent: Vec<(u8, u32)> = std::iter::from_fn(|| queue.dequeue(&mut cx))
        .map(|packet| {
            let seen = (packet.class, packet.len);
            packet.retire();
            seen
        })
        .collect();
    // Deficits after round 1: 300, 0, 400, 320; in round 2 they allow 800, 500, 900 and 820.
    let round_1 = [(0, 200), (1, 500), (2, 100), (3, 180)];
    let round_2 = [(0, 750), (0, 20), (1, 500), (2, 600), (2, 200), (3, 700), (3, 50)];
    assert_eq!(sent[..4], round_1);
    assert_eq!(sent[4..], round_2);
}
