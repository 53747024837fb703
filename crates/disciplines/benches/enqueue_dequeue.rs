//! Time of one enqueue and one dequeue, for every registered kind at several depths of backlog.
//!
//! Every step is a packet in and a packet out of a queue that stands at its depth, at the pace of
//! a 10 Gbit/s link, so that sojourn times, averages and periodic updates are real. Limits and
//! thresholds are far above the depth: nothing is dropped.
//!
//! `push_out` adds the cost of a victim: into a full buffer, whose head then leaves, come a packet
//! out of profile and one in profile that pushes an out-of-profile packet out.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay_core::{
    Context, Discipline, DropReason, Duration, Packet, Rate, Rng, Setting, Sink, Time, config,
};
use forebay_disciplines::Disciplines;
use serde_json::{Value, json};
use std::hint::black_box;

const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000_000), 0, 1500);
const DEPTHS: [usize; 3] = [10, 1_000, 100_000];
/// Flows, unless a subject says otherwise.
const FLOWS: u32 = 100;

/// Retires and counts what is dropped.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.0 += 1;
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

/// Parameters that raise a kind's thresholds above every depth: those of the list that it has.
fn lifted(kind: &str) -> Value {
    let wanted = json!({
        "limit": "850000p",
        "min_th": "400000p",
        "max_th": "800000p",
        "threshold": "400000p",
        "in_profile_th": "400000p",
        "levels": [{}, { "min_th": "400000p", "max_th": "800000p", "max_p": 0.1 }],
        "target": "10s",
        "interval": "100s",
        "rtt": "100s",
        "memory_limit": "1GB",
    });
    let known = Disciplines::builtin()
        .effective(&json!({ "kind": kind }), &SETTING)
        .expect("defaults are valid");
    let mut block = json!({ "kind": kind });
    for (field, value) in wanted.as_object().expect("a table") {
        // CoDel's interval must exceed its target; GSP's stays as it is.
        let is_known = known.get(field).is_some() && !(kind == "gsp" && field == "interval");
        // A threshold may be a length or a time.
        let is_time = config::read::<Duration>(&known[field]).is_ok();
        if is_known {
            let wrong = is_time && config::read::<Duration>(value).is_err();
            block[field] = if wrong { "10s".into() } else { value.clone() };
        }
    }
    if kind == "htb" {
        block = tree(1, 2);
    }
    if kind == "cq-aqm" {
        let queue = json!({ "limit": "850000p", "local": 850_000, "non_local": 850_000 });
        block["queues"] = json!([queue, queue]);
    }
    block
}

/// A tree of `branches` with `leaves` each, of which every leaf borrows; flows are spread over them.
fn tree(branches: u64, leaves: u64) -> Value {
    let rate = |share: u64| format!("{}kbit", 40_000_000 / share);
    let queue = json!({ "kind": "fifo", "limit": "850000p" });
    let leaf = json!({ "rate": rate(10 * branches * leaves), "ceil": rate(1), "queue": queue });
    let branch = json!({ "rate": rate(branches), "ceil": rate(1),
        "classes": vec![leaf; leaves as usize] });
    let root = json!({ "rate": rate(1), "classes": vec![branch; branches as usize] });
    let classify = json!({ "kind": "flow-hash", "queues": branches * leaves });
    json!({ "kind": "htb", "classify": classify, "classes": [root] })
}

/// A discipline that stands at a depth.
struct Standing {
    flows: u32,
    discipline: Box<dyn Discipline>,
    rng: Rng,
    sink: Count,
    now: Time,
    next: u32,
}

impl Standing {
    fn new(block: &Value, depth: usize, flows: u32) -> Self {
        let mut standing = Standing {
            flows,
            discipline: Disciplines::builtin()
                .build(block, &SETTING)
                .unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::named(1, "bench"),
            sink: Count::default(),
            now: Time::ZERO,
            next: 0,
        };
        for _ in 0..depth {
            standing.enqueue();
        }
        // One round first, so that the bank's slots have their final places.
        for _ in 0..2 * depth {
            standing.step();
        }
        let found = (standing.discipline.backlog().packets, standing.sink.0);
        assert_eq!(found, (depth, 0), "{block}");
        standing
    }

    fn enqueue(&mut self) {
        self.enqueue_level((self.next % 2) as u8);
    }

    fn enqueue_level(&mut self, level: u8) {
        let mut packet = Packet::new(self.next, self.next % self.flows, 1250);
        packet.drop_precedence = level;
        packet.class = (self.next % 4) as u8;
        // Every second one is ECT(1), for kinds with a low-latency queue.
        packet.tos = (self.next % 2) as u8;
        packet.queued = self.now;
        self.next = self.next.wrapping_add(1);
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.sink);
        self.discipline.enqueue(packet, &mut cx);
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(1);
        self.enqueue();
        self.dequeue();
    }

    /// One packet leaves, two come, of which the second pushes one out.
    fn push_out(&mut self) {
        self.now += Duration::from_micros(1);
        self.dequeue();
        self.enqueue_level(1);
        self.enqueue_level(0);
    }

    fn dequeue(&mut self) {
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.sink);
        if let Some(packet) = self.discipline.dequeue(&mut cx) {
            black_box(packet.retire());
        }
    }
}

fn bench(criterion: &mut Criterion) {
    let mut subjects: Vec<(String, Value, u32)> = Disciplines::builtin()
        .every_kind()
        .iter()
        .map(|kind| (kind.name.to_string(), lifted(&kind.name), FLOWS))
        .collect();
    for victim in ["last", "first", "random"] {
        let mut block = lifted("wred");
        block["drop_strategy"] = "drop-from-queue".into();
        block["victim"] = victim.into();
        subjects.push((format!("wred-from-queue-{victim}"), block, FLOWS));
    }
    subjects.push(("cake-1000-flows".into(), lifted("cake"), 1_000));
    subjects.push(("htb-10-leaves".into(), tree(2, 5), 1_000));
    subjects.push(("htb-10000-leaves".into(), tree(100, 100), 1_000));
    // Every leaf is in use.
    subjects.push(("htb-10000-leaves-all".into(), tree(100, 100), 20_000));
    let mut group = criterion.benchmark_group("enqueue_dequeue");
    group.throughput(Throughput::Elements(1));
    for (name, block, flows) in &subjects {
        for depth in DEPTHS {
            group.bench_function(format!("{name}/{depth}"), |bencher| {
                let mut standing = Standing::new(block, depth, *flows);
                bencher.iter(|| standing.step());
            });
        }
    }
    group.finish();
}

fn bench_push_out(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("push_out");
    for victim in ["last", "first", "random"] {
        for depth in DEPTHS {
            let mut block = lifted("wred");
            block["drop_strategy"] = "drop-from-queue".into();
            block["victim"] = victim.into();
            block["limit"] = format!("{}p", depth + 1).into();
            group.bench_function(format!("{victim}/{depth}"), |bencher| {
                let mut standing = Standing::new(&block, depth, FLOWS);
                standing.enqueue_level(0);
                bencher.iter(|| standing.push_out());
                assert!(standing.sink.0 > 0);
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(500));
    targets = bench, bench_push_out
}
criterion_main!(benches);
