//! Guardians, gates that they start, upgrades and clients, with the gate's own code in a world where
//! a seed decides which thread runs next, what fails, and who is killed or stopped.
//!
//! A seed that fails is printed and repeats: `FOREBAY_SEED=7 cargo test -p forebay-gate --test
//! processes`. `FOREBAY_EVENTS` asks for more events. An event is a choice of the thread that runs
//! until it waits.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "a longer run is asked for by the environment")]

mod wire;
mod world;

use forebay_gate::control::ask_within;
use forebay_gate::host::Host;
use forebay_gate::plugins::Parts;
use forebay_gate::run::Run;
use forebay_gate::status::Status;
use forebay_gate::system::sleep;
use forebay_shaper::replay;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use world::{Faults, World, gate, plain};

/// Events of a short run.
const EVENTS: u64 = 300_000;
/// Events of one world.
const LIFE: u64 = 30_000;
/// How long a client may take: twice the patience of either end, and some turns of others.
const ANSWERED: Duration = Duration::from_millis(10_500);
/// How long a frame may wait while a guardian lives: for a gate that was stopped as it took over.
const LONGEST: u64 = 25_000_000_000;
/// What fails in an evil world.
const EVIL: Faults = Faults { start: 100, load: 50, open: 50, confine: 30, spawn: 3, disk: 100 };

/// Links of which one is in the file.
const LINKS: [&str; 5] = [
    "",
    "rate = \"1Mbit\", queue = { kind = \"fifo\", limit = \"50p\" }",
    "rate = \"50Mbit\", queue = { kind = \"codel\" }",
    "rate = \"300kbit\", queue = { kind = \"fq-codel\" }, delay = \"20ms\"",
    "rate = \"0bit\"",
];

/// One world, and the processes that were started in it.
struct Drama {
    world: Arc<World>,
    system: Arc<dyn Host>,
    backend: &'static str,
    /// Guardians, and whether they were told to end.
    guardians: BTreeMap<u32, bool>,
    clients: Vec<u32>,
    /// Since when a guardian has been there, with all it needs.
    since: u64,
    happened: BTreeMap<&'static str, u64>,
    /// The longest that a frame waited meanwhile.
    longest: u64,
}

impl Drama {
    fn new(seed: u64) -> Drama {
        Drama::with(seed, if seed.is_multiple_of(4) { Faults::default() } else { EVIL })
    }

    fn with(seed: u64, faults: Faults) -> Drama {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("fb-world-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let world = World::new(seed, folder, faults);
        let backend = ["tun", "packet", "xdp"][world.look().rng.below(3) as usize];
        let mut drama = Drama {
            system: world.system(1),
            world,
            backend,
            guardians: BTreeMap::new(),
            clients: Vec::new(),
            since: 0,
            happened: BTreeMap::new(),
            longest: 0,
        };
        drama.configure(0);
        drama.guard(false);
        drama
    }

    fn below(&self, limit: u64) -> u64 {
        self.world.look().rng.below(limit)
    }

    fn file(&self) -> PathBuf {
        self.world.folder.join("gate.toml")
    }

    fn socket(&self) -> PathBuf {
        self.world.folder.join("socket")
    }

    fn configure(&self, link: usize) {
        self.configure_with(LINKS[link]);
    }

    fn configure_with(&self, link: &str) {
        let text = format!(
            "socket = {:?}\nlink = {{ {} }}\n[io]\nbackend = \"{}\"\ninside = \"a\"\noutside = \"b\"\n\
             buffers = 256\n",
            self.socket(),
            link,
            self.backend
        );
        fs::write(self.file(), text).unwrap();
    }

    /// Starts a guardian. If it takes over, it follows the gate that runs.
    fn guard(&mut self, take_over: bool) {
        // Who takes over from a gate with a guardian needs not be told to be one.
        let fail_open = !take_over || self.below(2) == 0;
        let number = self.world.look().processes.len();
        let record = Some(self.world.folder.join(number.to_string()));
        let run = Run { fail_open, take_over, record, ..plain(self.file()) };
        let world = self.world.clone();
        let process = self.world.begin(None, move |system| gate(run, &world, system, None));
        self.guardians.insert(process, false);
    }

    /// Gates that live: guardians and what they started.
    fn living(&self) -> Vec<u32> {
        let state = self.world.look();
        let lives = |(number, process): (&u32, &world::Process)| {
            let is_gate = *number > 1 && !self.clients.contains(number);
            (is_gate && process.end.is_none()).then_some(*number)
        };
        state.processes.iter().filter_map(lives).collect()
    }

    /// Someone to whom something happens.
    fn someone(&self, of: &[u32]) -> Option<u32> {
        (!of.is_empty()).then(|| of[self.below(of.len() as u64) as usize])
    }

    /// Something happens.
    fn event(&mut self) {
        let name = match self.below(200) {
            0..120 => "frames",
            120..150 => "client",
            150..160 => "configuration",
            160..166 => "reload",
            166..172 => "kill",
            172..180 => "stop and continue",
            180..186 => "upgrade",
            186..188 => "terminate",
            188..192 => "interface",
            _ => "nobody speaks",
        };
        *self.happened.entry(name).or_default() += 1;
        let living = self.living();
        match name {
            "frames" => self.frames(),
            "client" => self.client(),
            "configuration" => self.configure(self.below(LINKS.len() as u64) as usize),
            "reload" => {
                let one = self.someone(&living);
                one.into_iter().for_each(|one| self.world.signal(one, Signal::HUP));
            }
            "kill" => {
                let one = self.someone(&living);
                one.into_iter().for_each(|one| self.world.end(one, 9));
            }
            "stop and continue" => {
                if let Some(one) = self.someone(&living) {
                    self.stop(one, true);
                    let span = [10, 500, 6_000, 12_000][self.below(4) as usize];
                    self.pass_with_frames(Duration::from_millis(self.below(span)));
                    self.stop(one, false);
                }
            }
            "upgrade" if self.guardians.len() < 4 => self.guard(true),
            "terminate" => {
                if let Some(one) = self.someone(&living) {
                    self.world.signal(one, Signal::TERM);
                    self.guardians.entry(one).and_modify(|told| *told = true);
                }
            }
            "interface" => {
                self.world.look().wire.is_gone = true;
                self.pass_with_frames(Duration::from_millis(self.below(3_000)));
                self.world.look().wire.is_gone = false;
            }
            _ => {}
        }
        let longest = [1_000_000, 20_000_000, 3_000_000_000][self.below(40).min(2) as usize];
        let longest = if self.below(20) > 0 { longest.min(20_000_000) } else { longest };
        self.pass(Duration::from_nanos(self.below(longest)));
        self.go_on();
        self.check();
    }

    /// Time passes.
    fn pass(&self, span: Duration) {
        sleep(&*self.system, span);
    }

    /// Time passes, in which frames come.
    fn pass_with_frames(&mut self, span: Duration) {
        let until = self.system.now() + span;
        loop {
            let left = until.saturating_sub(self.system.now());
            if left.is_zero() {
                return;
            }
            self.frames();
            self.pass(left.min(Duration::from_millis(1 + self.below(500))));
            self.check();
        }
    }

    /// Some frames come in at a side.
    fn frames(&self) {
        let (side, count) = (self.below(2) as usize, self.below(6));
        let mut state = self.world.look();
        let now = state.now;
        (0..count).for_each(|_| state.wire.come(side, now));
    }

    fn stop(&self, one: u32, stops: bool) {
        if let Some(process) = self.world.look().processes.get_mut(&one) {
            process.stopped = stops;
        }
    }

    /// Buries guardians that have ended, and starts another if there is none.
    fn go_on(&mut self) {
        let mut ended = Vec::new();
        {
            let state = self.world.look();
            for (number, told) in &self.guardians {
                let process = &state.processes[number];
                let Some(end) = process.end else { continue };
                // By itself it ends only after another guardian's gate has followed its own.
                let follows = || end == 0 && state.is_followed(*number);
                assert!(
                    end == 9 || *told || process.ran.is_none() || follows(),
                    "guardian {number} has ended by itself: {end}"
                );
                ended.push(*number);
            }
        }
        self.guardians.retain(|number, _| !ended.contains(number));
        if self.guardians.is_empty() {
            self.since = self.world.look().now;
            // A gate whose guardian was killed runs on.
            self.guard(!self.living().is_empty());
        }
    }

    /// A client that asks something, and is answered in time.
    fn client(&mut self) {
        let question = ["status", "reload", "metrics", "hand over", "x\ny", ""];
        let question = question[self.below(6) as usize];
        let socket = self.socket();
        let process = self.world.begin(None, move |system| {
            let begin = system.now();
            let answer = ask_within(&*system, &socket, question);
            let span = system.now() - begin;
            assert!(span <= ANSWERED, "{question}: answered after {span:?}");
            match (question, answer) {
                ("status", Ok(status)) => drop(serde_json::from_value::<Status>(status).unwrap()),
                ("reload", Ok(reply)) => assert!(reply["reloaded"].is_string(), "{reply}"),
                // It says nothing more, and gates do not wait for it.
                ("hand over", Ok(loan)) => assert!(loan["fixed"].is_array(), "{loan}"),
                (_, Ok(reply)) => panic!("{question:?}: {reply}"),
                (_, Err(_)) => {}
            }
            true
        });
        self.clients.push(process);
    }

    /// Every frame is accounted for, and none waits for long while there is a guardian.
    fn check(&mut self) {
        let state = self.world.look();
        state.wire.check();
        let is_stopped = |one: &u32| state.processes[one].stopped;
        if state.wire.is_gone || self.guardians.keys().any(is_stopped) {
            self.since = state.now;
        }
        let oldest =
            state.wire.coming.iter().filter_map(|coming| coming.front()).map(|(_, at)| *at);
        if let Some(oldest) = oldest.min() {
            let span = state.now.saturating_sub(oldest.max(self.since));
            self.longest = self.longest.max(span);
            assert!(span < LONGEST, "a frame waits for {span} ns");
        }
    }

    /// Everything works again, and everybody can end.
    fn end(&mut self) {
        self.world.look().faults = Faults::default();
        self.configure(2);
        for _ in 0..60 {
            self.pass(Duration::from_secs(1));
            self.go_on();
        }
        let left = {
            let mut state = self.world.look();
            let now = state.now;
            state.wire.come(0, now);
            state.wire.left()
        };
        self.pass(Duration::from_secs(5));
        assert!(self.world.look().wire.left() > left, "nobody serves");
        let ask = |question| ask_within(&*self.system, &self.socket(), question).unwrap();
        ask("reload");
        let status = ask("status");
        assert_eq!(status["config"]["link"]["queue"]["kind"], "codel", "{status}");
        self.living().into_iter().for_each(|one| self.world.signal(one, Signal::TERM));
        self.pass(Duration::from_secs(30));
        assert_eq!(self.living(), [0; 0], "told to end");
        self.check();
        self.check_recordings();
    }

    /// Every recording is whole, and who could not write one has said so.
    fn check_recordings(&mut self) {
        let state = self.world.look();
        let disciplines = Parts::builtin().disciplines;
        let mut calls = 0;
        for (path, bytes) in &state.files {
            let replay = replay(&bytes[..], &disciplines).unwrap();
            assert_eq!((replay.difference, replay.truncated), (None, false), "{}", path.display());
            calls += replay.calls;
        }
        let said = state.log.iter().filter(|(_, text)| text.contains("recording /"));
        let mut failed = 0;
        for (_, text) in said {
            assert!(text.contains(".rec: ") && text.contains("; "), "{text}");
            failed += 1;
        }
        drop(state);
        for (name, count) in [
            ("recordings", self.world.look().files.len() as u64),
            ("calls recorded", calls),
            ("recordings that failed", failed),
        ] {
            self.happened.insert(name, count);
        }
    }
}

impl Drop for Drama {
    fn drop(&mut self) {
        // Of a test that has failed, threads remain where they are.
        if !std::thread::panicking() {
            self.world.end_all();
        }
        let _ = fs::remove_dir_all(&self.world.folder);
    }
}

/// So many events of `seed`; what they came to.
fn simulate(seed: u64, events: u64) -> (u64, u64, u64, BTreeMap<&'static str, u64>) {
    let mut drama = Drama::new(seed);
    let run = || {
        while drama.world.look().events < events {
            drama.event();
        }
        drama.end();
    };
    let result = catch_unwind(AssertUnwindSafe(run));
    let (now, left, events) = {
        let state = drama.world.look();
        (state.now, state.wire.left(), state.events)
    };
    if let Err(what) = result {
        for (process, text) in &drama.world.look().log {
            eprint!("{process}: {text}");
        }
        eprintln!("FOREBAY_SEED={seed} fails at event {events}, {now} ns");
        resume_unwind(what);
    }
    let mut happened = std::mem::take(&mut drama.happened);
    {
        let state = drama.world.look();
        happened.extend(state.happened.clone());
        happened.insert("gates", state.wire.gates() as u64);
    }
    happened.insert("longest wait in ms", drama.longest / 1_000_000);
    (now, left, events, happened)
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn processes_that_fail_and_die_lose_and_reorder_nothing() {
    let wanted = asked("FOREBAY_EVENTS").unwrap_or(EVENTS);
    let seeds = match asked("FOREBAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..wanted.div_ceil(LIFE) + 1,
    };
    let begin = std::time::Instant::now();
    let (mut sum, mut count) = (BTreeMap::<&str, u64>::new(), 0);
    for seed in seeds {
        let (_, _, events, happened) = simulate(seed, LIFE);
        count += events;
        for (name, times) in happened {
            let all = sum.entry(name).or_default();
            *all = if name.starts_with("longest") { times.max(*all) } else { *all + times };
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!(
        "{count} events in {seconds:.1} s, {:.1} million a minute",
        count as f64 / seconds * 6e-5
    );
    eprintln!("{sum:?}");
}

#[test]
fn a_seed_repeats() {
    for seed in 1..4 {
        assert_eq!(simulate(seed, 5_000), simulate(seed, 5_000), "seed {seed}");
    }
}

/// A world without faults in which a guardian's gate runs.
fn quiet() -> Drama {
    let drama = Drama::with(1, Faults::default());
    drama.pass(Duration::from_secs(3));
    assert_eq!(drama.living().len(), 2, "a guardian and its gate");
    drama
}

impl Drama {
    fn come(&self, count: u64) {
        let mut state = self.world.look();
        let now = state.now;
        (0..count).for_each(|_| state.wire.come(0, now));
    }
}

/// The wire refuses frames that overtake.
#[test]
fn a_delay_that_a_reload_leaves_out_lets_no_packet_overtake() {
    let drama = quiet();
    for link in [3, 0] {
        drama.configure(link);
        ask_within(&*drama.system, &drama.socket(), "reload").unwrap();
        drama.come(5);
        drama.pass(Duration::from_millis(5));
    }
    drama.pass(Duration::from_secs(1));
    assert_eq!(drama.world.look().wire.left(), 10);
}

impl Drama {
    /// A reload with another limit and rate, and how long its answer took.
    fn change(&self, limit: usize, rate: &str) -> (io::Result<Value>, Duration) {
        let queue = format!("{{ kind = \"fifo\", limit = \"{limit}p\" }}");
        self.configure_with(&format!("rate = \"{rate}\", queue = {queue}"));
        let begin = self.system.now();
        let answer = ask_within(&*self.system, &self.socket(), "reload");
        (answer, self.system.now() - begin)
    }
}

/// Each configuration has a queue of its own, which stays until its packets have left.
#[test]
fn a_reload_waits_for_the_packets_of_earlier_ones() {
    let drama = quiet();
    for limit in 101..106 {
        drama.change(limit, "1kbit").0.unwrap();
        drama.come(20);
        drama.pass(Duration::from_millis(1));
    }
    let (answer, span) = drama.change(106, "1kbit");
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("4 earlier configurations"), "{error}");
    assert!((1..3).contains(&span.as_secs()), "{span:?}");
    // Those that wait beside it do not make it wait longer.
    let [_, gate] = drama.living()[..] else { unreachable!() };
    (0..20).for_each(|_| drama.world.signal(gate, Signal::HUP));
    let (answer, span) = drama.change(106, "1kbit");
    assert!(answer.is_err() && span < Duration::from_secs(3), "{span:?}");
    let status = ask_within(&*drama.system, &drama.socket(), "status").unwrap();
    assert_eq!(status["forward"]["earlier_queues"], 4, "{status}");
    // Nothing but the rate changes, so that no more queues are needed.
    drama.change(105, "20Mbit").0.unwrap();
    drama.pass(Duration::from_secs(1));
    assert_eq!(drama.world.look().wire.left(), 100);
    drama.change(106, "20Mbit").0.unwrap();
}

/// Queues without packets do not stay, also if no packet ever comes.
#[test]
fn any_number_of_reloads_may_follow_each_other_while_nothing_waits() {
    let drama = quiet();
    for limit in 1..20 {
        drama.change(limit, "1Mbit").0.unwrap();
    }
}

#[test]
fn a_guardian_that_is_followed_while_it_passes_packets_ends() {
    let mut drama = Drama::with(1, Faults { start: 1_000, ..Faults::default() });
    drama.pass(Duration::from_secs(3));
    let [first] = drama.living()[..] else { panic!("a guardian alone") };
    drama.guard(true);
    drama.pass(Duration::from_secs(5));
    assert_eq!(drama.world.look().processes[&first].end, Some(0));
    drama.come(3);
    drama.pass(Duration::from_secs(1));
    assert_eq!(drama.world.look().wire.left(), 3);
}

#[test]
fn a_gate_that_ends_without_its_guardian_is_started_again() {
    let drama = quiet();
    let [guardian, gate] = drama.living()[..] else { unreachable!() };
    drama.world.signal(gate, Signal::TERM);
    drama.pass(Duration::from_secs(3));
    let [still, another] = drama.living()[..] else { panic!("{:?}", drama.living()) };
    assert!(still == guardian && another != gate);
}

#[test]
fn a_guardian_goes_on_though_no_thread_can_be_started() {
    let drama = quiet();
    let [guardian, gate] = drama.living()[..] else { unreachable!() };
    drama.world.look().faults.spawn = 1_000;
    drama.world.end(gate, 9);
    drama.pass(Duration::from_secs(5));
    assert_eq!(drama.living(), [guardian]);
    drama.world.look().faults.spawn = 0;
    drama.pass(Duration::from_secs(5));
    assert_eq!(drama.living().len(), 2);
}

/// More clients than the kernel keeps in line: the next ones would wait without end.
#[test]
fn clients_of_a_stopped_gate_get_an_error_in_time() {
    let drama = quiet();
    drama.living().into_iter().for_each(|one| drama.stop(one, true));
    let (socket, refused) = (drama.socket(), Arc::new(AtomicU32::new(0)));
    for _ in 0..200 {
        let (socket, refused) = (socket.clone(), refused.clone());
        drama.world.begin(None, move |system| {
            let answer = ask_within(&*system, &socket, "status");
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::TimedOut);
            refused.fetch_add(1, Ordering::Relaxed);
            true
        });
    }
    drama.pass(Duration::from_millis(10_500));
    assert_eq!(refused.load(Ordering::Relaxed), 200);
}

impl Drama {
    /// An upgrade that has just opened the interfaces.
    fn begin_upgrade(&mut self) {
        let gates = |drama: &Drama| drama.world.look().wire.gates();
        let before = gates(self);
        self.guard(true);
        while gates(self) == before {
            self.pass(Duration::from_nanos(1));
        }
    }
}

/// It has taken over when they cannot be, so that nobody else would pass packets.
#[test]
fn a_guardian_that_follows_goes_on_though_no_thread_can_be_started() {
    let mut drama = quiet();
    let before = drama.living();
    drama.begin_upgrade();
    drama.world.look().faults.spawn = 1_000;
    drama.pass(Duration::from_secs(1));
    drama.come(3);
    drama.world.look().faults.spawn = 0;
    drama.pass(Duration::from_secs(5));
    let living = drama.living();
    assert!(living.len() == 2 && living.iter().all(|one| !before.contains(one)), "{living:?}");
    assert_eq!(drama.world.look().wire.left(), 3);
}

/// It has handed over, but still holds packets.
#[test]
fn a_gate_that_is_followed_is_not_started_again_if_the_interfaces_disappear() {
    let mut drama = quiet();
    drama.configure(1);
    ask_within(&*drama.system, &drama.socket(), "reload").unwrap();
    drama.come(50);
    drama.begin_upgrade();
    drama.pass(Duration::from_millis(5));
    drama.world.look().wire.is_gone = true;
    drama.pass(Duration::from_secs(1));
    drama.world.look().wire.is_gone = false;
    drama.pass(Duration::from_secs(10));
    assert_eq!(drama.living().len(), 2, "one guardian and its gate");
}
