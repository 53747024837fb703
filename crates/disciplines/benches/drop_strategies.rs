//! The cost of drops from the queue: the question that Bodin and Schelén leave open ("Drop
//! Strategies and Loss-rate Differentiation", section 2.3).
//!
//! A queue stands at a depth; packets leave and come in turns, and every fiftieth arrival one
//! out-of-profile packet is dropped. Compared, by the queue that each needs:
//! - `arrivals`: a plain queue; the packet that is dropped never joins it;
//! - `last`, `first`, `random`: the bank with its index of levels, and a packet from within;
//! - `walk-last`, `walk-first`: a singly linked list without an index, as in the paper. The last
//!   packet of a level needs the whole list, the first one the list up to it.
//!
//! Prints JSON: nanoseconds of processor time a packet, the median of several rounds, and bytes of
//! memory a packet. Run it with
//!
//!     cargo bench -p forebay-disciplines --bench drop_strategies -- papers/drop_strategies/cost.json

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use cpu_time::ThreadTime;
use forebay_core::{Bank, LevelOrder, Packet, Rng};
use serde_json::{Value, json};
use std::hint::black_box;

const DEPTHS: [usize; 7] = [10, 30, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Shares of out-of-profile packets among the arrivals.
const SHARES: [f64; 3] = [0.05, 0.3, 0.9];
/// Arrivals to a drop: a loss of 2 %.
const EVERY: u64 = 50;
const ROUNDS: usize = 7;
/// Approximate processor time of a round, in s.
const ROUND: f64 = 0.02;

const METHODS: [&str; 6] = ["arrivals", "last", "first", "random", "walk-last", "walk-first"];

/// A queue of two levels that can lose a packet of level 1.
trait Queue {
    fn push(&mut self, packet: Packet);
    fn pop(&mut self) -> Option<Packet>;
    /// Drops a packet of level 1 from within, if there is one.
    fn lose(&mut self, rng: &mut Rng) -> Option<Packet>;
}

/// The bank as WRED uses it.
struct Indexed {
    bank: Bank,
    victim: &'static str,
}

impl Queue for Indexed {
    fn push(&mut self, packet: Packet) {
        self.bank.push(0, packet);
    }
    fn pop(&mut self) -> Option<Packet> {
        self.bank.pop(0)
    }
    fn lose(&mut self, rng: &mut Rng) -> Option<Packet> {
        let place = match self.victim {
            "last" => self.bank.level_last(0, 1),
            "first" => self.bank.level_first(0, 1),
            "random" => self.bank.level_random(0, 1, rng),
            _ => None,
        };
        place.map(|place| self.bank.remove(0, place))
    }
}

const NONE: u32 = u32::MAX;

/// A singly linked list in an arena, searched from its head.
struct Walked {
    cells: Vec<(Option<Packet>, u32)>,
    free: u32,
    head: u32,
    tail: u32,
    last: bool,
}

impl Walked {
    fn next(&self, cell: u32) -> u32 {
        self.cells[cell as usize].1
    }

    /// Takes `cell` out, which follows `before` (or is the head).
    fn take(&mut self, before: u32, cell: u32) -> Option<Packet> {
        let next = self.next(cell);
        match before {
            NONE => self.head = next,
            before => self.cells[before as usize].1 = next,
        }
        if next == NONE {
            self.tail = before;
        }
        let place = &mut self.cells[cell as usize];
        place.1 = self.free;
        self.free = cell;
        place.0.take()
    }
}

impl Queue for Walked {
    fn push(&mut self, packet: Packet) {
        let cell = self.free;
        let cell = if cell == NONE {
            self.cells.push((Some(packet), NONE));
            (self.cells.len() - 1) as u32
        } else {
            self.free = self.next(cell);
            // Every field is overwritten; the cell's packet is None.
            self.cells[cell as usize] = (Some(packet), NONE);
            cell
        };
        match self.tail {
            NONE => self.head = cell,
            tail => self.cells[tail as usize].1 = cell,
        }
        self.tail = cell;
    }
    fn pop(&mut self) -> Option<Packet> {
        if self.head == NONE { None } else { self.take(NONE, self.head) }
    }
    fn lose(&mut self, _: &mut Rng) -> Option<Packet> {
        let (mut before, mut cell, mut found) = (NONE, self.head, None);
        while cell != NONE {
            let packet = self.cells[cell as usize].0.as_ref().expect("a linked cell is full");
            if packet.drop_precedence == 1 {
                found = Some((before, cell));
                if !self.last {
                    break;
                }
            }
            (before, cell) = (cell, self.next(cell));
        }
        found.and_then(|(before, cell)| self.take(before, cell))
    }
}

fn build(method: &'static str) -> Box<dyn Queue> {
    let walked = |last| Walked { cells: Vec::new(), free: NONE, head: NONE, tail: NONE, last };
    let bank = match method {
        "walk-last" => return Box::new(walked(true)),
        "walk-first" => return Box::new(walked(false)),
        "arrivals" => Bank::new(1),
        "random" => Bank::with_levels(1, 2, LevelOrder::Random),
        _ => Bank::with_levels(1, 2, LevelOrder::Arrival),
    };
    Box::new(Indexed { bank, victim: method })
}

/// A queue that stands at a depth.
struct Standing {
    queue: Box<dyn Queue>,
    drops_arrivals: bool,
    share: f64,
    rng: Rng,
    arrivals: u64,
    dropped: u64,
}

impl Standing {
    fn new(method: &'static str, depth: usize, share: f64) -> Self {
        let mut standing = Standing {
            queue: build(method),
            drops_arrivals: method == "arrivals",
            share,
            rng: Rng::named(1, "drop strategies"),
            arrivals: 0,
            dropped: 0,
        };
        (0..depth).for_each(|_| standing.join());
        standing
    }

    fn join(&mut self) {
        let mut packet = Packet::new(self.arrivals as u32, 0, 1000);
        packet.drop_precedence = u8::from(self.rng.chance(self.share));
        self.arrivals += 1;
        self.queue.push(packet);
    }

    /// One packet in, one out; now and then one more that is dropped, or that another makes way for.
    fn step(&mut self) {
        if self.arrivals.is_multiple_of(EVERY) {
            if self.drops_arrivals {
                self.arrivals += 1;
                self.dropped += 1;
                let mut packet = Packet::new(0, 0, 1000);
                packet.drop_precedence = u8::from(self.rng.chance(self.share));
                black_box(packet).retire();
            } else if let Some(packet) = self.queue.lose(&mut self.rng) {
                self.dropped += 1;
                black_box(packet.retire());
                self.join();
            }
        }
        if let Some(packet) = self.queue.pop() {
            black_box(packet.retire());
        }
        self.join();
    }

    fn drain(mut self) {
        while let Some(packet) = self.queue.pop() {
            packet.retire();
        }
    }
}

/// Nanoseconds a packet, and the share that was dropped.
fn time(method: &'static str, depth: usize, share: f64) -> Value {
    let mut standing = Standing::new(method, depth, share);
    // One round first, so that the cells have their final places.
    let warm = (2 * depth as u64).clamp(1_000, 20_000);
    let begun = ThreadTime::now();
    (0..warm).for_each(|_| standing.step());
    let each = (begun.elapsed().as_secs_f64() / warm as f64).max(1e-9);
    let steps = ((ROUND / each) as u64).max(4 * EVERY);
    let (arrivals, dropped) = (standing.arrivals, standing.dropped);
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = standing.arrivals;
            let begun = ThreadTime::now();
            (0..steps).for_each(|_| standing.step());
            begun.elapsed().as_secs_f64() * 1e9 / (standing.arrivals - before) as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let lost = (standing.dropped - dropped) as f64 / (standing.arrivals - arrivals) as f64;
    standing.drain();
    json!({
        "method": method, "depth": depth, "share": share, "loss": lost,
        "ns": rounds[ROUNDS / 2], "low": rounds[0], "high": rounds[ROUNDS - 1],
    })
}

/// Bytes that a queue of 65 536 packets takes for each of them.
fn memory(method: &'static str) -> Value {
    const PACKETS: usize = 1 << 16;
    let mut standing = None;
    let taken = allocation_counter::measure(|| {
        standing = Some(Standing::new(method, PACKETS, 0.5));
    });
    standing.into_iter().for_each(Standing::drain);
    json!({ "method": method, "bytes": taken.bytes_current as f64 / PACKETS as f64 })
}

fn main() {
    // Cargo passes "--bench" after what the user gives.
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let mut times = Vec::new();
    for method in METHODS {
        for share in SHARES {
            times.extend(DEPTHS.map(|depth| time(method, depth, share)));
        }
    }
    let found = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "loss": 1.0 / EVERY as f64,
        "times": times,
        "memory": METHODS.map(memory),
    });
    let text = format!("{found:#}\n");
    match file {
        None => print!("{text}"),
        // Cargo runs a benchmark in its crate; the path is seen from the root.
        Some(file) => {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
            std::fs::write(std::path::Path::new(root).join(&file), text)
                .unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}
