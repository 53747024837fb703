//! One suite over every registered discipline and part: the contracts written on
//! [`forebay_core::Discipline`], configuration, and every combination of parts.

mod doubles;
mod retune;

use forebay_conformance::{
    Fate, Manner, SETTING, adversarial, adverse, arrivals, configuration, conforms, random, run,
    runner,
};
use forebay_core::{
    Conduct, Context, Discipline, DropReason, Entry, Family, Packet, Registry, Rng, Setting, Sink,
    Time,
};
use forebay_disciplines::Disciplines;
use proptest::strategy::{Strategy, ValueTree};
use serde_json::{Value, json};

/// Parameters beside the defaults with which a kind is checked.
fn variants(kind: &str) -> Vec<Value> {
    match kind {
        "agent" => vec![json!({ "limit": "30p", "drop_probability": 0.1, "mark_probability": 0.5 })],
        "cake" => vec![
            json!({ "bandwidth": "8Mbit", "diffserv": "diffserv4", "framing": "atm", "overhead": 44 }),
            json!({ "diffserv": "diffserv8", "isolation": "hosts", "memory_limit": "20KB", "wash": true }),
            json!({ "bandwidth": "5Mbit", "ingress": true, "isolation": "dual-srchost", "mpu": "64B",
                "rtt": "10ms", "target": "1ms", "diffserv": "precedence", "memory_limit": "30KB" }),
            json!({ "diffserv": "besteffort", "isolation": "none", "framing": "ptm", "salt": 7 }),
        ],
        "cake-mq" => vec![
            json!({ "bandwidth": "8Mbit", "queues": 3, "interval": "5ms", "memory_limit": "20KB" }),
            json!({ "queues": 2, "skew": 0.5, "diffserv": "diffserv4" }),
            json!({ "bandwidth": "5Mbit", "queues": 1, "salt": 3, "ingress": true }),
        ],
        "cobalt" => vec![
            json!({ "limit": "30p", "increment": 0.25, "target": "1ms", "interval": "5ms" }),
            json!({ "limit": "45KB" }),
        ],
        "codel" => vec![
            json!({ "limit": "30p", "ecn": true, "ce_threshold": "1ms" }),
            json!({ "limit": "45KB" }),
        ],
        "cp-aqm" => vec![
            json!({ "limit": "10p", "threshold": "2p", "max_congestion": 2.0, "bucket": "3KB" }),
            json!({ "bucket": "2KB", "threshold": "0p", "ecn": true, "follow": "drain" }),
            json!({ "bucket": "2KB", "threshold": "1p", "policers": "queue", "occupancy": "queue" }),
            json!({ "bucket": "9KB", "threshold": "2ms", "follow": "link", "ecn": true,
                "early_drop": 0.3 }),
            json!({ "bucket": "9KB", "threshold": "2ms", "policers": "queue", "follow": "drain",
                "ecn": true, "early_drop": 0.1 }),
        ],
        "cq-aqm" => vec![
            json!({ "queues": [
                { "limit": "20p", "local": 10, "non_local": 15 }, { "limit": "10p", "local": 7 },
            ] }),
            json!({ "schedule": { "kind": "wrr", "weights": [1, 3, 2] }, "queues": [
                { "limit": "9p", "local": 4, "local_lower": 2, "non_local": 6 },
                { "limit": "7p", "local": 3, "non_local": 5 }, { "limit": "5p" },
            ] }),
            json!({ "precedences": 3, "schedule": { "kind": "drr" }, "queues": [
                { "limit": "20p", "local": [8, 12], "non_local": [10, 15] },
                { "limit": "10p", "local": [5, 7] },
            ] }),
            json!({ "precedences": 5, "thresholds": { "local": 0.5, "lower": 0.4 },
                "adaptive": { "memory": "50ms", "interval": "1ms", "max_loss": 0.2 },
                "schedule": { "kind": "wfq", "weights": [1, 5] },
                "queues": [{ "limit": "20p" }, { "limit": "10p" }] }),
            json!({ "classify": { "kind": "dscp" }, "thresholds": { "local": 0.5 },
                "precedences": 3, "queues": vec![json!({ "limit": "10p" }); 5] }),
        ],
        "drr" => vec![
            json!({ "weights": [1, 3, 2], "quantum": "100B", "limit": "20KB" }),
            json!({ "classify": { "kind": "dscp" }, "limit": "20p" }),
        ],
        "dualpi2" => vec![
            json!({ "limit": "30p", "step_threshold": "0ms", "step_range": "5ms", "step_packets": 2 }),
            json!({ "overload": "saturate", "beta": 40.0, "dscp": ["EF"], "derandomize": true }),
            json!({ "dscp": ["EF", "DF"], "queue_protection": { "lg_aging": 12, "buckets": 4 } }),
        ],
        "fifo" => vec![json!({ "limit": "1p" }), json!({ "limit": "45KB" })],
        "fq-codel" | "fq-pie" => vec![
            json!({ "limit": "30p", "queues": 4, "ecn": true, "quantum": "300B" }),
            json!({ "limit": "60p", "ce_threshold": "1ms", "ce_threshold_l4s": true }),
        ],
        "gsp" => vec![json!({ "limit": "30p", "threshold": "10p", "adaptive": true })],
        "htb" => vec![
            json!({ "classes": [{ "rate": "4Mbit", "classes": [
                { "rate": "1Mbit", "ceil": "4Mbit", "priority": 1, "quantum": "200B" },
                { "rate": "2Mbit", "ceil": "3Mbit", "classes": [
                    { "rate": "1Mbit", "ceil": "3Mbit", "queue": { "kind": "fifo", "limit": "20p" } },
                    { "rate": "500kbit", "ceil": "3Mbit", "priority": 7, "burst": "15KB",
                        "queue": { "kind": "codel", "limit": "30p", "ecn": true } },
                ] },
                { "rate": "100kbit", "cburst": "1B", "queue": { "kind": "fq-codel", "limit": "9p" } },
            ] }] }),
            // One leaf shapes, and one is a tree.
            json!({ "classify": { "kind": "low-latency" }, "overhead": 0, "classes": [
                { "rate": "3Mbit", "queue": { "kind": "cake", "bandwidth": "1Mbit" } },
                { "rate": "2Mbit", "ceil": "9Mbit", "queue": { "kind": "htb", "classes": [
                    { "rate": "2Mbit", "queue": { "kind": "ncq", "limit": "30p" } },
                ] } },
            ] }),
            json!({ "classify": { "kind": "host", "of": "source" }, "leaf": { "kind": "fq-codel" },
                "classes": [{ "rate": "4Mbit", "classes": [
                    { "rate": "1Mbit", "ceil": "4Mbit" }, { "rate": "500kbit", "ceil": "1Mbit" },
                ] }] }),
            json!({ "classify": { "kind": "flow-hash", "queues": 70 }, "classes": [
                { "rate": "9Mbit", "classes": vec![json!({ "rate": "8bit/s", "ceil": "9Mbit" }); 70] },
            ] }),
        ],
        "ncq" => vec![
            json!({ "limit": "30p", "ncqthresh": 0.5, "favour_acks": true, "favour_control": true }),
            json!({ "limit": "20KB", "ncqthresh": 0.5, "push_out": true }),
            json!({ "limit": "45KB", "window": { "sliding": "100ms" }, "mode": "probabilistic" }),
            json!({
                "limit": "30p", "window": { "decaying": "1s" }, "impact": 0.1,
                "identify": { "flow": { "rate": "64kbit", "flows": 4 } },
            }),
        ],
        "nqb" => vec![
            json!({ "dscp": ["EF", "DF"], "limit": "30p", "nqb_limit": "5p", "weights": [3, 1] }),
            json!({ "dscp": [1, 10, 46], "queue_protection": { "lg_aging": 10, "attempts": 1 } }),
        ],
        "pi2" => vec![json!({ "limit": "45KB", "beta": 40.0 }), json!({ "overload": "saturate" })],
        "pie" => vec![
            json!({ "limit": "50p", "ecn": true, "max_burst": "0ms", "derandomize": true }),
            json!({ "limit": "45KB", "delay_estimation": "departure-rate" }),
        ],
        "prio" => vec![
            json!({ "limit": ["30p", "45KB", "10p"] }),
            json!({ "classify": { "kind": "dscp" }, "limit": "20p" }),
        ],
        "red" => vec![
            json!({ "limit": "40p", "min_th": "5p", "max_th": "15p", "weight": 0.1, "ecn": true }),
            json!({ "limit": "60KB", "min_th": "8KB", "max_th": "23KB", "byte_mode": true }),
            json!({ "limit": "40p", "weight": 0.5, "gaps": "linux", "idle": "linux" }),
        ],
        "rio" | "wred" | "wrt" => ["last", "first", "random"]
            .map(|victim| {
                json!({ "weight": 0.1, "drop_strategy": "drop-from-queue", "victim": victim })
            })
            .to_vec(),
        "step" => vec![
            json!({ "limit": "30p", "threshold": "0ms", "range": "10ms" }),
            json!({ "packets": 3 }),
        ],
        "wrr" => vec![
            json!({ "weights": [1, 3, 2], "limit": "20p" }),
            json!({ "classify": { "kind": "dscp" }, "weights": [1, 2, 3, 4, 5], "limit": "9KB" }),
        ],
        _ => Vec::new(),
    }
}

/// Every kind with its defaults and its variants.
fn subjects() -> Vec<(Entry<dyn Discipline>, Value)> {
    let kinds = Disciplines::builtin().every_kind();
    let blocks = |entry: &Entry<dyn Discipline>| {
        let blocks = std::iter::once(json!({})).chain(variants(&entry.name));
        blocks.map(|block| (entry.clone(), block)).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(blocks).collect()
}

#[test]
fn every_kind_with_parameters_is_checked_with_unusual_ones() {
    for entry in Disciplines::builtin().every_kind().iter() {
        let checked = entry.fields().is_empty() || !variants(&entry.name).is_empty();
        assert!(checked, "{}: give unusual parameters in `variants`", entry.name);
    }
}

#[test]
fn every_kind_keeps_its_contracts_under_random_arrivals() {
    for (entry, block) in subjects() {
        random(&entry, &block)
            .unwrap_or_else(|failure| panic!("{} {block}: {failure}", entry.name));
    }
}

#[test]
fn every_kind_keeps_its_contracts_under_adversarial_arrivals() {
    for (entry, block) in subjects() {
        adverse(&entry, &block)
            .unwrap_or_else(|failure| panic!("{} {block}: {failure}", entry.name));
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        panic!("packet {} was dropped", packet.retire());
    }
    fn marked(&mut self, _: &Packet) {}
}

/// A packet of each of `flows` flows comes and goes.
fn pass(queue: &mut dyn Discipline, flows: u32) {
    let (mut rng, mut sink) = (Rng::named(1, "pass"), Nowhere);
    for flow in 0..flows {
        let mut cx = Context::new(Time::from_nanos(u64::from(flow)), &mut rng, &mut sink);
        queue.enqueue(Packet::new(flow, flow, 1000), &mut cx);
        queue.dequeue(&mut cx).map(Packet::retire);
    }
}

/// Allocations in steady state.
fn allocations(queue: &mut dyn Discipline) -> u64 {
    let mut count = 0;
    forebay_conformance::steady_state(queue, |cycles| {
        count = allocation_counter::measure(cycles).count_total;
    });
    count
}

#[test]
fn no_kind_allocates_in_steady_state() {
    for (entry, block) in subjects() {
        let mut queue = entry.build(&block, &SETTING).unwrap();
        assert_eq!(allocations(&mut *queue), 0, "{} {block}", entry.name);
    }
}

/// Bytes that a queue of this kind takes, and with ten flows that have passed it.
fn bytes_of(kind: &str) -> [u64; 2] {
    let entries = Disciplines::builtin().every_kind();
    let entry = entries.iter().find(|entry| entry.name == kind).unwrap();
    [0, 10].map(|flows| {
        let mut queue = None;
        let info = allocation_counter::measure(|| {
            let mut built = entry.build(&json!({}), &SETTING).unwrap();
            pass(&mut *built, flows);
            queue = Some(built);
        });
        info.bytes_current as u64
    })
}

#[test]
fn queues_that_nobody_uses_take_little_memory() {
    for (kind, most, with_flows) in
        [("fq-codel", 10_000, 20_000), ("fq-pie", 10_000, 25_000), ("cake", 40_000, 60_000)]
    {
        let [empty, used] = bytes_of(kind);
        println!("{kind}: {empty} bytes, with ten flows {used}");
        assert!(empty < most && used < with_flows, "{kind}: {empty} and {used} bytes");
    }
}

#[test]
fn every_part_combines_with_every_other() {
    let registry = Disciplines::builtin();
    let traffic = arrivals(400).new_tree(&mut runner(1)).unwrap().current();
    for classify in &registry.classifiers {
        for admit in &registry.admissions {
            for schedule in &registry.schedulers {
                let block = json!({
                    "classify": { "kind": classify.name },
                    "admit": { "kind": admit.name },
                    "schedule": { "kind": schedule.name },
                });
                let parts = [classify.facts, admit.facts, schedule.facts];
                let keeps_order = parts.iter().all(|facts| facts.keeps_order);
                let facts = Conduct::USUAL.with_order(keeps_order);
                let build = || registry.build(&block, &SETTING).unwrap();
                if let Err(failure) = conforms(&build, &traffic, facts) {
                    panic!("{block}: {failure}");
                }
                let effective = registry.effective(&block, &SETTING).unwrap();
                assert_eq!(registry.effective(&effective, &SETTING).unwrap(), effective);
            }
        }
    }
}

/// CQ-AQM without thresholds is the paper's "standard two finite queue priority model", and so on
/// for more queues and the other schedulers: the same fates of the same packets at the same times.
#[test]
fn cq_aqm_without_thresholds_is_plain_priority() {
    let same = |cq: Value, plain: Value| {
        let test = |arrivals: Vec<_>| {
            let fates = |block| {
                let mut queue = Disciplines::builtin().build(block, &SETTING).unwrap();
                run(&mut *queue, &arrivals, Conduct::USUAL, Manner::Plain).unwrap()
            };
            proptest::prop_assert_eq!(fates(&cq), fates(&plain));
            Ok(())
        };
        runner(64).run(&arrivals(800), test).unwrap();
    };
    let off =
        |limit: u32| json!({ "limit": format!("{limit}p"), "local": limit, "non_local": limit });
    same(
        json!({ "kind": "cq-aqm", "queues": [off(10), off(5)] }),
        json!({ "kind": "prio", "limit": ["10p", "5p"] }),
    );
    same(
        json!({ "kind": "cq-aqm", "queues": [off(9), off(4), { "limit": "3p" }] }),
        json!({ "kind": "prio", "limit": ["9p", "4p", "3p"] }),
    );
    let weights = [3, 1];
    for kind in ["wrr", "drr"] {
        let schedule = json!({ "kind": kind, "weights": weights });
        same(
            json!({ "kind": "cq-aqm", "queues": [off(10), off(5)], "schedule": schedule }),
            json!({ "kind": kind, "weights": weights, "limit": ["10p", "5p"] }),
        );
    }
}

#[test]
fn the_check_of_equality_can_fail() {
    let (_, overload) = adversarial().pop().unwrap();
    let fates = |block: Value| -> Vec<Fate> {
        let mut queue = Disciplines::builtin().build(&block, &SETTING).unwrap();
        run(&mut *queue, &overload, Conduct::USUAL, Manner::Plain).unwrap()
    };
    let low = json!({ "limit": "10p", "local": 9, "non_local": 9 });
    let cq = fates(json!({ "kind": "cq-aqm", "queues": [low, { "limit": "5p" }] }));
    assert_ne!(cq, fates(json!({ "kind": "prio", "limit": ["10p", "5p"] })));
}

#[test]
fn every_entry_reads_its_configuration_strictly() {
    fn all<F: Family<Site<'static> = Setting> + ?Sized>(registry: &Registry<F>) {
        for entry in registry {
            configuration(entry, &SETTING).unwrap_or_else(|what| panic!("{}: {what}", entry.name));
        }
    }
    let disciplines = Disciplines::builtin();
    all(&disciplines.every_kind());
    let Disciplines { classifiers, admissions, schedulers, .. } = disciplines;
    all(&classifiers);
    all(&admissions);
    all(&schedulers);
}

#[test]
fn values_out_of_range_are_refused_with_their_path() {
    let registry = Disciplines::builtin();
    let dscp = |queues: u32| json!({ "kind": "dscp", "queues": queues });
    let htb = |classes: Value| json!({ "kind": "htb", "classes": classes });
    fn deep(levels: u32) -> Value {
        let inner = if levels > 1 { deep(levels - 1) } else { json!([]) };
        json!([{ "rate": "1Mbit", "classes": inner }])
    }
    for (block, path) in [
        (json!({ "kind": "fifo", "limit": "0p" }), "limit"),
        (json!({ "kind": "fifo", "limit": ["1p", "2p"] }), "limit"),
        (
            json!({ "kind": "prio", "classify": { "kind": "class", "queues": 0 } }),
            "classify.queues",
        ),
        (json!({ "kind": "prio", "classify": dscp(3) }), "classify.table.CS3"),
        (json!({ "kind": "prio", "classify": dscp(5), "limit": ["1p", "2p"] }), "limit"),
        (json!({ "kind": "wrr", "weights": [1, 0] }), "weights[1]"),
        (json!({ "kind": "wrr", "classify": dscp(5), "weights": [1, 1] }), "weights"),
        (json!({ "kind": "drr", "weights": [70_000] }), "weights[0]"),
        (json!({ "kind": "drr", "quantum": "0B" }), "quantum"),
        (json!({ "kind": "cq-aqm", "precedences": 1 }), "precedences"),
        (json!({ "kind": "cq-aqm", "queues": [] }), "queues"),
        (
            json!({ "kind": "cq-aqm", "queues": [{ "limit": "5p" }, { "limit": "5p", "local": 6 }] }),
            "queues[1].local",
        ),
        (
            json!({ "kind": "cq-aqm", "schedule": { "kind": "wrr", "weights": [1] } }),
            "schedule.weights",
        ),
        (json!({ "kind": "cp-aqm", "max_congestion": 0.5 }), "max_congestion"),
        (json!({ "kind": "cp-aqm", "threshold": "46KB" }), "threshold"),
        (json!({ "kind": "cp-aqm", "threshold": "1m" }), "threshold"),
        (json!({ "kind": "cp-aqm", "threshold": "10s" }), "threshold"),
        (json!({ "kind": "cp-aqm", "early_drop": -0.1 }), "early_drop"),
        (json!({ "kind": "ncq", "ncqthresh": -0.1 }), "ncqthresh"),
        (json!({ "kind": "ncq", "limit": "0B" }), "limit"),
        (htb(json!([])), "classes"),
        (htb(json!([{ "rate": "1Mbit", "ceil": "900kbit" }])), "classes[0].ceil"),
        (htb(json!([{ "rate": "0Mbit" }])), "classes[0].rate"),
        (htb(json!([{ "rate": "1Mbit" }, { "rate": "1Mbit", "burst": "0B" }])), "classes[1].burst"),
        (htb(json!([{ "rate": "1Mbit", "priority": 8 }])), "classes[0].priority"),
        (
            htb(json!([{ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "0p" } }])),
            "classes[0].queue.limit",
        ),
        (htb(json!([{ "rate": "1Mbit", "queue": { "kind": "fifi" } }])), "classes[0].queue.kind"),
        (
            htb(
                json!([{ "rate": "1Mbit", "classes": [{ "rate": "1Mbit" }, { "rate": "1bit/s" }] }]),
            ),
            "classes[0].classes",
        ),
        (
            htb(json!([{ "rate": "1Mbit", "priority": 0, "classes": [{ "rate": "1Mbit" }] }])),
            "classes[0].priority",
        ),
        (
            htb(deep(9)),
            "classes[0].classes[0].classes[0].classes[0].classes[0].classes[0].classes[0]\
            .classes[0].classes[0]",
        ),
        (json!({ "kind": "htb", "classify": { "kind": "class", "queues": 3 } }), "classify"),
        (json!({ "kind": "htb", "classify": { "kind": "clas" } }), "classify.kind"),
        (
            json!({ "kind": "htb", "classify": { "kind": "low-latency", "queue_protection": {} } }),
            "classify",
        ),
        (
            json!({
                "classify": { "kind": "class" },
                "admit": { "kind": "tail-drop" },
                "schedule": { "kind": "wrr", "weights": [1] },
            }),
            "schedule.weights",
        ),
    ] {
        let error = registry.build(&block, &SETTING).err().expect("out of range");
        assert_eq!(error.path, path, "{block}: {error}");
    }
}
