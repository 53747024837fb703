//! A tree of subscribers in the gate's own code, with frames made and swallowed in memory: rates of
//! plans, shares in a site, and every packet accounted for over a thousand reloads.
//!
//! `FOREBAY_CIRCUITS=10000 cargo test --release -p forebay-gate --test subscribers -- --nocapture`
//! measures a larger network.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "a longer run is asked for by the environment")]

mod cores;

use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};
use forebay_core::{Duration, Time};
use forebay_gate::accounts::Circuits;
use forebay_gate::config::Config;
use forebay_gate::fresh::{Fresh, Used};
use forebay_gate::gate::{Command, Gate, Handle};
use forebay_gate::io::{BATCH, Io, Missed, Pool, Side};
use forebay_gate::plugins::Parts;
use forebay_shaper::headers::Layer;
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Bytes of a packet, of IP.
const LEN: usize = 1_000;
const BUFFERS: u32 = 1 << 16;

/// Frames that come in from outside, and the number that went out inside.
#[derive(Default)]
struct Wire {
    coming: VecDeque<Vec<u8>>,
    /// Frames that come in from inside.
    answers: VecDeque<Vec<u8>>,
    left: u64,
    given: u64,
    no_buffer: u64,
}

/// What is at the ends of a back end in memory.
trait Ends: Send {
    /// Passes a batch of the frames that arrive on `side` to `take`, which returns false if no buffer
    /// is free.
    fn arrive(&mut self, side: Side, take: impl FnMut(&[u8]) -> bool);

    /// So many frames went out.
    fn leave(&mut self, count: u64);
}

impl Ends for Arc<Mutex<Wire>> {
    fn arrive(&mut self, side: Side, mut take: impl FnMut(&[u8]) -> bool) {
        let wire = &mut *self.lock().unwrap();
        for _ in 0..BATCH {
            let coming = match side {
                Side::Outside => &mut wire.coming,
                Side::Inside => &mut wire.answers,
            };
            let Some(frame) = coming.pop_front() else { break };
            if take(&frame) {
                wire.given += u64::from(side == Side::Outside);
            } else {
                wire.no_buffer += 1;
            }
        }
    }

    fn leave(&mut self, count: u64) {
        self.lock().unwrap().left += count;
    }
}

/// A back end in memory.
struct Memory<T>(T);

impl<T: Ends> Io for Memory<T> {
    fn layer(&self) -> Layer {
        Layer::Ethernet
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        self.0.arrive(side, |frame| {
            let Some(index) = pool.take() else { return false };
            pool.buffer(index)[..frame.len()].copy_from_slice(frame);
            pool.set_extent(index, 0, frame.len());
            out.push(index);
            true
        });
        Ok(())
    }

    fn send(&mut self, _: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        self.0.leave(frames.len() as u64);
        frames.drain(..).for_each(|index| pool.give(index));
        Ok(())
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Ok(Vec::new())
    }

    fn descriptor(&self, _: Side) -> BorrowedFd<'_> {
        unreachable!("nothing waits")
    }

    fn missed(&mut self, _: Side) -> Missed {
        Missed::default()
    }
}

/// A network of equal circuits in files, and the gate's configuration.
struct Network {
    folder: PathBuf,
    circuits: usize,
    /// Circuits of a site.
    each: usize,
    /// Mbit/s of a site.
    site: u64,
    leaf: &'static str,
    /// Rate of the link.
    link: &'static str,
    cores: usize,
}

impl Network {
    fn new(name: &str, circuits: usize, each: usize, site: u64, leaf: &'static str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("forebay-isp-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Network { folder, circuits, each, site, leaf, link: "100Gbit", cores: 1 }
    }

    /// The configuration, with plans of `plan(circuit)` Mbit/s down.
    fn config(&self, plan: impl Fn(usize) -> u64) -> Config {
        let sites = self.circuits.div_ceil(self.each);
        let nodes: Vec<String> = (0..sites)
            .map(|site| {
                let rate = self.site;
                format!("\"S{site}\": {{ \"downloadBandwidthMbps\": {rate}, \"uploadBandwidthMbps\": {rate} }}")
            })
            .collect();
        std::fs::write(self.folder.join("network.json"), format!("{{{}}}", nodes.join(",")))
            .unwrap();
        let mut devices = String::from(
            "Circuit ID,Parent Node,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,\
             Download Max Mbps,Upload Max Mbps\n",
        );
        for circuit in 0..self.circuits {
            let (site, [_, _, b, c]) = (circuit / self.each, (circuit as u32).to_be_bytes());
            writeln!(
                devices,
                "c{circuit},S{site},100.64.{b}.{c},2001:db8:{circuit:x}::/48,0.1,0.1,{0},{0}",
                plan(circuit)
            )
            .unwrap();
        }
        std::fs::write(self.folder.join("devices.csv"), devices).unwrap();
        let text = format!(
            "[link]\nrate = \"{0}\"\n[link.reverse]\nrate = \"{0}\"\n\
             [subscribers]\nnetwork = \"network.json\"\ndevices = \"devices.csv\"\n\
             others = \"1Mbit\"\nqueue = {1}\n\
             [io]\nbackend = \"packet\"\ninside = \"a\"\noutside = \"b\"\nbuffers = {BUFFERS}\n\
             cores = {2}\n",
            self.link, self.leaf, self.cores
        );
        Config::parse_in(&self.folder, &text, &Parts::builtin()).unwrap()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A packet to a circuit, over IPv4 or IPv6, with a VLAN tag or without.
fn frame(circuit: usize, six: bool) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let [_, _, b, c] = (circuit as u32).to_be_bytes();
    let payload = [0; LEN];
    let mut out = Vec::new();
    if six {
        let to = Ipv6Addr::new(0x2001, 0xdb8, circuit as u16, 7, 0, 0, 0, 1);
        let builder = ethernet.single_vlan(7.try_into().unwrap()).ipv6([1; 16], to.octets(), 64);
        builder.udp(1, 2).write(&mut out, &payload[..LEN - 48]).unwrap();
    } else {
        let builder = ethernet.ipv4([9, 9, 9, 9], [100, 64, b, c], 64);
        builder.udp(1, 2).write(&mut out, &payload[..LEN - 28]).unwrap();
    }
    out
}

/// A segment of TCP between a server and `circuit`, with `data` bytes and a timestamp.
fn segment(circuit: usize, down: bool, data: usize, stamp: (u32, u32)) -> Vec<u8> {
    let [_, _, b, c] = (circuit as u32).to_be_bytes();
    let (mut from, mut to) = (([9, 9, 9, 9], 443), ([100, 64, b, c], 5_000));
    if !down {
        std::mem::swap(&mut from, &mut to);
    }
    let mut header = TcpHeader::new(from.1, to.1, 1, 512);
    header.ack = true;
    header.set_options(&[TcpOptionElement::Timestamp(stamp.0, stamp.1)]).unwrap();
    let mut out = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from.0, to.0, 64);
    builder.tcp_header(header).write(&mut out, &vec![0; data]).unwrap();
    out
}

struct Running {
    gate: Gate,
    handle: Handle,
    wire: Arc<Mutex<Wire>>,
    batch: Vec<u32>,
    now: Time,
}

impl Running {
    fn new(config: Config) -> Self {
        let wire = Arc::<Mutex<Wire>>::default();
        let pool = Pool::new(BUFFERS, 1_522).unwrap();
        let (gate, handle) =
            Gate::with(config, Box::new(Memory(wire.clone())), pool, false).unwrap();
        Running { gate, handle, wire, batch: Vec::new(), now: Time::from_nanos(1_000_000_000) }
    }

    /// Frames arrive now; then `span` passes.
    fn offer(&mut self, frames: impl Iterator<Item = Vec<u8>>, span: Duration) {
        self.wire.lock().unwrap().coming.extend(frames);
        self.now += span;
        loop {
            let (now, batch) = (self.now, &mut self.batch);
            self.gate.turn(now, Duration::ZERO, [true; 2], batch).unwrap();
            if self.wire.lock().unwrap().coming.is_empty() {
                return;
            }
        }
    }

    fn reload(&mut self, config: Config) {
        drop(self.exchange(Fresh::of(config).unwrap()));
    }

    /// The part of a reload that the loop does.
    fn exchange(&mut self, fresh: Fresh) -> Used {
        let (sender, receiver) = channel();
        self.handle.send(Command::Reload(Box::new(fresh), sender));
        let (now, batch) = (self.now, &mut self.batch);
        self.gate.turn(now, Duration::ZERO, [true; 2], batch).unwrap();
        receiver.recv().unwrap().unwrap()
    }

    fn circuits(&self) -> Circuits {
        self.gate.circuits(self.now, 0..usize::MAX)
    }

    /// Checks that every packet is in one place, by the gate's and by the circuits' counts.
    fn check(&self) {
        let account = self.gate.account(Side::Outside);
        let wire = self.wire.lock().unwrap();
        assert_eq!(account.received, wire.given);
        let held = account.waiting + account.in_transit;
        assert_eq!(account.received, account.dropped + wire.left + held + account.passed);
        let sum =
            self.circuits().circuits.iter().fold([0; 3], |[sent, dropped, waiting], circuit| {
                let way = &circuit.down;
                [sent + way.sent.packets, dropped + way.dropped, waiting + way.waiting]
            });
        assert_eq!(sum, [account.sent, account.dropped, account.waiting]);
    }
}

fn circuits() -> usize {
    std::env::var("FOREBAY_CIRCUITS").map_or(200, |text| text.parse().unwrap())
}

/// Bits of IP packets that each circuit was sent per second.
fn rates(before: &Circuits, after: &Circuits, span: f64) -> Vec<f64> {
    let both = before.circuits.iter().zip(&after.circuits).skip(1);
    let sent = |status: &forebay_gate::accounts::CircuitStatus| status.down.sent.bytes as f64;
    both.map(|(before, after)| (sent(after) - sent(before)) * 8.0 / span).collect()
}

/// Offers every circuit `mbit` Mbit/s for `millis`.
fn load(running: &mut Running, circuits: usize, mbit: u64, millis: u64) {
    let step = (LEN as u64 * 8) * 1_000 / mbit;
    let mut due = 0;
    while due < millis * 1_000_000 {
        // Circuits take turns within a step, so that not all frames come at one instant.
        for part in 0..10 {
            let of = (part..circuits).step_by(10);
            running.offer(
                of.map(|circuit| frame(circuit, circuit.is_multiple_of(3))),
                Duration::from_nanos(step / 10),
            );
        }
        due += step;
    }
}

#[test]
fn plans_hold_and_sites_are_shared() {
    let circuits = circuits();
    // Plans of 2 and 4 Mbit/s; a site of ten circuits has room for all.
    let network = Network::new("plans", circuits, 10, 100, "{ kind = \"fifo\", limit = \"5p\" }");
    let mut running = Running::new(network.config(|circuit| 2 + 2 * (circuit % 2) as u64));
    load(&mut running, circuits, 5, 200);
    let before = (running.circuits(), running.now);
    load(&mut running, circuits, 5, 4_000);
    let span = (running.now - before.1).as_secs_f64();
    let worst = rates(&before.0, &running.circuits(), span).into_iter().enumerate().map(
        |(circuit, rate)| {
            let plan = 2e6 + 2e6 * (circuit % 2) as f64;
            (rate / plan - 1.0).abs()
        },
    );
    let worst = worst.fold(0.0, f64::max);
    println!("{circuits} circuits: rates are off by {:.3} % at most", worst * 100.0);
    assert!(worst < 0.01, "{worst}");
    running.check();

    // Sites of ten circuits with 10 Mbit/s: each circuit gets a tenth, whatever its plan.
    let network = Network::new("site", circuits, 10, 10, "{ kind = \"fifo\", limit = \"5p\" }");
    let mut running = Running::new(network.config(|circuit| 2 + 2 * (circuit % 2) as u64));
    load(&mut running, circuits, 5, 200);
    let before = (running.circuits(), running.now);
    load(&mut running, circuits, 5, 4_000);
    let found = rates(&before.0, &running.circuits(), (running.now - before.1).as_secs_f64());
    let (mut jain, mut off) = (1.0_f64, 0.0_f64);
    for site in found.chunks(10) {
        let (sum, squares) = site
            .iter()
            .fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
        jain = jain.min(sum * sum / (site.len() as f64 * squares));
        off = off.max((sum / 1e7 - 1.0).abs());
    }
    println!(
        "sites are off by {:.3} % at most; Jain's index within a site is {jain:.5} at least",
        off * 100.0
    );
    assert!(jain > 0.999 && off < 0.01, "{jain} {off}");
    running.check();
}

#[test]
fn unknown_addresses_have_a_circuit_of_their_own() {
    let network = Network::new("others", 20, 10, 100, "{ kind = \"fifo\", limit = \"5p\" }");
    let mut running = Running::new(network.config(|_| 5));
    for _ in 0..1_000 {
        running.offer([frame(999, false), frame(3, true)].into_iter(), Duration::from_millis(2));
    }
    let found = running.circuits();
    // 4 Mbit/s are offered to each; unknown addresses have 1, and circuit 3 has 5.
    let [others, third] = [&found.circuits[0], &found.circuits[4]].map(|circuit| circuit.down.sent);
    assert!((240..260).contains(&others.packets), "{}", others.packets);
    assert_eq!((third.packets, third.bytes), (1_000, 1_000 * LEN as u64));
    assert_eq!(found.circuits[4].circuit.as_deref(), Some("c3"));
    assert_eq!(found.circuits[4].node.as_deref(), Some("S0"));
    running.check();
}

#[test]
fn round_trips_are_those_of_the_echoes() {
    let network = Network::new("rounds", 3, 3, 100, "{ kind = \"fifo\" }");
    let mut running = Running::new(network.config(|_| 8));
    for tick in 0..1_000 {
        // The server sends after 3 ms, and the subscriber answers after 20 ms more.
        running.offer([segment(1, true, 900, (tick, tick))].into_iter(), Duration::from_millis(3));
        running.wire.lock().unwrap().answers.push_back(segment(1, false, 100, (tick + 1, tick)));
        running.offer(std::iter::empty(), Duration::from_millis(20));
    }
    let found = &running.circuits().circuits[2];
    let [down, up] = [&found.down, &found.up];
    assert_eq!((down.round_trips, up.round_trips), (1_000, 999));
    let [near, far] = [down, up].map(|way| way.p50_rtt_ms.unwrap());
    assert!((20.0..25.0).contains(&near) && (3.0..3.75).contains(&far), "{near} {far}");
    assert_eq!(running.circuits().circuits[1].down.p99_rtt_ms, None);
    assert_eq!(found.plan_bps, [Some(8_000_000); 2]);
}

#[test]
fn every_packet_is_accounted_for_over_a_thousand_reloads() {
    let count = 50;
    let network =
        Network::new("reloads", count, 10, 30, "{ kind = \"fq-codel\", limit = \"200p\" }");
    let mut running = Running::new(network.config(|_| 4));
    for round in 0..1_000 {
        // A gate that did not run for more than 20 ms would lose capacity.
        for turns in [0..333, 333..666, 666..1_000] {
            let of = |turn: usize| frame((turn * 7 + round) % (count + 3), turn.is_multiple_of(3));
            running.offer(turns.map(of), Duration::from_millis(20));
        }
        if round % 10 == 9 {
            // Another circuit: the tree has another shape, and packets in the old one leave first.
            let more = Network {
                circuits: count + round / 10 % 3,
                folder: network.folder.clone(),
                ..network
            };
            running.reload(more.config(|circuit| 3 + ((circuit + round) % 5) as u64));
            std::mem::forget(more);
        } else {
            running.reload(network.config(|circuit| 3 + ((circuit + round) % 5) as u64));
        }
        running.check_totals();
    }
    let account = running.gate.account(Side::Outside);
    assert_eq!((account.received, running.wire.lock().unwrap().no_buffer), (1_000_000, 0));
    println!("{account:?}");
}

impl Running {
    /// As [`Running::check`], also while circuits come and go.
    fn check_totals(&self) {
        let account = self.gate.account(Side::Outside);
        let wire = self.wire.lock().unwrap();
        assert_eq!(account.received, wire.given);
        let held = account.waiting + account.in_transit;
        assert_eq!(account.received, account.dropped + wire.left + held + account.passed);
        let [offered, sent, dropped] = self.gate.circuit_totals(Side::Outside);
        assert_eq!(
            [sent, dropped, offered - sent - dropped],
            [account.sent, account.dropped, account.waiting]
        );
    }
}

/// Bytes of memory in use.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// Prints what a packet, a circuit and a reload cost:
/// `cargo test --release -p forebay-gate --test subscribers -- --ignored --nocapture`.
#[test]
#[ignore = "measures, and asserts nothing about time"]
fn what_a_packet_costs() {
    for leaf in ["fifo", "fq-codel", "cake"] {
        for circuits in [1, 100, 10_000] {
            let queue: &str = format!("{{ kind = \"{leaf}\" }}").leak();
            let network = Network::new("cost", circuits, 100, 1_000, queue);
            let config = network.config(|_| 900);
            // The buffers of the gate itself are not a circuit's.
            let before = resident();
            let mut running = Running::new(config);
            let built = resident() - before;
            let frames: Vec<_> = (0..circuits).map(|circuit| frame(circuit, false)).collect();
            let (rounds, each) = (800, 1_000);
            let mut spans = Vec::new();
            for round in 0..rounds {
                let turns = (0..each).map(|turn| (turn + round * each) * 7 % circuits);
                let coming: Vec<_> = turns.map(|circuit| frames[circuit].clone()).collect();
                let begun = Instant::now();
                running.offer(coming.into_iter(), Duration::from_millis(10));
                spans.push(begun.elapsed().as_nanos() as f64 / each as f64);
            }
            spans.sort_by(f64::total_cmp);
            let used = resident() - before;
            let mut looks: Vec<_> = (0..circuits)
                .step_by(250)
                .map(|first| {
                    let begun = Instant::now();
                    std::hint::black_box(running.gate.circuits(running.now, first..first + 250));
                    begun.elapsed().as_secs_f64()
                })
                .collect();
            looks.sort_by(f64::total_cmp);
            let begun = Instant::now();
            running.reload(network.config(|_| 800));
            let whole = begun.elapsed().as_secs_f64();
            // Another shape, and then the same one.
            let [shape, same] = [1, 0].map(|more| {
                let circuits = circuits + more;
                let other = Network { circuits, folder: network.folder.clone(), ..network };
                let fresh = Fresh::of(other.config(|_| 700)).unwrap();
                std::mem::forget(other);
                if more == 0 {
                    running.exchange(Fresh::of(network.config(|_| 600)).unwrap());
                }
                let begun = Instant::now();
                running.exchange(fresh);
                begun.elapsed().as_secs_f64()
            });
            println!(
                "{leaf}, {circuits} circuits: {:.0} ns a packet (quartiles {:.0} and {:.0}); {:.1} kB a \
                 circuit when built, {:.1} kB in use; a reload took {:.0} ms; the loop {:.1}, with \
                 another shape {:.1}; a look at 250 circuits {:.2} ms",
                spans[rounds / 2],
                spans[rounds / 4],
                spans[rounds * 3 / 4],
                built / 1e3 / circuits as f64,
                used / 1e3 / circuits as f64,
                whole * 1e3,
                same * 1e3,
                shape * 1e3,
                looks[looks.len() / 2] * 1e3,
            );
            running.check();
        }
    }
}
