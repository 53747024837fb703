//! The listeners: the control socket, and a port for Prometheus.

use crate::config::Config;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Mode;
use rustix::process::Uid;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The listeners. Open them before privileges are given up.
pub struct Listeners {
    /// The control socket.
    pub socket: UnixListener,
    /// That of the metrics.
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

/// Listens on a Unix socket at `path` that the owner and the group may use. A socket that an
/// earlier gate left is replaced.
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
