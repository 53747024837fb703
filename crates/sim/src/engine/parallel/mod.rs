//! One run on several threads: a network in parts, each a world of its own.
//!
//! A part has some of the nodes, with their links' queues and their hosts. What leaves it needs at
//! least the least propagation delay of a link that is cut, so that all parts can go on for as long
//! without hearing of each other (conservative synchronisation; J. Bai et al., "Unison: A
//! Parallel-Efficient and User-Transparent Network Simulation Kernel", EuroSys 2024). Then they meet
//! and hand over what has crossed. The order of events within a part is that of the whole network, as
//! [`Key`](super::event::Key) does not depend on the other parts: results are the same for any number
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A run, on one thread or several.
pub enum Run {
    /// On the thread that advances it.
    Alone(Box<World>),
    /// On that one and others.
    Together(Parallel),
}

impl Run {
    /// How many threads it takes.
    pub fn threads(&self) -> usize {
        match self {
            Run::Alone(_) => 1,
            Run::Together(parallel) => parallel.parts.len(),
        }
    }

    /// Handles `budget` events; on several threads somewhat more.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        match self {
            Run::Alone(world) => world.advance(budget),
            Run::Together(parallel) => parallel.advance(budget),
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

/// A run of a network in parts.
pub struct Parallel {
    parts: Vec<Part>,
    plan: Plan,
}

/// A part of a network, and when its measurements are due.
struct Part {
    world: World,
    sample: Duration,
    next_sample: Time,
    warmup: Option<Time>,
}

/// What a part says to another.
enum Message {
    Packet(Crossing),
    Notice(Notice),
    Lost(Lost),
}

impl Message {
    /// When it makes something happen; never, if it only tells.
    fn time(&self) -> Time {
        match self {
            Message::Packet(crossing) => crossing.leaving.key.time,
            Message::Notice(Notice::Closes { at, .. }) => *at,
            Message::Notice(_) | Message::Lost(_) => Time::MAX,
        }
    }
}

/// What threads share. Of all that is written in a round there are two, so that who is quick does not
/// write what others still read.
struct Shared {
    meeting: Meeting,
    /// By part: when its next event is due, and how many it has handled.
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
        Parallel { parts: spec.split(&plan).into_iter().map(part).collect(), plan }
    }

    /// Handles `budget` events or somewhat more.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        let count = self.parts.len();
        let state = || (0..count).map(|_| Default::default()).collect();
        let mail = || (0..count * count).map(|_| Mutex::default()).collect();
        let shared = Shared {
            meeting: Meeting::new(count),
            state: [state(), state()],
            mail: [mail(), mail()],
        };
        for (part, (next, _)) in self.parts.iter().zip(&shared.state[0]) {
            next.store(part.world.fabric.next_time().as_nanos(), Ordering::Relaxed);
        }
        let (shared, plan) = (&shared, &self.plan);
        thread::scope(|scope| {
            let mut parts = self.parts.iter_mut().enumerate();
            let own = parts.next();
            for (index, part) in parts {
                scope.spawn(move || part.work(index, plan, budget, shared));
            }
            if let Some((index, part)) = own {
                part.work(index, plan, budget, shared);
            }
        });
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
            links.push(world.take_links().into_iter());
            whole.measures.absorb(world.measures);
        }
        let owners = self.plan.links().iter();
        whole.put_links(owners.map(|part| links[usize::from(*part)].next().expect("it has it")));
        Ok(whole)
    }
}

impl Part {
    /// Goes on in rounds with the other parts, until all have handled `budget` events or the run ends.
    fn work(&mut self, index: usize, plan: &Plan, budget: u64, shared: &Shared) {
        let present = shared.meeting.attend();
        let count = shared.state[0].len();
        let begun = self.world.measures.counts().1;
        let mut out: Vec<Vec<Message>> = (0..count).map(|_| Vec::new()).collect();
        for round in 0.. {
            let (now, then) = (round % 2, (round + 1) % 2);
            let until = self.until(plan.lookahead(), &shared.state[now]);
            self.world.proceed(until);
            let mut next = self.world.fabric.next_time();
            self.world.post(plan, |to, message| {
                next = next.min(message.time());
                out[usize::from(to)].push(message);
            });
            for (to, messages) in out.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
                let mut mail = shared.mail[now][index * count + to].lock().expect("nobody panics");
                std::mem::swap(&mut *mail, messages);
            }
            let (due, handled) = &shared.state[then][index];
            due.store(next.as_nanos(), Ordering::Relaxed);
            handled.store(self.world.measures.counts().1 - begun, Ordering::Relaxed);
            if !present.meet() {
                return;
            }
            let from = (0..count).map(|from| &shared.mail[now][from * count + index]);
            self.read(from);
            self.measure(until, index == 0);
            let handled = shared.state[then].iter().map(|(_, handled)| handled);
            let handled: u64 = handled.map(|handled| handled.load(Ordering::Relaxed)).sum();
            if until == self.world.end() || handled >= budget {
                return;
            }
        }
    }

    /// Until when no part hears of what another does from now on, nor is anything to be measured.
    fn until(&self, lookahead: Duration, state: &[(AtomicU64, AtomicU64)]) -> Time {
        let next = state.iter().map(|(next, _)| next.load(Ordering::Relaxed)).min();
        let next = Time::from_nanos(next.expect("there are parts"));
        let free = next + Duration::from_nanos(lookahead.as_nanos() - 1);
        let warmup = self.warmup.unwrap_or(Time::MAX);
        free.min(self.next_sample).min(warmup).min(self.world.end())
    }

    /// Reads what the other parts say, and what this one says to itself.
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

    /// Measures what is due at `now`; `counts` says whether it is counted among the events.
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
            self.world.measures.note(now, u32::MAX);
        }
    }
}

impl World {
    /// Handles every event until `until`, in a part of a network.
    fn proceed(&mut self, until: Time) {
        self.stop = until;
        let mut budget = u64::MAX;
        self.go::<false>(&mut budget);
        self.now = until;
    }

    /// Hands on what is for other parts, and losses also for this one.
    fn post(&mut self, plan: &Plan, mut to: impl FnMut(u16, Message)) {
        self.fabric.emigrate(|part, crossing| to(part, Message::Packet(crossing)));
        for lost in self.fabric.take_lost() {
            to(plan.senders()[lost.user as usize], Message::Lost(lost));
        }
        for (part, notice) in self.transport.take_notices() {
            to(part, Message::Notice(notice));
        }
    }
}

/// By index.
type Owners = Arc<[u16]>;
