//! A gate on several cores: plans, the link and sites that cores share, frames that arrive on another
//! core, and what a second core brings.

use super::{BUFFERS, Ends, LEN, Memory, Network, Wire, frame};
use forebay_core::{Duration, Time};
use forebay_gate::accounts::Circuits;
use forebay_gate::clock::Clock;
use forebay_gate::config::Config;
use forebay_gate::direction::Account;
use forebay_gate::fresh::Fresh;
use forebay_gate::gate::{Command, Gate, Handle, Turn};
use forebay_gate::io::{BATCH, Io, Pool, Side};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};

/// A gate whose cores take turns, on a clock that the test moves.
struct Cores {
    gates: Vec<Gate>,
    handle: Handle,
    wires: Vec<Arc<Mutex<Wire>>>,
    now: Time,
    batch: Vec<u32>,
}

impl Cores {
    fn new(config: Config, cores: usize) -> Self {
        let wires: Vec<_> = (0..cores).map(|_| Arc::<Mutex<Wire>>::default()).collect();
        let end = |wire: &Arc<Mutex<Wire>>| {
            let io: Box<dyn Io> = Box::new(Memory(wire.clone()));
            (io, Pool::new(BUFFERS / cores as u32, 1_522).unwrap())
        };
        let ends = wires.iter().map(end).collect();
        let (gates, handle) = Gate::on_cores(config, ends, false).unwrap();
        Cores { gates, handle, wires, now: Time::from_nanos(1_000_000_000), batch: Vec::new() }
    }

    /// Frames arrive on cores; then `span` passes, and all are served.
    fn offer(&mut self, frames: impl Iterator<Item = (usize, Vec<u8>)>, span: Duration) {
        for (core, frame) in frames {
            self.wires[core].lock().unwrap().coming.push_back(frame);
        }
        self.now += span;
        // The last turns are for frames that came by mail.
        for _ in 0..2 {
            self.turn();
            while self.wires.iter().any(|wire| !wire.lock().unwrap().coming.is_empty()) {
                self.turn();
            }
        }
    }

    fn turn(&mut self) {
        for gate in &mut self.gates {
            gate.turn(self.now, Duration::ZERO, [true; 2], &mut self.batch).unwrap();
        }
    }

    fn circuits(&self) -> Circuits {
        let mut all = self.gates.iter().map(|gate| gate.circuits(self.now, 0..usize::MAX));
        let mut whole = all.next().unwrap();
        all.for_each(|more| whole.add(more));
        whole
    }

    fn reload(&mut self, config: Config) {
        for core in 0..self.gates.len() {
            let fresh = Fresh::on(config.clone(), core, &self.handle.rates).unwrap();
            let (sender, receiver) = channel();
            self.handle.send_to(core, Command::Reload(Box::new(fresh), sender));
            self.turn();
            drop(receiver.recv().unwrap().unwrap());
        }
    }

    /// Checks that every packet is in one place.
    fn check(&self) {
        let (mut given, mut left, mut places) = (0, 0, 0);
        for (gate, wire) in self.gates.iter().zip(&self.wires) {
            let (account, wire) = (gate.account(Side::Outside), wire.lock().unwrap());
            given += wire.given;
            left += account.received;
            places += account.dropped + wire.left + account.waiting + account.in_transit;
        }
        assert_eq!((given, given), (left, places));
        let sum = self.circuits().circuits.iter().fold(0, |sum, circuit| {
            sum + circuit.down.sent.packets + circuit.down.dropped + circuit.down.waiting
        });
        assert_eq!(sum, given);
    }

    /// Offers each circuit `mbit` Mbit/s for `millis`, on a core by `core(circuit, turn)`. Returns bits
    /// a second of each.
    fn load(
        &mut self,
        circuits: usize,
        mbit: u64,
        millis: u64,
        core: impl Fn(usize, usize) -> usize,
    ) -> Vec<f64> {
        let sent = |cores: &Cores| -> Vec<u64> {
            cores.circuits().circuits.iter().skip(1).map(|one| one.down.sent.bytes).collect()
        };
        let (before, begun) = (sent(self), self.now);
        let step = LEN as u64 * 8 * 1_000 / mbit;
        for turn in 0..(millis * 1_000_000 / step) as usize {
            for part in 0..10 {
                let of = (part..circuits).step_by(10);
                let frames = of.map(|circuit| (core(circuit, turn), frame(circuit, false)));
                self.offer(frames, Duration::from_nanos(step / 10));
            }
        }
        let span = (self.now - begun).as_secs_f64();
        before.iter().zip(sent(self)).map(|(a, b)| (b - a) as f64 * 8.0 / span).collect()
    }
}

const SHORT: &str = "{ kind = \"fifo\", limit = \"5p\" }";

fn on(cores: usize, name: &str, circuits: usize, each: usize, site: u64) -> Network {
    let mut network = Network::new(name, circuits, each, site, SHORT);
    network.cores = cores;
    network
}

/// Jain's index.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
    sum * sum / (rates.len() as f64 * squares)
}

#[test]
fn plans_hold_wherever_frames_arrive() {
    for cores in [2, 3] {
        let network = on(cores, &format!("spread-{cores}"), 60, 10, 100);
        let mut gate = Cores::new(network.config(|circuit| 2 + 2 * (circuit % 2) as u64), cores);
        let spread = |circuit: usize, turn: usize| (circuit * 7 + turn) % cores;
        gate.load(60, 5, 200, spread);
        for (circuit, rate) in gate.load(60, 5, 2_000, spread).into_iter().enumerate() {
            let plan = 2e6 + 2e6 * (circuit % 2) as f64;
            assert!((rate / plan - 1.0).abs() < 0.01, "{cores} cores, circuit {circuit}: {rate}");
        }
        gate.check();
    }
}

#[test]
fn cores_share_the_link_by_their_circuits() {
    // 60 circuits that want 4 Mbit/s each, and a link of 60 Mbit/s. Sites are unequal: three cores have
    // 20 circuits each, in sites of 20.
    let mut network = on(3, "link", 60, 20, 100);
    network.link = "60Mbit";
    let mut gate = Cores::new(network.config(|_| 4), 3);
    gate.load(60, 5, 500, |circuit, _| circuit / 20);
    let rates = gate.load(60, 5, 3_000, |circuit, _| circuit / 20);
    let whole: f64 = rates.iter().sum();
    println!("link: {:.3} of its rate, Jain's index {:.5}", whole / 60e6, jain(&rates));
    assert!((whole / 60e6 - 1.0).abs() < 0.01, "{whole}");
    assert!(jain(&rates) > 0.995, "{}", jain(&rates));
    gate.check();
    // Two of the cores have nothing to do: the third one has the link, up to its plans.
    let mut network = on(3, "alone", 60, 20, 100);
    network.link = "40Mbit";
    let mut gate = Cores::new(network.config(|_| 4), 3);
    gate.load(20, 5, 500, |_, _| 0);
    let alone: f64 = gate.load(20, 5, 2_000, |_, _| 0).iter().sum();
    assert!((alone / 40e6 - 1.0).abs() < 0.01, "{alone}");
    gate.check();
}

#[test]
fn a_site_that_cores_share_keeps_its_rate() {
    // One site of 40 circuits, on two cores, has 20 Mbit/s; they want 160.
    let network = on(2, "site-2", 40, 40, 20);
    let mut gate = Cores::new(network.config(|_| 4), 2);
    gate.load(40, 5, 500, |circuit, _| circuit % 2);
    let rates = gate.load(40, 5, 3_000, |circuit, _| circuit % 2);
    let whole: f64 = rates.iter().sum();
    println!("site: {:.3} of its rate, Jain's index {:.5}", whole / 20e6, jain(&rates));
    assert!((whole / 20e6 - 1.0).abs() < 0.01, "{whole}");
    assert!(jain(&rates) > 0.995, "{}", jain(&rates));
    gate.check();
}

#[test]
fn every_packet_is_accounted_for_over_reloads() {
    let base = on(2, "reloads-2", 50, 10, 30);
    let mut gate = Cores::new(base.config(|_| 4), 2);
    for round in 0..200 {
        let frames = |turn: usize| {
            let circuit = (turn * 7 + round) % 53;
            ((turn + round) % 2, frame(circuit, turn.is_multiple_of(3)))
        };
        gate.offer((0..300).map(frames), Duration::from_millis(20));
        // Every third time with other circuits, some of which change their core.
        let circuits = if round % 3 == 2 { 50 + round % 4 } else { 50 };
        let more = Network { circuits, folder: base.folder.clone(), ..base };
        gate.reload(more.config(|circuit| 3 + ((circuit + round) % 5) as u64));
        std::mem::forget(more);
    }
    // What waits in trees of the past leaves at the rates that all trees share.
    let waiting =
        |gate: &Cores| gate.gates.iter().map(|one| one.account(Side::Outside).waiting).sum::<u64>();
    let (held, begun) = (waiting(&gate), gate.now);
    while waiting(&gate) > 0 {
        gate.offer(std::iter::empty(), Duration::from_millis(5));
        let took = gate.now - begun;
        assert!(took < Duration::from_millis(10_000), "{} of {held} still wait", waiting(&gate));
    }
    let total: u64 = gate.gates.iter().map(|gate| gate.circuit_totals(Side::Outside)[0]).sum();
    assert_eq!(total, gate.wires.iter().map(|wire| wire.lock().unwrap().given).sum::<u64>());
    let places = gate.gates.iter().zip(&gate.wires).map(|(gate, wire)| {
        let account = gate.account(Side::Outside);
        account.dropped + account.waiting + account.in_transit + wire.lock().unwrap().left
    });
    assert_eq!(places.sum::<u64>(), total);
}

/// Makes frames for circuits in turn, and swallows what comes out.
struct Mill {
    frames: Vec<Vec<u8>>,
    next: usize,
    /// Frames that it makes still.
    most: u64,
    swallowed: u64,
    total: Arc<Mutex<u64>>,
}

impl Ends for Mill {
    fn arrive(&mut self, side: Side, mut take: impl FnMut(&[u8]) -> bool) {
        let most = if side == Side::Outside { self.most.min(BATCH as u64) } else { 0 };
        for _ in 0..most {
            self.next = (self.next + 7) % self.frames.len();
            if !take(&self.frames[self.next]) {
                break;
            }
            self.most -= 1;
        }
    }

    fn leave(&mut self, count: u64) {
        self.swallowed += count;
    }
}

impl Drop for Mill {
    fn drop(&mut self) {
        *self.total.lock().unwrap() += self.swallowed;
    }
}

#[test]
fn threads_lose_no_frame_on_the_way_to_another_core() {
    let (cores, each) = (3, 40_000);
    let base = on(cores, "threads", 60, 10, 10_000);
    let total = Arc::new(Mutex::new(0));
    let end = |core: usize| {
        let frames = (0..60).map(|circuit| frame((circuit + core) % 60, false)).collect();
        let mill = Mill { frames, next: 0, most: each, swallowed: 0, total: total.clone() };
        // So few buffers that frames come to cores which have none.
        (Box::new(Memory(mill)) as Box<dyn Io>, Pool::new(300, 1_522).unwrap())
    };
    let ends = (0..cores).map(end).collect();
    let (gates, handle) = Gate::on_cores(base.config(|_| 500), ends, false).unwrap();
    let clock = Clock::new();
    let work = |core: usize, mut gate: Gate| {
        let (mut clock, mut batch) = (clock, Vec::new());
        let ended = |turn| matches!(turn, Turn::Ended(_));
        while !ended(gate.turn(clock.now(), Duration::ZERO, [true; 2], &mut batch).unwrap()) {
            // The first core is too slow for its mail.
            std::thread::sleep(std::time::Duration::from_micros(if core == 0 { 2_000 } else { 0 }));
        }
        (gate.account(Side::Outside), gate.circuit_totals(Side::Outside))
    };
    let (accounts, lost) = std::thread::scope(|scope| {
        let threads = gates.into_iter().enumerate();
        let threads: Vec<_> =
            threads.map(|(core, gate)| scope.spawn(move || work(core, gate))).collect();
        let mut round = 0;
        let lost = loop {
            // Circuits come and go, so that others change their core.
            let more = Network { circuits: 60 + round % 4, folder: base.folder.clone(), ..base };
            let config = more.config(|_| 300 + 100 * (round % 5) as u64);
            std::mem::forget(more);
            let (sender, receiver) = channel();
            for core in 0..cores {
                let fresh = Fresh::on(config.clone(), core, &handle.rates).unwrap();
                handle.send_to(core, Command::Reload(Box::new(fresh), sender.clone()));
            }
            (0..cores).for_each(|_| drop(receiver.recv().unwrap().unwrap()));
            let (sender, receiver) = channel();
            for core in 0..cores {
                handle.send_to(core, Command::Status(sender.clone()));
            }
            let told: Vec<_> = (0..cores).map(|_| receiver.recv().unwrap()).collect();
            let lost: u64 = told.iter().map(|status| status.outside.no_buffer).sum();
            let come: u64 = told.iter().map(|status| status.reverse.received.packets).sum();
            let held = told.iter().map(|one| one.reverse.backlog_packets + one.reverse.in_transit);
            if come + lost == each * cores as u64 && held.sum::<u64>() == 0 {
                break lost;
            }
            round += 1;
        };
        handle.stop();
        let accounts: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
        println!("{round} reloads; {lost} frames found no buffer");
        (accounts, lost)
    });
    let sum = |of: fn(&(Account, [u64; 3])) -> u64| accounts.iter().map(of).sum::<u64>();
    let received = sum(|(account, _)| account.received);
    assert_eq!(received + lost, each * cores as u64);
    assert_eq!(received, sum(|(account, _)| account.sent + account.dropped));
    assert_eq!(received, sum(|(_, [offered, ..])| *offered));
    assert_eq!(received, sum(|(_, [_, sent, dropped])| sent + dropped));
    assert_eq!(*total.lock().unwrap(), sum(|(account, _)| account.sent));
}

/// Nanoseconds of a clock.
fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Packets a second, and nanoseconds of a processor for a packet, of a gate that runs for `seconds`
/// as fast as it can.
fn speed(network: &Network, seconds: f64, crosses: bool) -> (f64, f64) {
    let cores = network.cores;
    // Sites are put onto the cores in turns.
    let is_of = |core: usize, circuit: usize| circuit / network.each % cores == core;
    let total = Arc::new(Mutex::new(0));
    let end = |core: usize| {
        let own = (0..network.circuits).filter(|circuit| crosses || is_of(core, *circuit));
        let frames: Vec<_> = own.map(|circuit| frame(circuit, false)).collect();
        let mill = Mill { frames, next: 0, most: u64::MAX, swallowed: 0, total: total.clone() };
        let io: Box<dyn Io> = Box::new(Memory(mill));
        (io, Pool::new(BUFFERS / cores as u32, 1_522).unwrap())
    };
    let ends = (0..cores).map(end).collect();
    let (gates, _handle) = Gate::on_cores(network.config(|_| 800), ends, false).unwrap();
    let (barrier, clock) = (Barrier::new(cores), Clock::new());
    let work = |mut gate: Gate| {
        let (mut clock, mut batch) = (clock, Vec::new());
        barrier.wait();
        let (begun, used) = (clock.now(), nanos(ClockId::ThreadCPUTime));
        let end = begun + Duration::from_nanos((seconds * 1e9) as u64);
        loop {
            let now = clock.now();
            if now >= end {
                let used = nanos(ClockId::ThreadCPUTime) - used;
                return ((now - begun).as_secs_f64(), used);
            }
            gate.turn(now, Duration::ZERO, [true; 2], &mut batch).unwrap();
        }
    };
    let spans: Vec<(f64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = gates.into_iter().map(|gate| scope.spawn(|| work(gate))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let packets = *total.lock().unwrap() as f64;
    let longest = spans.iter().map(|(span, _)| *span).fold(0.0, f64::max);
    let used: u64 = spans.iter().map(|(_, used)| used).sum();
    (packets / longest, used as f64 / packets)
}

#[test]
#[ignore = "measures, for docs/cores.md"]
fn two_cores_beside_one() {
    let (rounds, seconds) = (9, 0.3);
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[(values.len() - 1) * part / 4];
        (at(2), at(1), at(3))
    };
    for leaf in ["{ kind = \"fifo\" }", "{ kind = \"fq-codel\" }", "{ kind = \"cake\" }"] {
        let of = |cores, circuits| {
            let mut network = Network::new("speed", circuits, 20, 10_000, leaf);
            network.cores = cores;
            network
        };
        let (mut one, mut two, mut mixed, mut half) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rounds {
            one.push(speed(&of(1, 10_000), seconds, false));
            two.push(speed(&of(2, 10_000), seconds, false));
            mixed.push(speed(&of(2, 10_000), seconds, true));
            half.push(speed(&of(1, 5_000), seconds, false));
        }
        let show = |name: &str, cores: f64, found: &[(f64, f64)]| {
            let wall = found.iter().zip(&one).map(|((pps, _), (base, _))| pps / base);
            let used = found.iter().zip(&one).map(|((_, ns), (_, base))| cores * base / ns);
            let (pps, ns) = found.iter().map(|(pps, ns)| (pps / 1e6, *ns)).unzip();
            println!(
                "{leaf}, {name}: {:.3?} million packets/s, {:.3?} of one core's; {:.0?} ns of a \
                 processor, so {:.3?} by processor time",
                median(pps),
                median(wall.collect()),
                median(ns),
                median(used.collect()),
            );
        };
        show("one core", 1.0, &one);
        show("two cores", 2.0, &two);
        show("one core with half of the circuits", 1.0, &half);
        show("two, half of the frames on the other", 2.0, &mixed);
    }
}
