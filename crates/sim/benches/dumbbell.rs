//! Delivered data packets per CPU second of whole runs, the summary included.
//!
//! `cargo bench -p forebay-sim --bench dumbbell [-- RUNS [NAME]]`; NAME is a part of a scenario's name.

use cpu_time::ProcessTime;
use forebay_sim::{Scenario, summary};
use serde_json::json;
use std::path::Path;

fn scenario(flows: u32, rate: &str, delay: &str, limit: &str, duration: &str) -> Scenario {
    let tree = json!({
        "duration": duration,
        "tcp": { "congestion": "cubic", "recovery": "sack" },
        "dumbbell": {
            "rate": rate, "delay": delay, "overhead": "ppp",
            "queue": { "kind": "fifo", "limit": limit },
        },
        "traffic": [{ "name": "bulk", "kind": "bulk", "flows": flows, "start": ["0s", "5s"] }],
    });
    Scenario::read(&tree, Path::new(".")).expect("the scenario is valid")
}

fn measure(name: &str, scenario: &Scenario, runs: u64) {
    let mut rates = Vec::new();
    let mut report = String::new();
    for seed in 1..=runs {
        let start = ProcessTime::now();
        let mut world = scenario.world(seed).expect("the scenario is valid");
        while !world.advance(1_000_000).expect("it fits memory").complete {}
        let summary = summary(scenario, seed, &mut world);
        let seconds = start.elapsed().as_secs_f64();
        let packets = summary["packets"].as_f64().expect("a number");
        rates.push(packets / seconds * 1e-6);
        report = format!(
            "{packets} packets, {:.2} events each, utilization {:.4}, loss {:.4}, {}",
            summary["events"].as_f64().expect("a number") / packets,
            summary["links"]["bottleneck"]["utilization"].as_f64().expect("a number"),
            summary["queues"]["bottleneck"]["loss"].as_f64().expect("a number"),
            summary["fingerprint"].as_str().expect("a string"),
        );
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{name}: median {:.2} M packets per CPU second ({:.2} to {:.2} over {runs} runs); last: {report}",
        rates[rates.len() / 2],
        rates[0],
        rates[rates.len() - 1],
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runs = words.first().map_or(5, |word| word.parse().expect("RUNS is a whole number"));
    let part = words.get(1).map_or("", String::as_str);
    for (name, scenario) in [
        ("16 flows, 10 Mbit/s, 5 ms, 110 s", scenario(16, "10Mbit", "5ms", "30p", "110s")),
        ("16 flows, 10 Mbit/s, 5 ms, 1010 s", scenario(16, "10Mbit", "5ms", "30p", "1010s")),
        ("1000 flows, 1 Gbit/s, 10 ms, 10 s", scenario(1000, "1Gbit", "10ms", "1700p", "10s")),
        (
            "100000 flows, 10 Gbit/s, 10 ms, 10 s",
            scenario(100_000, "10Gbit", "10ms", "17000p", "10s"),
        ),
    ] {
        if name.contains(part) {
            measure(name, &scenario, runs);
        }
    }
}
