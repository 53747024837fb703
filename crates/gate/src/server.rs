//! One thread that answers all clients: lines on the control socket, and HTTP for Prometheus.
//!
//! It never waits for a client. There are at most `MOST` of them, and each has `PATIENCE` for
//! its whole request. If all places are taken, a new client replaces the one that has been
//! connected for the longest time. (Existing small HTTP servers have a thread for each connection
//! and a limit for every read, so slow clients can block them. All that they would save is parsing
//! one line.)
#![expect(clippy::disallowed_methods, reason = "clients have so much time")]

use crate::config::Config;
use crate::gate::{Command, Handle, SILENT};
use crate::handover;
use crate::listen::Listeners;
use crate::metrics;
use crate::status::Status;
use forebay_core::ConfigError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Most clients at a time.
const MOST: usize = 64;
/// How long a client may take to send its request and to read the answer.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long the loop may take to answer.
pub const ANSWER: Duration = Duration::from_secs(2);
/// Longest request.
const LONGEST: usize = 8_192;
/// Clients accepted between two checks of the others.
const AT_ONCE: usize = 16;
/// How long to wait when there are no more descriptors.
const REST: Duration = Duration::from_millis(50);

/// A reload to do, whose result is reported: the file that was read.
pub type Job = Box<dyn FnOnce(Result<&Path, ConfigError>) + Send>;

/// The server before it runs.
pub struct Server {
    /// The listeners.
    pub listeners: Listeners,
    /// The gate.
    pub gate: Handle,
    /// The configuration at the start. What a new gate must share never changes.
    pub config: Config,
    /// Whether it is a guardian, or has one.
    pub fail_open: bool,
    /// The thread that does reloads.
    pub jobs: SyncSender<Job>,
    /// Whether new clients are accepted.
    pub accepts: AtomicBool,
    /// Whether it ends when its present clients are served.
    pub ends: AtomicBool,
}

/// What the gate has done so far. None if it is ending.
pub fn status(gate: &Handle) -> Option<Box<Status>> {
    let (sender, receiver) = channel();
    gate.send(Command::Status(sender));
    receiver.recv_timeout(ANSWER).ok()
}

/// An answer to the client with this number.
type Reply = (u64, String);

/// What the gate has just reported, if it was asked. None if it is ending.
type Known = Option<Option<Box<Status>>>;

enum Stream {
    Control(UnixStream),
    Metrics(TcpStream),
}

struct Client {
    number: u64,
    stream: Stream,
    until: Instant,
    question: Vec<u8>,
    /// What is still to be sent. None while there is no answer.
    answer: Option<Vec<u8>>,
}

/// The state of a client.
#[derive(PartialEq)]
enum State {
    /// It sends its request, reads or waits.
    Open,
    /// It has its answer, or is gone.
    Closed,
    /// It is a gate that wants to take over.
    Follows,
}

impl Server {
    /// Starts to answer.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(self) -> io::Result<Arc<Server>> {
        let server = Arc::new(self);
        let running = Running {
            server: Arc::clone(&server),
            clients: Vec::new(),
            replies: channel(),
            next: 0,
        };
        thread::Builder::new().name("server".into()).spawn(move || running.run())?;
        Ok(server)
    }

    /// Lets the gate at the other end of `stream` take over from this one. Returns true if it does.
    ///
    /// # Errors
    /// The next gate fails before it is ready. This one continues.
    pub fn hand_over(&self, stream: UnixStream) -> io::Result<bool> {
        let listeners = self.listeners.descriptors();
        // From then on clients are the next gate's.
        let ready = || self.accepts.store(false, Ordering::Release);
        let (gate, config, fail_open) = (&self.gate, &self.config, self.fail_open);
        let done = handover::serve(stream, gate, config, &listeners, fail_open, ready);
        match done {
            Ok(true) => self.end(),
            _ => self.accepts.store(true, Ordering::Release),
        }
        done
    }

    /// Ends when its present clients are served.
    pub fn end(&self) {
        self.accepts.store(false, Ordering::Release);
        self.ends.store(true, Ordering::Release);
        self.call();
    }

    /// Wakes the server.
    fn call(&self) {
        // A bell that cannot ring louder has rung already.
        let _ = rustix::io::write(&self.listeners.bell, &1_u64.to_ne_bytes());
    }
}

struct Running {
    server: Arc<Server>,
    clients: Vec<Client>,
    next: u64,
    /// Answers to reloads, by the number of the client.
    replies: (Sender<Reply>, Receiver<Reply>),
}

impl Running {
    fn run(mut self) {
        let mut has_room = true;
        loop {
            let accepts = self.server.accepts.load(Ordering::Acquire);
            if self.server.ends.load(Ordering::Acquire) && self.clients.is_empty() {
                return;
            }
            let ready = self.wait(accepts && has_room);
            let _ = rustix::io::read(&self.server.listeners.bell, &mut [0; 8]);
            while let Ok((number, reply)) = self.replies.1.try_recv() {
                let client = self.clients.iter_mut().find(|client| client.number == number);
                if let Some(client) = client {
                    client.answer = Some(reply.into_bytes());
                }
            }
            self.serve(&ready);
            let now = Instant::now();
            self.clients.retain(|client| client.until > now);
            has_room = !self.server.accepts.load(Ordering::Acquire) || self.accept().is_ok();
        }
    }

    /// Waits for clients. Returns those that are ready.
    fn wait(&self, accepts: bool) -> Vec<bool> {
        let server = &self.server.listeners;
        let (bell, socket) = (server.bell.as_fd(), server.socket.as_fd());
        let metrics = server.metrics.as_ref().map(AsFd::as_fd);
        let listeners = [Some(bell), accepts.then_some(socket), metrics.filter(|_| accepts)];
        let listeners = listeners.into_iter().flatten();
        let mut sources: Vec<_> =
            listeners.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let first = sources.len();
        sources.extend(self.clients.iter().map(|client| {
            let events = match &client.answer {
                Some(_) => PollFlags::OUT,
                None if client.is_complete() => PollFlags::empty(),
                None => PollFlags::IN,
            };
            PollFd::from_borrowed_fd(client.stream.descriptor(), events)
        }));
        let soonest = self.clients.iter().map(|client| client.until).min();
        let span = soonest.map(|until| until.saturating_duration_since(Instant::now()));
        let span = if accepts { span } else { Some(span.map_or(REST, |span| span.min(REST))) };
        let timeout = span.map(|span| Timespec {
            tv_sec: span.as_secs() as i64,
            tv_nsec: i64::from(span.subsec_nanos()),
        });
        // An interruption is as good as news.
        let _ = poll(&mut sources, timeout.as_ref());
        sources[first..].iter().map(|source| !source.revents().is_empty()).collect()
    }

    /// Accepts new clients.
    ///
    /// # Errors
    /// There are too many descriptors.
    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            let server = &self.server.listeners;
            let control = accept(&server.socket)?.map(|fd| Stream::Control(fd.into()));
            let metrics = server.metrics.as_ref().map_or(Ok(None), accept)?;
            let metrics = metrics.map(|fd| Stream::Metrics(fd.into()));
            if control.is_none() && metrics.is_none() {
                break;
            }
            for stream in [control, metrics].into_iter().flatten() {
                if self.clients.len() == MOST {
                    let asks = |client: &Client| client.answer.is_none() && !client.is_complete();
                    let longest = self.clients.iter().position(asks);
                    self.clients.remove(longest.unwrap_or(0));
                }
                let until = Instant::now() + PATIENCE;
                let number = self.next;
                self.clients.push(Client {
                    number,
                    stream,
                    until,
                    question: Vec::new(),
                    answer: None,
                });
                self.next += 1;
            }
        }
        Ok(())
    }

    /// Continues with the clients that are `ready`. Those after them came later.
    fn serve(&mut self, ready: &[bool]) {
        let mut known = None;
        let mut place = 0;
        for is_ready in ready {
            let state = if *is_ready { self.go_on(place, &mut known) } else { State::Open };
            match state {
                State::Open => place += 1,
                State::Closed => drop(self.clients.remove(place)),
                State::Follows => self.follow(place),
            }
        }
    }

    fn go_on(&mut self, place: usize, known: &mut Known) -> State {
        let client = &mut self.clients[place];
        if client.answer.is_none() {
            match client.read() {
                Ok(true) => {}
                Ok(false) => return State::Open,
                Err(_) => return State::Closed,
            }
            let client = &self.clients[place];
            let gate = &self.server.gate;
            let answer = match &client.stream {
                Stream::Metrics(_) => metrics::answer(&client.question, || ask(known, gate)),
                Stream::Control(stream) => {
                    let question = String::from_utf8_lossy(&client.question);
                    let answer = match question.trim() {
                        "status" => match ask(known, gate) {
                            Some(status) => json!(status).to_string(),
                            None => refusal(SILENT),
                        },
                        "reload" => match self.reload(client.number) {
                            Ok(()) => return State::Open,
                            Err(answer) => answer,
                        },
                        handover::QUESTION if self.may_follow(stream) => {
                            return State::Follows;
                        }
                        handover::QUESTION => {
                            refusal("only root and the user who started the gate may do that")
                        }
                        other => refusal(&format!(
                            "unknown request \"{other}\"; expected status or reload"
                        )),
                    };
                    answer + "\n"
                }
            };
            self.clients[place].answer = Some(answer.into_bytes());
        }
        self.clients[place].write()
    }

    /// Reads the configuration again for the client with this number.
    fn reload(&self, number: u64) -> Result<(), String> {
        let (replies, server) = (self.replies.0.clone(), Arc::clone(&self.server));
        let job: Job = Box::new(move |result| {
            let reply = match result {
                Ok(file) => json!({ "reloaded": file }).to_string(),
                Err(error) => refusal(&error.to_string()),
            };
            let _ = replies.send((number, reply + "\n"));
            server.call();
        });
        self.server.jobs.try_send(job).map_err(|_| refusal("too many reloads wait already"))
    }

    fn may_follow(&self, stream: &UnixStream) -> bool {
        let peer = rustix::net::sockopt::socket_peercred(stream);
        peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid == self.server.listeners.owner)
    }

    /// Lets the client at `place` take over from this gate, in a thread of its own.
    fn follow(&mut self, place: usize) {
        let Stream::Control(stream) = self.clients.remove(place).stream else { return };
        let server = Arc::clone(&self.server);
        // A thread that cannot be started leaves the other gate without an answer.
        let thread = thread::Builder::new().name("hand over".into());
        let _ = thread.spawn(move || server.hand_over(stream));
    }
}

/// What the gate reports. Clients that ask at the same time get the same answer.
fn ask<'a>(known: &'a mut Known, gate: &Handle) -> Option<&'a Status> {
    known.get_or_insert_with(|| status(gate)).as_deref()
}

fn refusal(why: &str) -> String {
    json!({ "error": why }).to_string()
}

/// The next client, if there is one that is not already gone.
///
/// # Errors
/// There are too many descriptors.
fn accept(listener: impl AsFd) -> io::Result<Option<OwnedFd>> {
    match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok(client) => Ok(Some(client)),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
            Err(error.into())
        }
        Err(_) => Ok(None),
    }
}

impl Stream {
    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Control(stream) => stream.as_fd(),
            Stream::Metrics(stream) => stream.as_fd(),
        }
    }
}

impl Client {
    /// Whether its request is complete.
    fn is_complete(&self) -> bool {
        match self.stream {
            Stream::Control(_) => self.question.contains(&b'\n'),
            Stream::Metrics(_) => self.question.windows(4).any(|end| end == b"\r\n\r\n"),
        }
    }

    /// Reads what has arrived. Returns true once the request is complete.
    fn read(&mut self) -> io::Result<bool> {
        let mut part = [0; 1024];
        let got = match &mut self.stream {
            Stream::Control(stream) => stream.read(&mut part),
            Stream::Metrics(stream) => stream.read(&mut part),
        };
        match got {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.question.extend(&part[..length]);
                if self.question.len() > LONGEST {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                Ok(self.is_complete())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends as much as there is room for.
    fn write(&mut self) -> State {
        let Some(answer) = &mut self.answer else { return State::Open };
        let sent = match &mut self.stream {
            Stream::Control(stream) => stream.write(answer),
            Stream::Metrics(stream) => stream.write(answer),
        };
        match sent {
            Ok(length) if length < answer.len() => {
                answer.drain(..length);
                State::Open
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => State::Open,
            _ => State::Closed,
        }
    }
}
