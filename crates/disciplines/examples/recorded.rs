//! Compares a discipline with another program's queue, packet by packet.
//!
//! `cargo run -p forebay-disciplines --example recorded -- KIND PARAMETERS RATE OVERHEAD MTU < CALLS`
//! reads what happened at a queue in another program, a line each, times in ns:
//!
//! - `A TIME ID LENGTH FLOW CLASS TOS queued|dropped`: a packet arrived, and its fate;
//! - `X TIME ID`: a queued packet was dropped when the next one was to leave;
//! - `D TIME ID`: a packet was sent.
//!
//! It makes the same calls to forebay's discipline, and prints as JSON how many arrivals there were,
//! how many each of the two dropped, and how many packets had different fates.

use forebay_core::{
    Context, DropReason, Duration, Packet, Rate, Rng, Setting, Sink, Time, Verdict,
};
use forebay_disciplines::Disciplines;
use serde_json::json;
use std::io::BufRead;

/// Packets dropped by one call.
#[derive(Default)]
struct Gone(Vec<u32>);

impl Sink for Gone {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.0.push(packet.retire());
    }
    fn marked(&mut self, _: &Packet) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, parameters, rate, overhead, mtu] = words.as_slice() else {
        return Err("usage: recorded KIND PARAMETERS RATE OVERHEAD MTU < CALLS".into());
    };
    let setting = Setting::new(Rate::from_bps(rate.parse()?), overhead.parse()?, mtu.parse()?);
    let block = serde_json::from_str(parameters)?;
    let mut queue = Disciplines::builtin().every_kind().find(kind)?.build(&block, &setting)?;
    let mut rng = Rng::named(1, "recorded");
    let (mut arrivals, mut theirs, mut ours, mut other) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut looked_at = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let now = Time::ZERO + Duration::from_nanos(words[1].parse()?);
        let id: u32 = words[2].parse()?;
        let mut gone = Gone::default();
        let mut cx = Context::new(now, &mut rng, &mut gone);
        match words[0] {
            "A" => {
                let mut packet = Packet::new(id, words[4].parse()?, words[3].parse()?);
                (packet.class, packet.tos) = (words[5].parse()?, words[6].parse()?);
                packet.queued = now;
                let dropped = queue.enqueue(packet, &mut cx) == Verdict::Dropped;
                arrivals += 1;
                theirs += u64::from(words[7] == "dropped");
                other += u64::from(dropped != (words[7] == "dropped"));
            }
            "X" => {
                theirs += 1;
                looked_at.push(id);
            }
            "D" => {
                let sent = queue.dequeue(&mut cx).map(Packet::retire);
                other += u64::from(sent != Some(id) || gone.0 != looked_at);
                looked_at.clear();
            }
            what => return Err(format!("no such call: {what}").into()),
        }
        ours += gone.0.len() as u64;
    }
    let report = json!({ "arrivals": arrivals, "dropped": [theirs, ours], "different": other });
    println!("{report}");
    // The packets that are still held are not counted.
    std::mem::forget(queue);
    Ok(())
}
