//! Control of a running gate: a Unix socket, signals, and text for Prometheus.
//!
//! A client sends one line over the socket, such as `status` or `reload`, and gets one line of
//! JSON: the [`Status`](crate::status::Status), or an object with `error`. The loop sees only a
//! [`Command`]. Signals, clients and reloads have a thread each, so none waits for another: a
//! configuration may be on a disk that does not respond.
#![expect(clippy::disallowed_methods, reason = "clients have so much time")]

use crate::config::Config;
use crate::gate::{Command, Handle, SILENT};
use crate::listen::Listeners;
use crate::plugins::Parts;
use crate::server::{ANSWER, Job, PATIENCE, Server};
use crate::text::say;
use forebay_core::ConfigError;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longest answer to a request.
const LONGEST_REPLY: usize = 64 << 20;
/// Number of reloads that may wait.
const MOST_WAITING: usize = 8;

/// Catches the gate's signals. Call it before there is a second thread.
///
/// # Errors
/// The kernel refuses.
pub fn signals() -> io::Result<Signals> {
    Signals::new([SIGHUP, SIGINT, SIGTERM])
}

/// Starts to answer for the gate behind `handle`, which uses `config` from the file at `path`.
/// `fail_open` says whether it is a guardian, or has one.
///
/// # Errors
/// A thread cannot be started.
pub fn start(
    listeners: Listeners,
    handle: &Handle,
    config: Config,
    path: PathBuf,
    fail_open: bool,
) -> io::Result<Arc<Server>> {
    let (jobs, work) = sync_channel::<Job>(MOST_WAITING);
    let (gate, parts) = (handle.clone(), config.parts.clone());
    thread::Builder::new().name("reload".into()).spawn(move || {
        for job in work {
            job(reload(&gate, &path, &parts).map(|()| path.as_path()));
        }
    })?;
    let (accepts, ends) = (AtomicBool::new(true), AtomicBool::new(false));
    Server { listeners, gate: handle.clone(), config, fail_open, jobs, accepts, ends }.start()
}

/// Obeys `signals` for the gate behind `handle`. `jobs` does the reloads.
///
/// # Errors
/// The thread cannot be started.
pub fn obey(mut signals: Signals, handle: &Handle, jobs: SyncSender<Job>) -> io::Result<()> {
    let gate = handle.clone();
    let obey = move || {
        for signal in signals.forever() {
            if signal != SIGHUP {
                gate.send(Command::Stop);
                continue;
            }
            let job: Job = Box::new(|result| match result {
                Ok(file) => say(format_args!("reloaded {}", file.display())),
                Err(error) => say(format_args!("nothing has changed: {error}")),
            });
            // Those that wait will read the file later than now.
            let _ = jobs.try_send(job);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(obey).map(drop)
}

/// Reads `file` again and makes the gate use it.
fn reload(gate: &Handle, file: &Path, parts: &Parts) -> Result<(), ConfigError> {
    let config = Config::reload(file, parts)?;
    let (sender, receiver) = channel();
    gate.send(Command::Reload(Box::new(config), sender));
    let ended = |_| Err(ConfigError::new("", SILENT));
    let place = |error| ConfigError::new("", format!("{}: {error}", file.display()));
    receiver.recv_timeout(ANSWER).unwrap_or_else(ended).map_err(place)
}

/// Sends one request to the gate at `socket`.
///
/// # Errors
/// The gate is not there, does not answer, or refuses.
pub fn ask(socket: &Path, question: &str) -> io::Result<Value> {
    let at = |error: io::Error| {
        let help = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                "; is a gate running there? `--socket` names another one"
            }
            io::ErrorKind::PermissionDenied => "; it is for its owner and group",
            _ => "",
        };
        io::Error::new(error.kind(), format!("{}: {error}{help}", socket.display()))
    };
    let ask = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{question}\n").as_bytes())?;
        let until = Instant::now() + PATIENCE * 2;
        let (mut text, mut part) = (Vec::new(), [0; 1 << 14]);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // A limit of zero would be none.
            stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match stream.read(&mut part)? {
                0 if text.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                0 => break,
                _ if text.len() > LONGEST_REPLY => {
                    return Err(io::Error::other("the answer does not end"));
                }
                length => text.extend(&part[..length]),
            }
        }
        serde_json::from_slice::<Value>(&text).map_err(io::Error::other)
    };
    let reply = ask().map_err(at)?;
    match reply.get("error").and_then(Value::as_str) {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(reply),
    }
}
