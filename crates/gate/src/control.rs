//! How others talk to a running gate: a Unix socket, signals, and text for Prometheus.
//!
//! Over the socket goes one line, `status` or `reload`, and one line of JSON comes back: the
//! [`Status`], or an object with `error`. The loop only ever sees a [`Command`]. Signals, clients
//! and reloads have a thread each, so that none of them waits for another: a configuration may lie
//! on a disk that does not answer.
#![expect(clippy::disallowed_methods, reason = "clients have so much time")]

use crate::config::Config;
use crate::gate::{Command, Handle};
use crate::server::{PATIENCE, Server};
use crate::status::Status;
use crate::text::say;
use forebay_core::ConfigError;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Mode;
use rustix::process::Uid;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the loop may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Longest answer to a question.
const LONGEST_REPLY: usize = 64 << 20;
/// Reloads that may wait.
const MOST_WAITING: usize = 8;

/// A reload to be done, told of its result: the file that was read.
pub type Job = Box<dyn FnOnce(Result<&Path, ConfigError>) + Send>;

/// Where others ask; to be opened before privileges are given up.
pub struct Listeners {
    /// The control socket.
    pub socket: UnixListener,
    /// That of the metrics.
    pub metrics: Option<TcpListener>,
    /// Who has started the gate.
    pub owner: Uid,
    /// For threads to call the server.
    pub bell: OwnedFd,
}

impl Listeners {
    /// Opens the socket and the port of `config`.
    ///
    /// # Errors
    /// What cannot be opened, such as the socket of another gate that runs.
    pub fn open(config: &Config) -> io::Result<Self> {
        let said = |error: io::Error| {
            io::Error::new(error.kind(), format!("socket {}: {error}", config.socket.display()))
        };
        let socket = listen(&config.socket).map_err(said)?;
        let metrics = config.metrics.map(|address| {
            TcpListener::bind(address).map_err(|error| {
                io::Error::new(error.kind(), format!("metrics {address}: {error}"))
            })
        });
        Listeners::new(socket, metrics.transpose()?)
    }

    fn new(socket: UnixListener, metrics: Option<TcpListener>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        if let Some(listener) = &metrics {
            listener.set_nonblocking(true)?;
        }
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Listeners { socket, metrics, owner: rustix::process::getuid(), bell })
    }

    /// Those that another gate gave away.
    pub fn take_over(given: Vec<OwnedFd>) -> io::Result<Self> {
        let mut given = given.into_iter();
        let socket = given.next().ok_or_else(|| io::Error::other("no control socket was given"))?;
        Listeners::new(socket.into(), given.next().map(TcpListener::from))
    }

    /// The same once more.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn try_clone(&self) -> io::Result<Self> {
        let metrics = self.metrics.as_ref().map(TcpListener::try_clone).transpose()?;
        Listeners::new(self.socket.try_clone()?, metrics)
    }

    /// Their descriptors, the control socket first.
    pub fn descriptors(&self) -> Vec<rustix::fd::BorrowedFd<'_>> {
        let metrics = self.metrics.as_ref().map(AsFd::as_fd);
        [Some(self.socket.as_fd()), metrics].into_iter().flatten().collect()
    }
}

/// Catches the signals that a gate hears; before there is a second thread.
///
/// # Errors
/// A kernel that refuses.
pub fn signals() -> io::Result<Signals> {
    Signals::new([SIGHUP, SIGINT, SIGTERM])
}

/// Begins to answer for the gate behind `handle`, which follows `config` from the file at `path`.
///
/// # Errors
/// Threads that cannot be started.
pub fn start(
    listeners: Listeners,
    handle: &Handle,
    config: Config,
    path: PathBuf,
) -> io::Result<Arc<Server>> {
    let (jobs, work) = sync_channel::<Job>(MOST_WAITING);
    let gate = handle.clone();
    thread::Builder::new().name("reload".into()).spawn(move || {
        for job in work {
            job(reload(&gate, &path).map(|()| path.as_path()));
        }
    })?;
    let (accepts, ends) = (AtomicBool::new(true), AtomicBool::new(false));
    Server { listeners, gate: handle.clone(), config, jobs, accepts, ends }.start()
}

/// Obeys `signals` for the gate behind `handle`, whose reloads are done by `jobs`.
///
/// # Errors
/// A thread that cannot be started.
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

/// Listens on a Unix socket at `path` that the owner and the group may use; one that a gate left
/// behind is replaced.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let is_socket = path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    if is_socket {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another gate runs there; stop it, or give this one another `socket`",
            ));
        }
        std::fs::remove_file(path)?;
    }
    // Never, not even for an instant, open to others. The mask is the whole process's, of which
    // this is the only thread.
    let before = rustix::process::umask(Mode::from_raw_mode(0o117));
    let socket = UnixListener::bind(path);
    rustix::process::umask(before);
    socket
}

/// What the gate did so far; None if it is ending.
pub fn status(gate: &Handle) -> Option<Box<Status>> {
    let (sender, receiver) = channel();
    gate.send(Command::Status(sender));
    receiver.recv_timeout(ANSWER).ok()
}

/// Reads `file` again and has the gate follow it.
fn reload(gate: &Handle, file: &Path) -> Result<(), ConfigError> {
    let config = Config::load(file)?;
    let (sender, receiver) = channel();
    gate.send(Command::Reload(Box::new(config), sender));
    let ended = |_| Err(ConfigError::new("", "the gate is ending"));
    let place = |error| ConfigError::new("", format!("{}: {error}", file.display()));
    receiver.recv_timeout(ANSWER).unwrap_or_else(ended).map_err(place)
}

/// Asks the gate at `socket` one thing.
///
/// # Errors
/// A gate that is not there or does not answer, and what it refuses.
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
