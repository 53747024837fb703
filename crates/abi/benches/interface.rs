//! The cost of a packet in CoDel, in and out: built in, as a plug-in that its host watches,
//! and through the C interface as a program in C calls it.
//!
//! `cargo bench -p forebay-abi --features load [-- ROUNDS [RUNS]]`. The ways take turns, a block of
//! packets each, so that a busy machine is as busy for all; medians and quartiles of the blocks in ns
//! of CPU time a packet. Then whole runs with the built-in CoDel and the plug-in, likewise.

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use cpu_time::ThreadTime;
use forebay::{
    Disciplines, Exports, FOREBAY_VERSION, ForebayContext, ForebayPacket, ForebaySetting,
};
use forebay_core::{
    Context, Discipline, DropReason, Duration, Packet, Rate, Rng, Setting, Sink, Time,
};
use serde_json::json;
use std::hint::black_box;

const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000_000), 0, 1500);
const DEPTH: u32 = 100;

struct Retire;

impl Sink for Retire {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

/// A packet in and a packet out, a microsecond later each time.
struct Standing {
    queue: Box<dyn Discipline>,
    rng: Rng,
    now: Time,
    next: u32,
}

impl Standing {
    fn new(queue: Box<dyn Discipline>) -> Self {
        let mut standing =
            Standing { queue, rng: Rng::named(1, "bench"), now: Time::ZERO, next: 0 };
        (0..DEPTH).for_each(|_| standing.enqueue());
        standing
    }

    fn enqueue(&mut self) {
        let id = self.next % 1024;
        self.next = self.next.wrapping_add(1);
        let mut packet = Packet::new(id, id % 100, 1250);
        packet.queued = self.now;
        self.queue.enqueue(packet, &mut Context::new(self.now, &mut self.rng, &mut Retire));
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(1);
        self.enqueue();
        black_box(self.queue.wake(self.now));
        let sent = self.queue.dequeue(&mut Context::new(self.now, &mut self.rng, &mut Retire));
        black_box(sent.map(Packet::retire));
    }
}

unsafe extern "C" fn drop_packet(_: *mut ForebayContext, _: *const ForebayPacket, _: u32) {}
unsafe extern "C" fn mark(_: *mut ForebayContext, _: *mut ForebayPacket) -> bool {
    false
}
unsafe extern "C" fn draw(_: *mut ForebayContext) -> u64 {
    1
}

/// A name, and what takes a packet in and out.
type Way = (&'static str, Box<dyn FnMut()>);

/// Packets in a block.
const BLOCK: u32 = 2000;

fn main() {
    let block = json!({ "target": "10s", "interval": "100s" });
    let kinds = Disciplines::builtin().every_kind();
    let mut standing = Standing::new(kinds.find("codel").unwrap().build(&block, &SETTING).unwrap());
    let mut ways: Vec<Way> = vec![("built in", Box::new(move || standing.step()))];

    #[cfg(feature = "load")]
    {
        let mut standing = Standing::new(plugin().kinds[0].build(&block, &SETTING).unwrap());
        ways.push(("plug-in", Box::new(move || standing.step())));
    }

    let exports = Box::leak(Box::new(Exports::of(&kinds)));
    let index = kinds.names().iter().position(|name| *name == "codel").unwrap();
    // SAFETY: the interface's contracts are kept below; the queue lives as long as the process.
    let kind = unsafe { &*exports.get(index as u32) };
    let setting = ForebaySetting {
        struct_size: size_of::<ForebaySetting>() as u32,
        version: FOREBAY_VERSION,
        overhead: 0,
        mtu: 1500,
        rate: 10_000_000_000,
    };
    let params = std::ffi::CString::new(block.to_string()).unwrap();
    let null = std::ptr::null_mut();
    // SAFETY: as above.
    let queue = unsafe { kind.create.unwrap()(kind, params.as_ptr(), &setting, null, 0) };
    let host = null.cast();
    let struct_size = size_of::<ForebayContext>() as u32;
    let (drop, random, tcp, bytes) = (drop_packet as _, draw as _, None, None);
    let mut cx = ForebayContext { struct_size, now: 0, host, drop, mark, random, tcp, bytes };
    let mut next = 0_u32;
    let mut enqueue = move |cx: &mut ForebayContext| {
        let id = next % 1024;
        next = next.wrapping_add(1);
        let (flow, queued) = (id % 100, cx.now);
        let packet = ForebayPacket { id, flow, len: 1250, queued, ..Default::default() };
        // SAFETY: as above.
        unsafe { kind.enqueue.unwrap()(queue, &packet, cx) };
    };
    (0..DEPTH).for_each(|_| enqueue(&mut cx));
    let mut packet = ForebayPacket::default();
    ways.push((
        "embedded",
        Box::new(move || {
            cx.now += 1000;
            enqueue(&mut cx);
            // SAFETY: as above.
            unsafe {
                black_box(kind.wake.unwrap()(queue, cx.now));
                black_box(kind.dequeue.unwrap()(queue, &mut packet, &mut cx));
            }
        }),
    ));
    compare(ways);
    #[cfg(feature = "load")]
    match argument(1, 25) {
        0 => {}
        runs => whole_runs(runs),
    }
}

/// CoDel as a plug-in, which lies beside this program.
#[cfg(feature = "load")]
fn plugin() -> forebay::Plugin {
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = format!("{before}codel_plugin{after}");
    forebay::load(&std::env::current_exe().unwrap().with_file_name(library)).unwrap()
}

/// The same run with the built-in CoDel and with the plug-in, in turns.
#[cfg(feature = "load")]
fn whole_runs(runs: usize) {
    use forebay_sim::{Registry, Scenario, summary};
    use std::path::Path;
    use std::sync::Arc;

    let mut registry = Registry::builtin();
    for kind in plugin().kinds {
        registry.disciplines.kinds.join(kind).unwrap();
    }
    let registry = Arc::new(registry);
    let kinds = ["codel", "my-codel"];
    let mut found = kinds.map(|_| Vec::new());
    let mut fingerprints = kinds.map(|_| String::new());
    for _ in 0..runs {
        for ((kind, found), fingerprint) in kinds.iter().zip(&mut found).zip(&mut fingerprints) {
            let tree = json!({
                "duration": "60s",
                "dumbbell": { "rate": "100Mbit", "delay": "10ms", "queue": { "kind": kind } },
                "traffic": [{ "name": "bulk", "kind": "bulk", "flows": 16 }],
            });
            let scenario = Scenario::read(&tree, Path::new("."), &registry).unwrap();
            let start = ThreadTime::now();
            let mut world = scenario.world(1).unwrap();
            while !world.advance(1_000_000).unwrap().complete {}
            let summary = summary(&scenario, 1, &mut world).whole();
            let seconds = start.elapsed().as_secs_f64();
            let packets = summary["packets"].as_f64().unwrap();
            found.push(seconds / packets * 1e9);
            *fingerprint = summary["fingerprint"].to_string();
        }
    }
    assert_eq!(fingerprints[0], fingerprints[1], "they are one algorithm");
    let shares = found[0].iter().zip(&found[1]).map(|(built_in, plugin)| built_in / plugin * 100.0);
    let shares = shares.collect();
    for (kind, found) in kinds.iter().zip(found) {
        report(&format!("whole run, {kind}, ns a packet"), found);
    }
    report("speed with the plug-in, % of that with the built-in, pair by pair", shares);
}

/// The command line's number at `place`.
fn argument(place: usize, otherwise: usize) -> usize {
    std::env::args().filter_map(|word| word.parse().ok()).nth(place).unwrap_or(otherwise)
}

fn compare(mut ways: Vec<Way>) {
    let rounds = argument(0, 2000);
    let mut found = vec![Vec::with_capacity(rounds); ways.len()];
    for _ in 0..rounds {
        for ((_, step), found) in ways.iter_mut().zip(&mut found) {
            let start = ThreadTime::now();
            (0..BLOCK).for_each(|_| step());
            found.push(start.elapsed().as_nanos() as f64 / f64::from(BLOCK));
        }
    }
    for ((name, _), found) in ways.iter().zip(found) {
        report(&format!("{name}, ns a packet"), found);
    }
}

fn report(name: &str, mut found: Vec<f64>) {
    found.sort_by(f64::total_cmp);
    let at = |quarter: usize| found[(found.len() - 1) * quarter / 4];
    println!("{name}: {:.1} ({:.1} to {:.1}), least {:.1}", at(2), at(1), at(3), at(0));
}
