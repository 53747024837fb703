//! From tables to a world: channels, paths, stretches, users.

use super::grammar::{Direction, Overhead, TrafficTable};
use super::graph::{Graph, LinkIndex};
use super::link::{Channel, channels};
use super::{Access, Scenario, Traffic};
use crate::engine::{
    self, Entry, LinkSpec, PropagationDelay, Stop, Target, User, Wire, World, WorldSpec,
};
use crate::measure::UserMeter;
use crate::traffic::{self, BuildSite, Generator, Marks};
use forebay_core::{ConfigError, Duration, Rate, Rng, Time};
use std::collections::HashMap;

/// One hop of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hop {
    /// A link with a queue: index among those.
    Queue(u32),
    /// A wire: index among those.
    Wire(u32),
}

/// What a wire costs, for telling which packets may share a lane.
type WireKind = (Rate, Duration, u32);

/// Collects wires, lanes and stops while paths are laid.
#[derive(Default)]
struct Layout {
    wires: Vec<Wire>,
    kinds: Vec<WireKind>,
    stops: Vec<Stop>,
    wire_refs: Vec<u32>,
    /// (link that the packets come from, wires that follow): one lane each.
    lanes: HashMap<(Option<u32>, Vec<WireKind>), u32>,
}

impl Layout {
    fn wire(&mut self, (rate, delay, overhead): WireKind) -> Hop {
        self.wires.push(Wire::new(rate, delay, overhead));
        self.kinds.push((rate, delay, overhead));
        Hop::Wire((self.wires.len() - 1) as u32)
    }

    /// Lays a path; the answer is its first stop.
    fn path(&mut self, hops: &[Hop]) -> u32 {
        let first = self.stops.len() as u32;
        let mut from = None;
        let mut wires = Vec::new();
        for hop in hops {
            match *hop {
                Hop::Wire(wire) => wires.push(wire),
                Hop::Queue(link) => {
                    self.stop(from, &wires, Target::Link(link));
                    wires.clear();
                    from = Some(link);
                }
            }
        }
        self.stop(from, &wires, Target::Host);
        first
    }

    fn stop(&mut self, from: Option<u32>, wires: &[u32], target: Target) {
        let kinds = wires.iter().map(|wire| self.kinds[*wire as usize]).collect();
        let next = self.lanes.len() as u32;
        let lane = *self.lanes.entry((from, kinds)).or_insert(next);
        let first = self.wire_refs.len() as u32;
        self.wire_refs.extend(wires);
        self.stops.push(Stop { lane, wires: (first, wires.len() as u32), target });
    }
}

/// The path of every traffic entry, in directed links.
struct Ways {
    forward: Vec<LinkIndex>,
    backward: Vec<LinkIndex>,
}

impl Scenario {
    /// The world of this scenario at time zero, with `seed` for its random streams.
    ///
    /// # Errors
    /// Whatever [`Scenario::effective`] would refuse.
    pub fn world(&self, seed: u64) -> Result<World, ConfigError> {
        let channels = channels(&self.links, seed, self.table.duration, &self.base)?;
        let graph = self.graph()?;
        let ways = self.ways(&graph)?;
        let is_wire = self.wires_among(&channels, &ways);
        let mut layout = Layout::default();
        let mut links = Vec::new();
        let mut hops = Vec::new();
        for (channel, is_wire) in channels.into_iter().zip(is_wire) {
            if let (true, Some(kind)) = (is_wire, channel.wire_kind()) {
                hops.push(layout.wire(kind));
            } else {
                hops.push(Hop::Queue(links.len() as u32));
                links.push(channel.link()?);
            }
        }
        let (users, classes, first_connection) = self.users(&ways, &hops, &mut layout, seed)?;
        let spec = WorldSpec {
            duration: self.table.duration,
            warmup: self.table.warmup,
            sample: Some(self.sample()),
            seed,
            links,
            lanes: layout.lanes.len(),
            wires: layout.wires,
            wire_refs: layout.wire_refs,
            stops: layout.stops,
            users,
            classes,
            first_connection,
        };
        Ok(World::new(spec))
    }

    /// The ways of every traffic entry.
    fn ways(&self, graph: &Graph) -> Result<Vec<Ways>, ConfigError> {
        let lay = |traffic: &Traffic| {
            let (from, to) = self.ends(&traffic.table)?;
            Ok(Ways { forward: graph.path(&from, &to)?, backward: graph.path(&to, &from)? })
        };
        let within = |(index, traffic)| {
            lay(traffic).map_err(|error: ConfigError| error.within(&format!("traffic[{index}]")))
        };
        self.traffic.iter().enumerate().map(within).collect()
    }

    /// The nodes between which an entry's traffic runs.
    fn ends(&self, table: &TrafficTable) -> Result<(String, String), ConfigError> {
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
                Ok(match table.direction {
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

    /// Everyone who sends, with the names of the classes and the number of the first connection.
    #[expect(clippy::type_complexity)]
    fn users(
        &self,
        ways: &[Ways],
        hops: &[Hop],
        layout: &mut Layout,
        seed: u64,
    ) -> Result<(Vec<(User, UserMeter)>, Vec<String>, u32), ConfigError> {
        let mut users = Vec::new();
        let mut classes: Vec<String> = Vec::new();
        let mut next_flow = 0;
        let mut laid: HashMap<Vec<Hop>, u32> = HashMap::new();
        for (index, (traffic, ways)) in self.traffic.iter().zip(ways).enumerate() {
            let table = &traffic.table;
            let class = table.class.as_ref().unwrap_or(&table.name);
            let class = classes.iter().position(|known| known == class).unwrap_or_else(|| {
                classes.push(class.clone());
                classes.len() - 1
            });
            let over =
                |links: &[LinkIndex]| links.iter().map(|link| hops[*link]).collect::<Vec<_>>();
            let (forward, backward) = (over(&ways.forward), over(&ways.backward));
            for flow in 0..table.flows {
                let mut lay = |hops: &[Hop], layout: &mut Layout| match table.from {
                    Some(_) => *laid.entry(hops.to_vec()).or_insert_with(|| layout.path(hops)),
                    None => self.own_access(hops, layout),
                };
                let forward = lay(&forward, layout);
                let name = format!("traffic/{}/{flow}", table.name);
                let start = self.start(table, flow, seed);
                let generator = traffic::build(&traffic.source, &self.site(table));
                let generator =
                    generator.map_err(|error| error.within(&format!("traffic[{index}]")))?;
                let entry = match generator {
                    Generator::Datagrams(source) => {
                        let first_flow = next_flow;
                        next_flow += source.flows();
                        Entry::Datagrams { source, first_flow, pending: None }
                    }
                    Generator::Transfers(source) => {
                        let backward = lay(&backward, layout);
                        Entry::Transfers { source, tcp: Box::new(traffic.tcp.clone()), backward }
                    }
                };
                let user = User {
                    entry,
                    rng: Rng::named(seed, &name),
                    start,
                    stop: table.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
                    forward,
                    marks: marks(table),
                };
                let meter = UserMeter::new(index as u32, class as u32, traffic.codec());
                users.push((user, meter));
            }
        }
        Ok((users, classes, next_flow))
    }

    /// Lays a path with access links of its own at both ends.
    fn own_access(&self, hops: &[Hop], layout: &mut Layout) -> u32 {
        let row = self.row.as_ref().expect("only a dumbbell or parking lot leaves the nodes out");
        let Access { rate, delay, overhead: Overhead(overhead) } = row.access;
        let mut whole = vec![layout.wire((rate, delay, overhead))];
        whole.extend(hops);
        whole.push(layout.wire((rate, delay, overhead)));
        layout.path(&whole)
    }

    fn start(&self, table: &TrafficTable, flow: u32, seed: u64) -> Time {
        let (earliest, latest) = (table.start.earliest, table.start.latest);
        let mut rng = Rng::named(seed, &format!("start/{}/{flow}", table.name));
        let spread = (latest - earliest).as_secs_f64() * rng.uniform();
        Time::ZERO + earliest + Duration::from_secs_f64(spread)
    }

    /// Which channels need no queue: nothing limits or records them, and all that enters comes from
    /// one place, so that it enters in order of time.
    fn wires_among(&self, channels: &[Channel], ways: &[Ways]) -> Vec<bool> {
        let mut before: Vec<Option<Option<LinkIndex>>> = vec![None; channels.len()];
        let mut alone: Vec<bool> =
            channels.iter().map(|channel| channel.wire_kind().is_some()).collect();
        for (traffic, ways) in self.traffic.iter().zip(ways) {
            // Hosts with access links of their own are as many places.
            let hosts = if traffic.table.from.is_some() { 1 } else { traffic.table.flows };
            for path in [&ways.forward, &ways.backward] {
                let mut from = None;
                for &link in path {
                    let is_first = from.is_none();
                    match before[link] {
                        _ if is_first && hosts > 1 => alone[link] = false,
                        None => before[link] = Some(from),
                        Some(known) if known != from => alone[link] = false,
                        Some(_) if is_first && traffic.table.from.is_none() => alone[link] = false,
                        Some(_) => {}
                    }
                    from = Some(link);
                }
            }
        }
        alone
    }

    pub(super) fn site(&self, table: &TrafficTable) -> BuildSite<'_> {
        BuildSite { base_dir: &self.base, marks: marks(table) }
    }
}

fn marks(table: &TrafficTable) -> Marks {
    Marks {
        class: table.q,
        precedence: table.precedence,
        drop_precedence: table.drop_precedence,
        dscp: table.dscp.value(),
    }
}

impl Channel {
    /// What this channel costs as a wire, if it can be one.
    fn wire_kind(&self) -> Option<WireKind> {
        let PropagationDelay::Constant(delay) = self.delay else { return None };
        let plain = self.queue.is_none() && self.loss == 0.0 && self.capture.is_none();
        match self.capacity {
            forebay_core::Capacity::Constant { rate, .. } if plain => {
                Some((rate, delay, self.overhead))
            }
            _ => None,
        }
    }

    fn link(self) -> Result<engine::LinkSpec, ConfigError> {
        let (kind, discipline) = self.discipline()?;
        Ok(LinkSpec {
            name: self.name,
            kind,
            discipline,
            capacity: self.capacity,
            overhead: self.overhead,
            delay: self.delay,
            loss: self.loss,
            capture: self.capture,
        })
    }
}
