//! Division of a network into parts.

use super::Owners;
use crate::engine::fabric::{FabricSpec, Target};
use crate::engine::transport::{Entry, TransportSpec, User};
use crate::engine::world::WorldSpec;
use forebay_core::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// A network in parts.
pub struct Plan {
    /// Number of parts.
    pub(super) parts: u16,
    /// The least propagation delay of a link from one part to another: for this time, parts do not need
    /// to hear of each other.
    pub(super) lookahead: Duration,
    /// By link, the part that has it.
    pub(super) links: Owners,
    /// By pipe, the part into which it leads.
    pub(super) pipes: Owners,
    /// By user, the part of the sender.
    pub(super) senders: Owners,
    /// By user, the part of the receiver.
    pub(super) receivers: Owners,
}

/// Estimated costs in seconds of processor time: an event, a round of several threads, and a packet from
/// one part to another (docs/scale.md).
const EVENT: f64 = 0.15e-6;
const ROUND: f64 = 1.5e-6;
const CROSSING: f64 = 0.1e-6;

/// Most share of the time of one thread that several may take by this estimate. Work comes in bursts.
const WORTHWHILE: f64 = 0.8;

/// Bits of a packet, for estimates.
const PACKET: f64 = 12_000.0;

/// Most thresholds of delay that are tried for cuts.
const TRIALS: usize = 24;

/// Nodes, their work, and the links between them.
struct Network {
    /// By link: nodes, least delay, packets a second.
    edges: Vec<(usize, usize, Duration, f64)>,
    /// By node: events a second.
    work: Vec<f64>,
    /// Pairs of nodes that must be in one part.
    together: Vec<(usize, usize)>,
}

/// The links of every user's two paths: those of data, then those of acknowledgments. The latter is empty
/// for datagrams.
struct Paths {
    links: Vec<u32>,
    /// The end of each path in `links`.
    ends: Vec<usize>,
}

impl Paths {
    fn new(spec: &WorldSpec) -> Paths {
        let WorldSpec { fabric, transport: TransportSpec { users, .. }, .. } = spec;
        let mut paths = Paths { links: Vec::new(), ends: Vec::with_capacity(2 * users.len()) };
        for user in users {
            paths.links.extend(fabric.links_from(user.forward));
            paths.ends.push(paths.links.len());
            if let Entry::Transfers { backward, .. } = user.entry {
                paths.links.extend(fabric.links_from(backward));
            }
            paths.ends.push(paths.links.len());
        }
        paths
    }

    /// The links of each user's two paths.
    fn iter(&self) -> impl Iterator<Item = [&[u32]; 2]> {
        let mut from = 0;
        self.ends.chunks_exact(2).map(move |ends| {
            let begin = std::mem::replace(&mut from, ends[1]);
            [&self.links[begin..ends[0]], &self.links[ends[0]..ends[1]]]
        })
    }
}

impl Plan {
    /// A plan for at most `threads` threads. None if the network cannot be divided, or this would not be
    /// faster.
    pub fn new(spec: &WorldSpec, threads: usize) -> Option<Plan> {
        let threads = threads.min(usize::from(u8::MAX) - 1);
        let foreign = |user: &User| matches!(user.entry, Entry::Endpoints(_));
        let is_one = spec.fabric.wireless.is_some()
            || spec.transport.users.iter().any(foreign)
            || !spec.boxes.is_empty()
            || spec.measures.segments.is_some();
        if threads < 2 || is_one || spec.fabric.links.is_empty() {
            return None;
        }
        let paths = Paths::new(spec);
        let network = Network::new(spec, &paths);
        let alone = network.work.iter().sum::<f64>() * EVENT;
        let trials = network.thresholds().into_iter();
        let trials = trials.filter_map(|least| network.part(least, threads));
        let best = trials.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (cost, lookahead, homes) = best;
        (cost < WORTHWHILE * alone).then(|| Plan::of(spec, &paths, lookahead, &homes))
    }

    /// The plan in which node i is in part `homes[i]`.
    fn of(spec: &WorldSpec, paths: &Paths, lookahead: Duration, homes: &[u16]) -> Plan {
        let ends = |link: u32| spec.fabric.links[link as usize].ends;
        let from = |link: u32| homes[ends(link).0 as usize];
        let to = |link: u32| homes[ends(link).1 as usize];
        let mut pipes = vec![0; spec.fabric.pipes.len()];
        // The host of a path is at the end of its last link.
        let mut host = 0;
        for stop in &spec.fabric.stops {
            pipes[stop.pipe as usize] = match spec.fabric.pipes[stop.pipe as usize].0 {
                Target::Link(link) => {
                    host = to(link);
                    from(link)
                }
                _ => host,
            };
        }
        let senders = paths.iter().map(|[forward, _]| from(forward[0]));
        let receivers = paths.iter().map(|[forward, backward]| match backward {
            [] => to(forward[forward.len() - 1]),
            [first, ..] => from(*first),
        });
        Plan {
            parts: homes.iter().max().map_or(1, |last| last + 1),
            lookahead,
            links: (0..spec.fabric.links.len() as u32).map(from).collect(),
            pipes: pipes.into(),
            senders: senders.collect(),
            receivers: receivers.collect(),
        }
    }
}

impl FabricSpec {
    /// The links of the path that begins at stop `first`.
    fn links_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let stops = self.stops[first as usize..].iter();
        stops.map_while(|stop| match self.pipes[stop.pipe as usize].0 {
            Target::Link(link) => Some(link),
            _ => None,
        })
    }
}

impl Network {
    fn new(spec: &WorldSpec, paths: &Paths) -> Network {
        let fabric = &spec.fabric;
        let nodes = fabric.links.iter().map(|link| link.ends.0.max(link.ends.1) + 1).max();
        let mut network = Network {
            edges: Vec::with_capacity(fabric.links.len()),
            work: vec![0.0; nodes.unwrap_or(0) as usize],
            together: Vec::new(),
        };
        let mut flows = vec![0.0; fabric.links.len()];
        let forward = paths.iter().flat_map(|[forward, _]| forward);
        forward.for_each(|link| flows[*link as usize] += 1.0);
        // A flow gets the least of its fair shares: an upper limit for what the network carries.
        let rate = |link: u32| fabric.links[link as usize].capacity.rate(Time::ZERO).bps() as f64;
        let share = |link: &u32| rate(*link) / PACKET / flows[*link as usize];
        let mut packets = vec![0.0; fabric.links.len()];
        for [forward, backward] in paths.iter() {
            let sent = forward.iter().map(share).fold(f64::INFINITY, f64::min);
            let (first, last) = (forward[0] as usize, forward[forward.len() - 1] as usize);
            let ends = [fabric.links[first].ends.0, fabric.links[last].ends.1];
            ends.iter().for_each(|node| network.work[*node as usize] += sent);
            forward.iter().for_each(|link| packets[*link as usize] += sent);
            backward.iter().for_each(|link| packets[*link as usize] += sent / 2.0);
        }
        for (link, packets) in fabric.links.iter().zip(packets) {
            let ends = (link.ends.0 as usize, link.ends.1 as usize);
            network.edges.push((ends.0, ends.1, link.delay.least(), packets));
            network.work[ends.0] += 2.0 * packets;
        }
        network.together = shared_markers(spec, paths);
        network
    }

    /// Delays to try as the least delay of a cut, the longest first.
    fn thresholds(&self) -> Vec<Duration> {
        let delays: BTreeSet<Duration> = self.edges.iter().map(|edge| edge.2).collect();
        let delays: Vec<_> =
            delays.into_iter().rev().filter(|delay| *delay > Duration::ZERO).collect();
        let step = delays.len().div_ceil(TRIALS).max(1);
        delays.into_iter().step_by(step).collect()
    }

    /// A division into at most `threads` parts, cut at links with a delay of `least` or more. Returns the
    /// costs of a second, the lookahead, and the part of each node.
    fn part(&self, least: Duration, threads: usize) -> Option<(f64, Duration, Vec<u16>)> {
        let short = self.edges.iter().filter(|edge| edge.2 < least).map(|edge| (edge.0, edge.1));
        let group = groups(self.work.len(), short.chain(self.together.iter().copied()));
        let homes = self.fill(&group, threads);
        let cut = self.edges.iter().filter(|edge| homes[edge.0] != homes[edge.1]);
        let lookahead = cut.clone().map(|edge| edge.2).min()?;
        let crossings: f64 = cut.map(|edge| edge.3).sum();
        let mut work = vec![0.0; threads];
        homes
            .iter()
            .zip(&self.work)
            .for_each(|(home, work_of)| work[usize::from(*home)] += work_of);
        let most = work.into_iter().fold(0.0, f64::max);
        let rounds = (1.0 / lookahead.as_secs_f64()).min(self.work.iter().sum());
        Some((most * EVENT + rounds * ROUND + crossings * CROSSING, lookahead, homes))
    }

    /// Fills parts one after the other with groups, in the order of a search from the rim, so that
    /// neighbours are mostly in one part. All parts have about the same work. Returns the part of each node.
    fn fill(&self, group: &[usize], threads: usize) -> Vec<u16> {
        let mut work = vec![0.0; group.len()];
        group.iter().zip(&self.work).for_each(|(group, more)| work[*group] += more);
        let mut near = vec![Vec::new(); group.len()];
        for &(from, to, ..) in &self.edges {
            near[group[from]].push(group[to]);
            near[group[to]].push(group[from]);
        }
        let order = search(&near, &search(&near, group));
        let mut left: f64 = work.iter().sum();
        let (mut part, mut filled) = (0, 0.0);
        let mut home = vec![0; group.len()];
        for at in order {
            let share = left / (threads - usize::from(part)) as f64;
            if usize::from(part) + 1 < threads && filled > 0.0 && filled + work[at] / 2.0 > share {
                left -= filled;
                (part, filled) = (part + 1, 0.0);
            }
            filled += work[at];
            home[at] = part;
        }
        group.iter().map(|group| home[*group]).collect()
    }
}

/// Breadth-first search from the last of `starts`, then from the others that it has not found.
fn search(near: &[Vec<usize>], starts: &[usize]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; near.len()];
    for &start in starts.iter().rev() {
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            if !std::mem::replace(&mut seen[at], true) {
                order.push(at);
                next.extend(&near[at]);
            }
        }
    }
    order
}

/// For each of `count` nodes, the first one of its group: those that `pairs` connect.
fn groups(count: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..count).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for (one, other) in pairs {
        let (one, other) = (root(&mut parent, one), root(&mut parent, other));
        parent[one.max(other)] = one.min(other);
    }
    (0..count).map(|at| root(&mut parent, at)).collect()
}

/// Pairs of nodes whose senders share a marker.
fn shared_markers(spec: &WorldSpec, paths: &Paths) -> Vec<(usize, usize)> {
    let TransportSpec { users, conditioners, .. } = &spec.transport;
    let mut first = vec![None; conditioners.len()];
    let mut pairs = Vec::new();
    for (user, [forward, _]) in users.iter().zip(paths.iter()) {
        if let Some(marker) = user.conditioner {
            let node = spec.fabric.links[forward[0] as usize].ends.0 as usize;
            pairs.push((*first[marker as usize].get_or_insert(node), node));
        }
    }
    pairs
}
