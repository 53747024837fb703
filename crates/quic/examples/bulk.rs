//! Flows without end over one link: `time cargo run --release --example bulk -- quic` (or `bulk` for TCP) is
//! one at 100 Mbit/s for 60 s; `-- quic 1000 1Gbit 10s` are 1000.

use forebay_quic::Quic;
use forebay_world::{World, json};

fn main() {
    let mut words = std::env::args().skip(1);
    let mut word = |usual: &str| words.next().unwrap_or_else(|| usual.to_owned());
    let (kind, flows, rate, time) = (word("quic"), word("1"), word("100Mbit"), word("60s"));
    let flows: u32 = flows.parse().expect("the second word is a number of flows");
    let world = World::dumbbell(&rate, "10ms")
        .with::<Quic>()
        .queue("fifo", json!({ "limit": "200p" }))
        .traffic(json!({ "name": "flow", "kind": kind, "flows": flows }));
    let outcome = world.duration(&time).run();
    println!("{:.1} Mbit/s", outcome.goodput_bps("flow") * 1e-6);
    println!("{} packets, {} events", outcome.number(&["packets"]), outcome.number(&["events"]));
    print!("{}", outcome.picture());
}
