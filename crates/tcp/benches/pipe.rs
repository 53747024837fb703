//! Cost of a data segment: sender, receiver, acknowledgment, and the pipe between them.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay_tcp::Config;
use serde_json::json;
use std::hint::black_box;

#[path = "../examples/pipe.rs"]
#[allow(dead_code)]
mod back_to_back;

fn pipe(criterion: &mut Criterion) {
    const SEGMENTS: u64 = 100_000;
    let mut group = criterion.benchmark_group("pipe");
    group.throughput(Throughput::Elements(SEGMENTS)).sample_size(20);
    for (name, field, value, loss) in [
        ("new-reno", "congestion", json!("new-reno"), 0.0),
        ("delayed-ack", "delayed_ack_count", json!(2), 0.0),
        ("timestamps", "timestamps", json!(true), 0.0),
        ("cubic", "congestion", json!("cubic"), 0.0),
        ("linux", "preset", json!("linux"), 0.0),
        ("new-reno-1%-loss", "congestion", json!("new-reno"), 0.01),
        ("cubic-1%-loss", "congestion", json!("cubic"), 0.01),
    ] {
        let mut given = json!({ "max_window": 100, "delayed_ack_count": 1 });
        given[field] = value;
        let config = Config::read(&given).expect("it is valid");
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(back_to_back::run(&config, SEGMENTS, loss)))
        });
    }
    group.finish();
}

criterion_group!(benches, pipe);
criterion_main!(benches);
