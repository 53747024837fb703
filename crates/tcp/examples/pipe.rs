//! A sender and a receiver back to back over a constant delay: `cargo run --release -p forebay-tcp
//! --example pipe -- SEGMENTS [LOSS]`, to be timed or profiled from outside.

use forebay_core::{Duration, Rng, Time};
use forebay_tcp::{Config, Receiver, Segment, Sender};
use std::collections::VecDeque;

/// Runs until `segments` data segments have left the sender; loses `loss` of them.
pub fn run(config: &Config, segments: u64, loss: f64) -> u64 {
    let delay = Duration::from_millis(10);
    let mut rng = Rng::named(1, "pipe");
    let mut now = Time::ZERO;
    let (mut sender, mut receiver) = (Sender::new(config, now), Receiver::new(config));
    let mut forward: VecDeque<(Time, Segment)> = VecDeque::with_capacity(256);
    let mut backward: VecDeque<(Time, Segment)> = VecDeque::with_capacity(256);
    sender.write_forever();
    while sender.segments_sent() < segments {
        while let Some(segment) = sender.poll(now) {
            if loss == 0.0 || !rng.chance(loss) {
                forward.push_back((now + delay, segment));
            }
        }
        // Whatever concerns the receiver first; the sender is asked again when something reaches it.
        loop {
            let data = forward.front().map_or(Time::MAX, |(at, _)| *at);
            let ack = backward.front().map_or(Time::MAX, |(at, _)| *at);
            let delayed = receiver.deadline().unwrap_or(Time::MAX);
            let timer = sender.deadline().unwrap_or(Time::MAX);
            now = data.min(ack).min(delayed).min(timer);
            let reply = if data == now {
                let (_, segment) = forward.pop_front().expect("it was seen");
                receiver.on_segment(now, &segment, segment.ecn())
            } else if delayed == now {
                receiver.on_deadline(now)
            } else if ack == now {
                let (_, segment) = backward.pop_front().expect("it was seen");
                sender.on_segment(now, &segment, segment.ecn());
                break;
            } else {
                sender.on_deadline(now);
                break;
            };
            if let Some(ack) = reply {
                backward.push_back((now + delay, ack));
            }
        }
    }
    receiver.delivered()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let segments = arguments.next().map_or(10_000_000, |text| text.parse().expect("a number"));
    let loss = arguments.next().map_or(0.0, |text| text.parse().expect("a probability"));
    let mut config = Config::default();
    (config.connection.max_window, config.connection.delayed_ack_count) = (Some(100), 1);
    println!("{} bytes delivered", run(&config, segments, loss));
}
