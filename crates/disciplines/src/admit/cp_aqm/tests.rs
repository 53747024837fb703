use super::*;
use crate::Disciplines;
use forebay_core::{Backlog, Capacity, Discipline, Duration, Ecn, Poll, Port, Rng, Sink, Verdict};
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
const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000), 7, 1500);

fn with(threshold: u32, max_congestion: f64) -> CpAqmParams {
    let threshold = Length::Size(Limit::Packets(threshold));
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
}

/// A bucket of 9042 B lends 3014 B (D4). The packets that meet 5 to 9 others cost 7655 B. The next
/// costs 1567 B: it is refused, or marked and owed. The one after it, for 1579 B, may not be owed.
#[test]
fn what_is_marked_is_owed_up_to_a_third_of_the_bucket() {
    let params = CpAqmParams { bucket: Some(Bytes(9042)), ecn: true, ..with(5, 1.2) };
    for (ect, queued, marks) in [(true, 11, 1), (false, 10, 0)] {
        let (found, sink) = burst(&params, 14, ect);
        assert_eq!((found, sink.marks), (queued, marks));
        assert_eq!(sink.reasons, vec![DropReason::Policed; 14 - queued as usize]);
    }
}

/// A share of 0.5 of the bucket is missing, so that p_b = 0.1: a fifth is refused (D8).
#[test]
fn early_drops_grow_as_the_bucket_empties() {
    let params = CpAqmParams { early_drop: 0.2, ..CpAqmParams::default() };
    let refused = |level: u64| {
        let mut cp = CpAqm::new(&params, &SETTING).unwrap();
        let size = 67_815 * BYTE;
        assert!(cp.tokens.take(0, size - size * level / 100));
        let (mut rng, early) = (Rng::named(1, "early"), cp.early.as_mut().unwrap());
        let missing = cp.tokens.missing(0);
        (0..20_000).filter(|_| early.refuses(missing, &mut rng)).count()
    };
    assert_eq!(refused(100), 0);
    // The mean gap is (1 / p_b) / 2, as of RED.
    assert!((3800..4200).contains(&refused(50)), "{}", refused(50));
    assert!((1800..2200).contains(&refused(75)), "{}", refused(75));
    assert_eq!(refused(0), 20_000);
}

#[test]
fn without_congestion_nothing_is_dropped_early() {
    let params = CpAqmParams { early_drop: 1.0, ..with(5, 1.2) };
    let (queued, _) = burst(&params, 5, false);
    assert_eq!(queued, 5);
}

#[test]
fn a_packet_that_is_marked_early_is_charged() {
    let params = CpAqmParams { early_drop: 1.0, ecn: true, ..with(0, 1.0) };
    let mut cp = CpAqm::new(&params, &SETTING).unwrap();
    let (mut rng, mut sink) = (Rng::named(1, "port"), Count::default());
    let mut bank = Bank::new(1);
    // 1508 of 69 322 B are left, so p_b = 0.98.
    assert!(cp.tokens.take(0, (67_815 + 1507 - 1508) * BYTE));
    let mut packet = Packet::new(0, 0, 1500);
    packet.set_ecn(Ecn::Ect0);
    let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
    assert!(cp.arrive(0, &mut packet, &mut bank, &mut cx).is_ok());
    packet.retire();
    assert_eq!((sink.marks, cp.tokens.fewest(), cp.tokens.debt()), (1, 1.0, 0.0));
}

/// 5 ms are 6250 B on the wire at 10 Mb/s: 6250 * 1500 / 1507 = 6220 B of packets (D7).
#[test]
fn a_threshold_in_time_follows_the_rate() {
    let time = Length::Time(Duration::from_millis(5));
    let base = CpAqmParams { threshold: time, ..CpAqmParams::default() };
    for (follow, mbps, threshold) in [
        (Follow::Nothing, 1, 6220),
        (Follow::Link, 1, 622),
        // No higher than Q_max.
        (Follow::Link, 1000, 45_000),
    ] {
        let params = CpAqmParams { follow, ..base.clone() };
        let mut cp = CpAqm::new(&params, &SETTING).unwrap();
        assert_eq!(cp.congestion.threshold, 6220);
        cp.set_link_rate(Time::ZERO, Rate::from_bps(mbps * 1_000_000));
        assert_eq!(cp.congestion.threshold, threshold, "{follow:?}");
        // Fresh parameters, at the rate that is followed.
        let double = CpAqmParams { threshold: Length::Time(Duration::from_millis(10)), ..params };
        let mut fresh = CpAqm::new(&double, &SETTING).unwrap();
        assert!(cp.retune(Time::ZERO, &mut fresh));
        assert_eq!(cp.congestion.threshold / 10, (threshold * 2).min(45_000) / 10, "{follow:?}");
    }
    let params = CpAqmParams { threshold: Length::Time(Duration::from_secs(1)), ..base };
    let message = CpAqm::new(&params, &SETTING).err().unwrap().to_string();
    assert!(message.contains("threshold") && message.contains("\"45KB\""), "{message}");
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
    offer(&mut port, arrivals, false, |_, _| {})
}

/// Offers (gap, length) arrivals to a port; tells the backlog after each, and answers which are
/// lost.
fn offer(
    port: &mut Port,
    arrivals: &[(u64, u32)],
    ect: bool,
    mut seen: impl FnMut(Time, Backlog),
) -> Vec<bool> {
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
        let mut packet = Packet::new(id as u32, 0, *len);
        if ect {
            packet.set_ecn(Ecn::Ect0);
        }
        lost.push(port.offer(packet, &mut cx) == Verdict::Dropped);
        seen(now, port.backlog());
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
        let setting = SETTING.with_rate(Rate::from_bps(100_000_000));
        let params = CpAqmParams { follow, ..CpAqmParams::default() };
        let queue = <CpAqm as Named>::build(&params, &setting).unwrap().alone();
        let steps = vec![(second(0), setting.rate), (second(1), SETTING.rate)];
        let mut port = Port::new(queue, Capacity::steps(steps, None), SETTING.overhead);
        let (mut most, mut full) = (0, 0);
        offer(&mut port, &arrivals, false, |now, held| {
            full = full.max(held.packets);
            if now > second(3) {
                most = most.max(held.packets);
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

    /// D4: the longest queue of traffic that ignores marks is that of the same traffic without ECN and
    /// the largest debt at most, and two packets, as other ones are refused. The mean queue is at
    /// most the debt longer.
    #[test]
    fn traffic_that_ignores_marks_gains_no_more_than_the_debt(
        len in 100..=1500_u32,
        // From half of the rate to four times.
        longest_gap in 400_u64..3200,
        gaps in prop::collection::vec(0..1_000_u64, 500..1500),
    ) {
        let arrivals: Vec<_> =
            gaps.iter().map(|gap| (gap * longest_gap * u64::from(len) / 1000, len)).collect();
        let params = CpAqmParams { bucket: Some(Bytes(12_000)), ecn: true, ..with(5, 1.2) };
        let lengths = |ect| {
            let mut port = Port::new(build(&params), Capacity::constant(SETTING.rate), 7);
            let (mut longest, mut sum) = (0, 0);
            offer(&mut port, &arrivals, ect, |_, held| {
                longest = longest.max(held.bytes);
                sum += held.bytes;
            });
            (longest, sum / arrivals.len() as u64)
        };
        let (marked, dropped) = (lengths(true), lengths(false));
        let debt = 4000;
        prop_assert!(marked.0 <= dropped.0 + debt + 2 * u64::from(len), "{} {}", marked.0, dropped.0);
        prop_assert!(marked.1 <= dropped.1 + debt, "{} B beside {} B", marked.1, dropped.1);
    }
}

/// 15 Mb/s on 10 Mb/s: a debt is no help for long.
#[test]
fn under_lasting_overload_an_ect_source_holds_the_same_queue() {
    let arrivals = vec![(803_733, 1500); 20_000];
    let params = CpAqmParams { ecn: true, ..CpAqmParams::default() };
    let mean = |ect| {
        let mut port = Port::new(build(&params), Capacity::constant(SETTING.rate), 7);
        let (mut sum, mut count) = (0, 0);
        offer(&mut port, &arrivals, ect, |now, held| {
            if now > Time::ZERO + Duration::from_secs(2) {
                (sum, count) = (sum + held.packets, count + 1);
            }
        });
        sum as f64 / f64::from(count)
    };
    assert!(mean(false) < 7.0 && (mean(true) - mean(false)).abs() < 0.1, "{}", mean(true));
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let base = CpAqmParams::default;
    for (params, path) in [
        (CpAqmParams { limit: Limit::Bytes(0), ..base() }, "limit"),
        (with(31, 1.2), "threshold"),
        (with(5, 0.9), "max_congestion"),
        (with(5, f64::NAN), "max_congestion"),
        (CpAqmParams { early_drop: 1.1, ..base() }, "early_drop"),
        (CpAqmParams { bucket: Some(Bytes(0)), ..base() }, "bucket"),
        // Its default would be larger than any.
        (CpAqmParams { limit: Limit::Bytes(u64::MAX), ..with(0, 1.2) }, "bucket"),
    ] {
        assert_eq!(CpAqm::new(&params, &SETTING).err().unwrap().path, path);
    }
}
