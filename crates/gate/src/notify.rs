//! Messages to the service manager, by the protocol of sd_notify(3).
//!
//! The socket is opened once, before privileges are given up. The existing crates open it again for
//! every message.

use crate::system::{System, sleep};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::sync::Arc;
use std::time::Duration;

/// Longest time between two signs of life. A gate that a reload starts is not told how long systemd
/// waits for them.
const EVERY: Duration = Duration::from_secs(1);

/// The byte that tells the guardian that another gate has taken over.
pub const FOLLOWED: u8 = b'h';

/// Whether this process belongs to a service whose manager wants to be told.
#[expect(clippy::disallowed_methods, reason = "the protocol is in the environment")]
pub fn is_service() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// A service manager that expects messages.
#[derive(Debug)]
pub struct Manager {
    socket: UnixDatagram,
    /// Time between two signs of life.
    pub every: Duration,
}

impl Manager {
    /// The manager named in the environment (`NOTIFY_SOCKET`, `WATCHDOG_USEC`), if there is one.
    ///
    /// # Errors
    /// A socket is named and cannot be reached.
    #[expect(clippy::disallowed_methods, reason = "the protocol is in the environment")]
    pub fn find() -> io::Result<Option<Manager>> {
        let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(None) };
        let micros = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        Manager::open(&path, micros.map(Duration::from_micros)).map(Some).map_err(|error| {
            let what = format!("NOTIFY_SOCKET {}: {error}", path.display());
            io::Error::new(error.kind(), what)
        })
    }

    /// The manager that listens at `path`, or at the abstract name after an `@`.
    fn open(path: &OsStr, patience: Option<Duration>) -> io::Result<Manager> {
        let address = match path.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(path)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A manager that does not read must not delay the gate.
        socket.set_nonblocking(true)?;
        let every = patience.map_or(EVERY, |patience| EVERY.min(patience / 3));
        Ok(Manager { socket, every })
    }

    /// Reports that this process is the service now. A gate that takes over must report it before
    /// the old gate ends, because the manager would take that for the end of the service.
    pub fn succeed(&self) {
        self.tell(&format!("MAINPID={}", std::process::id()));
    }

    /// Reports that this process is the service now, and does its work.
    pub fn ready(&self) {
        self.tell(&format!("READY=1\nMAINPID={}", std::process::id()));
    }

    /// Reports that all is well.
    pub fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// Reports that the end has begun.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, words: &str) {
        // The manager may have ended.
        let _ = self.socket.send(words.as_bytes());
    }
}

/// Reports at intervals that the gate lives, while `answers` confirms it: to the service manager,
/// and to the guardian at the other end of `guardian`.
///
/// # Errors
/// A thread cannot be started.
pub fn keep_alive(
    system: &Arc<dyn System>,
    answers: impl Fn() -> bool + Send + 'static,
    manager: Option<Arc<Manager>>,
    mut guardian: Option<UnixStream>,
) -> io::Result<()> {
    if manager.is_none() && guardian.is_none() {
        return Ok(());
    }
    let every = manager.as_ref().map_or(EVERY, |manager| manager.every);
    let own = system.clone();
    let tell = move || loop {
        sleep(&*own, every);
        if !answers() {
            continue;
        }
        if let Some(manager) = &manager {
            manager.alive();
        }
        // The guardian may have ended; the gate continues.
        guardian.as_mut().map(|guardian| guardian.write(b"."));
    };
    system.spawn("watchdog", Box::new(tell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_told() {
        let path = std::env::temp_dir().join(format!("fb-notify-{}", std::process::id()));
        let plain = UnixDatagram::bind(&path).unwrap();
        let name = format!("fb-notify-{}", std::process::id());
        let hidden =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (socket, at) in [(plain, path.as_os_str()), (hidden, OsStr::new(&format!("@{name}")))] {
            let manager = Manager::open(at, None).unwrap();
            let mut heard = [0; 64];
            let mut next = || {
                let length = socket.recv(&mut heard).unwrap();
                String::from_utf8_lossy(&heard[..length]).into_owned()
            };
            manager.succeed();
            assert_eq!(next(), format!("MAINPID={}", std::process::id()));
            manager.ready();
            assert_eq!(next(), format!("READY=1\nMAINPID={}", std::process::id()));
            manager.alive();
            assert_eq!(next(), "WATCHDOG=1");
            manager.stopping();
            assert_eq!(next(), "STOPPING=1");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Manager::open(path.as_os_str(), None).is_err());
    }
}
