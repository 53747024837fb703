//! The listeners: the control socket, and a port for Prometheus.

use crate::config::Config;
use crate::system::{System, sleep};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::Uid;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Time between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(10);

/// The listeners. Open them before privileges are given up.
pub struct Listeners {
    /// The control socket.
    pub socket: UnixListener,
    /// The port of the metrics.
    pub metrics: Option<TcpListener>,
    /// The account that started the gate.
    pub owner: Uid,
    /// The file descriptor with which threads wake the server.
    pub bell: OwnedFd,
}

impl Listeners {
    /// Opens the socket and the port of `config`.
    ///
    /// # Errors
    /// Something cannot be opened, such as the socket of another running gate.
    pub fn open(config: &Config) -> io::Result<Self> {
        let said = |error: io::Error| {
            io::Error::new(error.kind(), format!("socket {}: {error}", config.socket.display()))
        };
        let socket = listen(&config.socket).map_err(said)?;
        let metrics = config.metrics.map(|address| {
            TcpListener::bind(address).map_err(|error| {
                let _ = std::fs::remove_file(&config.socket);
                let why = match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        "another program listens there; stop it, or give the gate another `metrics`"
                            .into()
                    }
                    _ => error.to_string(),
                };
                io::Error::new(error.kind(), format!("metrics {address}: {why}"))
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

    /// The listeners that another gate lent.
    pub fn take_over(given: Vec<OwnedFd>) -> io::Result<Self> {
        let mut given = given.into_iter();
        let socket = given.next().ok_or_else(|| io::Error::other("no control socket was given"))?;
        Listeners::new(socket.into(), given.next().map(TcpListener::from))
    }

    /// Copies of the same listeners.
    ///
    /// # Errors
    /// There are too many descriptors.
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

/// Connects to the gate at `socket` within `patience`. Calls on the stream do not wait.
///
/// # Errors
/// Nobody listens there, or in a process that is stopped.
pub fn connect(system: &dyn System, socket: &Path, patience: Duration) -> io::Result<UnixStream> {
    let until = system.now() + patience;
    loop {
        match try_connect(socket) {
            // The backlog is full. A blocking call could wait for ever.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if system.now() >= until {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                sleep(system, AGAIN);
            }
            connected => return connected,
        }
    }
}

fn try_connect(socket: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(socket)?)?;
    Ok(stream.into())
}

/// Listens on a Unix socket at `path` that the owner and the group may use. A socket that an
/// earlier gate left is replaced.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let there = path.symlink_metadata().ok().map(|data| data.file_type().is_socket());
    if there == Some(false) {
        return Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "is there already and no socket; move it, or give the gate another `socket`",
        ));
    }
    if there == Some(true) {
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if try_connect(path).as_ref().err().is_none_or(is_full) {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another gate runs there; stop it, or give this one another `socket`",
            ));
        }
        std::fs::remove_file(path)?;
    }
    // The mask, and not a later chmod, so that the socket is never open to others. It holds for the
    // whole process, which has no other thread yet.
    let before = rustix::process::umask(Mode::from_raw_mode(0o117));
    let socket = UnixListener::bind(path);
    rustix::process::umask(before);
    socket.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(
            error.kind(),
            "its folder is missing; make it, or give the gate another `socket`",
        ),
        _ => error,
    })
}
