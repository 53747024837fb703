//! A network for tests of protocols without I/O.
//!
//! A protocol that does no I/O (it is polled for what it sends, is handed datagrams, and names its next
//! timeout) can be tested in virtual time: over forebay's links and queue disciplines, many times faster
//! than real time, and with the same result at every run. Implement [`Endpoint`] for it, put two into a
//! [`World`], and check the [`Outcome`]:
//!
//! ```
//! use forebay_world::{Ecn, Endpoint, Time, World, endpoints};
//!
//! /// Sends a datagram of 1000 bytes every millisecond.
//! #[derive(Default)]
//! struct Clockwork { next: Option<Time> }
//!
//! impl Endpoint for Clockwork {
//!     fn begin(&mut self, now: Time) { self.next = Some(now); }
//!     fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}
//!     fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
//!         let next = self.next.as_mut().filter(|next| **next <= now)?;
//!         *next += forebay_world::Duration::from_millis(1);
//!         datagram.resize(1000, 0);
//!         Some(Ecn::NotEct)
//!     }
//!     fn deadline(&mut self, _: Time) -> Option<Time> { self.next }
//!     fn on_deadline(&mut self, _: Time) {}
//! }
//!
//! /// Takes what arrives.
//! struct Sink;
//!
//! impl Endpoint for Sink {
//!     fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}
//!     fn transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Ecn> { None }
//!     fn deadline(&mut self, _: Time) -> Option<Time> { None }
//!     fn on_deadline(&mut self, _: Time) {}
//! }
//!
//! World::dumbbell("10Mbit", "20ms")
//!     .host("clockwork", |_| endpoints(Clockwork::default(), Sink))
//!     .duration("10s")
//!     .run()
//!     .goodput("clockwork", 7.9e6..8.1e6)
//!     .loss(0.0..1e-9)
//!     .queue_ms(0.0..1.0);
//! ```
//!
//! Time and random numbers are handed in. An endpoint that takes them from elsewhere does not give equal
//! runs for equal seeds; [`World::check_repeats`] finds out.

mod outcome;
mod picture;
mod source;

pub use forebay_core::{Duration, Ecn, Rng, Time};
pub use forebay_sim::traffic::{Account, Completed, Endpoint};
pub use outcome::Outcome;
pub use serde_json::json;

use forebay_core::{ConfigError, Named};
use forebay_sim::{Nameable, Registry, RunError, Scenario, summary, tables};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The two ends of a flow: the sending and the receiving one.
pub type Ends = [Box<dyn Endpoint>; 2];

/// The two ends of a flow, for [`World::host`].
pub fn endpoints(sender: impl Endpoint + 'static, receiver: impl Endpoint + 'static) -> Ends {
    [Box::new(sender), Box::new(receiver)]
}

/// The reason why a world does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A field of the scenario is wrong.
    Scenario(String),
    /// The run cannot go on; also what an endpoint says of itself.
    Run(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Scenario(what) | Fault::Run(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Fault {}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Self {
        Fault::Scenario(error.to_string())
    }
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        Fault::Run(error.0)
    }
}

/// A network with hosts, which has not run yet.
#[derive(Clone)]
pub struct World {
    /// A scenario, as in a file.
    tree: Map<String, Value>,
    registry: Registry,
    seed: u64,
    /// The first thing that was wrong with an argument.
    fault: Option<Fault>,
}

/// Events between two checks of the run.
const EVENTS: u64 = 1 << 20;

impl World {
    /// Two routers with a bottleneck of `rate` ("100Mbit") between them, `delay` ("20ms") long one way.
    /// Every flow has hosts of its own, on links of 1 Gbit/s and 0.1 ms. The queue is a FIFO of the usual
    /// length until [`World::queue`] says otherwise. A run takes 10 s, the first of which is not measured.
    pub fn dumbbell(rate: &str, delay: &str) -> World {
        World::scenario(json!({
            "duration": "10s",
            "warmup": "1s",
            "dumbbell": { "rate": rate, "delay": delay },
        }))
    }

    /// The network of a scenario, with all that a scenario file can have: any links, traffic over TCP,
    /// changes. Hosts are added to its traffic.
    pub fn scenario(tree: Value) -> World {
        let (tree, fault) = match tree {
            Value::Object(tree) => (tree, None),
            other => (Map::new(), Some(Fault::Scenario(format!("must be a table, got {other}")))),
        };
        World { tree, registry: Registry::builtin(), seed: 1, fault }
    }

    /// Sets a field by its path: `("dumbbell.queue", json!({ "kind": "fq-codel", "target": "5ms" }))`.
    #[must_use]
    pub fn set(mut self, path: &str, value: Value) -> World {
        let mut fields = path.split('.').peekable();
        let mut table = &mut self.tree;
        while let Some(field) = fields.next() {
            if fields.peek().is_none() {
                table.insert(field.to_owned(), value);
                return self;
            }
            let next = table.entry(field).or_insert_with(|| json!({}));
            match next.as_object_mut() {
                Some(next) => table = next,
                None => {
                    let what = format!("{path}: \"{field}\" is not a table");
                    self.fault.get_or_insert(Fault::Scenario(what));
                    return self;
                }
            }
        }
        self
    }

    /// Gives the bottleneck of a dumbbell the queue discipline `kind` with these parameters.
    #[must_use]
    pub fn queue(self, kind: &str, params: Value) -> World {
        let mut queue = params;
        if let Some(queue) = queue.as_object_mut() {
            queue.insert("kind".to_owned(), kind.into());
        }
        self.set("dumbbell.queue", queue)
    }

    /// Adds a flow between two endpoints, which `make` makes with the random numbers of the flow. What
    /// arrives at the second one counts.
    #[must_use]
    pub fn host(
        self,
        name: &str,
        make: impl Fn(Rng) -> Ends + Clone + Send + Sync + 'static,
    ) -> World {
        self.hosts(name, json!({}), make)
    }

    /// Adds flows as an entry of traffic with these fields: `flows`, `start`, `stop`, `from`, `to` and
    /// others, as in a scenario.
    #[must_use]
    pub fn hosts(
        mut self,
        name: &str,
        fields: Value,
        make: impl Fn(Rng) -> Ends + Clone + Send + Sync + 'static,
    ) -> World {
        let kind = format!("host {name}");
        let joined = Nameable::join(&mut self.registry, source::entry(kind.clone(), make));
        if let Err(error) = joined {
            self.fault.get_or_insert(error.into());
        }
        let mut entry = fields;
        if let Some(entry) = entry.as_object_mut() {
            entry.extend([("name".to_owned(), name.into()), ("kind".to_owned(), kind.into())]);
        }
        self.traffic(entry)
    }

    /// Adds an entry of traffic: `json!({ "name": "downloads", "kind": "bulk", "flows": 2 })`.
    #[must_use]
    pub fn traffic(mut self, entry: Value) -> World {
        let traffic = self.tree.entry("traffic").or_insert_with(|| json!([]));
        if let Some(traffic) = traffic.as_array_mut() {
            traffic.push(entry);
        }
        self
    }

    /// Lets scenarios name `N`, a discipline, source, congestion control or stack of one's own.
    #[must_use]
    pub fn with<N: Named<Family: Nameable>>(mut self) -> World {
        self.registry = self.registry.with::<N>();
        self
    }

    /// Sets the length of the run ("30s").
    #[must_use]
    pub fn duration(self, duration: &str) -> World {
        self.set("duration", duration.into())
    }

    /// Sets the time at the beginning that is not measured ("5s").
    #[must_use]
    pub fn warmup(self, warmup: &str) -> World {
        self.set("warmup", warmup.into())
    }

    /// Sets the seed of all random numbers. It is 1 otherwise.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> World {
        self.seed = seed;
        self
    }

    /// Runs the world to its end.
    ///
    /// # Errors
    /// The scenario is wrong, or the run cannot go on.
    pub fn try_run(&self) -> Result<Outcome, Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let tree = Value::Object(self.tree.clone());
        let registry = Arc::new(self.registry.clone());
        let scenario = Scenario::read(&tree, Path::new("."), &registry)?;
        let mut world = scenario.world(self.seed)?;
        while !world.advance(EVENTS)?.complete {}
        let summary = summary(&scenario, self.seed, &mut world).whole();
        Ok(Outcome::new(summary, tables(&scenario, &mut world)))
    }

    /// Runs the world to its end.
    ///
    /// # Panics
    /// As [`World::try_run`] has errors: a test fails then.
    #[track_caller]
    pub fn run(&self) -> Outcome {
        self.try_run().unwrap_or_else(|fault| panic!("the world does not run: {fault}"))
    }

    /// Runs the world twice.
    ///
    /// # Panics
    /// The runs differ: an endpoint reads a clock or draws random numbers of its own, or depends on an
    /// order that is not fixed, such as that of a hash map.
    #[track_caller]
    pub fn check_repeats(&self) -> Outcome {
        let [first, second] = [self.run(), self.run()];
        assert_eq!(
            first.fingerprint(),
            second.fingerprint(),
            "two runs with seed {} differ: an endpoint has a clock, random numbers or an order of \
             its own",
            self.seed
        );
        second
    }
}
