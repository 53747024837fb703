use super::*;
use crate::Disciplines;
use forebay_core::{Capacity, Discipline, Duration, Ecn, Poll, Port, Rng, Sink, Verdict};
use proptest::prelude::*;

#[derive(Default)]
struct Count {
    reasons: Vec<DropReason>,
    marks: usize,
}

impl Sink for Count {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        packet.retire();
        self.reasons.push(reason);
    }
    fn marked(&mut self, _: &Packet) {
        self.marks += 1;
    }
}

/// The paper's bottleneck: 10 Mb/s, PPP's 7 bytes a packet.
const SETTING: Setting =
    Setting { rate: Rate::from_bps(10_000_000), overhead: 7, mtu: 1500, queues: 1 };

fn with(threshold: u32, max_congestion: f64) -> CpAqmParams {
    let threshold = Limit::Packets(threshold);
    CpAqmParams { threshold, max_congestion, ..CpAqmParams::default() }
}

fn build(params: &CpAqmParams) -> Box<dyn Discipline> {
    <CpAqm as Named>::build(params, &SETTING).unwrap().alone()
}

#[test]
fn costs_follow_equation_1() {
    let cp = CpAqm::new(&with(5, 1.2), &SETTING).unwrap();
    // T_c = 7500, Q_max = 45 000: c = 1 + (x - 7500) / 37 500 * 0.2.
    let nanobits = |x| cp.congestion.cost(x, 1507);
    assert_eq!(nanobits(7499), 0);
    assert_eq!(nanobits(7500), 1507 * 8_000_000_000);
    assert_eq!(nanobits(26_250), 16_577 * 800_000_000, "1507 * 1.1 = 1657.7 B");
    assert_eq!(nanobits(45_000), 18_084 * 800_000_000, "1507 * 1.2 = 1808.4 B");
    // x - T_c = 1: 1507 * (1 + 0.2 / 37 500) B = 12 056 064 298 666.67 nanobits, rounded up.
    assert_eq!(nanobits(7501), 12_056_064_298_667);
}

#[test]
fn the_default_bucket_is_the_papers() {
    let bucket = |threshold, most| {
        let mut params = with(threshold, most);
        params.resolve(&SETTING);
        params.bucket.unwrap().0
    };
    assert_eq!(bucket(5, 1.2), 67_815);
    assert_eq!(bucket(0, 2.0), 67_815 + 1507);
    assert_eq!(bucket(5, 4.0), 113_025, "45 210 * 2.5");
}

fn burst(params: &CpAqmParams, packets: u32, ect: bool) -> (u32, Count) {
    let mut queue = build(params);
    let (mut rng, mut sink) = (Rng::named(1, "port"), Count::default());
    let mut queued = 0;
    for id in 0..packets {
        let mut packet = Packet::new(id, 0, 1500);
        if ect {
            packet.set_ecn(Ecn::Ect0);
        }
        let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
        queued += u32::from(queue.enqueue(packet, &mut cx) == Verdict::Queued);
    }
    (queued, sink)
}

/// CP-14, over the grid of figure 3.
#[test]
fn one_burst_that_fills_the_buffer_loses_nothing_to_the_policer() {
    for threshold in 0..=30 {
        for most in [1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0] {
            let (queued, sink) = burst(&with(threshold, most), 40, false);
            assert_eq!(queued, 30, "T_c = {threshold}, c_max = {most}");
            assert_eq!(sink.reasons, [DropReason::Overflow; 10]);
        }
    }
}

/// A bucket of 3014 B and T_c = 5: the packets that meet 5 and more packets cost 1507, then
/// 1507 (1 + 1500 / 37 500 * 0.2) = 1519.056 B. The second finds 1507 B and is refused.
#[test]
fn the_policer_refuses_what_the_bucket_does_not_hold() {
    let params = CpAqmParams { bucket: Some(Bytes(3014)), ..with(5, 1.2) };
    let (queued, sink) = burst(&params, 8, false);
    assert_eq!((queued, sink.reasons), (6, vec![DropReason::Policed; 2]));
    let params = CpAqmParams { ecn: true, ..params };
    let (queued, sink) = burst(&params, 8, true);
    assert_eq!((queued, sink.marks, sink.reasons.len()), (8, 2, 0));
    let (queued, sink) = burst(&params, 8, false);
    assert_eq!((queued, sink.marks, sink.reasons.len()), (6, 0, 2));
}

/// As above for the first user, whose bucket is then short; the next packet is another's, and
/// meets six packets in the port, none in a queue of its own.
#[test]
fn policers_and_occupancy_may_be_those_of_a_queue() {
    for (policers, occupancy, verdict) in [
        ("port", "port", Verdict::Dropped),
        ("queue", "port", Verdict::Queued),
        ("port", "queue", Verdict::Queued),
    ] {
        let block = serde_json::json!({
            "classify": { "kind": "class", "queues": 2 },
            "admit": {
                "kind": "cp-aqm", "bucket": "3014B",
                "policers": policers, "occupancy": occupancy,
            },
            "schedule": { "kind": "fifo" },
        });
        let mut queue = Disciplines::builtin().build(&block, &SETTING).unwrap();
        let (mut rng, mut sink) = (Rng::named(1, "port"), Count::default());
        for id in 0..9 {
            let mut packet = Packet::new(id, 0, 1500);
            packet.class = u8::from(id == 8);
            let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
            let found = queue.enqueue(packet, &mut cx);
            if id == 8 {
                assert_eq!(found, verdict, "{policers}, {occupancy}");
            }
        }
        assert_eq!(queue.backlog().packets, 6 + usize::from(verdict == Verdict::Queued));
    }
}

#[test]
fn the_allowance_follows_the_link_only_if_asked() {
    for (follow, bytes) in [(Follow::Link, 125), (Follow::Nothing, 1250)] {
        let params = CpAqmParams { follow, ..CpAqmParams::default() };
        let mut cp = CpAqm::new(&params, &SETTING).unwrap();
        assert!(cp.tokens.take(0, 67_815 * BYTE));
        cp.set_link_rate(Time::ZERO, Rate::from_bps(1_000_000));
        cp.tokens.fill(Time::ZERO + Duration::from_millis(1));
        assert_eq!(cp.tokens.fewest(), f64::from(bytes));
    }
}

/// For each of these (gap, length) arrivals at a port of 10 Mb/s: whether it is dropped.
fn losses(queue: Box<dyn Discipline>, arrivals: &[(u64, u32)]) -> Vec<bool> {
    let mut port = Port::new(queue, Capacity::constant(SETTING.rate), SETTING.overhead);
    offer(&mut port, arrivals, |_, _| {})
}

/// Offers (gap, length) arrivals to a port; tells the backlog after each, and answers which are
/// lost.
fn offer(port: &mut Port, arrivals: &[(u64, u32)], mut seen: impl FnMut(Time, usize)) -> Vec<bool> {
    let (mut rng, mut sink) = (Rng::named(1, "port"), Count::default());
    let (mut now, mut free) = (Time::ZERO, Time::ZERO);
    let mut change = port.capacity().next_change(now);
    let mut lost = Vec::new();
    for (id, (gap, len)) in arrivals.iter().enumerate() {
        let arrival = now + Duration::from_nanos(*gap);
        if let Some(at) = change.filter(|at| *at <= arrival) {
            port.rate_changed(at);
            change = port.capacity().next_change(at);
        }
        while port.backlog().packets > 0 && free <= arrival {
            let mut cx = Context::new(free.max(now), &mut rng, &mut sink);
            match port.poll(&mut cx) {
                Poll::Send { packet, done_at } => {
                    packet.retire();
                    free = done_at;
                }
                other => panic!("a backlogged free port sends, not {other:?}"),
            }
        }
        now = arrival;
        let mut cx = Context::new(now, &mut rng, &mut sink);
        lost.push(port.offer(Packet::new(id as u32, 0, *len), &mut cx) == Verdict::Dropped);
        seen(now, port.backlog().packets);
    }
    lost
}

/// From 100 to 10 Mb/s after a second, 15 Mb/s offered throughout: an allowance of 100 Mb/s is
/// never used up, and the buffer stays full; one that follows keeps the queue at T_c = 5.
#[test]
fn an_allowance_that_follows_holds_the_queue_when_the_link_slows() {
    let arrivals = vec![(803_733, 1500); 10_000];
    let second = |count| Time::ZERO + Duration::from_secs(count);
    for (follow, longest) in [(Follow::Nothing, 30), (Follow::Link, 7), (Follow::Drain, 7)] {
        let setting = Setting { rate: Rate::from_bps(100_000_000), ..SETTING };
        let params = CpAqmParams { follow, ..CpAqmParams::default() };
        let queue = <CpAqm as Named>::build(&params, &setting).unwrap().alone();
        let steps = vec![(second(0), setting.rate), (second(1), SETTING.rate)];
        let mut port = Port::new(queue, Capacity::steps(steps, None), SETTING.overhead);
        let (mut most, mut full) = (0, 0);
        offer(&mut port, &arrivals, |now, packets| {
            full = full.max(packets);
            if now > second(3) {
                most = most.max(packets);
            }
        });
        assert_eq!(full, 30, "the burst that the step is fits ({follow:?})");
        assert!(most <= longest && most + 3 > longest, "{follow:?}: up to {most} packets");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// CP-7: with c_max = 1 and the default bucket, packet by packet equal to tail drop. Loads
    /// around and above one; packets from 40 B, whose overhead counts most.
    #[test]
    fn without_excess_it_is_tail_drop(
        threshold in 0..30_u32,
        longest_gap in 100_000..1_500_000_u64,
        mut arrivals in prop::collection::vec((0..1_000_u64, 40..=1500_u32), 500..1500),
    ) {
        for (gap, _) in &mut arrivals {
            *gap = *gap * longest_gap / 1000;
        }
        let tail = serde_json::json!({ "kind": "fifo", "limit": "45KB" });
        let tail = Disciplines::builtin().build(&tail, &SETTING).unwrap();
        let tail = losses(tail, &arrivals);
        // 777 B take 0.62 ms on average.
        prop_assert!(longest_gap > 900_000 || tail.contains(&true));
        for follow in [Follow::Nothing, Follow::Drain] {
            let params = CpAqmParams { follow, ..with(threshold, 1.0) };
            prop_assert_eq!(&losses(build(&params), &arrivals), &tail, "{:?}", follow);
        }
    }
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let base = CpAqmParams::default;
    for (params, path) in [
        (CpAqmParams { limit: Limit::Bytes(0), ..base() }, "limit"),
        (with(31, 1.2), "threshold"),
        (with(5, 0.9), "max_congestion"),
        (with(5, f64::NAN), "max_congestion"),
        (CpAqmParams { bucket: Some(Bytes(0)), ..base() }, "bucket"),
        // Its default would be larger than any.
        (CpAqmParams { limit: Limit::Bytes(u64::MAX), ..with(0, 1.2) }, "bucket"),
    ] {
        assert_eq!(CpAqm::new(&params, &SETTING).err().unwrap().path, path);
    }
}
