//! Runs a gate, from its configuration to its last summary.
#![expect(clippy::disallowed_methods, reason = "the next gate has so much time")]

use crate::config::{Backend, Config};
use crate::control::{self, Signals};
use crate::gate::{self, End, Gate, RECORDINGS};
use crate::guardian::Guardian;
use crate::handover::{self, Lent};
use crate::host::Host;
use crate::io::{Indices, indices};
use crate::listen::Listeners;
use crate::notify::{self, Manager};
use crate::plugins::{self, Parts};
use crate::server;
use crate::show;
use crate::system::{Machine, System};
use crate::text::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time for the old gate to release its interfaces, and for the new one to take over.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two checks whether it has.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The options of `run`.
pub struct Run {
    /// The configuration's file.
    pub path: PathBuf,
    /// Forward everything.
    pub dry_run: bool,
    /// Folder for recordings.
    pub record: Option<PathBuf>,
    /// Take over from the running gate.
    pub take_over: bool,
    /// With a guardian.
    pub fail_open: bool,
    /// Take over from the guardian at standard input.
    pub guarded: bool,
    /// The process that started this one and ends.
    pub launcher: Option<u32>,
}

impl Run {
    /// Runs to the end, with a configuration that can name `parts`.
    ///
    /// # Errors
    /// The gate cannot run.
    pub fn run(self, parts: &Parts) -> io::Result<ExitCode> {
        // Systemd watches the new main process only if it is its child by then: the launcher ends
        // first.
        while self.launcher == Some(parent_id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Without one of its threads, a gate would only seem to run.
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            std::process::abort();
        }));
        let guardian =
            if self.guarded { Some(io::stdin().as_fd().try_clone_to_owned()?) } else { None };
        self.serve(Machine::system(), control::signals()?, guardian.map(Into::into), parts)
    }

    /// Runs to the end on `host`. `guardian` is the connection to it, if there is one.
    ///
    /// # Errors
    /// The gate cannot run.
    pub fn serve(
        self,
        host: Arc<dyn Host>,
        signals: Signals,
        guardian: Option<UnixStream>,
        parts: &Parts,
    ) -> io::Result<ExitCode> {
        let system: Arc<dyn System> = host.clone();
        let config = system.load(&self.path, parts, false).map_err(io::Error::other)?;
        // A guardian has looked before its first gate, and none records that follows one that ran.
        if let Some(folder) = self.record.as_ref().filter(|_| !self.guarded) {
            system.has_room(folder, &RECORDINGS)?;
        }
        let alone = !(self.take_over || self.fail_open || self.guarded || self.record.is_some());
        if config.io.cores > 1 && !alone {
            let what = "io.cores: must be 1 for a gate that records, fails open or takes over from \
                        another one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        // A guardian tells the manager itself.
        let manager = if self.guarded { None } else { Manager::find()?.map(Arc::new) };
        let mut lent = self.lent(&*system, &config, guardian)?;
        // The successor of a gate that fails open fails open, too.
        let inherits = !self.guarded && lent.as_ref().is_some_and(|lent| lent.fail_open);
        let given = lent.as_mut().map(|lent| std::mem::take(&mut lent.listeners));
        let listeners = given.map_or_else(|| Listeners::open(&config), Listeners::take_over)?;
        // The working directory may be another one when it is read again.
        let path = self.path.canonicalize()?;
        if self.fail_open || inherits {
            let program = std::env::current_exe()?;
            let Run { dry_run, record, .. } = self;
            let guardian =
                Guardian { host, config, path, program, dry_run, record, listeners, manager };
            return guardian.run(signals, lent).map(|_| ExitCode::SUCCESS);
        }
        let (socket, user) = (config.socket.clone(), config.user.clone());
        let guardian = lent.as_ref().filter(|_| self.guarded);
        let guardian = guardian.map(|lent| lent.stream.try_clone()).transpose()?;
        let fixed = config.clone();
        let foreign = config.parts.are_foreign().then(forebay::Watch::default);
        if let Some(watch) = &foreign {
            watch.begin();
        }
        let ends = match &mut lent {
            Some(lent) if config.io.backend != Backend::Xdp => {
                let given = std::mem::take(&mut lent.descriptors);
                vec![system.take_over(&config, given)?]
            }
            _ => {
                let mut known = Indices::default();
                if let Some(mut lent) = lent.take() {
                    // Open sockets would continue to receive.
                    known = indices(&std::mem::take(&mut lent.descriptors));
                    lent.ready(&*system)?.0.wait(&*system, PATIENCE)?;
                }
                system.open_all(&config, known)?
            }
        };
        let (mut gates, handle) = Gate::on_cores(config, ends, self.dry_run)?;
        let gate = &mut gates[0];
        if let Some(folder) = &self.record {
            gate.record(&*system, folder)?;
        }
        system.confine(user.as_deref())?;
        foreign.map_or(Ok(()), plugins::report_late)?;
        let server = control::start(&system, listeners, &handle, fixed, path, self.guarded)?;
        control::obey(&system, signals, &handle, server.jobs.clone())?;
        let (asked, own) = (handle.clone(), system.clone());
        let answers = move || server::status(&*own, &asked).is_some();
        if let Some(guardian) = &guardian {
            gate.guarded_by(guardian.try_clone()?);
        }
        notify::keep_alive(&system, answers, manager.clone(), guardian)?;
        // After this the other gate takes no frames, so nothing that can fail may follow.
        if let Some(lent) = lent {
            if let Some(manager) = &manager {
                manager.succeed();
            }
            let (predecessor, places) = lent.ready(&*system)?;
            gate.follow(predecessor, places);
        }
        server.accept();
        system.say(&format_args!("running; see forebay-gate status --socket {}", socket.display()));
        if let Some(manager) = &manager {
            manager.ready();
        }
        let (last, end) = gate::run(&mut gates, &handle, |gate| host.run(gate));
        let recorded = gates[0].finish();
        // After a hand-over the service goes on. The socket stays: the next gate replaces it, or has it.
        if let (Some(manager), Ok(End::Stopped) | Err(_)) = (&manager, &end) {
            manager.stopping();
        }
        if matches!(end, Ok(End::HandedOver)) {
            system.say(&"another gate has taken over");
        }
        let errors = [end.err(), recorded.err()];
        errors.iter().flatten().for_each(|error| system.say(error));
        system.print(&show::screen(&last, None));
        Ok(if errors.iter().any(Option::is_some) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The interfaces that the running gate lends, if there is one.
    fn lent(
        &self,
        system: &dyn System,
        config: &Config,
        guardian: Option<UnixStream>,
    ) -> io::Result<Option<Lent>> {
        let stream = match guardian {
            Some(guardian) => guardian,
            None if self.take_over => handover::connect(system, &config.socket)?,
            None => return Ok(None),
        };
        let borrows = !self.guarded || config.io.backend != Backend::Xdp;
        let mut lent = handover::ask(system, stream, config, borrows)?;
        // Only a gate in the background writes into the log of the previous one.
        lent.log = lent.log.filter(|_| self.launcher.is_some());
        Ok(Some(lent))
    }
}

/// Starts a gate in the background with the configuration at `path`, which can name `parts`. It
/// takes over from the running gate.
///
/// # Errors
/// The new gate fails before it has taken over. The running one continues.
pub fn upgrade(path: &Path, fail_open: bool, parts: &Parts) -> io::Result<ExitCode> {
    let config = Config::load(path, parts).map_err(io::Error::other)?;
    let process = || {
        let reply = control::ask(&config.socket, "status")?;
        io::Result::Ok(reply["process"].as_u64())
    };
    let before = process()?;
    let mut launcher = Command::new(std::env::current_exe()?);
    launcher.args(["upgrade", "--launch"]).args(fail_open.then_some("--fail-open")).arg(path);
    let launched = launcher.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let next = String::from_utf8_lossy(&launched.stdout).trim().parse().ok();
    let next = next.and_then(Pid::from_raw).ok_or_else(|| io::Error::other("nothing was started"));
    let next = next?;
    let begin = Instant::now();
    // None if the next gate has ended already.
    let watched = pidfd_open(next, PidfdFlags::empty()).ok();
    let ended = || {
        let Some(watched) = &watched else { return true };
        let mut sources = [PollFd::new(watched, PollFlags::IN)];
        poll(&mut sources, Some(&PAUSE)).is_ok_and(|ready| ready > 0)
    };
    loop {
        if process().is_ok_and(|now| now != before) {
            say(format_args!("process {next} has taken over"));
            return Ok(ExitCode::SUCCESS);
        }
        if ended() {
            let what = "the next gate ended before it took over; the running one goes on";
            return Err(io::Error::other(what));
        }
        if begin.elapsed() > PATIENCE {
            let _ = watched.map(|next| pidfd_send_signal(next, Signal::KILL));
            return Err(io::Error::other("the next gate did not take over, and was stopped"));
        }
    }
}

/// Starts the gate of [`upgrade`], prints its process number and returns.
///
/// # Errors
/// The process cannot be started.
pub fn launch(path: &Path, fail_open: bool) -> io::Result<ExitCode> {
    let mut next = Command::new(std::env::current_exe()?);
    next.args(["run", "--take-over", "--launcher"]).arg(std::process::id().to_string());
    next.args(fail_open.then_some("--fail-open")).arg(path);
    let output = io::stderr().as_fd().try_clone_to_owned()?;
    // In a process group of its own, so that signals of the terminal do not end it.
    let next = next.stdin(Stdio::null()).stdout(output).process_group(0).spawn()?;
    writeln!(io::stdout(), "{}", next.id())?;
    Ok(ExitCode::SUCCESS)
}
