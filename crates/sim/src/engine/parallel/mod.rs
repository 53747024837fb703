//! One run on several threads: a network in parts, each a world of its own.
//!
//! A part has some of the nodes, with the queues of their links and their hosts. A packet to another part
//! needs at least the least propagation delay of the links that are cut. So all parts can advance for this
//! time without hearing of each other (conservative synchronisation; J. Bai et al., "Unison: A
//! Parallel-Efficient and User-Transparent Network Simulation Kernel", EuroSys 2024). Then they meet and
//! exchange packets. The order of events within a part is that of the whole network, as
//! [`Key`](super::event::Key) does not depend on the other parts. So results are the same for any number
//! of threads.

mod meeting;
mod plan;
mod split;

pub use plan::Plan;

use super::fabric::{Crossing, Lost};
use super::transport::Notice;
use super::world::{Progress, RunError, World, WorldSpec};
use forebay_core::{Duration, Time};
use meeting::Meeting;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A run, on one thread or several.
pub enum Run {
    /// On the thread that advances it.
    Alone(Box<World>),
    /// On this thread and others.
    Together(Parallel),
}

impl Run {
    /// Number of parts. Each has a thread of its own if there are enough cores.
    pub fn parts(&self) -> usize {
        match self {
            Run::Alone(_) => 1,
            Run::Together(parallel) => parallel.parts.len(),
        }
    }

    /// Handles `budget` events, or somewhat more on several threads.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        match self {
            Run::Alone(world) => world.advance(budget),
            Run::Together(parallel) => parallel.advance(budget),
        }
    }

    /// Processor time of the other threads.
    pub fn spent_beside(&self) -> std::time::Duration {
        match self {
            Run::Alone(_) => std::time::Duration::ZERO,
            Run::Together(parallel) => parallel.spent,
        }
    }

    /// The world, when the run is complete.
    ///
    /// # Errors
    /// A capture cannot be written.
    pub fn whole(self) -> Result<World, RunError> {
        match self {
            Run::Alone(world) => Ok(*world),
            Run::Together(parallel) => parallel.whole(),
        }
    }
}

/// The processor time that `work` takes.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::disallowed_methods, reason = "no result depends on it")]
fn timed(work: impl FnOnce()) -> std::time::Duration {
    let start = cpu_time::ThreadTime::now();
    work();
    start.elapsed()
}

/// Without threads there is no work beside that of the caller.
#[cfg(target_arch = "wasm32")]
fn timed(work: impl FnOnce()) -> std::time::Duration {
    work();
    std::time::Duration::ZERO
}

/// A run of a network in parts.
pub struct Parallel {
    parts: Vec<Part>,
    plan: Plan,
    /// Processor time of the other threads.
    spent: std::time::Duration,
}

/// A part of a network, and the times of its next sample and of the end of the warm-up.
struct Part {
    world: World,
    sample: Duration,
    next_sample: Time,
    warmup: Option<Time>,
}

/// A message from one part to another.
enum Message {
    Packet(Crossing),
    Notice(Notice),
    Lost(Lost),
}

impl Message {
    /// Time of the event that it causes; the end of time if it causes none.
    fn time(&self) -> Time {
        match self {
            Message::Packet(crossing) => crossing.leaving.key.time,
            Message::Notice(Notice::Closes { at, .. }) => *at,
            Message::Notice(_) | Message::Lost(_) => Time::MAX,
        }
    }
}

/// State that threads share. There are two copies, for even and odd rounds, so that a fast thread does not
/// write what others still read.
struct Shared {
    meeting: Meeting,
    /// By part: time of its next event, and number of events that it has handled.
    state: [Vec<(AtomicU64, AtomicU64)>; 2],
    /// By sender and receiver.
    mail: [Vec<Mutex<Vec<Message>>>; 2],
}

impl Parallel {
    /// The world of `spec` in the parts of `plan`, at time zero.
    pub fn new(spec: WorldSpec, plan: Plan) -> Self {
        let sample = spec.sample.unwrap_or(spec.duration);
        let warmup = Time::ZERO + spec.warmup;
        let part = |spec| Part {
            world: World::new(spec),
            sample,
            next_sample: Time::ZERO + sample,
            warmup: Some(warmup),
        };
        let parts = spec.split(&plan).into_iter().map(part).collect();
        Parallel { parts, plan, spent: std::time::Duration::ZERO }
    }

    /// Handles `budget` events or somewhat more.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        let count = self.parts.len();
        let state = || (0..count).map(|_| Default::default()).collect();
        let mail = || (0..count * count).map(|_| Mutex::default()).collect();
        // Not more threads than cores: a thread would wait long for one that has no core.
        let cores = thread::available_parallelism().map_or(count, NonZero::get);
        let share = count.div_ceil(cores.min(count));
        let threads = count.div_ceil(share);
        let shared = Shared {
            meeting: Meeting::new(threads),
            state: [state(), state()],
            mail: [mail(), mail()],
        };
        for (part, (next, _)) in self.parts.iter_mut().zip(&shared.state[0]) {
            next.store(part.world.next().as_nanos(), Ordering::Relaxed);
        }
        let (shared, plan) = (&shared, &self.plan);
        let spent = thread::scope(|scope| {
            let mut parts = self.parts.chunks_mut(share).enumerate();
            let own = parts.next();
            let work = move |(index, parts): (usize, &mut [Part])| {
                timed(|| work(index * share, parts, plan, budget, shared))
            };
            let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
            own.map(work);
            let spent = others.into_iter().map(|other| match other.join() {
                Ok(spent) => spent,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            spent.sum::<std::time::Duration>()
        });
        self.spent += spent;
        for part in &self.parts {
            part.world.check()?;
        }
        let world = &self.parts[0].world;
        let complete = world.now() == world.end();
        Ok(Progress { share: world.share(), arrived: complete, complete })
    }

    /// The whole world, when the run is complete.
    ///
    /// # Errors
    /// A capture cannot be written.
    pub fn whole(self) -> Result<World, RunError> {
        let mut worlds = self.parts.into_iter().map(|part| part.world);
        let mut whole = worlds.next().expect("there are parts");
        whole.finish()?;
        let mut links = vec![whole.take_links().into_iter()];
        for mut world in worlds {
            world.finish()?;
            world.close();
            links.push(world.take_links().into_iter());
            whole.measures.absorb(world.measures);
        }
        let owners = self.plan.links.iter();
        whole.put_links(owners.map(|part| links[usize::from(*part)].next().expect("it has it")));
        Ok(whole)
    }
}

/// Advances `parts`, the first of which is number `first`, in rounds with the other threads, until all
/// together have handled `budget` events or the run ends.
fn work(first: usize, parts: &mut [Part], plan: &Plan, budget: u64, shared: &Shared) {
    let present = shared.meeting.attend();
    let count = shared.state[0].len();
    let begun: Vec<u64> = parts.iter().map(|part| part.world.measures.tally.counts().1).collect();
    for round in 0.. {
        let (now, then) = (round % 2, (round + 1) % 2);
        let until = parts[0].until(plan.lookahead, &shared.state[now]);
        for (at, part) in parts.iter_mut().enumerate() {
            let index = first + at;
            let next = part.go_on(until, plan, &shared.mail[now][index * count..][..count]);
            let (due, handled) = &shared.state[then][index];
            due.store(next.as_nanos(), Ordering::Relaxed);
            handled.store(part.world.measures.tally.counts().1 - begun[at], Ordering::Relaxed);
        }
        if !present.meet() {
            return;
        }
        for (at, part) in parts.iter_mut().enumerate() {
            let index = first + at;
            part.read((0..count).map(|from| &shared.mail[now][from * count + index]));
            part.measure(until, index == 0);
        }
        let handled = shared.state[then].iter().map(|(_, handled)| handled);
        let handled: u64 = handled.map(|handled| handled.load(Ordering::Relaxed)).sum();
        if until == parts[0].world.end() || handled >= budget {
            return;
        }
    }
}

impl Part {
    /// Advances until `until`, and puts messages for other parts into `mail`, one for each. Returns the time
    /// of the next event here, or of one that a message causes.
    fn go_on(&mut self, until: Time, plan: &Plan, mail: &[Mutex<Vec<Message>>]) -> Time {
        let mut next = self.world.proceed(until);
        self.world.post(plan, |to, message| {
            next = next.min(message.time());
            mail[usize::from(to)].lock().expect("nobody panics").push(message);
        });
        next
    }

    /// The time until which no part hears of another, and no measurement is due.
    fn until(&self, lookahead: Duration, state: &[(AtomicU64, AtomicU64)]) -> Time {
        let next = state.iter().map(|(next, _)| next.load(Ordering::Relaxed)).min();
        let next = Time::from_nanos(next.expect("there are parts"));
        let free = next + Duration::from_nanos(lookahead.as_nanos() - 1);
        let warmup = self.warmup.unwrap_or(Time::MAX);
        free.min(self.next_sample).min(warmup).min(self.world.end())
    }

    /// Reads the messages of all parts, also its own.
    fn read<'a>(&mut self, mail: impl Iterator<Item = &'a Mutex<Vec<Message>>>) {
        let World { fabric, transport, measures, .. } = &mut self.world;
        let mut lost = Vec::new();
        for mail in mail {
            for message in mail.lock().expect("nobody panics").drain(..) {
                match message {
                    Message::Packet(crossing) => fabric.immigrate(crossing),
                    Message::Notice(notice) => transport.hear(notice, fabric, measures),
                    Message::Lost(each) => lost.push(each),
                }
            }
        }
        lost.sort_unstable();
        for Lost { user, number, .. } in lost {
            measures.users[user as usize].lost(number);
        }
    }

    /// Takes the sample that is due at `now`, or ends the warm-up. If `counts`, they count as events.
    fn measure(&mut self, now: Time, counts: bool) {
        let mut due = 0;
        if self.next_sample == now {
            self.world.sample();
            self.next_sample += self.sample;
            due += 1;
        }
        if self.warmup == Some(now) {
            self.world.restart();
            self.warmup = None;
            due += 1;
        }
        for _ in 0..if counts { due } else { 0 } {
            self.world.measures.tally.note(now, u32::MAX);
        }
    }
}

impl World {
    /// Handles every event until `until`. Returns the time of the next one.
    fn proceed(&mut self, until: Time) -> Time {
        self.stop = until;
        let mut budget = u64::MAX;
        self.go::<false>(&mut budget);
        self.now = until;
        self.next()
    }

    /// Time of the next event, including arrivals at lazy links and departures.
    fn next(&mut self) -> Time {
        self.settle().min(self.fabric.next_time())
    }

    /// Passes on the messages for other parts, and losses also for this one.
    fn post(&mut self, plan: &Plan, mut to: impl FnMut(u16, Message)) {
        self.fabric.emigrate(|part, crossing| to(part, Message::Packet(crossing)));
        for lost in self.fabric.take_lost() {
            to(plan.senders[lost.user as usize], Message::Lost(lost));
        }
        for (part, notice) in self.transport.take_notices() {
            to(part, Message::Notice(notice));
        }
    }
}

/// A part for each index.
type Owners = Arc<[u16]>;
