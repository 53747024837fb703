//! The gate's loop: reads frames, queues them and sends them, with one clock.

use crate::accounts::Circuits;
use crate::clock::Clock;
use crate::config::{At, Config};
use crate::cores::{Mail, Rates};
use crate::direction::{Account, Direction, MOST_LAG};
use crate::fresh::{Considered, Earlier, Fresh, Used};
use crate::io::{BATCH, Io, Pool, Side};
use crate::neighbour::{Predecessor, Successor};
use crate::notify;
use crate::rules::Rules;
use crate::status::Status;
use crate::system::System;
use crate::text::say;
use forebay_core::{ConfigError, Duration, Time, file};
use forebay_shaper::{Recorder, Variation};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::hint::black_box;
use std::io::{self, Write};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

mod handle;
mod report;

use handle::Loop;
pub use handle::{Handle, run};

/// A departure that is closer than this is not worth sleeping for: waking up takes about as long.
const NAP: u64 = 3_000;
/// The wait for an interface that accepts no more frames.
const PATIENCE: u64 = 50_000;
/// The wait before an interface that is down is checked again.
const DOUBT: u64 = 200_000_000;
/// The time that waking up takes.
const AWAKENING: Duration = Duration::from_micros(50);
/// Files of a folder with recordings: of packets from inside, and from outside.
pub const RECORDINGS: [&str; 2] = ["forward.rec", "reverse.rec"];
/// Bytes after which a recording stops.
const MOST_RECORDED: u64 = 4_000_000_000;

/// Requests of other threads to the loop.
pub enum Command {
    /// The state so far.
    Status(Sender<Box<Status>>),
    /// The state of some circuits so far, as in [`Gate::circuits`].
    Circuits(Range<usize>, Sender<Box<Circuits>>),
    /// To say whether another configuration can be used now.
    Consider(Box<Fresh>, Sender<Result<Considered, ConfigError>>),
    /// To use another configuration. The answer has what is left over, for the asker to drop.
    Reload(Box<Fresh>, Sender<Result<Used, ConfigError>>),
    /// To report the queues of earlier configurations, and to give away those that are empty.
    Earlier(Sender<Earlier>),
    /// To lend copies of its descriptors to a gate that will take over.
    Lend(Sender<io::Result<Vec<OwnedFd>>>),
    /// To leave arriving frames to the gate at the other end, and to end once nothing is held.
    HandOver(Successor, Sender<bool>),
    /// To end.
    Stop,
}

/// The reason for which the gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was told to.
    Stopped,
    /// Another gate has taken over.
    HandedOver,
}

/// The result of one turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Frames arrived, and there may be more.
    Busy,
    /// No frames arrived.
    Idle,
    /// A command was obeyed. Not all arrived frames may have been read.
    Obeyed,
    /// The end.
    Ended(End),
}

/// The error if the loop does not answer in time.
pub const SILENT: &str = "the gate does not answer: it is ending, or a plug-in makes it wait";

/// The gate.
pub struct Gate {
    config: Config,
    io: Box<dyn Io>,
    pool: Pool,
    directions: [Direction; 2],
    rules: [Rules; 2],
    clock: Clock,
    bell: Arc<OwnedFd>,
    commands: Receiver<Command>,
    dry_run: bool,
    reloads: u64,
    /// Sides on which no frame has arrived since an error. If an interface disappears, the kernel
    /// reports only that it is down.
    doubts: [bool; 2],
    /// The gate before this one, while it still holds packets.
    predecessor: Option<Predecessor>,
    /// The gate that takes over, and whether it has been told that a side is empty.
    successor: Option<(Successor, [bool; 2])>,
    /// Its guardian, which is told when another gate takes over.
    guardian: Option<UnixStream>,
    /// The file in which each side's queue is recorded.
    recordings: [Option<PathBuf>; 2],
    /// Frames of other cores' circuits, and its own that arrived there.
    mail: Mail,
}

impl Gate {
    /// A gate on one core that uses the back end `io` with the buffers of `pool`.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn with(
        config: Config,
        io: Box<dyn Io>,
        pool: Pool,
        dry_run: bool,
    ) -> io::Result<(Gate, Handle)> {
        let (mut gates, handle) = Gate::on_cores(config, vec![(io, pool)], dry_run)?;
        Ok((gates.remove(0), handle))
    }

    /// The loops of a gate that uses a back end with its buffers on each core. Commands that change
    /// who has the interfaces are for gates on one core.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn on_cores(
        config: Config,
        ends: Vec<(Box<dyn Io>, Pool)>,
        dry_run: bool,
    ) -> io::Result<(Vec<Gate>, Handle)> {
        let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let bells = ends.iter().map(|_| bell()).collect::<Result<Vec<_>, _>>()?;
        let rates = Arc::new(Rates::new(ends.len()));
        // Cores compare times.
        let clock = Clock::new();
        let (mut gates, mut loops) = (Vec::new(), Vec::new());
        for ((io, pool), mail) in ends.into_iter().zip(Mail::between(&bells)) {
            let bell = Arc::clone(&bells[mail.core()]);
            let (sender, commands) = channel();
            loops.push(Loop { commands: sender, bell: Arc::clone(&bell) });
            let config = config.clone();
            gates.push(Gate::one(
                config,
                (io, pool),
                (bell, commands),
                clock,
                mail,
                &rates,
                dry_run,
            )?);
        }
        Ok((gates, Handle::new(loops, rates)))
    }

    /// The loop of the core that has this `mail`.
    fn one(
        config: Config,
        (io, pool): (Box<dyn Io>, Pool),
        (bell, commands): (Arc<OwnedFd>, Receiver<Command>),
        clock: Clock,
        mail: Mail,
        rates: &Rates,
        dry_run: bool,
    ) -> io::Result<Gate> {
        let layer = io.layer();
        let direction = |side| {
            Direction::new(side, &config, (mail.core(), rates), layer, pool.count(), dry_run)
                .map_err(io::Error::other)
        };
        let directions = [direction(At::Inside)?, direction(At::Outside)?];
        let rules = Rules::new(&config);
        Ok(Gate {
            config,
            io,
            pool,
            directions,
            rules: [rules.clone(), rules],
            clock,
            bell,
            commands,
            dry_run,
            reloads: 0,
            doubts: [false; 2],
            predecessor: None,
            successor: None,
            guardian: None,
            recordings: [None, None],
            mail,
        })
    }

    /// Records what the queues do, in [`RECORDINGS`] of `folder`.
    ///
    /// # Errors
    /// A file cannot be created or written. Then there is none.
    pub fn record(&mut self, system: &dyn System, folder: &Path) -> io::Result<()> {
        for ((direction, name), recording) in
            self.directions.iter_mut().zip(RECORDINGS).zip(&mut self.recordings)
        {
            let Some(plan) = direction.shaper().map(|shaper| shaper.plan().clone()) else {
                continue;
            };
            let path = recording.insert(folder.join(name));
            let recorder = system
                .create(path)
                .and_then(|file| Recorder::new(file, &plan, self.config.seed, MOST_RECORDED));
            match recorder {
                Ok(recorder) => direction.record(recorder),
                Err(error) => {
                    let error = not_recorded(path, &error);
                    self.recordings.iter().flatten().for_each(|path| system.remove(path));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Lets packets from `side` meet what the `variation` of link `name` says ([`Direction::follow`]).
    pub fn vary(&mut self, side: Side, variation: &Variation, name: &str, zero: Time) {
        self.directions[side as usize].follow(variation, name, zero);
    }

    /// Tells `guardian` when another gate takes over.
    pub fn guarded_by(&mut self, guardian: UnixStream) {
        self.guardian = Some(guardian);
    }

    /// Whether another gate has taken over, though this one may still hold packets.
    pub fn is_followed(&self) -> bool {
        self.successor.is_some()
    }

    /// Takes frames from where `predecessor` has stopped. Sends none on a side while `predecessor`
    /// still holds packets there.
    pub fn follow(&mut self, predecessor: Predecessor, places: [usize; 2]) {
        self.io.go_on(places);
        self.predecessor = Some(predecessor);
    }

    /// Runs until it is told to stop. Returns what it did, and how it ended.
    ///
    /// The end is an error if an interface has disappeared.
    pub fn run(&mut self) -> (Status, io::Result<End>) {
        // By default the kernel prolongs every wait by up to 50 us.
        let slack = rustix::thread::set_current_timer_slack(NonZero::new(1));
        let end = slack.map_err(Into::into).and_then(|()| self.turn_until_end());
        let now = self.clock.now();
        (self.status(now), end)
    }

    /// Finishes the recordings.
    ///
    /// # Errors
    /// One of them could not be written. It ends with the last call that was.
    pub fn finish(&mut self) -> io::Result<()> {
        let recordings = self.directions.iter_mut().zip(&self.recordings);
        let finished = recordings.filter_map(|(direction, path)| {
            let path = path.as_deref()?;
            Some(direction.finish_recording().map_err(|error| not_recorded(path, &error)))
        });
        // All are finished, also after an error.
        finished.fold(Ok(()), Result::and)
    }

    fn turn_until_end(&mut self) -> io::Result<End> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut ready = [true; 2];
        let mut busy = false;
        let mut before = self.clock.now();
        loop {
            let now = self.clock.now();
            // Frames that were there when the gate looked have come since the last look. If it slept,
            // they have come while it woke up.
            let span = now.since(before).min(if busy { MOST_LAG } else { AWAKENING });
            before = now;
            let turn = self.turn(now, span, ready, &mut batch)?;
            busy = turn == Turn::Busy;
            match turn {
                Turn::Busy => ready = [true; 2],
                Turn::Idle => ready = self.wait()?,
                Turn::Obeyed => {}
                Turn::Ended(end) => return Ok(end),
            }
        }
    }

    /// One turn of the loop: takes what arrived on sides that are `ready`, within `span` before
    /// `now`, serves the queues, sends, and obeys a command.
    ///
    /// # Errors
    /// An interface has disappeared.
    pub fn turn(
        &mut self,
        now: Time,
        span: Duration,
        ready: [bool; 2],
        batch: &mut Vec<u32>,
    ) -> io::Result<Turn> {
        let mut busy = false;
        let mail = if self.mail.cores() > 1 { self.mail.fetch() } else { [false; 2] };
        for side in Side::BOTH {
            let arrived = ready[side as usize] || mail[side as usize];
            if arrived && self.successor.is_none() {
                busy |= self.receive(side, now, span, batch)?;
            }
        }
        for side in Side::BOTH {
            if !self.is_held(side) {
                self.directions[side as usize].advance(now, now, &mut self.pool);
            }
        }
        for side in Side::BOTH {
            if !self.is_held(side) {
                self.flush(side, now)?;
                if let Some(fault) = self.directions[side as usize].replace_faulty(now) {
                    say(format_args!("{fault}; its place has a fifo from now on"));
                }
            }
        }
        if let Ok(command) = self.commands.try_recv() {
            return Ok(self.obey(command, now).map_or(Turn::Obeyed, Turn::Ended));
        }
        let turn = if busy { Turn::Busy } else { Turn::Idle };
        Ok(self.relieve(now).map_or(turn, Turn::Ended))
    }

    /// Makes the turn at `now` ask the discipline for packets from `side`, because that discipline
    /// has a clock of its own.
    pub fn ask(&mut self, side: Side, now: Time) {
        self.directions[side as usize].ask(now);
    }

    /// Whether packets from `side` wait for the gate before this one.
    fn is_held(&self, side: Side) -> bool {
        self.predecessor.as_ref().is_some_and(|before| before.holds(side))
    }

    /// The place of every packet that arrived on `side`.
    pub fn account(&self, side: Side) -> Account {
        self.directions[side as usize].account()
    }

    /// Frames that the kernel has not sent yet on `side`.
    pub fn pending(&self, side: Side) -> u64 {
        self.io.pending(side)
    }

    /// Buffers in use.
    pub fn buffers_used(&self) -> u32 {
        self.pool.used()
    }

    /// Listens to the gate before this one, and tells the next gate which sides are empty. Returns
    /// the end, if everything has been handed over.
    fn relieve(&mut self, now: Time) -> Option<End> {
        if let Some(before) = &mut self.predecessor {
            for side in before.hear() {
                self.directions[side as usize].begin(now);
            }
            if !Side::BOTH.into_iter().any(|side| before.holds(side)) {
                self.predecessor = None;
            }
        }
        let is_empty = Side::BOTH.map(|side| {
            let direction = &self.directions[side as usize];
            direction.is_empty() && self.io.pending(side.other()) == 0 && !self.is_held(side)
        });
        let (successor, told) = self.successor.as_mut()?;
        for side in Side::BOTH {
            if is_empty[side as usize] && !told[side as usize] {
                successor.tell_empty(side);
                told[side as usize] = true;
            }
        }
        told.iter().all(|told| *told).then_some(End::HandedOver)
    }

    /// Sends the packets from `side` that have passed the queue.
    fn flush(&mut self, side: Side, now: Time) -> io::Result<()> {
        let [forward, reverse] = &mut self.directions;
        let (direction, other) = match side {
            Side::Inside => (forward, reverse),
            Side::Outside => (reverse, forward),
        };
        // The other direction's box also sees what comes back.
        match &mut other.frame_box {
            Some(frame_box) if self.successor.is_some() => frame_box.hand(&mut direction.out),
            Some(frame_box) => {
                frame_box.backward(
                    now,
                    &self.rules[side as usize],
                    &mut self.pool,
                    &mut direction.out,
                );
            }
            None => {}
        }
        if !direction.out.is_empty() || self.io.pending(side.other()) > 0 {
            self.io.send(side.other(), &mut direction.out, &mut self.pool)?;
        }
        if let Some(frame_box) = &mut other.frame_box {
            frame_box.left(direction.out.len());
        }
        Ok(())
    }

    /// Takes a batch from `side`. Returns true if there was anything. The arrival times of its
    /// frames are spread evenly over the `span` before `now`; otherwise the queue would see each
    /// batch as a burst.
    fn receive(
        &mut self,
        side: Side,
        now: Time,
        span: Duration,
        batch: &mut Vec<u32>,
    ) -> io::Result<bool> {
        batch.clear();
        let held = self.is_held(side);
        self.io.receive(side, &mut self.pool, batch)?;
        self.doubts[side as usize] &= batch.is_empty();
        if self.mail.cores() > 1 {
            self.mail.take(side, BATCH, &mut self.pool, batch);
        }
        let rules = &mut self.rules[side as usize];
        let [forward, reverse] = &mut self.directions;
        let (direction, other) = match side {
            Side::Inside => (forward, reverse),
            Side::Outside => (reverse, forward),
        };
        // The headers are in another processor's cache. Touching all of them first lets the loads
        // overlap.
        for index in batch.iter() {
            black_box(self.pool.frame(*index).first());
        }
        let count = batch.len() as u64;
        for (index, later) in batch.iter().zip((0..count).rev()) {
            let at = Time::from_nanos(now.as_nanos() - span.as_nanos() * later / count);
            // Packets that were due by then leave before this one arrives.
            if !held {
                direction.advance(at, now, &mut self.pool);
            }
            let core = direction.arrive(*index, at, &mut self.pool, rules, other.echoes());
            if let Some(core) = core {
                self.mail.put(core, side, self.pool.frame(*index));
                self.pool.give(*index);
            }
        }
        if self.mail.cores() > 1 {
            self.mail.post();
        }
        Ok(!batch.is_empty())
    }

    /// Sides that do not wait for the gate before this one.
    fn free(&self) -> impl Iterator<Item = Side> {
        Side::BOTH.into_iter().filter(|side| !self.is_held(*side))
    }

    /// When [`Gate::turn`] has something to do, if no frame arrives.
    pub fn due(&self) -> Option<Time> {
        let wake = |side: Side| {
            let other = &self.directions[side.other() as usize];
            let frame_box = other.frame_box.as_ref().filter(|_| self.successor.is_none());
            let frame_box = frame_box.and_then(|frame_box| frame_box.wake());
            self.directions[side as usize].wake().into_iter().chain(frame_box)
        };
        self.free().flat_map(wake).min()
    }

    /// Sleeps until something is due or a frame arrives. Returns the sides with frames.
    fn wait(&mut self) -> io::Result<[bool; 2]> {
        let now = self.clock.now();
        let mut span = self.due().map(|due| due.since(now).as_nanos());
        let waits = |side: Side| {
            !self.directions[side as usize].out.is_empty() || self.io.pending(side.other()) > 0
        };
        if self.free().any(waits) {
            span = Some(span.map_or(PATIENCE, |span| span.min(PATIENCE)));
        }
        if self.doubts != [false; 2] {
            span = Some(span.map_or(DOUBT, |span| span.min(DOUBT)));
        }
        if span.is_some_and(|span| span < NAP) {
            return Ok([true; 2]);
        }
        let timeout = span.map(|span| Timespec {
            tv_sec: (span / 1_000_000_000) as i64,
            tv_nsec: (span % 1_000_000_000) as i64,
        });
        // Not epoll: the kernel would run its callback for every frame that comes or leaves while the
        // gate works.
        let bell = self.bell.as_fd();
        // Another gate takes the frames now.
        let [inside, outside] = match &self.successor {
            None => Side::BOTH.map(|side| self.io.descriptor(side)),
            Some(_) => [bell; 2],
        };
        let before = self.predecessor.as_ref().map_or(bell, Predecessor::descriptor);
        let mut sources =
            [inside, outside, bell, before].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        if self.mail.cores() > 1 && !self.mail.may_sleep() {
            self.mail.wake();
            return Ok([true; 2]);
        }
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.mail.wake();
        let [inside, outside, bell, _] = sources.map(|source| source.revents());
        if !bell.is_empty() {
            // Another wake-up may have emptied the counter.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        for (side, events) in Side::BOTH.into_iter().zip([inside, outside]) {
            let doubts = events.contains(PollFlags::ERR) || self.doubts[side as usize];
            if doubts && self.successor.is_none() {
                self.io.take_error(side)?;
                self.doubts[side as usize] = true;
            }
        }
        Ok([!inside.is_empty(), !outside.is_empty()])
    }

    fn obey(&mut self, command: Command, now: Time) -> Option<End> {
        match command {
            // The thread that asked may have ended.
            Command::Status(answer) => drop(answer.send(Box::new(self.status(now)))),
            Command::Circuits(range, answer) => {
                drop(answer.send(Box::new(self.circuits(now, range))));
            }
            Command::Reload(config, answer) => drop(answer.send(self.reload(*config, now))),
            Command::Consider(fresh, answer) => drop(answer.send(self.consider(fresh))),
            Command::Earlier(answer) => drop(answer.send(self.earlier())),
            Command::Lend(answer) if self.mail.cores() > 1 => {
                let what = "a gate on several cores cannot be handed over; stop it and start the \
                            next one";
                let _ = answer.send(Err(io::Error::new(io::ErrorKind::Unsupported, what)));
            }
            Command::Lend(answer) => {
                let copy = |fd: BorrowedFd<'_>| fd.try_clone_to_owned();
                let copies =
                    self.io.descriptors().and_then(|all| all.into_iter().map(copy).collect());
                let _ = answer.send(copies);
            }
            Command::HandOver(mut successor, answer) => {
                // If the next gate cannot be told, it has ended, and this one continues.
                let may_follow = self.successor.is_none() && self.mail.cores() == 1;
                let follows = may_follow && successor.begin(self.io.places());
                if follows {
                    // The guardian may have ended.
                    self.guardian.as_mut().map(|guardian| guardian.write(&[notify::FOLLOWED]));
                    self.successor = Some((successor, [false; 2]));
                }
                let _ = answer.send(follows);
            }
            Command::Stop => return Some(End::Stopped),
        }
        None
    }

    fn earlier(&mut self) -> Earlier {
        let mut all = Earlier { waiting: 0, empty: Vec::new() };
        for shaper in self.directions.iter_mut().filter_map(Direction::shaper) {
            all.empty.append(&mut shaper.clear());
            all.waiting += shaper.earlier();
        }
        all
    }

    fn consider(&self, fresh: Box<Fresh>) -> Result<Considered, ConfigError> {
        self.check(&fresh.config)?;
        let mut both = self.directions.iter().zip(&fresh.queues);
        let has_room = both.all(|(direction, built)| direction.has_room(built.as_ref()));
        Ok(Considered { fresh, has_room })
    }

    /// Checks that `config` changes nothing that is fixed while the gate runs.
    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let fixed = |path: &str, same: bool| {
            forebay_core::config::require(same, path, || {
                "cannot change while the gate runs; stop it and start it again".into()
            })
        };
        fixed("io", config.io == self.config.io)?;
        fixed("socket", config.socket == self.config.socket)?;
        fixed("metrics", config.metrics == self.config.metrics)?;
        fixed("user", config.user == self.config.user)?;
        fixed("seed", config.seed == self.config.seed)?;
        fixed("link.mtu", config.mtu() == self.config.mtu())?;
        let boxes = |config: &Config| {
            let link = config.effective()?.link;
            Ok((link.middlebox, link.reverse.and_then(|link| link.middlebox)))
        };
        fixed("link.box", boxes(config)? == boxes(&self.config)?)
    }

    fn reload(&mut self, fresh: Fresh, now: Time) -> Result<Used, ConfigError> {
        let Fresh { config, queues: [forward, reverse] } = fresh;
        self.check(&config)?;
        let [inside, outside] = &mut self.directions;
        let spare = [inside.change(&config, forward, now), outside.change(&config, reverse, now)];
        for rules in &mut self.rules {
            let mut new = Rules::new(&config);
            new.inherit(rules);
            *rules = new;
        }
        self.reloads += 1;
        Ok(Box::new((std::mem::replace(&mut self.config, config), spare)))
    }
}

/// The error for a recording at `path` that failed with `error`.
fn not_recorded(path: &Path, error: &io::Error) -> io::Error {
    let what = format!("recording {}: {}", path.display(), file::words(error));
    io::Error::new(error.kind(), what)
}
