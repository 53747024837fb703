//! Delivered data packets per CPU second of whole runs, the summary as text included, and of the run
//! phase alone; and memory.
//!
//! `cargo bench -p forebay-sim --bench dumbbell [-- RUNS [NAME]]`; NAME is a part of a scenario's name.

use cpu_time::ProcessTime;
use forebay_sim::{Registry, Scenario, summary};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::fs;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn scenario(
    flows: u32,
    rate: &str,
    delay: &str,
    limit: &str,
    duration: &str,
    starts: &str,
) -> Scenario {
    let tree = json!({
        "duration": duration,
        "tcp": { "congestion": "cubic", "recovery": "sack" },
        "dumbbell": {
            "rate": rate, "delay": delay, "overhead": "ppp",
            "queue": { "kind": "fifo", "limit": limit },
        },
        "traffic": [{ "name": "bulk", "kind": "bulk", "flows": flows, "start": ["0s", starts] }],
    });
    Scenario::read(&tree, Path::new("."), &Registry::builtin().into())
        .expect("the scenario is valid")
}

fn measure(name: &str, flows: u32, scenario: &Scenario, runs: u64) {
    let (mut rates, mut run_phase) = (Vec::new(), Vec::new());
    let mut report = String::new();
    for seed in 1..=runs {
        forget_peak();
        let (start, region) = (ProcessTime::now(), Region::new(ALLOCATOR));
        let mut world = scenario.world(seed).expect("the scenario is valid");
        let set_up = start.elapsed();
        while !world.advance(1_000_000).expect("it fits memory").complete {}
        let ran = start.elapsed() - set_up;
        let change = region.change();
        let live = change.bytes_allocated as isize - change.bytes_deallocated as isize;
        let summary = serde_json::to_string(&summary(scenario, seed, &mut world));
        let summary = summary.expect("keys are strings");
        let seconds = start.elapsed().as_secs_f64();
        drop(world);
        let peak = peak();
        let summary: Value = serde_json::from_str(&summary).expect("it is JSON");
        let packets = summary["packets"].as_f64().expect("a number");
        rates.push(packets / seconds * 1e-6);
        run_phase.push(packets / ran.as_secs_f64() * 1e-6);
        report = format!(
            "{packets} packets, {:.2} events each, utilization {:.4}, loss {:.4}, {}; the world \
             holds {} bytes, {} a flow; peak of the process {}",
            summary["events"].as_f64().expect("a number") / packets,
            summary["links"]["bottleneck"]["utilization"].as_f64().expect("a number"),
            summary["queues"]["bottleneck"]["loss"].as_f64().expect("a number"),
            summary["fingerprint"].as_str().expect("a string"),
            live,
            live / flows as isize,
            peak.map_or("unknown".to_owned(), |peak| {
                format!("{peak} bytes, {} a flow", peak / u64::from(flows))
            }),
        );
    }
    let [rates, run_phase] = [rates, run_phase].map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        let [median, least, most] = [runs / 2, 0, runs - 1].map(|at| rates[at as usize]);
        format!("{median:.2} M packets per CPU second ({least:.2} to {most:.2})")
    });
    println!(
        "{name}: medians of {runs} runs {rates}, in the run phase {run_phase}; last: {report}"
    );
}

/// Most memory that the process has had since the last [`forget_peak`], where the system tells.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// The peak is what is resident now.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runs = words.first().map_or(5, |word| word.parse().expect("RUNS is a whole number"));
    let part = words.get(1).map_or("", String::as_str);
    for (name, flows, scenario) in [
        (
            "16 flows, 10 Mbit/s, 5 ms, 110 s",
            16,
            scenario(16, "10Mbit", "5ms", "30p", "110s", "5s"),
        ),
        (
            "16 flows, 10 Mbit/s, 5 ms, 1010 s",
            16,
            scenario(16, "10Mbit", "5ms", "30p", "1010s", "5s"),
        ),
        (
            "1000 flows, 1 Gbit/s, 10 ms, 10 s",
            1000,
            scenario(1000, "1Gbit", "10ms", "1700p", "10s", "5s"),
        ),
        (
            "100000 flows, 10 Gbit/s, 10 ms, 10 s",
            100_000,
            scenario(100_000, "10Gbit", "10ms", "17000p", "10s", "5s"),
        ),
        // Each flow has the share that it has of 1 Gbit/s among 1000.
        (
            "100000 flows, 100 Gbit/s, 10 ms, 2 s",
            100_000,
            scenario(100_000, "100Gbit", "10ms", "170000p", "2s", "1s"),
        ),
    ] {
        if name.contains(part) {
            measure(name, flows, &scenario, runs);
        }
    }
}
