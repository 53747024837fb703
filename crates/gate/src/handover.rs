//! A gate that takes over from another one without losing a packet.
//!
//! The next gate sends `hand over` to the control socket of the running one, which lends it copies
//! of its descriptors and continues. The next one prepares everything and says `ready`. Then the
//! running one takes no more frames and says where the next ones are. Its packets leave at the
//! link's rate, while arriving ones are queued in the next gate, which sends on a side once the
//! other reports that it is `empty` there. If the next gate fails before it is ready, nothing
//! changes. If the running one ends early, the next one continues at once.

use crate::config::{Config, Interface};
use crate::gate::{Command, Handle, SILENT};
use crate::io::{Side, is_lent};
use crate::listen;
use crate::neighbour::{LONGEST, Predecessor, Successor, invalid, read_line, set_blocking};
use crate::notify;
use crate::system::{System, readable, receive};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The request of the next gate.
pub const QUESTION: &str = "hand over";
/// The longest time that the other gate may take for a step; the next one builds its queues in it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most descriptors: standard error, two listeners and six sockets.
const MOST: usize = 9;

/// The first message of the running gate, with which it lends its descriptors.
#[derive(Debug, Serialize, Deserialize)]
struct Loan {
    /// The part of its configuration that must be equal in both gates.
    fixed: Value,
    /// The number of descriptors that are listeners: the control socket and the metrics. They follow
    /// standard error. Those of the interfaces follow them.
    listeners: usize,
    /// Whether it belongs to a service.
    is_service: bool,
    /// Whether it is a guardian, or has one.
    fail_open: bool,
}

/// The values that cannot change when a gate takes over, by their path in the configuration.
fn fixed(config: &Config) -> [(&'static str, Value); 7] {
    [
        ("io.backend", json!(config.io.backend)),
        ("io.buffers", json!(config.io.buffers)),
        ("io.inside", json!(config.io.inside)),
        ("io.outside", json!(config.io.outside)),
        ("socket", json!(config.socket)),
        ("metrics", json!(config.metrics)),
        ("link.mtu", json!(config.mtu())),
    ]
}

/// Lends the descriptors of `gate`, which uses `config`, to the next one at the other end of
/// `stream`, and lets it take over once it is ready. `fail_open` says whether there is a guardian.
/// `ready` is called once it is ready. Returns true if it has taken over.
///
/// # Errors
/// The next gate fails before it is ready. The running one continues.
pub fn serve(
    system: &dyn System,
    mut stream: UnixStream,
    gate: &Handle,
    config: &Config,
    listeners: &[BorrowedFd<'_>],
    fail_open: bool,
    ready: impl FnOnce(),
) -> io::Result<bool> {
    set_blocking(&stream, true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let own = match lend(system, gate) {
        Ok(own) => own,
        Err(error) => {
            let reply = json!({ "error": error.to_string() });
            return stream.write_all(format!("{reply}\n").as_bytes()).map(|()| false);
        }
    };
    let fixed = json!(fixed(config));
    let is_service = notify::is_service();
    let loan = Loan { fixed, listeners: listeners.len(), is_service, fail_open };
    let line = format!("{}\n", serde_json::to_string(&loan)?);
    let log = io::stderr();
    let all = [log.as_fd()].into_iter().chain(listeners.iter().copied());
    let all: Vec<_> = all.chain(own.iter().map(AsFd::as_fd)).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(invalid("too many descriptors"));
    }
    let sent =
        sendmsg(&stream, &[IoSlice::new(line.as_bytes())], &mut control, SendFlags::empty())?;
    stream.write_all(&line.as_bytes()[sent..])?;
    readable(system, &stream, PATIENCE)?;
    if read_line(&mut stream)? != "ready" {
        return Err(invalid("the next gate is not ready"));
    }
    ready();
    let (sender, receiver) = channel();
    gate.send(Command::HandOver(Successor::new(stream), sender));
    Ok(receive(system, &receiver, Some(PATIENCE)).unwrap_or(false))
}

fn lend(system: &dyn System, gate: &Handle) -> io::Result<Vec<OwnedFd>> {
    let (sender, receiver) = channel();
    gate.send(Command::Lend(sender));
    receive(system, &receiver, Some(PATIENCE)).map_err(|_| io::Error::other(SILENT))?
}

/// The loan of a running gate.
pub struct Lent {
    /// The connection to it.
    pub stream: UnixStream,
    /// The control socket, and that of the metrics.
    pub listeners: Vec<OwnedFd>,
    /// The descriptors of its back end.
    pub descriptors: Vec<OwnedFd>,
    /// Whether it is a guardian, or has one.
    pub fail_open: bool,
    /// Its standard error, where the messages of this process go once it has taken over. None if
    /// they stay where they are.
    pub log: Option<OwnedFd>,
}

/// Asks the gate at the other end of `stream` to hand over to one that uses `config`. If `borrows`
/// is false, it opens the interfaces itself, as soon as the running gate has released them.
///
/// # Errors
/// The running gate refuses, or the configurations differ where they must be equal.
pub fn ask(
    system: &dyn System,
    mut stream: UnixStream,
    config: &Config,
    borrows: bool,
) -> io::Result<Lent> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{QUESTION}\n").as_bytes())?;
    let mut text = [0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    readable(system, &stream, PATIENCE)?;
    let got = recvmsg(&stream, &mut [IoSliceMut::new(&mut text)], &mut control, flags)?;
    let mut given = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            given.extend(descriptors);
        }
    }
    let mut line = String::from_utf8_lossy(&text[..got.bytes]).into_owned();
    if got.bytes == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the gate gave no answer"));
    }
    if !line.ends_with('\n') {
        line += &read_line(&mut stream)?;
    }
    let reply: Value = serde_json::from_str(&line)?;
    if let Some(error) = reply["error"].as_str() {
        return Err(io::Error::other(error.to_owned()));
    }
    let loan: Loan = serde_json::from_value(reply)?;
    // Its manager would take its end for that of the service, and start another gate.
    if loan.is_service && !notify::is_service() {
        return Err(invalid(
            "the gate that runs belongs to a service, and one that is started here would not; \
             install contrib/gate/upgrade.conf and run `systemctl reload forebay-gate`",
        ));
    }
    if given.len() <= loan.listeners {
        return Err(invalid("the gate lent less than it said"));
    }
    let descriptors = given.split_off(1 + loan.listeners);
    if borrows {
        let entries = loan.fixed.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_same = |path: &str, ours: &Value| {
            let theirs = entries.iter().find(|entry| entry[0] == path).map(|entry| &entry[1]);
            theirs == Some(ours)
                || match path {
                    "io.inside" => is_renamed(theirs, ours, &descriptors, Side::Inside),
                    "io.outside" => is_renamed(theirs, ours, &descriptors, Side::Outside),
                    _ => false,
                }
        };
        if let Some((path, _)) = fixed(config).iter().find(|(path, ours)| !is_same(path, ours)) {
            return Err(invalid(format!(
                "{path}: differs from that of the gate that runs, which cannot hand over what it \
                 has not; stop it and start this one"
            )));
        }
    }
    let log = Some(given.remove(0));
    Ok(Lent { stream, listeners: given, descriptors, fail_open: loan.fail_open, log })
}

/// Whether `ours` is the interface that another gate, which knows it as `theirs`, uses on `side` and
/// has lent.
fn is_renamed(theirs: Option<&Value>, ours: &Value, lent: &[OwnedFd], side: Side) -> bool {
    let read = |value: &Value| Interface::deserialize(value).ok();
    let (Some(theirs), Some(ours)) = (theirs.and_then(read), read(ours)) else { return false };
    theirs.netns() == ours.netns() && is_lent(&ours, lent, side)
}

impl Lent {
    /// Reports that everything is prepared. From then on the other gate takes no frames, and this
    /// process writes into its log. Returns where the next frames are.
    ///
    /// # Errors
    /// The other gate has ended meanwhile.
    pub fn ready(mut self, system: &dyn System) -> io::Result<(Predecessor, [usize; 2])> {
        self.stream.write_all(b"ready\n")?;
        readable(system, &self.stream, PATIENCE)?;
        let heard = Predecessor::hear_of(self.stream)?;
        if let Some(log) = self.log {
            dup2_stdout(&log)?;
            dup2_stderr(&log)?;
        }
        Ok(heard)
    }
}

/// The control socket of the gate to take over from.
///
/// # Errors
/// There is no such gate.
pub fn connect(system: &dyn System, socket: &Path) -> io::Result<UnixStream> {
    let stream = listen::connect(system, socket, PATIENCE).map_err(|error| {
        let what =
            format!("socket {}: {error}; there must be a gate to take over from", socket.display());
        io::Error::new(error.kind(), what)
    })?;
    set_blocking(&stream, true)?;
    Ok(stream)
}
