//! How others talk to a running gate: a Unix socket, signals, and text for Prometheus.
//!
//! Over the socket goes one line, `status` or `reload`, and one line of JSON comes back: the
//! [`Status`], or an object with `error`. Each of these has a thread of its own that waits most of
//! the time; the loop only ever sees a [`Command`].

use crate::config::Config;
use crate::gate::{Command, Handle};
use crate::metrics;
use crate::status::Status;
use forebay_core::ConfigError;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// How long a client may take to ask or to listen, and the loop to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest question.
const LONGEST: u64 = 4_096;

/// What is open for others.
pub struct Control {
    socket: UnixListener,
    metrics: Option<TcpListener>,
    signals: Signals,
    path: PathBuf,
}

impl Control {
    /// Opens the socket and the port of `config`, which was read from the file at `path`.
    ///
    /// # Errors
    /// What cannot be opened, such as the socket of another gate that runs.
    pub fn open(config: &Config, path: &Path) -> io::Result<Self> {
        let said = |error: io::Error| {
            io::Error::new(error.kind(), format!("socket {}: {error}", config.socket.display()))
        };
        let socket = listen(&config.socket).map_err(said)?;
        let metrics = config.metrics.map(|address| {
            TcpListener::bind(address).map_err(|error| {
                io::Error::new(error.kind(), format!("metrics {address}: {error}"))
            })
        });
        // The working directory may be another one when it is read again.
        let path = path.canonicalize()?;
        let signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        Ok(Control { socket, metrics: metrics.transpose()?, signals, path })
    }

    /// Begins to answer for the gate behind `handle`.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn start(self, handle: &Handle) -> io::Result<()> {
        let Control { socket, metrics, mut signals, path } = self;
        let named = |name: &str| thread::Builder::new().name(name.into());
        let (gate, file) = (handle.clone(), path.clone());
        named("socket").spawn(move || {
            for client in socket.incoming().flatten() {
                // A client that goes away or dawdles harms only itself.
                let _ = answer(client, &gate, &file);
            }
        })?;
        if let Some(listener) = metrics {
            let gate = handle.clone();
            named("metrics").spawn(move || {
                for client in listener.incoming().flatten() {
                    let _ = metrics::serve(client, || status(&gate));
                }
            })?;
        }
        let gate = handle.clone();
        named("signals").spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    match reload(&gate, &path) {
                        Ok(()) => eprintln!("forebay-gate: reloaded {}", path.display()),
                        Err(error) => eprintln!("forebay-gate: nothing has changed: {error}"),
                    }
                } else {
                    gate.send(Command::Stop);
                }
            }
        })?;
        Ok(())
    }
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
    let socket = UnixListener::bind(path)?;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o660))?;
    Ok(socket)
}

fn answer(client: UnixStream, gate: &Handle, file: &Path) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new((&client).take(LONGEST)).read_line(&mut question)?;
    let reply = match question.trim() {
        "status" => match status(gate) {
            Some(status) => json!(*status),
            None => json!({ "error": "the gate is ending" }),
        },
        "reload" => match reload(gate, file) {
            Ok(()) => json!({ "reloaded": file }),
            Err(error) => json!({ "error": error.to_string() }),
        },
        other => json!({ "error": format!("unknown question \"{other}\"; ask status or reload") }),
    };
    (&client).write_all(format!("{reply}\n").as_bytes())
}

/// What the gate did so far; None if it is ending.
fn status(gate: &Handle) -> Option<Box<Status>> {
    let (sender, receiver) = channel();
    gate.send(Command::Status(sender));
    receiver.recv_timeout(PATIENCE).ok()
}

/// Reads `file` again and has the gate follow it.
fn reload(gate: &Handle, file: &Path) -> Result<(), ConfigError> {
    let config = Config::load(file)?;
    let (sender, receiver) = channel();
    gate.send(Command::Reload(Box::new(config), sender));
    let ended = |_| Err(ConfigError::new("", "the gate is ending"));
    let place = |error| ConfigError::new("", format!("{}: {error}", file.display()));
    receiver.recv_timeout(PATIENCE).unwrap_or_else(ended).map_err(place)
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
        stream.set_read_timeout(Some(PATIENCE * 2))?;
        stream.write_all(format!("{question}\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        serde_json::from_str::<Value>(&text).map_err(io::Error::other)
    };
    let reply = ask().map_err(at)?;
    match reply.get("error").and_then(Value::as_str) {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(reply),
    }
}
