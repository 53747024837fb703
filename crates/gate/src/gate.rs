//! The loop: frames in, queue, frames out, against one clock.

use crate::clock::Clock;
use crate::config::Config;
use crate::io::{BATCH, Io, Pool, Side, open};
use crate::lane::{Lane, MOST_LAG};
use crate::rules::Rules;
use crate::status::{RuleStatus, Status};
use forebay_core::{ConfigError, Duration, Time};
use forebay_shaper::Recorder;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Closer departures are not worth going to sleep for: it takes about as long to wake up.
const NAP: u64 = 3_000;
/// How long to wait for an interface that takes no more.
const PATIENCE: u64 = 50_000;
/// How long it takes to wake up.
const AWAKENING: Duration = Duration::from_micros(50);
/// Bytes after which a recording ends.
const MOST_RECORDED: u64 = 4_000_000_000;

/// What other threads ask of the loop.
pub enum Command {
    /// What it did so far.
    Status(Sender<Box<Status>>),
    /// To follow another configuration.
    Reload(Box<Config>, Sender<Result<(), ConfigError>>),
    /// To end.
    Stop,
}

/// The way for other threads to ask the loop.
#[derive(Clone)]
pub struct Handle {
    commands: Sender<Command>,
    bell: Arc<OwnedFd>,
}

impl Handle {
    /// Hands `command` to the loop; false if it has ended.
    pub fn send(&self, command: Command) -> bool {
        let sent = self.commands.send(command).is_ok();
        // A bell that cannot ring louder has rung already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        sent
    }
}

/// The gate.
pub struct Gate {
    config: Config,
    io: Box<dyn Io>,
    pool: Pool,
    lanes: [Lane; 2],
    rules: [Rules; 2],
    clock: Clock,
    bell: Arc<OwnedFd>,
    commands: Receiver<Command>,
    dry_run: bool,
    reloads: u64,
}

impl Gate {
    /// Opens the interfaces of `config`, and everything else that needs privileges.
    ///
    /// # Errors
    /// What cannot be opened.
    pub fn open(
        config: Config,
        dry_run: bool,
        record: Option<&Path>,
    ) -> io::Result<(Gate, Handle)> {
        let (io, pool) = open(&config)?;
        let reverse = config.link.reverse.as_deref();
        let layer = io.layer();
        let lane =
            |link| Lane::new(link, &config, layer, pool.count(), dry_run).map_err(io::Error::other);
        let mut lanes = [lane(Some(&config.link))?, lane(reverse)?];
        if let Some(folder) = record {
            std::fs::create_dir_all(folder)?;
            for (lane, name) in lanes.iter_mut().zip(["forward.rec", "reverse.rec"]) {
                if let Some(plan) = lane.shaper().map(|shaper| shaper.plan().clone()) {
                    let file = Box::new(File::create(folder.join(name))?);
                    lane.record(Recorder::new(file, &plan, config.seed, MOST_RECORDED)?);
                }
            }
        }
        let (sender, commands) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let handle = Handle { commands: sender, bell: Arc::clone(&bell) };
        let rules = Rules::new(&config);
        let gate = Gate {
            config,
            io,
            pool,
            lanes,
            rules: [rules.clone(), rules],
            clock: Clock::new(),
            bell,
            commands,
            dry_run,
            reloads: 0,
        };
        Ok((gate, handle))
    }

    /// Runs until it is told to stop, and says what it did.
    ///
    /// # Errors
    /// An interface that has gone, or a recording that could not be written.
    pub fn run(&mut self) -> io::Result<Status> {
        // Else the kernel rounds every wait up by 50 us.
        rustix::thread::set_current_timer_slack(NonZero::new(1))?;
        let mut batch = Vec::with_capacity(BATCH);
        let mut ready = [true; 2];
        let mut busy = false;
        let mut before = self.clock.now();
        let result = loop {
            let now = self.clock.now();
            // What came while the gate worked came since it last looked; what woke it up, while it
            // awoke.
            let span = now.since(before).min(if busy { MOST_LAG } else { AWAKENING });
            before = now;
            busy = false;
            for side in Side::BOTH {
                if ready[side as usize] {
                    busy |= self.receive(side, now, span, &mut batch)?;
                }
            }
            for side in Side::BOTH {
                self.lanes[side as usize].advance(now, now, &mut self.pool);
            }
            for side in Side::BOTH {
                self.flush(side, now)?;
                if let Some(fault) = self.lanes[side as usize].replace_faulty(now) {
                    eprintln!("forebay-gate: {fault}; its place has a fifo from now on");
                }
            }
            if let Ok(command) = self.commands.try_recv() {
                if matches!(command, Command::Stop) {
                    break self.status(now);
                }
                self.obey(command, now);
                continue;
            }
            ready = if busy { [true; 2] } else { self.wait()? };
        };
        for lane in &mut self.lanes {
            lane.shaper().map_or(Ok(()), |shaper| shaper.finish())?;
        }
        Ok(result)
    }

    /// Sends what has come through the gate from `side`.
    fn flush(&mut self, side: Side, now: Time) -> io::Result<()> {
        let [forward, reverse] = &mut self.lanes;
        let (lane, other) = match side {
            Side::Inside => (forward, reverse),
            Side::Outside => (reverse, forward),
        };
        // The other direction's box also sees what comes back.
        if let Some(guard) = &mut other.guard {
            guard.backward(now, &self.rules[side as usize], &mut self.pool, &mut lane.out);
        }
        if !lane.out.is_empty() || self.io.is_pending(side.other()) {
            self.io.send(side.other(), &mut lane.out, &mut self.pool)?;
        }
        if let Some(guard) = &mut other.guard {
            guard.left(lane.out.len());
        }
        Ok(())
    }

    /// Takes a batch from `side`; true if there was anything. Its frames count as having come at
    /// even distances within the `span` before `now`: the queue would else see bursts of a batch.
    fn receive(
        &mut self,
        side: Side,
        now: Time,
        span: Duration,
        batch: &mut Vec<u32>,
    ) -> io::Result<bool> {
        batch.clear();
        self.io.receive(side, &mut self.pool, batch)?;
        let (lane, rules) = (&mut self.lanes[side as usize], &mut self.rules[side as usize]);
        // Their headers come from another processor's cache: all at once, and not one by one below.
        for index in batch.iter() {
            black_box(self.pool.frame(*index).first());
        }
        let count = batch.len() as u64;
        for (index, later) in batch.iter().zip((0..count).rev()) {
            let at = Time::from_nanos(now.as_nanos() - span.as_nanos() * later / count);
            // What is due was due before anything that arrives then.
            lane.advance(at, now, &mut self.pool);
            lane.arrive(*index, at, &mut self.pool, rules);
        }
        Ok(!batch.is_empty())
    }

    /// Sleeps until something is due or comes in; says from which sides.
    fn wait(&mut self) -> io::Result<[bool; 2]> {
        let now = self.clock.now();
        let guards = self.lanes.iter().filter_map(|lane| lane.guard.as_ref()?.wake());
        let due = self.lanes.iter().filter_map(Lane::wake).chain(guards).min();
        let mut span = due.map(|due| due.since(now).as_nanos());
        let is_held = |side: Side| {
            !self.lanes[side as usize].out.is_empty() || self.io.is_pending(side.other())
        };
        if Side::BOTH.into_iter().any(is_held) {
            span = Some(span.map_or(PATIENCE, |span| span.min(PATIENCE)));
        }
        if span.is_some_and(|span| span < NAP) {
            return Ok([true; 2]);
        }
        let timeout = span.map(|span| Timespec {
            tv_sec: (span / 1_000_000_000) as i64,
            tv_nsec: (span % 1_000_000_000) as i64,
        });
        // Not epoll, whose ears are always pricked: every frame that came or left while the gate
        // works would call it.
        let [inside, outside] = Side::BOTH.map(|side| self.io.descriptor(side));
        let mut sources = [inside, outside, self.bell.as_fd()]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [inside, outside, bell] = sources.map(|source| source.revents());
        if !bell.is_empty() {
            // It may have been answered already.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        for (side, events) in Side::BOTH.into_iter().zip([inside, outside]) {
            if events.contains(PollFlags::ERR) {
                self.io.forget_error(side);
            }
        }
        Ok([!inside.is_empty(), !outside.is_empty()])
    }

    fn obey(&mut self, command: Command, now: Time) {
        match command {
            // Whoever asked may have gone.
            Command::Status(answer) => drop(answer.send(Box::new(self.status(now)))),
            Command::Reload(config, answer) => {
                let result = self.reload(*config, now);
                let _ = answer.send(result);
            }
            Command::Stop => {}
        }
    }

    fn reload(&mut self, config: Config, now: Time) -> Result<(), ConfigError> {
        let fixed = |path: &str, same: bool| {
            forebay_core::config::require(same, path, || {
                "cannot change while the gate runs; stop it and start it anew".into()
            })
        };
        fixed("io", config.io == self.config.io)?;
        fixed("socket", config.socket == self.config.socket)?;
        fixed("metrics", config.metrics == self.config.metrics)?;
        fixed("user", config.user == self.config.user)?;
        fixed("seed", config.seed == self.config.seed)?;
        fixed("link.mtu", config.mtu() == self.config.mtu())?;
        let boxes = |config: &Config| {
            let reverse = config.link.reverse.as_ref().and_then(|link| link.guard.clone());
            (config.link.guard.clone(), reverse)
        };
        fixed("link.box", boxes(&config) == boxes(&self.config))?;
        // Its queues have been built once, when it was read: none of this fails halfway.
        let links = [Some(&config.link), config.link.reverse.as_deref()];
        for (lane, link) in self.lanes.iter_mut().zip(links) {
            lane.change(link, config.other, now)?;
        }
        for rules in &mut self.rules {
            let mut new = Rules::new(&config);
            new.inherit(rules);
            *rules = new;
        }
        self.config = config;
        self.reloads += 1;
        Ok(())
    }

    /// What it did so far.
    fn status(&mut self, now: Time) -> Status {
        let config =
            self.config.effective().ok().and_then(|whole| serde_json::to_value(whole).ok());
        let [forward, reverse] = &self.rules;
        let rules =
            forward.counts().zip(reverse.counts()).map(|((name, one), (_, other))| RuleStatus {
                name: name.to_owned(),
                packets: one.packets + other.packets,
                bytes: one.bytes + other.bytes,
            });
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: now.as_secs_f64(),
            dry_run: self.dry_run,
            reloads: self.reloads,
            config: config.unwrap_or_default(),
            forward: self.lanes[0].status(now),
            reverse: self.lanes[1].status(now),
            rules: rules.collect(),
            inside: self.io.missed(Side::Inside),
            outside: self.io.missed(Side::Outside),
            buffers: self.pool.count(),
            buffers_used: self.pool.used(),
        }
    }
}
