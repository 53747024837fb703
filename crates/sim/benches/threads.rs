//! One run on one thread and on several, in turns: elapsed time and processor time.
//!
//! `cargo bench -p forebay-sim --bench threads [-- TURNS THREADS [FILE SECONDS]]`; without a file, a
//! parking lot of 100 links, a dumbbell, and networks of which one is too small to be parted.

#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use cpu_time::ProcessTime;
use forebay_sim::{Registry, Scenario, scenario, summary};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

fn read(tree: &Value) -> Scenario {
    Scenario::read(tree, Path::new("."), &Registry::builtin().into())
        .expect("the scenario is valid")
}

/// `hops` links of 10 ms, with four flows over all of them and four over each.
fn parking_lot(hops: u32, rate: &str, delay: &str, duration: &str) -> Scenario {
    let short =
        |hop| json!({ "name": format!("hop{hop}"), "kind": "bulk", "hop": hop, "flows": 4 });
    let long = json!({ "name": "long", "kind": "bulk", "flows": 4 });
    let traffic: Vec<_> = [long].into_iter().chain((1..=hops).map(short)).collect();
    read(&json!({
        "duration": duration,
        "tcp": { "congestion": "cubic" },
        "parking_lot": {
            "hops": hops, "rate": rate, "delay": delay,
            "queue": { "kind": "fifo", "limit": "100p" },
        },
        "traffic": traffic,
    }))
}

fn dumbbell(flows: u32, rate: &str, limit: &str, duration: &str) -> Scenario {
    read(&json!({
        "duration": duration,
        "tcp": { "congestion": "cubic" },
        "dumbbell": { "rate": rate, "delay": "10ms", "queue": { "kind": "fifo", "limit": limit } },
        "traffic": [{ "name": "bulk", "kind": "bulk", "flows": flows, "start": ["0s", "1s"] }],
    }))
}

/// Threads taken, elapsed seconds, processor seconds, events and fingerprint of a run without its
/// set-up.
fn once(scenario: &Scenario, threads: usize) -> (usize, f64, f64, Value, Value) {
    let mut run = scenario.run(1, threads).expect("the scenario is valid");
    let taken = run.parts();
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    while !run.advance(200_000).expect("it fits memory").complete {}
    let (elapsed, spent) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let mut world = run.whole().expect("nothing is written");
    let found = summary(scenario, 1, &mut world).whole();
    (taken, elapsed, spent, found["events"].clone(), found["fingerprint"].clone())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(name: &str, scenario: &Scenario, turns: usize, threads: usize) {
    let (mut alone, mut together, mut gain, mut spent) = (vec![], vec![], vec![], vec![]);
    let mut last = None;
    for turn in 0..turns {
        // Who is first changes from turn to turn.
        let order = if turn % 2 == 0 { [1, threads] } else { [threads, 1] };
        let [first, second] = order.map(|threads| once(scenario, threads));
        let (one, many) = if order[0] == 1 { (first, second) } else { (second, first) };
        assert_eq!((&one.3, &one.4), (&many.3, &many.4), "not the same run");
        alone.push(one.1);
        together.push(many.1);
        gain.push(one.1 / many.1);
        spent.push(many.2 / one.2);
        last = Some((many.0, many.3));
    }
    let (taken, events) = last.expect("there is a turn");
    let gained = median(&mut gain);
    println!(
        "{name}: {events} events; {:.3} s on one thread, {:.3} s on {taken}: {gained:.2} times as fast \
         ({:.2} to {:.2} over {turns} turns), {:.2} times the processor time",
        median(&mut alone),
        median(&mut together),
        gain[0],
        gain[gain.len() - 1],
        median(&mut spent),
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, default: usize| {
        words.get(at).map_or(default, |word| word.parse().expect("it is a whole number"))
    };
    let (turns, threads) = (number(0, 5), number(1, 2));
    if let Some(file) = words.get(2) {
        let text = std::fs::read_to_string(file).expect("the file can be read");
        let mut tree = scenario::parse(&text).expect("the file is TOML");
        tree["duration"] = json!(format!("{}s", number(3, 2)));
        tree["warmup"] = json!("0s");
        return measure(file, &read(&tree), turns, threads);
    }
    let lot = parking_lot(100, "10Mbit", "10ms", "20s");
    measure("parking lot of 100 links", &lot, turns, threads);
    measure("1000 flows, 1 Gbit/s", &dumbbell(1000, "1Gbit", "1700p", "5s"), turns, threads);
    measure("16 flows, 100 Mbit/s", &dumbbell(16, "100Mbit", "300p", "60s"), turns, threads);
    measure("16 flows, 10 Mbit/s", &dumbbell(16, "10Mbit", "30p", "600s"), turns, threads);
    let near = parking_lot(20, "100Mbit", "20us", "5s");
    measure("20 links of 20 us", &near, turns, threads);
}
