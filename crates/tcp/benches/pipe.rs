//! Cost of a data segment: sender, receiver, acknowledgment, and the pipe between them.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay_tcp::congestion::Cubic;
use forebay_tcp::{Config, CongestionControl};
use std::hint::black_box;

#[path = "../examples/pipe.rs"]
#[allow(dead_code)]
mod back_to_back;

fn pipe(criterion: &mut Criterion) {
    const SEGMENTS: u64 = 100_000;
    let mut group = criterion.benchmark_group("pipe");
    group.throughput(Throughput::Elements(SEGMENTS)).sample_size(20);
    let base = Config { max_window: Some(100), delayed_ack_count: 1, ..Config::default() };
    let cubic = CongestionControl::of::<Cubic>();
    for (name, config, loss) in [
        ("new-reno", base.clone(), 0.0),
        ("delayed-ack", Config { delayed_ack_count: 2, ..base.clone() }, 0.0),
        ("timestamps", Config { timestamps: true, ..base.clone() }, 0.0),
        ("cubic", Config { congestion: cubic.clone(), ..base.clone() }, 0.0),
        ("new-reno-1%-loss", base.clone(), 0.01),
        ("cubic-1%-loss", Config { congestion: cubic, ..base }, 0.01),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(back_to_back::run(&config, SEGMENTS, loss)))
        });
    }
    group.finish();
}

criterion_group!(benches, pipe);
criterion_main!(benches);
