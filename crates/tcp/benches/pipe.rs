//! A sender and a receiver back to back over a constant delay.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay_core::{Duration, Rng, Time};
use forebay_tcp::{Config, CongestionControl, Receiver, Segment, Sender};
use std::collections::VecDeque;
use std::hint::black_box;

/// Runs until `segments` data segments have left the sender; loses `loss` of them.
fn run(config: &Config, segments: u64, loss: f64) -> u64 {
    let delay = Duration::from_millis(10);
    let mut rng = Rng::named(1, "pipe");
    let mut now = Time::ZERO;
    let (mut sender, mut receiver) = (Sender::new(config, now), Receiver::new(config));
    let mut forward: VecDeque<(Time, Segment)> = VecDeque::with_capacity(256);
    let mut backward: VecDeque<(Time, Segment)> = VecDeque::with_capacity(256);
    sender.write_forever();
    while sender.stats().segments_sent < segments {
        while let Some(segment) = sender.poll(now) {
            if loss == 0.0 || !rng.chance(loss) {
                forward.push_back((now + delay, segment));
            }
        }
        let arrivals = [
            forward.front().map(|(at, _)| *at),
            backward.front().map(|(at, _)| *at),
            sender.deadline(),
            receiver.deadline(),
        ];
        now = arrivals.into_iter().flatten().min().expect("something is always due");
        if arrivals[0] == Some(now) {
            let (_, segment) = forward.pop_front().expect("it was seen");
            backward
                .extend(receiver.on_segment(now, &segment, false).map(|ack| (now + delay, ack)));
        } else if arrivals[1] == Some(now) {
            let (_, ack) = backward.pop_front().expect("it was seen");
            sender.on_segment(now, &ack);
        } else {
            backward.extend(receiver.on_deadline(now).map(|ack| (now + delay, ack)));
            sender.on_deadline(now);
        }
    }
    receiver.delivered()
}

fn pipe(criterion: &mut Criterion) {
    const SEGMENTS: u64 = 100_000;
    let mut group = criterion.benchmark_group("pipe");
    group.throughput(Throughput::Elements(SEGMENTS)).sample_size(20);
    let base = Config { max_window: Some(100), delayed_ack_count: 1, ..Config::default() };
    let cubic = CongestionControl::Cubic;
    for (name, config, loss) in [
        ("new-reno", base.clone(), 0.0),
        ("delayed-ack", Config { delayed_ack_count: 2, ..base.clone() }, 0.0),
        ("timestamps", Config { timestamps: true, ..base.clone() }, 0.0),
        ("cubic", Config { congestion: cubic, ..base.clone() }, 0.0),
        ("new-reno-1%-loss", base.clone(), 0.01),
        ("cubic-1%-loss", Config { congestion: cubic, ..base }, 0.01),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(run(&config, SEGMENTS, loss)))
        });
    }
    group.finish();
}

criterion_group!(benches, pipe);
criterion_main!(benches);
