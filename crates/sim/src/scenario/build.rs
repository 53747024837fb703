//! Builds a world from the tables: links, paths, users.

use super::grammar::{Direction, HostName, TrafficTable, Wanted};
use super::graph::{Graph, Hop, LinkIndex};
use super::link::DirectedLink;
use super::profile::Conditioners;
use super::{Row, Scenario, Traffic};
use crate::engine::{
    AccessLink, Conditioner, Ends, Entry, FabricSpec, MeasuresSpec, Parallel, PlacedBox, Plan, Run,
    SegmentTrace, Stop, Target, TransportSpec, User, World, WorldSpec,
};
use crate::measure::UserMeter;
use crate::traffic::{BuildSite, Generator, Marks};
use crate::wireless::medium::Station;
use crate::wireless::{NetworkSpec, Track};
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Rate, Rng, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// The delay and rate of a host's access link. Packets over equal ones may share a pipe.
type AccessKind = (Rate, Duration, u32);

/// Collects stops and pipes while paths are built.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) stops: Vec<Stop>,
    pub(super) pipes: Vec<(Target, Option<AccessLink>)>,
    /// One pipe for each (hop that the packets come from, access that follows, destination).
    known: HashMap<(Option<Hop>, Option<AccessKind>, Target), u32>,
    /// Boxes, by the link in front of which they are.
    boxes: HashMap<LinkIndex, u32>,
    /// Paths through the wireless network.
    pub(super) crossings: Vec<(Station, Station)>,
}

impl Layout {
    /// Builds a path over `hops`, with access links of its own at both ends if given. Returns its
    /// first stop.
    fn path(&mut self, hops: &[Hop], access: Option<AccessKind>) -> u32 {
        let first = self.stops.len() as u32;
        let mut from = None;
        for &hop in hops {
            let access = access.filter(|_| from.is_none());
            let target = match hop {
                Hop::Link(link) => match self.boxes.get(&link) {
                    Some(&placed) => Target::BoxForward(placed),
                    None => Target::Link(link as u32),
                },
                Hop::Air(entry, exit) => Target::Air(self.crossing((entry, exit))),
            };
            self.stop(from, access, target);
            from = Some(hop);
            if let Hop::Link(link) = hop
                && let Some(&placed) = self.boxes.get(&reverse(link))
            {
                self.stop(from, None, Target::BoxBackward(placed));
            }
        }
        self.stop(from, access, Target::Host);
        first
    }

    fn crossing(&mut self, ends: (Station, Station)) -> u32 {
        let known = self.crossings.iter().position(|known| *known == ends);
        known.unwrap_or_else(|| {
            self.crossings.push(ends);
            self.crossings.len() - 1
        }) as u32
    }

    fn stop(&mut self, from: Option<Hop>, access: Option<AccessKind>, target: Target) {
        let pipe = *self.known.entry((from, access, target)).or_insert_with(|| {
            let access =
                access.map(|(rate, delay, overhead)| AccessLink::new(rate, delay, overhead));
            self.pipes.push((target, access));
            (self.pipes.len() - 1) as u32
        });
        self.stops.push(Stop { pipe, free_at: Time::ZERO });
    }
}

/// All senders, and the parts of the fabric that they need.
pub(super) struct Cast {
    pub(super) users: Vec<(User, UserMeter)>,
    /// Names of the classes.
    pub(super) classes: Vec<String>,
    pub(super) conditioners: Vec<Conditioner>,
    pub(super) layout: Layout,
    boxes: Vec<PlacedBox>,
    /// Number of the first connection.
    first_connection: u32,
}

/// One flow of a traffic entry, before its path is built.
pub struct Participant {
    /// Index of the traffic entry.
    pub traffic: usize,
    /// Time at which it begins.
    pub start: Time,
    /// Time after which it sends no more.
    pub stop: Time,
    /// Name of its random stream.
    name: String,
    pub(crate) rng: Rng,
    pub(crate) generator: Generator,
}

/// The other direction of a link. The two are next to each other.
fn reverse(link: LinkIndex) -> LinkIndex {
    link ^ 1
}

/// The path of a flow in both directions.
pub(super) struct Paths {
    forward: Vec<Hop>,
    backward: Vec<Hop>,
    /// Track of its sender, if that is a station.
    place: Option<Track>,
}

impl Paths {
    /// The links on the way to the receiver.
    pub(super) fn forward_links(&self) -> impl Iterator<Item = LinkIndex> + '_ {
        self.forward.iter().filter_map(|hop| match hop {
            Hop::Link(link) => Some(*link),
            Hop::Air(..) => None,
        })
    }
}

impl Scenario {
    /// The world of this scenario at time zero, with `seed` for its random streams.
    ///
    /// # Errors
    /// As [`Scenario::effective`].
    pub fn world(&self, seed: u64) -> Result<World, ConfigError> {
        self.has_traffic()?;
        let mut world = World::new(self.spec(seed)?);
        world.plan_anew(self.later(0, seed)?);
        Ok(world)
    }

    /// A run of this scenario with `seed` for its random streams, in at most `threads` parts. It
    /// has one part if it cannot be divided, or would not be faster. Results are the same.
    ///
    /// Boxes, wireless networks, `[[change]]`, plug-ins, `tcp_trace` and endpoints with a protocol of
    /// their own need one part.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn run(&self, seed: u64, threads: usize) -> Result<Run, ConfigError> {
        self.has_traffic()?;
        let spec = self.spec(seed)?;
        let may_part = self.table.plugins.is_empty() && self.table.change.is_empty();
        let plan = if may_part { Plan::new(&spec, threads) } else { None };
        if let Some(plan) = plan {
            return Ok(Run::Together(Parallel::new(spec, plan)));
        }
        let mut world = World::new(spec);
        world.plan_anew(self.later(0, seed)?);
        Ok(Run::Alone(Box::new(world)))
    }

    /// In an emulation programs may send instead.
    fn has_traffic(&self) -> Result<(), ConfigError> {
        require(!self.traffic.is_empty(), "traffic", || {
            "is empty; a scenario needs [[traffic]] entries".into()
        })
    }

    /// The parts of the world of this scenario.
    pub(super) fn spec(&self, seed: u64) -> Result<WorldSpec, ConfigError> {
        let graph = self.graph()?;
        let Cast { users, classes, conditioners, layout, boxes, first_connection } =
            self.cast(&graph, seed)?;
        let run = (seed, self.table.duration);
        let link = |(index, link): (usize, &DirectedLink)| {
            let place = (index as u32, graph.ends(index));
            link.spec(place, run, &self.base, &self.registry.disciplines)
        };
        let links = self.links.iter().enumerate().map(link).collect::<Result<Vec<_>, _>>()?;
        let trace = self.table.tcp_trace.as_ref();
        let wireless = self.network(layout.crossings)?;
        let trace = trace.map(|file| SegmentTrace::create(&self.base.join(file))).transpose()?;
        let (users, meters) = users.into_iter().unzip();
        Ok(WorldSpec {
            duration: self.table.duration,
            warmup: self.table.warmup,
            sample: Some(self.sample()),
            seed,
            fabric: FabricSpec {
                links,
                pipes: layout.pipes,
                stops: layout.stops,
                wireless,
                border: None,
            },
            boxes,
            transport: TransportSpec { users, conditioners, first_connection, homes: None },
            measures: MeasuresSpec {
                users: meters,
                classes,
                segments: trace,
                flow_series: self.table.tables.contains(&Wanted::FlowSeries),
                transfers: self.table.tables.contains(&Wanted::Transfers),
            },
        })
    }

    /// All senders, and the paths of their packets.
    pub(super) fn cast(&self, graph: &Graph, seed: u64) -> Result<Cast, ConfigError> {
        let paths = self.paths(graph)?;
        let mut layout = Layout::default();
        let mut boxes = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            if let Some((kind, middlebox)) = link.middlebox(&self.base, &self.registry.boxes)? {
                layout.boxes.insert(index, boxes.len() as u32);
                boxes.push(PlacedBox::new(index as u32, kind, middlebox));
            }
        }
        let mut conditioners = Conditioners::new(&self.profiles, &self.registry.markers, seed);
        let (users, classes, first_connection) =
            self.users(&paths, &mut layout, &mut conditioners, seed)?;
        let conditioners = conditioners.made;
        Ok(Cast { users, classes, conditioners, layout, boxes, first_connection })
    }

    /// The wireless network, with the paths through it.
    fn network(
        &self,
        crossings: Vec<(Station, Station)>,
    ) -> Result<Option<NetworkSpec>, ConfigError> {
        let Some(table) = &self.table.wireless else { return Ok(None) };
        let queue = |_| self.registry.disciplines.build(&table.queue, &table.setting());
        let queues = self.sites.iter().map(queue).collect::<Result<_, _>>();
        Ok(Some(NetworkSpec {
            sites: self.sites.clone(),
            queues: queues.map_err(|error: ConfigError| error.within("wireless.queue"))?,
            radio: table.radio,
            airtimes: table.airtimes(),
            attempts: table.attempts,
            crossings,
        }))
    }

    /// The paths of every traffic entry. Its flows take them in turn.
    pub(super) fn paths(&self, graph: &Graph) -> Result<Vec<Vec<Paths>>, ConfigError> {
        let ends = self.traffic.iter().map(|traffic| {
            let (from, to) = self.ends(&traffic.table)?;
            let (from, to) = (self.nodes(from), self.nodes(to));
            let pairs = (from.len() * to.len()).min(traffic.table.flows as usize);
            let pair = |flow: usize| (from[flow % from.len()].clone(), to[flow % to.len()].clone());
            Ok((0..pairs).map(pair).collect::<Vec<_>>())
        });
        let at =
            |index: usize| move |error: ConfigError| error.within(&format!("traffic[{index}]"));
        let ends = ends.enumerate().map(|(index, ends)| ends.map_err(at(index)));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (from, to) in ends.iter().flatten() {
            pairs.extend([(from.as_str(), to.as_str()), (to.as_str(), from.as_str())]);
        }
        let mut paths = graph.paths(&pairs).into_iter();
        let mut next = || paths.next().expect("two a pair");
        let mut way = |(from, _): &(String, String)| {
            let (forward, backward) = (next()?, next()?);
            let place = self.sites.iter().find(|site| site.name == *from);
            Ok(Paths { forward, backward, place: place.map(|site| site.track.clone()) })
        };
        let mut lay = |(index, ends): (usize, &Vec<_>)| {
            ends.iter().map(&mut way).collect::<Result<_, _>>().map_err(at(index))
        };
        ends.iter().enumerate().map(&mut lay).collect()
    }

    /// The smallest capacity on the path of each traffic entry, in bit/s. `capacity` returns that
    /// of a link by its name. A wireless network has the rate of its frames.
    pub fn narrowest(&self, capacity: &dyn Fn(&str) -> f64) -> Vec<f64> {
        let paths = self.graph().and_then(|graph| self.paths(&graph));
        let paths = paths.expect("the scenario has been run");
        let wireless = self.table.wireless.as_ref().map_or(0, |wireless| wireless.rate.bps());
        let of = |hop: &Hop| match *hop {
            Hop::Link(link) => capacity(&self.links[link].table.name),
            Hop::Air(..) => wireless as f64,
        };
        let least = |paths: &Vec<Paths>| {
            paths.iter().flat_map(|way| &way.forward).map(of).fold(f64::INFINITY, f64::min)
        };
        paths.iter().map(least).collect()
    }

    /// The nodes of a name: the stations of a grid, or the single node.
    fn nodes(&self, name: String) -> Vec<String> {
        let grids = self.table.wireless.iter().flat_map(|wireless| &wireless.grid);
        let mut named = grids.filter(|grid| grid.name == name);
        named.next().map_or_else(|| vec![name.clone()], |grid| grid.names().collect())
    }

    /// The nodes between which an entry's traffic runs.
    pub(super) fn ends(&self, table: &TrafficTable) -> Result<(String, String), ConfigError> {
        let ends = table.from.is_some() || table.to.is_some();
        for (field, given) in
            [("direction", table.direction.is_some()), ("hop", table.hop.is_some())]
        {
            require(!(ends && given), field, || {
                "cannot be combined with `from` and `to`, which already give the path; leave it \
                 out"
                .into()
            })?;
        }
        match (&table.from, &table.to, &self.row) {
            (Some(from), Some(to), _) => Ok((from.clone(), to.clone())),
            (None, None, Some(row)) => {
                let (first, last) = match table.hop {
                    None => (0, row.hops),
                    Some(hop) if (1..=row.hops).contains(&hop) => (hop - 1, hop),
                    Some(hop) => {
                        let message = format!("must be 1 to {}, got {hop}", row.hops);
                        return Err(ConfigError::new("hop", message));
                    }
                };
                let (left, right) = (row.router(first), row.router(last));
                Ok(match table.direction.unwrap_or_default() {
                    Direction::Forward => (left, right),
                    Direction::Reverse => (right, left),
                })
            }
            (None, None, None) => Err(ConfigError::new(
                "from",
                "is missing; name the nodes `from` and `to` (only on a dumbbell or parking lot may \
                 they be left out)",
            )),
            (None, _, _) => Err(ConfigError::new("from", "is missing, but `to` is given")),
            (_, None, _) => Err(ConfigError::new("to", "is missing, but `from` is given")),
        }
    }

    /// All senders, with the names of the classes and the number of the first connection.
    #[expect(clippy::type_complexity)]
    fn users(
        &self,
        paths: &[Vec<Paths>],
        layout: &mut Layout,
        conditioners: &mut Conditioners,
        seed: u64,
    ) -> Result<(Vec<(User, UserMeter)>, Vec<String>, u32), ConfigError> {
        let mut users = Vec::new();
        let (classes, class_of) = self.classes();
        let mut next_flow = 0;
        let mut laid: HashMap<Vec<Hop>, u32> = HashMap::new();
        let mut hosts = Hosts::default();
        for (index, (traffic, paths)) in self.traffic.iter().zip(paths).enumerate() {
            let table = &traffic.table;
            let tcp = Arc::new(traffic.tcp.clone());
            for flow in 0..table.flows {
                let paths = &paths[flow as usize % paths.len()];
                let mut lay = |hops: &[Hop], layout: &mut Layout| match &self.row {
                    Some(row) if table.from.is_none() => layout.path(hops, Some(row.access())),
                    _ => *laid.entry(hops.to_vec()).or_insert_with(|| layout.path(hops, None)),
                };
                let forward = lay(&paths.forward, layout);
                let Participant { name, start, stop, mut rng, generator, .. } =
                    self.participant(index, flow, seed, paths.place.as_ref())?;
                let entry = match generator {
                    Generator::Datagrams(source) => {
                        let first_flow = next_flow;
                        next_flow += source.flows();
                        Entry::Datagrams { source, first_flow, pending: None }
                    }
                    Generator::Transfers(source) => {
                        let backward = lay(&paths.backward, layout);
                        let tcp = Arc::clone(&tcp);
                        Entry::Transfers { source, tcp, backward, open: None, connections: 0 }
                    }
                    Generator::Endpoints(pair) => {
                        let backward = lay(&paths.backward, layout);
                        let number = next_flow;
                        next_flow += 1;
                        let own = Rng::named(rng.next_u64(), "endpoints");
                        Entry::Endpoints(Box::new(Ends::new(pair(own), number, backward)))
                    }
                };
                let conditioner = table.profile.as_ref();
                let conditioner = conditioner.map(|profile| conditioners.of(profile, &name));
                let conditioner = conditioner
                    .transpose()
                    .map_err(|error| error.within(&format!("traffic[{index}]")))?;
                let user = User {
                    entry,
                    rng,
                    start,
                    stop,
                    forward,
                    marks: Marks { hosts: hosts.of(table), ..marks(table) },
                    port: table.port,
                    conditioner,
                };
                let meter = UserMeter::new(index as u32, class_of[index], traffic.codec());
                users.push((user, meter));
            }
        }
        Ok((users, classes, next_flow))
    }

    /// Names of the classes, and the class number of each traffic entry.
    pub(crate) fn classes(&self) -> (Vec<String>, Vec<u32>) {
        let mut names: Vec<String> = Vec::new();
        let number = |entry: &Traffic| {
            let name = entry.table.class.as_ref().unwrap_or(&entry.table.name);
            let known = names.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            }) as u32
        };
        let numbers = self.traffic.iter().map(number).collect();
        (names, numbers)
    }

    /// Flow `flow` of traffic entry `index`, whose sender is at `place` if it is a station.
    ///
    /// # Errors
    /// Its source is wrong.
    pub(crate) fn participant(
        &self,
        index: usize,
        flow: u32,
        seed: u64,
        place: Option<&Track>,
    ) -> Result<Participant, ConfigError> {
        let traffic = &self.traffic[index];
        let table = &traffic.table;
        let name = format!("traffic/{}/{flow}", table.name);
        let generator = traffic.source.build(&traffic.params, &self.site(table, seed, place));
        Ok(Participant {
            traffic: index,
            generator: generator.map_err(|error| error.within(&format!("traffic[{index}]")))?,
            rng: Rng::named(seed, &name),
            start: self.start(table, flow, seed),
            stop: table.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            name,
        })
    }

    fn start(&self, table: &TrafficTable, flow: u32, seed: u64) -> Time {
        let (earliest, latest) = (table.start.earliest, table.start.latest);
        let mut rng = Rng::named(seed, &format!("start/{}/{flow}", table.name));
        let spread = (latest - earliest).as_secs_f64() * rng.uniform();
        Time::ZERO + earliest + Duration::from_secs_f64(spread)
    }

    fn site<'a>(
        &'a self,
        table: &'a TrafficTable,
        seed: u64,
        place: Option<&'a Track>,
    ) -> BuildSite<'a> {
        let (marks, name, span) = (marks(table), &table.name, self.table.duration);
        BuildSite { base_dir: &self.base, marks, place, name, span, seed }
    }
}

fn marks(table: &TrafficTable) -> Marks {
    Marks {
        class: table.q,
        precedence: table.precedence,
        drop_precedence: table.drop_precedence,
        dscp: table.dscp.value(),
        ecn: table.ecn.unwrap_or_default(),
        hosts: [0; 2],
    }
}

/// Numbers of hosts, as packets carry them.
#[derive(Default)]
struct Hosts<'a> {
    named: HashMap<&'a str, u16>,
    last: u16,
}

impl<'a> Hosts<'a> {
    /// The hosts of the next flow of `table`: those that it names, or else its own.
    fn of(&mut self, table: &'a TrafficTable) -> [u16; 2] {
        // Never 0; after 65535 hosts numbers come again.
        let mut fresh = || {
            self.last = self.last.wrapping_add(1).max(1);
            self.last
        };
        [&table.from_host, &table.to_host].map(|name| match name {
            None => fresh(),
            Some(HostName::Number(number)) => number.get(),
            Some(HostName::Name(name)) => *self.named.entry(name).or_insert_with(&mut fresh),
        })
    }
}

impl Row {
    fn access(&self) -> AccessKind {
        (self.access.rate, self.access.delay, self.access.overhead.0)
    }
}
