//! One thread that answers all clients: lines on the control socket, and HTTP for Prometheus.
//!
//! It never waits for a client. There are at most `MOST` of them, and each has `PATIENCE` for
//! its whole request. If all places are taken, a new client replaces the one that has been
//! connected for the longest time. (Existing small HTTP servers have a thread for each connection
//! and a limit for every read, so slow clients can block them. All that they would save is parsing
//! one line.)

use crate::accounts::Circuits;
use crate::client::{Client, Language, Request, State};
use crate::config::Config;
use crate::gate::{Command, Handle, SILENT};
use crate::handover;
use crate::listen::Listeners;
use crate::metrics;
use crate::page;
use crate::status::Status;
use crate::system::{System, receive, watch};
use forebay_core::ConfigError;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use serde_json::json;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::time::Duration;

/// Most clients at a time.
const MOST: usize = 64;
/// The longest time for a client to send its request and to read the answer.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time for the loop to answer.
pub const ANSWER: Duration = Duration::from_secs(2);
/// Clients accepted between two checks of the others.
const AT_ONCE: usize = 16;
/// The pause when there are no more descriptors.
const REST: Duration = Duration::from_millis(50);

/// A reload to do.
pub struct Job {
    /// When it was asked for.
    pub asked: Duration,
    /// What is told of its result.
    pub report: Report,
}

/// Reports the result of a reload: the file that was read.
pub type Report = Box<dyn FnOnce(Result<&Path, ConfigError>) + Send>;

/// The server before it runs.
pub struct Server {
    /// The system that it runs on.
    pub system: Arc<dyn System>,
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
    /// Clients that take over from the gate, or try to.
    pub followers: AtomicU32,
}

/// The state of the gate. None if it is ending.
pub fn status(system: &dyn System, gate: &Handle) -> Option<Box<Status>> {
    let ask = |core| {
        let (sender, receiver) = channel();
        gate.send_to(core, Command::Status(sender));
        receiver
    };
    // All at once, so that they are of the same time.
    let asked: Vec<_> = (0..gate.cores()).map(ask).collect();
    let mut told = asked.iter().map(|asked| receive(system, asked, Some(ANSWER)).ok());
    let mut whole = told.next()??;
    for more in told {
        whole.add(*more?);
    }
    Some(whole)
}

/// The answer to an HTTP request with `body`; None if the gate is ending.
fn answer(kind: &str, body: Option<String>) -> String {
    match body {
        Some(body) => metrics::answer("200 OK", kind, &body),
        None => metrics::answer("503 Service Unavailable", metrics::PLAIN, &format!("{SILENT}\n")),
    }
}

/// Circuits that the loop tells of in one turn, so that packets do not wait for long.
const PART: usize = 250;

/// The state of each circuit. None if the gate is ending.
pub fn circuits(system: &dyn System, gate: &Handle) -> Option<Box<Circuits>> {
    loop {
        let mut told = (0..gate.cores()).map(|core| circuits_of(system, gate, core));
        let mut whole = told.next()??;
        let mut same = true;
        for more in told {
            let more = more?;
            same &= more.reloads == whole.reloads && more.of == whole.of;
            if same {
                whole.add(*more);
            }
        }
        // While cores reload, places may be those of other circuits.
        if same {
            return Some(whole);
        }
    }
}

/// The state of each circuit on `core`. None if the gate is ending.
fn circuits_of(system: &dyn System, gate: &Handle, core: usize) -> Option<Box<Circuits>> {
    loop {
        let (sender, receiver) = channel();
        let ask = |first: usize| {
            gate.send_to(core, Command::Circuits(first..first + PART, sender.clone()))
        };
        ask(0);
        let mut whole = receive(system, &receiver, Some(ANSWER)).ok()?;
        // All at once: on a busy machine, each question and answer would wait for two threads.
        let rest: Vec<_> = (PART..whole.of).step_by(PART).collect();
        for first in &rest {
            ask(*first);
        }
        for _ in rest {
            let mut part = receive(system, &receiver, Some(ANSWER)).ok()?;
            if part.reloads == whole.reloads {
                whole.circuits.append(&mut part.circuits);
            }
        }
        // After a reload, places may be those of other circuits.
        if whole.circuits.len() == whole.of {
            return Some(whole);
        }
    }
}

/// An answer to the client with this number.
type Reply = (u64, String);

/// The state that the gate has just reported, if it was asked. The inner None: it is ending.
type Known = Option<Option<Box<Status>>>;

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
        server.system.spawn("server", Box::new(move || running.run()))?;
        Ok(server)
    }

    /// Lets the gate at the other end of `stream` take over from this one. Returns true if it does.
    ///
    /// # Errors
    /// The next gate fails before it is ready. This one continues.
    pub fn hand_over(&self, stream: UnixStream) -> io::Result<bool> {
        let listeners = self.listeners.descriptors();
        // After this the next gate accepts the clients.
        let ready = || self.accepts.store(false, Ordering::Release);
        let (system, gate, config) = (&*self.system, &self.gate, &self.config);
        let done = handover::serve(system, stream, gate, config, &listeners, self.fail_open, ready);
        match done {
            Ok(true) => self.end(),
            _ => self.accept(),
        }
        done
    }

    /// Begins to accept clients.
    pub fn accept(&self) {
        self.accepts.store(true, Ordering::Release);
        self.call();
    }

    /// Ends when its present clients are served.
    pub fn end(&self) {
        self.accepts.store(false, Ordering::Release);
        self.ends.store(true, Ordering::Release);
        self.call();
    }

    /// Wakes the server.
    fn call(&self) {
        // An error means that the counter is at its maximum: the server is being woken already.
        let _ = rustix::io::write(&self.listeners.bell, &1_u64.to_ne_bytes());
    }
}

struct Running {
    server: Arc<Server>,
    /// Their streams are those of either socket: the calls are the same.
    clients: Vec<Client<UnixStream>>,
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
                    client.answer(reply);
                }
            }
            self.serve(&ready);
            let now = self.server.system.now();
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
            let events = match client.is_answered() {
                true => PollFlags::OUT,
                false if client.is_complete() => PollFlags::empty(),
                false => PollFlags::IN,
            };
            PollFd::from_borrowed_fd(client.stream.as_fd(), events)
        }));
        let now = self.server.system.now();
        let soonest = self.clients.iter().map(|client| client.until).min();
        let span = soonest.map(|until| until.saturating_sub(now));
        let span = if accepts { span } else { Some(span.map_or(REST, |span| span.min(REST))) };
        // After an interruption the server looks again.
        let _ = watch(&*self.server.system, &mut sources, span);
        sources[first..].iter().map(|source| !source.revents().is_empty()).collect()
    }

    /// Accepts new clients.
    ///
    /// # Errors
    /// There are too many descriptors.
    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            let server = &self.server.listeners;
            let control = accept(&server.socket)?.map(|fd| (fd, Language::Line));
            let metrics = server.metrics.as_ref().map_or(Ok(None), accept)?;
            let metrics = metrics.map(|fd| (fd, Language::Http));
            if control.is_none() && metrics.is_none() {
                break;
            }
            for (stream, language) in [control, metrics].into_iter().flatten() {
                if self.clients.len() == MOST {
                    let asks = |client: &Client<_>| !client.is_answered() && !client.is_complete();
                    let longest = self.clients.iter().position(asks);
                    self.clients.remove(longest.unwrap_or(0));
                }
                let until = self.server.system.now() + PATIENCE;
                self.clients.push(Client::new(self.next, stream.into(), language, until));
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
            let state = if *is_ready { self.go_on(place, &mut known) } else { Some(State::Open) };
            match state {
                Some(State::Open) => place += 1,
                Some(State::Closed) => drop(self.clients.remove(place)),
                None => self.follow(place),
            }
        }
    }

    /// Continues with a client. None if it is a gate that wants to take over.
    fn go_on(&mut self, place: usize, known: &mut Known) -> Option<State> {
        let client = &mut self.clients[place];
        if !client.is_answered() {
            // It waits for its reload. Input now means that the client has gone.
            if client.is_complete() {
                return Some(State::Closed);
            }
            let request = match client.read() {
                Ok(Some(request)) => request,
                Ok(None) => return Some(State::Open),
                Err(_) => return Some(State::Closed),
            };
            let client = &self.clients[place];
            let (system, gate) = (&*self.server.system, &self.server.gate);
            let answer = match (request, client.language) {
                (Request::Metrics, _) => {
                    answer(metrics::PLAIN, ask(known, system, gate).map(metrics::text))
                }
                (Request::CircuitMetrics, _) => {
                    let found = circuits(system, gate);
                    answer(metrics::PLAIN, found.map(|found| metrics::circuits(&found)))
                }
                (Request::PageData, _) => {
                    let found = circuits(system, gate);
                    answer("application/json", found.map(|found| page::data(&found)))
                }
                (Request::Page(file), _) => metrics::answer("200 OK", file.kind, file.text),
                (Request::Unknown(_), Language::Http) => metrics::answer(
                    "404 Not Found",
                    metrics::PLAIN,
                    "ask for /metrics, /circuits or /\n",
                ),
                (Request::Circuits, _) => match circuits(system, gate) {
                    Some(found) => json!(found).to_string(),
                    None => refusal(SILENT),
                },
                (Request::Status, _) => match ask(known, system, gate) {
                    Some(status) => json!(status).to_string(),
                    None => refusal(SILENT),
                },
                (Request::Reload, _) => match self.reload(client.number) {
                    Ok(()) => return Some(State::Open),
                    Err(answer) => answer,
                },
                (Request::HandOver, _) if self.may_follow(&client.stream) => return None,
                (Request::HandOver, _) => {
                    refusal("only root and the user who started the gate may do that")
                }
                (Request::Unknown(other), Language::Line) => refusal(&format!(
                    "unknown request \"{other}\"; expected status, circuits or reload"
                )),
            };
            self.clients[place].answer(answer);
        }
        Some(self.clients[place].write())
    }

    /// Reads the configuration again for the client with this number.
    fn reload(&self, number: u64) -> Result<(), String> {
        let (replies, server) = (self.replies.0.clone(), Arc::clone(&self.server));
        let report: Report = Box::new(move |result| {
            let reply = match result {
                Ok(file) => json!({ "reloaded": file }).to_string(),
                Err(error) => refusal(&error.to_string()),
            };
            let _ = replies.send((number, reply));
            server.call();
        });
        let job = Job { asked: self.server.system.now(), report };
        self.server.jobs.try_send(job).map_err(|_| refusal("too many reloads wait already"))
    }

    fn may_follow(&self, stream: &UnixStream) -> bool {
        let peer = rustix::net::sockopt::socket_peercred(stream);
        peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid == self.server.listeners.owner)
    }

    /// Lets the client at `place` take over from this gate, in a separate thread.
    fn follow(&mut self, place: usize) {
        let stream = self.clients.remove(place).stream;
        let server = Arc::clone(&self.server);
        let system = server.system.clone();
        // If no thread can be started, the other gate gets no answer.
        let hand_over = move || {
            server.followers.fetch_add(1, Ordering::AcqRel);
            if !matches!(server.hand_over(stream), Ok(true)) {
                server.followers.fetch_sub(1, Ordering::AcqRel);
            }
        };
        let _ = system.spawn("hand over", Box::new(hand_over));
    }
}

/// The state of the gate. Clients that ask at the same time get the same answer.
fn ask<'a>(known: &'a mut Known, system: &dyn System, gate: &Handle) -> Option<&'a Status> {
    known.get_or_insert_with(|| status(system, gate)).as_deref()
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
