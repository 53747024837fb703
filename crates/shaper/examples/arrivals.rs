//! Hands recorded arrivals to a shaper, and says what became of each.
//!
//! Usage: `arrivals PLAN SEED < ARRIVALS > VERDICTS`. The plan is JSON: `{"rate": "10Mbit",
//! "overhead": 0, "mtu": 1500, "queue": {...}}`. An arrival has 80 bytes, little-endian: time in ns
//! (8), flow (2), size in bytes (2), DS field (1), class (1), one unused, length of its TCP header (1; 0 if
//! it has none), that header (64). A line of the answer is, for each arrival in order, the time in ns at
//! which its transmission began, or -1, and whether it was marked (0 or 1). The drop precedence is the DSCP; all packets are of one pair of hosts.

use forebay_core::tcp::Tcp;
use forebay_core::{DropReason, Packet, Poll, Sink, Time};
use forebay_disciplines::Disciplines;
use forebay_shaper::{Plan, Shaper};
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;

#[derive(Default)]
struct Verdicts {
    left: Vec<Option<Time>>,
    marked: Vec<bool>,
    /// The TCP header of what arrives.
    header: Option<Tcp>,
}

impl Sink for Verdicts {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, packet: &Packet) {
        self.marked[packet.id as usize] = true;
    }
    fn tcp_header(&mut self, _: &Packet) -> Option<Tcp> {
        self.header
    }
}

/// Serves the link until `until`; gives when it is free, if something waits.
fn serve(
    shaper: &mut Shaper,
    from: Option<Time>,
    until: Time,
    seen: &mut Verdicts,
) -> Option<Time> {
    let mut at = from?;
    while at <= until {
        match shaper.poll(at, seen) {
            Poll::Send { packet, done_at, .. } => {
                seen.left[packet.retire() as usize] = Some(at);
                at = done_at;
            }
            Poll::Until(free) => at = free,
            Poll::Idle => return None,
        }
    }
    Some(at)
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(plan), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: arrivals PLAN SEED < ARRIVALS".into());
    };
    let plan: Plan = serde_json::from_str(&plan).map_err(|error| format!("plan: {error}"))?;
    let seed = seed.parse().map_err(|error| format!("seed: {error}"))?;
    let disciplines = Arc::new(Disciplines::builtin());
    let mut shaper = Shaper::new(plan, seed, &disciplines).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let mut seen = Verdicts::default();
    let mut free = None;
    for (id, arrival) in bytes.chunks_exact(80).enumerate() {
        let short = |at: usize| u16::from_le_bytes([arrival[at], arrival[at + 1]]);
        let nanos = u64::from_le_bytes(arrival[..8].try_into().expect("eight bytes"));
        let now = Time::from_nanos(nanos);
        let mut packet = Packet::new(id as u32, u32::from(short(8)), u32::from(short(10)));
        (packet.tos, packet.class) = (arrival[12], arrival[13]);
        packet.drop_precedence = packet.dscp();
        (packet.source, packet.destination) = (1, 2);
        free = serve(&mut shaper, free, now, &mut seen);
        seen.left.push(None);
        seen.marked.push(false);
        let header = usize::from(arrival[15]);
        seen.header = Tcp::read(&arrival[16..16 + header])
            .map(|header| Tcp { payload_len: packet.len - 20 - u32::from(arrival[15]), ..header });
        shaper.offer(packet, now, &mut seen);
        // A wait that is not the link's may end with the packet.
        let busy = free.filter(|free| *free <= shaper.free_at());
        free = serve(&mut shaper, busy.or(Some(now)), now, &mut seen);
    }
    serve(&mut shaper, free, Time::MAX, &mut seen);
    let mut out = BufWriter::new(io::stdout().lock());
    for (left, marked) in seen.left.iter().zip(&seen.marked) {
        let left = left.map_or(-1, |time| time.as_nanos() as i64);
        writeln!(out, "{left} {}", u8::from(*marked)).map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}
