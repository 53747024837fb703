//! Control of a running gate: a Unix socket, signals, and text for Prometheus.
//!
//! A client sends one line over the socket, such as `status` or `reload`, and gets one line of
//! JSON: the [`Status`](crate::status::Status), or an object with `error`. The loop sees only a
//! [`Command`]. Signals, clients and reloads have a thread each, so none waits for another: a
//! configuration may be on a disk that does not respond.

use crate::config::Config;
use crate::fresh::Fresh;
use crate::gate::{Command, Handle, SILENT};
use crate::listen::{Listeners, connect};
use crate::plugins::Parts;
use crate::server::{ANSWER, Job, PATIENCE, Report, Server};
use crate::system::{Machine, System, readable, receive, sleep};
use forebay_core::ConfigError;
use forebay_core::config::require;
use forebay_shaper::MOST_EARLIER;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Longest answer to a request.
const LONGEST_REPLY: usize = 64 << 20;
/// Number of reloads that may wait.
const MOST_WAITING: usize = 8;
/// How long a reload waits for packets of earlier ones since it was asked for. A client of the server
/// waits longer.
const SETTLING: Duration = Duration::from_secs(2);
/// The pause before the loops are asked again whether these have left.
const PAUSE: Duration = Duration::from_millis(100);

/// Signals as they come.
pub type Signals = Box<dyn Iterator<Item = i32> + Send>;

/// Catches the gate's signals. Call it before there is a second thread.
///
/// # Errors
/// The kernel refuses.
pub fn signals() -> io::Result<Signals> {
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    Ok(Box::new(iter::from_fn(move || signals.forever().next())))
}

/// Starts to answer for the gate behind `handle`, which uses `config` from the file at `path`.
/// `fail_open` says whether it is a guardian, or has one. Clients wait until [`Server::accept`].
///
/// # Errors
/// A thread cannot be started.
pub fn start(
    system: &Arc<dyn System>,
    listeners: Listeners,
    handle: &Handle,
    config: Config,
    path: PathBuf,
    fail_open: bool,
) -> io::Result<Arc<Server>> {
    let (jobs, work) = sync_channel::<Job>(MOST_WAITING);
    let (gate, parts) = (handle.clone(), config.parts.clone());
    let own = system.clone();
    let reloads = move || {
        let mut waiting = 0;
        loop {
            // An earlier queue is dropped here, as the loop would stand still meanwhile.
            match receive(&*own, &work, (waiting > 0).then_some(PAUSE)) {
                Ok(Job { asked, report }) => {
                    let done = reload(&*own, &gate, &path, &parts, asked + SETTLING);
                    report(done.map(|()| path.as_path()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            waiting = earlier(&*own, &gate);
        }
    };
    system.spawn("reload", Box::new(reloads))?;
    let ([accepts, ends], followers) = ([false; 2].map(AtomicBool::new), AtomicU32::new(0));
    let (system, gate) = (system.clone(), handle.clone());
    Server { system, listeners, gate, config, fail_open, jobs, accepts, ends, followers }.start()
}

/// Obeys `signals` for the gate behind `handle`. `jobs` does the reloads.
///
/// # Errors
/// The thread cannot be started.
pub fn obey(
    system: &Arc<dyn System>,
    signals: Signals,
    handle: &Handle,
    jobs: SyncSender<Job>,
) -> io::Result<()> {
    let (gate, own) = (handle.clone(), system.clone());
    let obey = move || {
        for signal in signals {
            if signal != SIGHUP {
                gate.stop();
                continue;
            }
            let log = own.clone();
            let report: Report = Box::new(move |result| match result {
                Ok(file) => log.say(&format_args!("reloaded {}", file.display())),
                Err(error) => log.say(&format_args!("nothing has changed: {error}")),
            });
            // If the queue is full, a reload that waits will read the present file.
            let _ = jobs.try_send(Job { asked: own.now(), report });
        }
    };
    system.spawn("signals", Box::new(obey))
}

/// Number of queues of earlier configurations that hold packets. Drops those that are empty.
fn earlier(system: &dyn System, gate: &Handle) -> usize {
    let (sender, receiver) = channel();
    for core in 0..gate.cores() {
        gate.send_to(core, Command::Earlier(sender.clone()));
    }
    drop(sender);
    iter::from_fn(|| receive(system, &receiver, Some(ANSWER)).ok())
        .map(|earlier| earlier.waiting)
        .sum()
}

/// Waits until each core has room for its part of `fresh`, at most until `deadline`. Returns it.
///
/// # Errors
/// It changes what is fixed, or the packets of too many earlier configurations still wait.
fn make_room(
    system: &dyn System,
    gate: &Handle,
    mut fresh: Vec<Fresh>,
    deadline: Duration,
) -> Result<Vec<Fresh>, ConfigError> {
    loop {
        let ask = |(core, fresh)| {
            let (sender, receiver) = channel();
            gate.send_to(core, Command::Consider(Box::new(fresh), sender));
            receiver
        };
        let asked: Vec<_> = fresh.drain(..).enumerate().map(ask).collect();
        let mut has_room = true;
        for receiver in asked {
            let silent = |_| Err(ConfigError::new("", SILENT));
            let considered = receive(system, &receiver, Some(ANSWER)).unwrap_or_else(silent)?;
            has_room &= considered.has_room;
            fresh.push(*considered.fresh);
        }
        if has_room {
            return Ok(fresh);
        }
        require(system.now() < deadline, "", || {
            format!(
                "packets still wait in the queues of {MOST_EARLIER} earlier configurations; change \
                 only rates, or reload again when the packets have left"
            )
        })?;
        sleep(system, PAUSE);
    }
}

/// Reads `file` again and makes the gate use it. Waits for packets of earlier ones until `deadline`.
fn reload(
    system: &dyn System,
    gate: &Handle,
    file: &Path,
    parts: &Parts,
    deadline: Duration,
) -> Result<(), ConfigError> {
    let place = |error| ConfigError::new("", format!("{}: {error}", file.display()));
    let config = system.load(file, parts, true)?;
    let fresh = |core| Fresh::on(config.clone(), core, &gate.rates);
    // If a queue is wrong, no core changes.
    let fresh = (0..gate.cores()).map(fresh).collect::<Result<_, _>>().map_err(place)?;
    let fresh = make_room(system, gate, fresh, deadline).map_err(place)?;
    let (sender, receiver) = channel();
    for (core, fresh) in fresh.into_iter().enumerate() {
        gate.send_to(core, Command::Reload(Box::new(fresh), sender.clone()));
    }
    let ended = |_| Err(ConfigError::new("", SILENT));
    (0..gate.cores()).try_for_each(|_| {
        receive(system, &receiver, Some(ANSWER)).unwrap_or_else(ended).map(drop).map_err(place)
    })
}

/// Sends one request to the gate at `socket`.
///
/// # Errors
/// The gate is not there, does not answer, or refuses.
pub fn ask(socket: &Path, question: &str) -> io::Result<Value> {
    ask_within(&*Machine::system(), socket, question)
}

/// As [`ask`], on another `system`.
///
/// # Errors
/// As [`ask`].
pub fn ask_within(system: &dyn System, socket: &Path, question: &str) -> io::Result<Value> {
    let at = |error: io::Error| {
        if is_over(&error) {
            let when =
                if question == "reload" { "during the reload" } else { "before it answered" };
            let what = format!("{}: the gate ended {when}; see its messages", socket.display());
            return io::Error::new(io::ErrorKind::UnexpectedEof, what);
        }
        let help = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                "; is a gate running there? `--socket` names another one"
            }
            io::ErrorKind::PermissionDenied => "; it is for its owner and group",
            _ => "",
        };
        io::Error::new(error.kind(), format!("{}: {error}{help}", socket.display()))
    };
    answer(&converse(system, socket, question).map_err(at)?)
}

/// Whether the other end of a connection is gone.
fn is_over(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

/// Sends `question` and reads the answer, all within twice [`PATIENCE`] and a second for each megabyte.
fn converse(system: &dyn System, socket: &Path, question: &str) -> io::Result<Vec<u8>> {
    let begun = system.now();
    let left = |length: usize| {
        let until = begun + PATIENCE * 2 + Duration::from_secs(length as u64 >> 20);
        match until.saturating_sub(system.now()) {
            Duration::ZERO => Err(io::Error::from(io::ErrorKind::TimedOut)),
            left => Ok(left),
        }
    };
    let mut stream = connect(system, socket, PATIENCE * 2)?;
    // The line fits into the socket's buffer.
    stream.write_all(format!("{question}\n").as_bytes())?;
    let (mut text, mut part) = (Vec::new(), [0; 1 << 14]);
    loop {
        readable(system, &stream, left(text.len())?)?;
        match stream.read(&mut part)? {
            0 if text.ends_with(b"\n") => return Ok(text),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if text.len() > LONGEST_REPLY => {
                return Err(io::Error::other("the answer does not end"));
            }
            length => text.extend(&part[..length]),
        }
    }
}

/// The answer of the gate in the bytes `text`.
///
/// # Errors
/// It makes no sense, or the gate refuses.
pub fn answer(text: &[u8]) -> io::Result<Value> {
    let reply: Value = serde_json::from_slice(text).map_err(io::Error::other)?;
    match reply.get("error").and_then(Value::as_str) {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(reply),
    }
}
