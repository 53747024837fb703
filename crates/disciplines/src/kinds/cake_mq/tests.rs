//! The bounds of `cake-mq`, and a table of how far it errs: `cargo test --release -p
//! forebay-disciplines cake_mq -- --nocapture`.

use super::{CakeMq, CakeMqParams};
use crate::fixture::Record;
use forebay_core::{
    Context, Discipline, Duration, Named as _, Packet, Params as _, Rate, Rng, Setting, Time, Wake,
};
use serde_json::{Value, json};

/// Bits per second of the bandwidth: 1 Gbit/s, at which a packet of 1000 B takes 8 us.
const BANDWIDTH: u64 = 1_000_000_000;
const LEN: u32 = 1_000;
const PACKET: u64 = 8_000;

struct Bench {
    queue: CakeMq,
    record: Record,
    rng: Rng,
    now: Time,
    /// The flow of each packet.
    flows: Vec<u32>,
    sent: Vec<(Time, u32)>,
}

impl Bench {
    fn new(mut block: Value) -> Self {
        for (field, value) in [
            ("bandwidth", json!(format!("{BANDWIDTH}bit"))),
            // COBALT would drop of queues that never end.
            ("rtt", json!("1000s")),
            ("diffserv", json!("besteffort")),
            ("overhead", json!(0)),
            ("memory_limit", json!("1GB")),
        ] {
            block[field] = value;
        }
        let setting = Setting::new(Rate::from_bps(BANDWIDTH), 0, 1_500);
        let mut params = CakeMqParams::read(&block).unwrap();
        params.cake.target = Some(Duration::from_millis(999_000));
        let queue = CakeMq::new(&params, &setting).unwrap();
        Bench {
            queue,
            record: Record::default(),
            rng: Rng::named(1, "bench"),
            now: Time::from_nanos(1_000_000_000),
            flows: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn offer(&mut self, flow: u32) {
        let mut packet = Packet::new(self.flows.len() as u32, flow, LEN);
        packet.queued = self.now;
        self.flows.push(flow);
        self.queue.enqueue(packet, &mut Context::new(self.now, &mut self.rng, &mut self.record));
    }

    /// Serves until `end`; flows for which `busy` is true always have packets.
    fn serve(&mut self, end: Time, busy: impl Fn(u32) -> bool) {
        loop {
            match self.queue.wake(self.now) {
                Wake::Ready => {}
                Wake::At(time) if time <= end => self.now = time,
                _ => break,
            }
            let mut cx = Context::new(self.now, &mut self.rng, &mut self.record);
            let Some(packet) = self.queue.dequeue(&mut cx) else { continue };
            let flow = self.flows[packet.retire() as usize];
            self.sent.push((self.now, flow));
            if busy(flow) {
                self.offer(flow);
            }
        }
        self.now = end;
    }

    /// A flow of each queue.
    fn one_of_each(&self) -> Vec<u32> {
        let queues = 0..self.queue.instances.len();
        queues.map(|at| (0..).find(|flow| self.queue.queue(*flow) == at).unwrap()).collect()
    }

    /// Packets of a flow.
    fn packets(&self, flow: u32) -> usize {
        self.sent.iter().filter(|(_, other)| *other == flow).count()
    }

    /// The most that was sent beyond the bandwidth from any time on, in ns of the bandwidth.
    fn excess(&self) -> i64 {
        let (mut most, mut least) = (0, i64::MAX);
        for (count, (at, _)) in self.sent.iter().enumerate() {
            let ahead = count as i64 * PACKET as i64 - at.as_nanos() as i64;
            least = least.min(ahead);
            most = most.max(ahead + PACKET as i64 - least);
        }
        most
    }
}

fn harmonic(queues: usize) -> f64 {
    (1..=queues).map(|queue| 1.0 / queue as f64).sum()
}

fn micros(interval: u64) -> Value {
    json!(format!("{interval}us"))
}

#[test]
fn busy_queues_share_the_bandwidth_evenly_and_exactly() {
    for queues in [1, 2, 4, 7] {
        let mut bench = Bench::new(json!({ "queues": queues }));
        let flows = bench.one_of_each();
        for flow in flows.iter().chain(&flows) {
            bench.offer(*flow);
        }
        // The beginning is over after an interval.
        let begin = bench.now + Duration::from_millis(1);
        bench.serve(begin, |_| true);
        bench.sent.clear();
        bench.serve(begin + Duration::from_millis(100), |_| true);
        for flow in &flows {
            let fair = 100_000_000.0 / (PACKET * queues) as f64;
            assert!((bench.packets(*flow) as f64 - fair).abs() <= 2.0, "{queues} queues");
        }
        assert!(bench.excess() <= (queues * PACKET) as i64);
    }
}

#[test]
fn an_instance_learns_of_others_after_an_interval_and_forgets_them() {
    let mut bench = Bench::new(json!({ "queues": 2, "interval": "1ms" }));
    let [one, other] = bench.one_of_each()[..] else { unreachable!() };
    let rate = |bench: &mut Bench, micros: u64| {
        let before = bench.packets(one);
        let end = bench.now + Duration::from_micros(micros);
        bench.serve(end, |flow| flow == one);
        (bench.packets(one) - before) as f64 * PACKET as f64 / (micros * 1_000) as f64
    };
    bench.offer(one);
    bench.offer(one);
    assert!((rate(&mut bench, 10_000) - 1.0).abs() < 0.01);
    // A packet in each interval counts as much as a busy queue.
    let mut halves = Vec::new();
    for _ in 0..20 {
        bench.offer(other);
        halves.push(rate(&mut bench, 800));
    }
    assert!(halves[2..].iter().all(|half| (half - 0.5).abs() < 0.02), "{halves:?}");
    // After two looks without any, the bandwidth is its own.
    rate(&mut bench, 2_100);
    assert!((rate(&mut bench, 10_000) - 1.0).abs() < 0.01);
}

#[test]
fn without_bandwidth_nobody_looks() {
    let (mut params, setting) =
        (CakeMqParams::default(), Setting::new(Rate::from_bps(BANDWIDTH), 0, 1_500));
    CakeMq::resolve(&mut params, &setting);
    let mut queue = CakeMq::new(&params, &setting).unwrap();
    let (mut rng, mut record) = (Rng::named(1, "x"), Record::default());
    let mut cx = Context::new(Time::ZERO, &mut rng, &mut record);
    for flow in 0..8 {
        queue.enqueue(Packet::new(flow, flow, LEN), &mut cx);
    }
    for _ in 0..8 {
        queue.dequeue(&mut cx).unwrap().retire();
    }
    assert!(queue.instances.iter().all(|one| one.looked.is_none() && one.sharing == 1));
    assert_eq!(queue.wake(Time::ZERO), Wake::Idle);
}

#[test]
fn too_much_is_sent_for_an_interval_at_most() {
    println!("all begin at once: R T and packets beyond R, measured and bound");
    for queues in [2_usize, 4, 16] {
        for interval in [50, 200, 1_000, 5_000] {
            let mut bench = Bench::new(json!({ "queues": queues, "interval": micros(interval) }));
            for flow in bench.one_of_each() {
                bench.offer(flow);
                bench.offer(flow);
            }
            let end = bench.now + Duration::from_millis(50);
            bench.serve(end, |_| true);
            let span = interval as i64 * 1_000;
            // The packet after which it looks again was counted before.
            let packets = 1.5 * queues as f64;
            let bound = span as f64 * (harmonic(queues) - 1.0) + packets * PACKET as f64;
            let bound = bound as i64;
            let excess = bench.excess();
            println!(
                "{queues:2} queues, {interval:4} us: {:6.1} kB, bound {:6.1} kB",
                excess as f64 / 8_000.0,
                bound as f64 / 8_000.0
            );
            assert!(excess <= bound, "{queues} {interval}: {excess} {bound}");
            // The bound is not idle: most of it is reached once an interval is long.
            assert!(interval < 1_000 || excess * 10 >= bound * 7, "{excess} {bound}");
        }
    }
}

#[test]
fn however_queues_come_and_go_the_sum_keeps_to_the_harmonic_number() {
    // Bursts at random in each queue: any window of two intervals.
    for (queues, interval) in [(2_usize, 200), (4, 200), (8, 1_000), (16, 50)] {
        let mut bench = Bench::new(json!({ "queues": queues, "interval": micros(interval) }));
        let flows = bench.one_of_each();
        let mut rng = Rng::named(7, "bursts");
        let end = bench.now + Duration::from_millis(100);
        while bench.now < end {
            let flow = flows[rng.below(queues as u64) as usize];
            let longest = interval * 1_000 * 4 / queues as u64;
            (0..=rng.below(longest / PACKET + 1)).for_each(|_| bench.offer(flow));
            let pause = rng.below(longest);
            bench.serve(bench.now + Duration::from_nanos(pause), |_| false);
        }
        let window = Duration::from_micros(2 * interval);
        let mut from = 0;
        let mut most = 0;
        for (to, (at, _)) in bench.sent.iter().enumerate() {
            while at.since(bench.sent[from].0) > window {
                from += 1;
            }
            most = most.max(to + 1 - from);
        }
        let bound = window.as_nanos() as f64 / PACKET as f64 * harmonic(queues) + queues as f64;
        assert!(most as f64 <= bound, "{queues} {interval}: {most} {bound}");
        // It does send faster than the bandwidth.
        let fair = window.as_nanos() / PACKET + 1;
        assert!(most as u64 > fair, "{queues} {interval}: {most} {fair}");
    }
}

#[test]
fn sparse_queues_take_parts_that_they_do_not_use() {
    println!("a busy queue beside sparse ones: part of R, measured and by the formula");
    for queues in [2_usize, 4, 16] {
        for (interval, gap) in [(50, 2_000), (200, 2_000), (1_000, 2_000), (5_000, 2_000)] {
            let mut bench = Bench::new(json!({ "queues": queues, "interval": micros(interval) }));
            let flows = bench.one_of_each();
            let mut rng = Rng::named(3, "sparse");
            bench.offer(flows[0]);
            bench.offer(flows[0]);
            let begin = bench.now + Duration::from_millis(20);
            let end = begin + Duration::from_millis(2_000);
            let each = gap as f64 * 1_000.0 / (queues - 1) as f64;
            while bench.now < end {
                if bench.now < begin {
                    bench.sent.clear();
                }
                let pause = Duration::from_nanos((-libm::log(1.0 - rng.uniform()) * each) as u64);
                bench.serve(bench.now + pause, |flow| flow == flows[0]);
                bench.offer(flows[1 + rng.below(queues as u64 - 1) as usize]);
            }
            let part = bench.packets(flows[0]) as f64 * PACKET as f64
                / bench.now.since(begin).as_nanos() as f64;
            // An instance looks when it sends, half a packet at its rate later.
            let mut expected = 1.0;
            for _ in 0..50 {
                let between = interval as f64 + PACKET as f64 / 2_000.0 / expected;
                let seen = 1.0 - libm::exp(-between / gap as f64);
                expected = (1.0 - libm::pow(1.0 - seen, queues as f64)) / (queues as f64 * seen);
            }
            println!(
                "{queues:2} queues, {interval:4} us, a packet each {gap} us: {part:.3}, {expected:.3}"
            );
            assert!((part / expected - 1.0).abs() < 0.06, "{part} {expected}");
        }
    }
}

#[test]
fn flows_share_by_their_queues_not_by_their_number() {
    println!(
        "64 busy flows: Jain's index, measured and by their numbers; worst flow's part of fair"
    );
    for queues in [2_usize, 4, 16] {
        for skew in [0.0, 0.25, 0.5, 0.75] {
            let mut bench = Bench::new(json!({ "queues": queues, "skew": skew }));
            let all = 64_u32;
            let mut counts = vec![0_u32; queues];
            for flow in 0..all {
                counts[bench.queue.queue(flow)] += 1;
                bench.offer(flow);
                bench.offer(flow);
            }
            bench.serve(bench.now + Duration::from_millis(2), |_| true);
            bench.sent.clear();
            bench.serve(bench.now + Duration::from_millis(800), |_| true);
            let shares: Vec<f64> = (0..all).map(|flow| bench.packets(flow) as f64).collect();
            let (sum, squares) = shares.iter().fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
            let jain = sum * sum / (f64::from(all) * squares);
            let used: Vec<f64> =
                counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count)).collect();
            let inverse: f64 = used.iter().map(|count| 1.0 / count).sum();
            let expected = (used.len() * used.len()) as f64 / (f64::from(all) * inverse);
            let worst = shares.iter().copied().fold(f64::MAX, f64::min) * f64::from(all) / sum;
            println!("{queues:2} queues, skew {skew}: {jain:.3}, {expected:.3}; {worst:.2}");
            assert!((jain - expected).abs() < 0.01, "{jain} {expected}");
        }
    }
}
