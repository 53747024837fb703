//! A system in which one thread runs at a time, time is a number, and a seed decides who is next:
//! processes are killed, stopped and continued between any two waits of theirs.

use crate::wire::Wire;
use forebay_core::{ConfigError, Rng};
use forebay_gate::config::Config;
use forebay_gate::gate::{End, Gate, Turn};
use forebay_gate::host::Host;
use forebay_gate::io::{Indices, Io, Pool, Side};
use forebay_gate::plugins::Parts;
use forebay_gate::run::Run;
use forebay_gate::status::Status;
use forebay_gate::system::{System, sleep};
use forebay_shaper::{Storage, replay};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal};
use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// What a thread of a killed process unwinds with.
struct Killed;

thread_local! {
    /// The number of this thread.
    static SELF: Cell<usize> = const { Cell::new(0) };
    /// The number of the gate that it opened last.
    static GATE: Cell<usize> = const { Cell::new(0) };
}

/// A thread that runs when it is its turn.
struct Thread {
    handle: thread::Thread,
    process: u32,
    /// When it gives up, if it waits.
    until: Option<u64>,
    /// Whether it waits for something that has not come.
    idle: bool,
    over: bool,
}

/// A process of the world.
#[derive(Default)]
pub struct Process {
    /// Its end, as wait(2) gives it.
    pub end: Option<i32>,
    /// Whether its threads do not run.
    pub stopped: bool,
    /// The guardian that started it, or itself.
    pub family: u32,
    /// When it was lent interfaces: how many gates had begun to run.
    borrowed: Option<u64>,
    /// The number of the gate that ran in it last, in the order in which gates began to run.
    pub ran: Option<u64>,
    /// Signals that it has not seen.
    signals: VecDeque<i32>,
}

/// How likely calls fail, in 1000.
#[derive(Default, Clone, Copy)]
pub struct Faults {
    /// A program cannot be started.
    pub start: u64,
    /// A file cannot be read.
    pub load: u64,
    /// An interface cannot be opened.
    pub open: u64,
    /// Privileges cannot be given up.
    pub confine: u64,
    /// A thread cannot be started.
    pub spawn: u64,
    /// A call on a file fails: the disk is full, broken or read-only, the call is interrupted, or it
    /// takes a part.
    pub disk: u64,
}

/// What all threads share.
pub struct State {
    pub now: u64,
    pub rng: Rng,
    threads: Vec<Thread>,
    pub processes: BTreeMap<u32, Process>,
    pub wire: Wire,
    pub faults: Faults,
    /// Recordings by their paths.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// What the operator was told, and by which process.
    pub log: Vec<(u32, String)>,
    /// Gates that have begun to run.
    runs: u64,
    /// How often each fault happened.
    pub happened: BTreeMap<&'static str, u64>,
    /// What went wrong in a thread.
    failed: Option<Box<dyn Any + Send>>,
    /// Choices of who is next.
    pub events: u64,
}

/// The world.
pub struct World {
    state: Mutex<State>,
    /// The thread whose turn it is.
    running: AtomicUsize,
    pub folder: PathBuf,
}

impl World {
    /// A world whose first process, number 1, has the calling thread.
    pub fn new(seed: u64, folder: PathBuf, faults: Faults) -> Arc<World> {
        let first =
            Thread { handle: thread::current(), process: 1, until: None, idle: false, over: false };
        SELF.set(0);
        let state = State {
            now: 1_000_000_000,
            rng: Rng::named(seed, "world"),
            threads: vec![first],
            processes: BTreeMap::from([(1, Process::default())]),
            wire: Wire::default(),
            faults,
            files: BTreeMap::new(),
            log: Vec::new(),
            runs: 0,
            happened: BTreeMap::new(),
            failed: None,
            events: 0,
        };
        Arc::new(World { state: Mutex::new(state), running: AtomicUsize::new(0), folder })
    }

    pub fn look(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The system as process `process` sees it.
    pub fn system(self: &Arc<Self>, process: u32) -> Arc<dyn Host> {
        Arc::new(Place { world: self.clone(), process })
    }

    /// Starts a process that does `act`, of the family of `parent` or its own.
    pub fn begin(
        self: &Arc<Self>,
        parent: Option<u32>,
        act: impl FnOnce(Arc<dyn Host>) -> bool + Send + 'static,
    ) -> u32 {
        let process = {
            let mut state = self.look();
            let process = state.processes.keys().last().expect("the first one") + 1;
            let family = parent.unwrap_or(process);
            state.processes.insert(process, Process { family, ..Process::default() });
            process
        };
        let (world, system) = (self.clone(), self.system(process));
        self.thread(process, move || {
            let succeeded = act(system);
            world.end(process, if succeeded { 0 } else { 2 << 8 });
        });
        process
    }

    /// Ends `process`, as wait(2) says it; its threads unwind when it is their turn.
    pub fn end(&self, process: u32, end: i32) {
        let mut state = self.look();
        if let Some(process) = state.processes.get_mut(&process) {
            process.end.get_or_insert(end);
        }
        state.wake();
    }

    pub fn signal(&self, process: u32, signal: Signal) {
        if signal == Signal::KILL {
            return self.end(process, 9);
        }
        let mut state = self.look();
        if let Some(process) = state.processes.get_mut(&process) {
            process.signals.push_back(signal.as_raw());
        }
        state.wake();
    }

    fn thread(self: &Arc<Self>, process: u32, act: impl FnOnce() + Send + 'static) {
        let world = self.clone();
        let mut state = self.look();
        let number = state.threads.len();
        let body = move || {
            SELF.set(number);
            world.rest(number);
            let result = catch_unwind(AssertUnwindSafe(|| {
                world.live_or_unwind(process);
                act();
            }));
            world.leave(number, result.err());
        };
        let handle = thread::Builder::new().stack_size(1 << 20).spawn(body);
        let handle = handle.expect("another thread").thread().clone();
        state.threads.push(Thread { handle, process, until: None, idle: false, over: false });
    }

    /// Waits for the turn of thread `number`.
    fn rest(&self, number: usize) {
        while self.running.load(Ordering::Acquire) != number {
            thread::park();
        }
    }

    fn live_or_unwind(&self, process: u32) {
        let ended = self.look().processes.get(&process).is_none_or(|one| one.end.is_some());
        if ended && process != 1 {
            resume_unwind(Box::new(Killed));
        }
    }

    /// The end of a thread.
    fn leave(&self, number: usize, result: Option<Box<dyn Any + Send>>) {
        let mut state = self.look();
        state.threads[number].over = true;
        if let Some(what) = result.filter(|what| !what.is::<Killed>()) {
            state.failed.get_or_insert(what);
        }
        state.wake();
        self.pass(&mut state);
    }

    /// Chooses who is next, and wakes it.
    fn pass(&self, state: &mut State) -> usize {
        let next = if state.failed.is_some() { 0 } else { state.choose() };
        self.running.store(next, Ordering::Release);
        state.threads[next].handle.unpark();
        next
    }

    /// Lets others run. A thread that is `idle` waits for something until then.
    fn pause(&self, process: u32, idle: bool, until: Option<u64>) {
        let number = SELF.get();
        let mut state = self.look();
        if !idle {
            state.wake();
        }
        state.threads[number].idle = idle;
        state.threads[number].until = until;
        let next = self.pass(&mut state);
        drop(state);
        if next != number {
            self.rest(number);
        }
        if number == 0 {
            let failed = self.look().failed.take();
            if let Some(what) = failed {
                resume_unwind(what);
            }
        }
        self.live_or_unwind(process);
    }

    /// Ends all processes and threads but the first.
    pub fn end_all(self: &Arc<Self>) {
        let processes: Vec<_> = self.look().processes.keys().copied().collect();
        processes.into_iter().filter(|number| *number > 1).for_each(|number| self.end(number, 9));
        let over = |state: &State| state.threads[1..].iter().all(|thread| thread.over);
        while !over(&self.look()) {
            sleep(&*self.system(1), Duration::from_millis(1));
        }
    }
}

impl State {
    /// Those who wait look again.
    fn wake(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.idle = false);
    }

    /// A gate begins to run in `process`.
    fn begins(&mut self, process: u32) {
        self.runs += 1;
        self.processes.get_mut(&process).expect("it lives").ran = Some(self.runs);
    }

    /// What a call on a file meets. The kind `WriteZero` stands for a part that is written.
    fn disk_fault(&mut self) -> io::Result<()> {
        let rate = self.faults.disk;
        if !self.fails("disk", rate) {
            return Ok(());
        }
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::Interrupted,
            io::ErrorKind::WriteZero,
        ];
        Err(kinds[self.rng.below(kinds.len() as u64) as usize].into())
    }

    /// Whether the gate that began last is of another family than that of `process`, or one of
    /// another family is about to begin, was told to end, or was killed.
    pub fn is_followed(&self, process: u32) -> bool {
        let family = self.processes[&process].family;
        let last = self.processes.values().max_by_key(|process| process.ran);
        let own = self.processes.values().filter(|one| one.family == family);
        let own = own.filter_map(|one| one.ran).max();
        let begins = |one: &Process| {
            one.borrowed >= own
                && one.ran.is_none()
                && one.end.is_none_or(|end| [0, 9].contains(&end))
        };
        last.is_some_and(|last| last.ran.is_some() && last.family != family)
            || self.processes.values().any(|one| one.family != family && begins(one))
    }

    /// The thread that is next. If all wait, time passes.
    fn choose(&mut self) -> usize {
        self.events += 1;
        if self.rng.below(4) == 0 {
            self.now += self.rng.below(30_000);
        }
        loop {
            let (now, processes) = (self.now, &self.processes);
            let moves = |thread: &Thread| {
                let process = processes.get(&thread.process);
                let ended = process.is_none_or(|process| process.end.is_some());
                !thread.over && (ended || process.is_some_and(|process| !process.stopped))
            };
            let is_ready = |thread: &Thread| {
                !thread.idle
                    || thread.until.is_some_and(|until| until <= now)
                    || processes.get(&thread.process).is_none_or(|one| one.end.is_some())
            };
            let ready: Vec<_> = (0..self.threads.len())
                .filter(|place| moves(&self.threads[*place]) && is_ready(&self.threads[*place]))
                .collect();
            if !ready.is_empty() {
                return ready[self.rng.below(ready.len() as u64) as usize];
            }
            let waiting = self.threads.iter().filter(|thread| moves(thread));
            let next = waiting.filter_map(|thread| thread.until).min();
            self.now = next.expect("the first thread waits for a time");
        }
    }

    /// Whether a call fails that fails so often in 1000.
    pub fn fails(&mut self, name: &'static str, rate: u64) -> bool {
        let fails = self.rng.below(1_000) < rate;
        *self.happened.entry(name).or_default() += u64::from(fails);
        fails
    }
}

/// The system as a process sees it.
struct Place {
    world: Arc<World>,
    process: u32,
}

impl Place {
    fn fault(&self, name: &'static str, rate: fn(&Faults) -> u64) -> io::Result<()> {
        let mut state = self.world.look();
        let rate = rate(&state.faults);
        if state.fails(name, rate) {
            return Err(io::Error::other(format!("{name} fails")));
        }
        Ok(())
    }
}

impl System for Place {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.world.look().now)
    }

    fn wait(
        &self,
        patience: Option<Duration>,
        attempt: &mut dyn FnMut(Option<Duration>) -> bool,
    ) -> bool {
        // What is done while a process ends waits for nobody.
        if thread::panicking() {
            return attempt(Some(Duration::ZERO));
        }
        let until = patience.map(|span| self.world.look().now + span.as_nanos() as u64);
        self.world.pause(self.process, false, None);
        loop {
            if attempt(Some(Duration::ZERO)) {
                return true;
            }
            if until.is_some_and(|until| until <= self.world.look().now) {
                return false;
            }
            self.world.pause(self.process, true, until);
        }
    }

    fn spawn(&self, _: &str, act: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        self.fault("spawn", |faults| faults.spawn)?;
        self.world.thread(self.process, act);
        Ok(())
    }

    fn start(&self, _: &Path, arguments: &[OsString], stdin: OwnedFd) -> io::Result<Pid> {
        self.fault("start", |faults| faults.start)?;
        assert!(arguments.starts_with(&["run".into(), "--guarded".into()]));
        let path = PathBuf::from(arguments.last().expect("the configuration"));
        let record = arguments.iter().skip_while(|word| *word != "--record").nth(1);
        let record = record.map(PathBuf::from);
        let world = self.world.clone();
        let process = self.world.begin(Some(self.process), move |system| {
            let run = Run { guarded: true, record, ..plain(path) };
            gate(run, &world, system, Some(stdin.into()))
        });
        Ok(Pid::from_raw(process as i32).expect("not zero"))
    }

    fn signal(&self, child: Pid, signal: Signal) {
        self.world.signal(child.as_raw_nonzero().get() as u32, signal);
    }

    fn end_of(&self, child: Pid) -> io::Result<ExitStatus> {
        let number = child.as_raw_nonzero().get() as u32;
        let end = || self.world.look().processes.get(&number).and_then(|process| process.end);
        self.wait(None, &mut |_| end().is_some());
        Ok(ExitStatus::from_raw(end().expect("it has ended")))
    }

    fn load(&self, path: &Path, parts: &Parts, again: bool) -> Result<Config, ConfigError> {
        self.fault("load", |faults| faults.load)
            .map_err(|error| ConfigError::new("", error.to_string()))?;
        if again { Config::reload(path, parts) } else { Config::load(path, parts) }
    }

    fn take_over(&self, config: &Config, _: Vec<OwnedFd>) -> io::Result<(Box<dyn Io>, Pool)> {
        let opened = self.open(config, Indices::default())?;
        let mut state = self.world.look();
        let runs = state.runs;
        state.processes.get_mut(&self.process).expect("it lives").borrowed = Some(runs);
        drop(state);
        Ok(opened)
    }

    fn open(&self, config: &Config, _: Indices) -> io::Result<(Box<dyn Io>, Pool)> {
        self.fault("open", |faults| faults.open)?;
        let number = self.world.look().wire.open();
        GATE.set(number);
        let io = Box::new(crate::wire::Interfaces::new(self.world.clone(), number));
        Ok((io, Pool::new(config.io.buffers, 1_600)?))
    }

    fn has_room(&self, folder: &Path, names: &[&str]) -> io::Result<()> {
        let files = &self.world.look().files;
        assert!(names.iter().all(|name| !files.contains_key(&folder.join(name))));
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let mut state = self.world.look();
        state.disk_fault().or_else(|error| match error.kind() {
            io::ErrorKind::WriteZero => Ok(()),
            _ => Err(error),
        })?;
        if let Some(before) = state.files.insert(path.to_owned(), Vec::new()) {
            let replaced = replay(&before[..], &Parts::builtin().disciplines).unwrap();
            assert_eq!(replaced.calls, 0, "{} of a gate that ran is replaced", path.display());
        }
        drop(state);
        Ok(Box::new(Recorded { world: self.world.clone(), path: path.to_owned(), at: 0 }))
    }

    fn remove(&self, path: &Path) {
        self.world.look().files.remove(path);
    }

    fn print(&self, text: &str) {
        self.world.look().log.push((self.process, text.to_owned()));
    }

    fn confine(&self, _: Option<&str>) -> io::Result<()> {
        self.fault("confine", |faults| faults.confine)
    }
}

/// A file of the world.
struct Recorded {
    world: Arc<World>,
    path: PathBuf,
    at: usize,
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.world.look();
        let file = state.files.get(&self.path).map_or(0, Vec::len);
        // What has room can be written over on a full disk.
        let length = match state.disk_fault() {
            Ok(()) => bytes.len(),
            Err(error) if error.kind() == io::ErrorKind::WriteZero => bytes.len().div_ceil(2),
            Err(error) if self.at == file => return Err(error),
            Err(_) => 1,
        };
        let file = state.files.get_mut(&self.path).expect("nobody removes it");
        let over = length.min(file.len() - self.at);
        file[self.at..][..over].copy_from_slice(&bytes[..over]);
        file.extend(&bytes[over..length]);
        self.at += length;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Recorded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { unreachable!("a recording goes back to a place") };
        self.at = at as usize;
        Ok(at)
    }
}

impl Host for Place {
    fn run(&self, gate: &mut Gate) -> (Status, io::Result<End>) {
        let mut batch = Vec::new();
        let process = self.process;
        self.world.look().begins(process);
        let end = loop {
            let now = self.world.time();
            let span = gate.due().map(|due| Duration::from_nanos(due.since(now).as_nanos()));
            let mut turn = Ok(Turn::Idle);
            self.wait(span, &mut |_| {
                let now = self.world.time();
                turn = gate.turn(now, forebay_core::Duration::ZERO, [true; 2], &mut batch);
                let accounts = Side::BOTH.map(|side| gate.account(side));
                let held = Side::BOTH.map(|side| gate.pending(side));
                assert_eq!(held, [0; 2]);
                self.world.look().wire.report(GATE.get(), accounts);
                !matches!(turn, Ok(Turn::Idle))
            });
            match turn {
                Ok(Turn::Ended(end)) => break Ok(end),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        if matches!(end, Ok(End::HandedOver)) {
            let accounts = Side::BOTH.map(|side| gate.account(side));
            let held = accounts.map(|account| account.waiting + account.in_transit);
            assert_eq!(held, [0; 2], "handed over with packets");
        }
        (gate.status(self.world.time()), end)
    }
}

impl World {
    fn time(&self) -> forebay_core::Time {
        forebay_core::Time::from_nanos(self.look().now)
    }
}

/// A run of the configuration at `path` with no option.
pub fn plain(path: PathBuf) -> Run {
    Run {
        path,
        dry_run: false,
        record: None,
        take_over: false,
        fail_open: false,
        guarded: false,
        launcher: None,
    }
}

/// A process of the gate. Returns whether it ended well.
pub fn gate(
    run: Run,
    world: &Arc<World>,
    system: Arc<dyn Host>,
    stdin: Option<UnixStream>,
) -> bool {
    let (world, place) = (world.clone(), system.clone());
    let process = world.process_of_this_thread();
    let own = world.clone();
    let signals = std::iter::from_fn(move || {
        let mut signal = None;
        let next = || own.look().processes.get_mut(&process)?.signals.pop_front();
        place.wait(None, &mut |_| {
            signal = next();
            signal.is_some()
        });
        signal
    });
    match run.serve(system, Box::new(signals), stdin, &Parts::builtin()) {
        Ok(code) => code == ExitCode::SUCCESS,
        Err(error) => {
            world.look().log.push((process, format!("error: {error}\n")));
            false
        }
    }
}

impl World {
    fn process_of_this_thread(&self) -> u32 {
        self.look().threads[SELF.get()].process
    }
}
