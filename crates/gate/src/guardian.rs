//! Fail open: a second process that passes packets, unqueued, while the gate does not run.
//!
//! The guardian is itself a gate without a queue. It opens the interfaces, starts the gate proper
//! and hands over to it ([`handover`]). If that gate ends or no longer responds, the guardian
//! passes packets again and starts another one. It keeps the privileges that this needs. It reads
//! neither packets nor requests while the gate runs. AF_XDP cannot be handed over: the guardian
//! then passes packets through AF_PACKET, and releases the interfaces before the gate opens them.

use crate::config::{Backend, Config, Link, Other};
use crate::control::{self, Signals};
use crate::gate::{Command, End, Gate, Handle};
use crate::handover::{self, Lent};
use crate::host::Host;
use crate::io::{Indices, indices};
use crate::listen::Listeners;
use crate::notify::{self, Manager};
use crate::server::{self, Server};
use crate::system::{System, readable, receive, sleep};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal};
use signal_hook::consts::SIGHUP;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest silence of the gate before it is replaced.
const SILENCE: Duration = Duration::from_secs(5);
/// Time between two attempts to start it.
const PAUSE: Duration = Duration::from_secs(1);
/// Time between two checks for an interface.
const LOOK: Duration = Duration::from_millis(200);

/// The state that signals act upon.
#[derive(Default)]
struct Scene {
    stop: bool,
    /// The gate that passes packets.
    gate: Option<Handle>,
    /// The gate proper.
    child: Option<Pid>,
    /// Whether a gate proper has taken over.
    has_run: bool,
}

type Shared = Arc<Mutex<Scene>>;

fn look<T>(scene: &Shared, act: impl FnOnce(&mut Scene) -> T) -> T {
    act(&mut scene.lock().expect("nothing panics while it is held"))
}

/// A guardian.
pub struct Guardian {
    /// The system on which it runs.
    pub host: Arc<dyn Host>,
    /// The configuration of the gate proper.
    pub config: Config,
    /// Its file.
    pub path: PathBuf,
    /// The program, which may be replaced while it runs.
    pub program: PathBuf,
    /// Whether the gate proper forwards everything.
    pub dry_run: bool,
    /// Folder for the recordings of the first gate proper. Those after it would replace them.
    pub record: Option<PathBuf>,
    /// The sockets for clients.
    pub listeners: Listeners,
    /// The service manager.
    pub manager: Option<Arc<Manager>>,
}

/// Handles with which renamed interfaces are found again.
#[derive(Default)]
struct Kept {
    /// Descriptors of TUN interfaces, which would go with the last of them.
    tun: Vec<OwnedFd>,
    /// Indices of other interfaces.
    indices: Indices,
}

/// The gate proper, and the connection to it.
type Worker = (Pid, UnixStream);

impl Guardian {
    fn system(&self) -> Arc<dyn System> {
        self.host.clone()
    }

    /// Runs until it is told to stop, or another gate has taken over. Returns which. `lent` comes
    /// from the running gate, if there is one to take over from.
    ///
    /// # Errors
    /// An interface cannot be opened at the start.
    pub fn run(self, signals: Signals, mut lent: Option<Lent>) -> io::Result<End> {
        let scene = Shared::default();
        obey(&self.system(), signals, &scene)?;
        let guardian = Arc::new(self);
        guardian.keep_alive(&scene)?;
        let mut kept = Kept::default();
        let system = &*guardian.host;
        // Without a gate to take over from, an error at the start is final.
        let is_first = lent.is_none();
        let mut began = None::<Duration>;
        // The end of the gate proper. It is reported once it is known whether packets pass.
        let mut ended = None::<ExitStatus>;
        loop {
            let opened = guardian.open(&mut kept, lent.take());
            let (mut gate, handle) = match opened {
                Ok(gate) => gate,
                Err(error) if began.is_none() => return Err(error),
                Err(error) => {
                    if let Some(code) = ended {
                        system.say(&format_args!("the gate has ended ({code})"));
                    }
                    system.say(&format_args!("waiting for the interfaces: {error}"));
                    guardian.wait_for_interfaces(&scene, &mut kept)?
                }
            };
            if let Some(code) = ended.take() {
                system.say(&format_args!(
                    "the gate has ended ({code}); packets pass until it runs again"
                ));
            }
            if look(&scene, |scene| {
                scene.gate = Some(handle.clone());
                scene.stop
            }) {
                return Ok(End::Stopped);
            }
            let rest =
                began.map_or(Duration::ZERO, |began| (began + PAUSE).saturating_sub(system.now()));
            let (server, started) = loop {
                match guardian.prepare(&scene, &handle, rest) {
                    Ok(prepared) => break prepared,
                    Err(error) if is_first && began.is_none() => return Err(error),
                    // The previous gate has ended. Meanwhile frames wait at the interfaces.
                    Err(error) => system.say(&format_args!("the next try follows: {error}")),
                }
                sleep(system, LOOK);
                if look(&scene, |scene| scene.stop) {
                    return Ok(End::Stopped);
                }
            };
            began = Some(system.now());
            let (_, end) = system.run(&mut gate);
            look(&scene, |scene| scene.gate = None);
            server.end();
            let handed_over = gate.is_followed();
            // Open sockets would continue to receive.
            drop(gate);
            if !matches!(end, Ok(End::HandedOver)) {
                if let Err(error) = &end {
                    system.say(error);
                    kept.tun.clear();
                }
                look(&scene, |scene| scene.child.map(|child| system.signal(child, Signal::TERM)));
            }
            let worker = receive(system, &started, None).map_err(io::Error::other)?;
            // The gate proper was not started in time: the successor is another guardian.
            let is_followed = server.followers.load(Ordering::Acquire) > 0;
            if worker.is_none() && is_followed && handed_over {
                system.say(&"another gate has taken over");
                return Ok(End::HandedOver);
            }
            if let Some((child, stream)) = worker {
                if let Some(manager) = &guardian.manager {
                    manager.ready();
                }
                let is_followed = listen(system, child, stream);
                let code = system.end_of(child)?;
                look(&scene, |scene| scene.child = None);
                if is_followed {
                    return Ok(End::HandedOver);
                }
                let stopped = look(&scene, |scene| scene.stop);
                match (stopped, code.success()) {
                    (true, true) => return Ok(End::Stopped),
                    (true, false) => {
                        return Err(io::Error::other(format!("the gate has ended ({code})")));
                    }
                    (false, _) => ended = Some(code),
                }
            }
            if look(&scene, |scene| scene.stop) {
                return Ok(End::Stopped);
            }
        }
    }

    /// Starts the server of a gate that passes packets, and what starts the gate proper after
    /// `rest`. Returns where the gate proper appears.
    fn prepare(
        self: &Arc<Self>,
        scene: &Shared,
        handle: &Handle,
        rest: Duration,
    ) -> io::Result<(Arc<Server>, Receiver<Option<Worker>>)> {
        let listeners = self.listeners.try_clone()?;
        let (passing, path) = (self.passing(), self.path.clone());
        let server = control::start(&self.system(), listeners, handle, passing, path, true)?;
        let (worker, started) = channel();
        let (guardian, scene, own) = (self.clone(), scene.clone(), server.clone());
        // The receiver still waits.
        let starter = move || drop(worker.send(guardian.start(&scene, &own, rest)));
        self.host.spawn("starter", Box::new(starter)).inspect_err(|_| server.end())?;
        server.accept();
        Ok((server, started))
    }

    /// The guardian's own configuration: packets pass.
    fn passing(&self) -> Config {
        let mut config = self.config.clone();
        let mtu = config.mtu();
        config.link = Link::passing(mtu);
        config.pass_subscribers();
        (config.other, config.rule) = (Other::Pass, Vec::new());
        if config.io.backend == Backend::Xdp {
            config.io.backend = Backend::Packet;
        }
        config
    }

    fn open(&self, kept: &mut Kept, lent: Option<Lent>) -> io::Result<(Gate, Handle)> {
        let config = self.passing();
        let mut follows = None;
        let (io, pool) = match lent {
            Some(mut lent) => {
                let given = std::mem::take(&mut lent.descriptors);
                follows = Some(lent);
                self.host.take_over(&config, given)?
            }
            None if kept.tun.is_empty() => self.host.open(&config, kept.indices)?,
            None => {
                let copies: io::Result<_> = kept.tun.iter().map(OwnedFd::try_clone).collect();
                self.host.take_over(&config, copies?)?
            }
        };
        kept.indices = indices(&io.descriptors()?);
        if config.io.backend == Backend::Tun && kept.tun.is_empty() {
            let copies = io.descriptors()?.into_iter().map(|fd| fd.try_clone_to_owned());
            kept.tun = copies.collect::<io::Result<_>>()?;
        }
        let (mut gate, handle) = Gate::with(config, io, pool, false)?;
        if let Some(lent) = follows {
            if let Some(manager) = &self.manager {
                manager.succeed();
            }
            let (predecessor, places) = lent.ready(&*self.host)?;
            gate.follow(predecessor, places);
        }
        Ok((gate, handle))
    }

    fn wait_for_interfaces(&self, scene: &Shared, kept: &mut Kept) -> io::Result<(Gate, Handle)> {
        loop {
            sleep(&*self.host, LOOK);
            match self.open(kept, None) {
                Err(_) if !look(scene, |scene| scene.stop) => {}
                opened => return opened,
            }
        }
    }

    /// Starts the gate proper after `rest`, and waits until it takes over from the gate of
    /// `server`. None if it ends before.
    fn start(&self, scene: &Shared, server: &Server, rest: Duration) -> Option<Worker> {
        sleep(&*self.host, rest);
        loop {
            let failed = match self.try_start(scene, server) {
                Ok(Some(worker)) => return Some(worker),
                Ok(None) => return None,
                Err(error) => error,
            };
            if look(scene, |scene| scene.gate.is_none() || scene.stop) {
                return None;
            }
            self.host.say(&format_args!("the gate does not start ({failed}); packets pass"));
            sleep(&*self.host, PAUSE);
        }
    }

    fn try_start(&self, scene: &Shared, server: &Server) -> io::Result<Option<Worker>> {
        let (ours, theirs) = UnixStream::pair()?;
        let started = look(scene, |scene| {
            if scene.stop || scene.gate.is_none() {
                return Ok(None);
            }
            let mut arguments: Vec<OsString> = vec!["run".into(), "--guarded".into()];
            arguments.extend(self.dry_run.then(|| "--dry-run".into()));
            if let Some(folder) = self.record.as_ref().filter(|_| !scene.has_run) {
                arguments.extend(["--record".into(), folder.into()]);
            }
            arguments.push(self.path.clone().into());
            let child = self.host.start(&self.program, &arguments, theirs.into())?;
            scene.child = Some(child);
            io::Result::Ok(Some(child))
        })?;
        let Some(child) = started else { return Ok(None) };
        match hand_over(&*self.host, &ours, server) {
            Ok(true) => {
                look(scene, |scene| scene.has_run = true);
                Ok(Some((child, ours)))
            }
            other => {
                self.host.signal(child, Signal::KILL);
                let code = self.host.end_of(child)?;
                look(scene, |scene| scene.child = None);
                other?;
                Err(io::Error::other(code.to_string()))
            }
        }
    }

    /// Tells the service manager, at intervals, that all is well.
    fn keep_alive(self: &Arc<Self>, scene: &Shared) -> io::Result<()> {
        let Some(every) = self.manager.as_ref().map(|manager| manager.every) else {
            return Ok(());
        };
        let (guardian, scene) = (self.clone(), scene.clone());
        let tell = move || loop {
            sleep(&*guardian.host, every);
            let gate = look(&scene, |scene| scene.gate.clone());
            // While the gate proper runs, it is listened to.
            if gate.is_none_or(|gate| server::status(&*guardian.host, &gate).is_some())
                && let Some(manager) = &guardian.manager
            {
                manager.alive();
            }
        };
        self.host.spawn("watchdog", Box::new(tell))
    }
}

/// Lets the gate proper at the other end of `stream` take over from the gate of `server`.
fn hand_over(system: &dyn System, stream: &UnixStream, server: &Server) -> io::Result<bool> {
    stream.set_read_timeout(Some(SILENCE * 2))?;
    readable(system, stream, SILENCE * 2)?;
    let mut question = String::new();
    // The other side sends one line and waits for the answer, so nothing is read beyond it.
    BufReader::new(stream.take(100)).read_line(&mut question)?;
    Ok(question.trim_end() == handover::QUESTION && server.hand_over(stream.try_clone()?)?)
}

/// Listens to the signs of life of the gate proper until it ends. If it is silent, ends it. Returns
/// whether another gate has taken over from it.
fn listen(system: &dyn System, child: Pid, mut stream: UnixStream) -> bool {
    let (mut heard, mut is_followed) = ([0; 64], false);
    loop {
        match readable(system, &stream, SILENCE).and_then(|()| stream.read(&mut heard)) {
            Ok(0) => return is_followed,
            Ok(length) => is_followed |= heard[..length].contains(&notify::FOLLOWED),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                system.say(&"the gate no longer answers, and was stopped");
                system.signal(child, Signal::KILL);
                return is_followed;
            }
            Err(_) => return is_followed,
        }
    }
}

fn obey(system: &Arc<dyn System>, signals: Signals, scene: &Shared) -> io::Result<()> {
    let (own, scene) = (system.clone(), scene.clone());
    let obey = move || {
        for signal in signals {
            look(&scene, |scene| {
                let word = if signal == SIGHUP { Signal::HUP } else { Signal::TERM };
                if signal != SIGHUP {
                    scene.stop = true;
                    scene.gate.as_ref().map(|gate| gate.send(Command::Stop));
                }
                scene.child.map(|child| own.signal(child, word))
            });
        }
    };
    system.spawn("signals", Box::new(obey))
}
