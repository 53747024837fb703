//! Time of one enqueue and one dequeue of CoDel: built in, as a plug-in that its host watches, and
//! through the C interface as a program in C calls it.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forebay::{Disciplines, Exports, ForebayContext, ForebayPacket, ForebaySetting};
use forebay_core::{
    Context, Discipline, DropReason, Duration, Packet, Rate, Rng, Setting, Sink, Time,
};
use serde_json::json;
use std::hint::black_box;

const SETTING: Setting =
    Setting { rate: Rate::from_bps(10_000_000_000), overhead: 0, mtu: 1500, queues: 1 };
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

fn bench(criterion: &mut Criterion) {
    let block = json!({ "target": "10s", "interval": "100s" });
    let mut group = criterion.benchmark_group("interface");
    group.throughput(Throughput::Elements(1));

    let kinds = Disciplines::builtin().kinds;
    let mut standing = Standing::new(kinds.find("codel").unwrap().build(&block, &SETTING).unwrap());
    group.bench_function("built in", |bencher| bencher.iter(|| standing.step()));

    #[cfg(feature = "load")]
    {
        let library =
            format!("{}codel_plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let library = std::env::current_exe().unwrap().with_file_name(library);
        let plugin = forebay::load(&library).unwrap();
        let mut standing = Standing::new(plugin[0].build(&block, &SETTING).unwrap());
        group.bench_function("plug-in", |bencher| bencher.iter(|| standing.step()));
    }

    let exports = Exports::of(&kinds);
    let index = kinds.names().iter().position(|name| *name == "codel").unwrap();
    // SAFETY: the interface's contracts are kept below.
    unsafe {
        let kind = &*exports.get(index as u32);
        let setting = ForebaySetting { rate: 10_000_000_000, overhead: 0, mtu: 1500 };
        let params = std::ffi::CString::new(block.to_string()).unwrap();
        let null = std::ptr::null_mut();
        let queue = kind.create.unwrap()(kind, params.as_ptr(), &setting, null, 0);
        let mut cx =
            ForebayContext { now: 0, host: null.cast(), drop: drop_packet, mark, random: draw };
        let mut next = 0_u32;
        let mut enqueue = |cx: &mut ForebayContext| {
            let id = next % 1024;
            next = next.wrapping_add(1);
            let packet = ForebayPacket {
                id,
                flow: id % 100,
                len: 1250,
                queued: cx.now,
                ..Default::default()
            };
            kind.enqueue.unwrap()(queue, &packet, cx);
        };
        (0..DEPTH).for_each(|_| enqueue(&mut cx));
        let mut packet = ForebayPacket::default();
        group.bench_function("embedded", |bencher| {
            bencher.iter(|| {
                cx.now += 1000;
                enqueue(&mut cx);
                black_box(kind.wake.unwrap()(queue, cx.now));
                black_box(kind.dequeue.unwrap()(queue, &mut packet, &mut cx));
            });
        });
        kind.destroy.unwrap()(queue);
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = bench
}
criterion_main!(benches);
