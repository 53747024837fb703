//! One flow at 100 Mbit/s for 60 s: `time cargo run --release --example bulk -- quic` (or `bulk` for TCP).

use forebay_quic::Quic;
use forebay_world::{World, json};

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_else(|| "quic".to_owned());
    let world = World::dumbbell("100Mbit", "10ms")
        .with::<Quic>()
        .queue("fifo", json!({ "limit": "200p" }))
        .traffic(json!({ "name": "flow", "kind": kind }));
    let outcome = world.duration("60s").run();
    println!("{:.1} Mbit/s", outcome.goodput_bps("flow") * 1e-6);
    println!("{} packets, {} events", outcome.number(&["packets"]), outcome.number(&["events"]));
    print!("{}", outcome.picture());
}
