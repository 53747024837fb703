//! The system calls of a gate's processes, apart from frames. Tests replace the system by a simulated
//! one, in which processes are killed and calls fail.
#![expect(clippy::disallowed_methods, reason = "this is where time is read")]

use crate::config::Config;
use crate::io::{self as frames, Indices, Io, Pool};
use crate::plugins::Parts;
use crate::privileges;
use crate::text;
use forebay_core::{ConfigError, file};
use forebay_shaper::Storage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// A process's access to the system.
pub trait System: Send + Sync {
    /// Time since some instant. It never goes back.
    fn now(&self) -> Duration;

    /// Makes `attempt`, which may wait for as long as it is told, None for ever. Returns what it
    /// returned: whether what it waits for has come.
    fn wait(
        &self,
        patience: Option<Duration>,
        attempt: &mut dyn FnMut(Option<Duration>) -> bool,
    ) -> bool;

    /// Starts a thread.
    ///
    /// # Errors
    /// There are too many.
    fn spawn(&self, name: &str, act: Box<dyn FnOnce() + Send>) -> io::Result<()>;

    /// Starts a process with `stdin` as its standard input.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&self, program: &Path, arguments: &[OsString], stdin: OwnedFd) -> io::Result<Pid>;

    /// Sends `signal` to a child.
    fn signal(&self, child: Pid, signal: Signal);

    /// Waits for the end of a child.
    ///
    /// # Errors
    /// There is no such child.
    fn end_of(&self, child: Pid) -> io::Result<ExitStatus>;

    /// Reads the configuration at `path`, which can name `parts`. A gate that runs reads it `again`.
    ///
    /// # Errors
    /// The first fault, with its place.
    fn load(&self, path: &Path, parts: &Parts, again: bool) -> Result<Config, ConfigError>;

    /// Opens the back end of `config`, by the indices `known` ([`frames::open`]).
    ///
    /// # Errors
    /// Something cannot be opened.
    fn open(&self, config: &Config, known: Indices) -> io::Result<(Box<dyn Io>, Pool)>;

    /// As [`System::open`], once for each core of `config` ([`frames::open_all`]).
    ///
    /// # Errors
    /// As [`System::open`].
    fn open_all(&self, config: &Config, known: Indices) -> io::Result<Vec<(Box<dyn Io>, Pool)>> {
        Ok(vec![self.open(config, known)?])
    }

    /// Continues with the back end of another gate, by the descriptors that were `given`.
    ///
    /// # Errors
    /// They are not those of such a back end.
    fn take_over(&self, config: &Config, given: Vec<OwnedFd>) -> io::Result<(Box<dyn Io>, Pool)>;

    /// Checks that `folder` can get the recordings of a run: it is a folder or nothing yet, and has no
    /// file of these `names`.
    ///
    /// # Errors
    /// It cannot. The message says what would help.
    fn has_room(&self, folder: &Path, names: &[&str]) -> io::Result<()>;

    /// Creates a file for a recording, and its folder. A file that is there is replaced, and whoever
    /// writes to it goes on: it is that of a gate under the same guardian, which did not come to run.
    ///
    /// # Errors
    /// It cannot be created. The message says what would help.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>>;

    /// Removes a file that [`System::create`] has made.
    fn remove(&self, path: &Path);

    /// Shows `text` to the operator.
    fn print(&self, text: &str);

    /// Tells the operator `what` has happened, in a line.
    fn say(&self, what: &dyn Display) {
        self.print(&text::line(what));
    }

    /// Gives up the privileges of the process, for those of `user`.
    ///
    /// # Errors
    /// The kernel refuses.
    fn confine(&self, user: Option<&str>) -> io::Result<()>;
}

/// The system of the machine.
pub struct Machine {
    begin: Instant,
}

impl Machine {
    /// The system, with a clock that begins now.
    #[must_use]
    pub fn system() -> Arc<Machine> {
        Arc::new(Machine { begin: Instant::now() })
    }
}

impl System for Machine {
    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    fn wait(
        &self,
        patience: Option<Duration>,
        attempt: &mut dyn FnMut(Option<Duration>) -> bool,
    ) -> bool {
        attempt(patience)
    }

    fn spawn(&self, name: &str, act: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        thread::Builder::new().name(name.into()).spawn(act).map(drop)
    }

    fn start(&self, program: &Path, arguments: &[OsString], stdin: OwnedFd) -> io::Result<Pid> {
        let child = Command::new(program).args(arguments).stdin(Stdio::from(stdin)).spawn()?;
        Ok(Pid::from_child(&child))
    }

    fn signal(&self, child: Pid, signal: Signal) {
        // The child may have ended.
        let _ = kill_process(child, signal);
    }

    fn end_of(&self, child: Pid) -> io::Result<ExitStatus> {
        loop {
            match waitpid(Some(child), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn load(&self, path: &Path, parts: &Parts, again: bool) -> Result<Config, ConfigError> {
        if again { Config::reload(path, parts) } else { Config::load(path, parts) }
    }

    fn open(&self, config: &Config, known: Indices) -> io::Result<(Box<dyn Io>, Pool)> {
        frames::open(config, known)
    }

    fn open_all(&self, config: &Config, known: Indices) -> io::Result<Vec<(Box<dyn Io>, Pool)>> {
        frames::open_all(config, known, config.io.cores)
    }

    fn take_over(&self, config: &Config, given: Vec<OwnedFd>) -> io::Result<(Box<dyn Io>, Pool)> {
        frames::take_over(config, given)
    }

    fn has_room(&self, folder: &Path, names: &[&str]) -> io::Result<()> {
        let refuse = |path: &Path, what| {
            let what = format!("recording {}: {what}", path.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
        };
        if folder.metadata().is_ok_and(|there| !there.is_dir()) {
            return refuse(folder, "is no folder; choose a folder");
        }
        let there = |path: &PathBuf| path.symlink_metadata().is_ok();
        match names.iter().map(|name| folder.join(name)).find(there) {
            Some(path) => refuse(&path, "exists already; choose another folder"),
            None => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let make = |folder| fs::create_dir_all(folder);
        path.parent()
            .map_or(Ok(()), make)
            .map_err(|error| io::Error::new(error.kind(), file::words(&error)))?;
        if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
            self.remove(path);
        }
        Ok(Box::new(file::create(path)?))
    }

    fn remove(&self, path: &Path) {
        // If it cannot be removed, creating the next one fails.
        let _ = fs::remove_file(path);
    }

    fn print(&self, text: &str) {
        text::print(text);
    }

    fn confine(&self, user: Option<&str>) -> io::Result<()> {
        privileges::drop(user)
    }
}

/// Waits for `span`.
pub fn sleep(system: &dyn System, span: Duration) {
    system.wait(Some(span), &mut |span| {
        thread::sleep(span.unwrap_or_default());
        false
    });
}

/// Waits for one of `sources`, for at most `patience`.
///
/// # Errors
/// None of them was ready, or the kernel refuses.
pub fn watch(
    system: &dyn System,
    sources: &mut [PollFd<'_>],
    patience: Option<Duration>,
) -> io::Result<()> {
    let mut end = Ok(0);
    system.wait(patience, &mut |span| {
        let span = span.map(|span| Timespec {
            tv_sec: span.as_secs() as i64,
            tv_nsec: span.subsec_nanos().into(),
        });
        end = poll(sources, span.as_ref());
        end != Ok(0)
    });
    match end? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Waits until `stream` can be read, for at most `patience`.
///
/// # Errors
/// It cannot.
pub fn readable(system: &dyn System, stream: impl AsFd, patience: Duration) -> io::Result<()> {
    watch(system, &mut [PollFd::new(&stream, PollFlags::IN)], Some(patience))
}

/// Waits for a message, for at most `patience`.
///
/// # Errors
/// None came in time, or none can come any more.
pub fn receive<T>(
    system: &dyn System,
    receiver: &Receiver<T>,
    patience: Option<Duration>,
) -> Result<T, RecvTimeoutError> {
    let mut got = Err(RecvTimeoutError::Timeout);
    system.wait(patience, &mut |span| {
        got = match span {
            Some(span) => receiver.recv_timeout(span),
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        got.is_ok() || matches!(got, Err(RecvTimeoutError::Disconnected))
    });
    got
}
