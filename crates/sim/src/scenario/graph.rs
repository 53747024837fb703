//! Nodes, links and routes.

use super::grammar::RouteTable;
use crate::wireless::Site;
use crate::wireless::medium::Station;
use forebay_core::ConfigError;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Index of a directed link.
pub type LinkIndex = usize;

/// The directed links between nodes, and the path from each node to each other.
#[derive(Default)]
pub struct Graph {
    nodes: HashMap<String, usize>,
    /// (from, to) of each directed link.
    ends: Vec<(usize, usize)>,
    /// Cost of each directed link.
    costs: Vec<u32>,
    /// The directed links that end at each node, in the order of the file.
    into: Vec<Vec<LinkIndex>>,
    /// Links by name.
    names: HashMap<String, LinkIndex>,
    /// (node, destination) to link.
    routes: HashMap<(usize, usize), LinkIndex>,
    /// Number of links that come from tables. Those to and from the air follow them.
    wired: usize,
}

/// One part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hop {
    /// A link.
    Link(LinkIndex),
    /// Through the wireless network, from one station to another.
    Air(Station, Station),
}

/// A directed link as the graph sees it.
pub struct Edge<'a> {
    /// Its name.
    pub name: &'a str,
    /// Node where it begins.
    pub from: &'a str,
    /// Node where it ends.
    pub to: &'a str,
    /// Cost of the link.
    pub cost: u32,
}

/// Most names of nodes or links in a message.
const MOST_NAMES: usize = 20;

/// Names for a message, at most [`MOST_NAMES`].
pub fn listed(names: &[&str]) -> String {
    let (shown, more) = names.split_at(names.len().min(MOST_NAMES));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    shown.join(", ") + &more
}

impl Graph {
    /// The graph of directed links, with the next hops of routes that differ from the shortest
    /// path. Between any two `stations` there are two hops, through the air, whatever the radio's
    /// range is: the wireless network finds its own paths.
    pub fn new<'a>(
        links: impl Iterator<Item = Edge<'a>>,
        stations: &[Site],
        routes: &[RouteTable],
    ) -> Result<Self, ConfigError> {
        let mut graph = Graph::default();
        for (index, edge) in links.enumerate() {
            let ends = (graph.add_node(edge.from), graph.add_node(edge.to));
            graph.ends.push(ends);
            graph.costs.push(edge.cost);
            graph.names.insert(edge.name.to_owned(), index);
        }
        graph.wired = graph.ends.len();
        let at: Vec<_> = stations.iter().map(|site| graph.add_node(&site.name)).collect();
        let air = graph.nodes.len();
        graph.ends.extend(at.into_iter().flat_map(|station| [(station, air), (air, station)]));
        graph.costs.resize(graph.ends.len(), 1);
        graph.into.resize(air + usize::from(!stations.is_empty()), Vec::new());
        for (link, &(_, to)) in graph.ends.iter().enumerate() {
            graph.into[to].push(link);
        }
        for (index, route) in routes.iter().enumerate() {
            graph.add_route(route).map_err(|error| error.within(&format!("route[{index}]")))?;
        }
        Ok(graph)
    }

    /// The numbers of the nodes where link `index` begins and ends.
    pub fn ends(&self, index: LinkIndex) -> (u32, u32) {
        let (from, to) = self.ends[index];
        (from as u32, to as u32)
    }

    fn add_node(&mut self, name: &str) -> usize {
        let next = self.nodes.len();
        *self.nodes.entry(name.to_owned()).or_insert(next)
    }

    fn add_route(&mut self, route: &RouteTable) -> Result<(), ConfigError> {
        let at = self.node(&route.at).map_err(|error| error.within("at"))?;
        let to = self.node(&route.to).map_err(|error| error.within("to"))?;
        let link = *self.names.get(&route.link).ok_or_else(|| {
            ConfigError::new("link", format!("there is no link called \"{}\"", route.link))
        })?;
        if self.ends[link].0 != at {
            let message = format!("link \"{}\" does not begin at \"{}\"", route.link, route.at);
            return Err(ConfigError::new("link", message));
        }
        self.routes.insert((at, to), link);
        Ok(())
    }

    fn node(&self, name: &str) -> Result<usize, ConfigError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let mut known: Vec<_> = self.nodes.keys().map(String::as_str).collect();
            known.sort_unstable();
            let known = listed(&known);
            ConfigError::new("", format!("no link names a node \"{name}\"; nodes are: {known}"))
        })
    }

    /// Checks that a link names this node.
    pub fn knows(&self, node: &str) -> Result<(), ConfigError> {
        self.node(node).map(drop)
    }

    /// The paths of `pairs` of nodes (from, to): of those with the lowest cost, the one whose links
    /// come first in the file.
    ///
    /// For a pair: an unknown node (at `from` or `to`), no path between the two, or a route that
    /// forms a circle.
    pub fn paths(&self, pairs: &[(&str, &str)]) -> Vec<Result<Vec<Hop>, ConfigError>> {
        let ends: Vec<_> = pairs.iter().map(|(from, to)| self.pair(from, to)).collect();
        let with_routes: HashSet<usize> = self.routes.keys().map(|(_, to)| *to).collect();
        let mut sources: HashMap<usize, HashSet<usize>> = HashMap::new();
        for (from, to) in ends.iter().flatten() {
            sources.entry(*to).or_default().insert(*from);
        }
        // One search for each destination; its result is kept no longer than it is used.
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        let goal = |index: &usize| ends[*index].as_ref().ok().map(|(_, to)| *to);
        order.sort_by_key(goal);
        let mut ways: Vec<Option<Result<Vec<Hop>, ConfigError>>> = vec![None; pairs.len()];
        for group in order.chunk_by(|one, other| goal(one) == goal(other)) {
            let next = goal(&group[0]).map_or_else(Vec::new, |goal| {
                let all = with_routes.contains(&goal);
                self.next_hops(goal, if all { None } else { sources.remove(&goal) })
            });
            for &index in group {
                let walk = |&(start, goal): &(usize, usize)| {
                    self.walk(start, goal, &next, pairs[index]).map(|links| self.hops(links))
                };
                ways[index] = Some(ends[index].as_ref().map_err(Clone::clone).and_then(walk));
            }
        }
        ways.into_iter().map(|way| way.expect("each is in a group")).collect()
    }

    /// The path from node `from` to node `to`.
    pub fn path(&self, from: &str, to: &str) -> Result<Vec<Hop>, ConfigError> {
        self.paths(&[(from, to)]).pop().expect("one a pair")
    }

    fn pair(&self, from: &str, to: &str) -> Result<(usize, usize), ConfigError> {
        let start = self.node(from).map_err(|error| error.within("from"))?;
        let goal = self.node(to).map_err(|error| error.within("to"))?;
        if start == goal {
            let message = format!("must differ from `from`, both are \"{to}\"");
            return Err(ConfigError::new("to", message));
        }
        Ok((start, goal))
    }

    /// The links from `start` to `goal`. Messages use the names in `pair`.
    fn walk(
        &self,
        start: usize,
        goal: usize,
        next: &[Option<LinkIndex>],
        pair: (&str, &str),
    ) -> Result<Vec<LinkIndex>, ConfigError> {
        let (from, to) = pair;
        let mut path = Vec::new();
        let mut at = start;
        while at != goal {
            let link = self.routes.get(&(at, goal)).copied().or(next[at]).ok_or_else(|| {
                ConfigError::new("to", format!("no links lead from \"{from}\" to \"{to}\""))
            })?;
            path.push(link);
            at = self.ends[link].1;
            if path.len() > self.into.len() {
                let message = format!("the routes from \"{from}\" to \"{to}\" form a loop");
                return Err(ConfigError::new("to", message));
            }
        }
        Ok(path)
    }

    /// The hops of a path over `links`. A link to the air and one from it are one hop.
    fn hops(&self, links: Vec<LinkIndex>) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(links.len());
        let mut links = links.into_iter();
        while let Some(link) = links.next() {
            hops.push(match link.checked_sub(self.wired) {
                None => Hop::Link(link),
                Some(up) => {
                    let down = links.next().expect("what goes up comes down") - self.wired;
                    Hop::Air((up / 2) as Station, (down / 2) as Station)
                }
            });
        }
        hops
    }

    /// For every node the first link of a shortest path to `goal` (Dijkstra's algorithm, from the goal).
    /// With `sources`, only nodes on their paths are sure to have one.
    fn next_hops(
        &self,
        goal: usize,
        mut sources: Option<HashSet<usize>>,
    ) -> Vec<Option<LinkIndex>> {
        let mut next = vec![None; self.into.len()];
        let mut costs = vec![u64::MAX; self.into.len()];
        costs[goal] = 0;
        // Of equal costs, the node that was found first comes first.
        let mut found = 0_u32;
        let mut open = BinaryHeap::from([Reverse((0, found, goal))]);
        while let Some(Reverse((cost, _, node))) = open.pop() {
            if cost > costs[node] {
                continue;
            }
            if let Some(sources) = &mut sources {
                sources.remove(&node);
                if sources.is_empty() {
                    break;
                }
            }
            for &link in &self.into[node] {
                let from = self.ends[link].0;
                let cost = cost + u64::from(self.costs[link]);
                if cost < costs[from] {
                    (costs[from], next[from]) = (cost, Some(link));
                    found += 1;
                    open.push(Reverse((cost, found, from)));
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wireless::Track;
    use crate::wireless::place::Point;

    fn graph(routes: &[RouteTable]) -> Result<Graph, ConfigError> {
        let links = [("ab", "a", "b"), ("bc", "b", "c"), ("ac", "a", "c"), ("cd", "c", "d")];
        Graph::new(links.map(|link| edge(link, 1)).into_iter(), &[], routes)
    }

    fn edge<'a>((name, from, to): (&'a str, &'a str, &'a str), cost: u32) -> Edge<'a> {
        Edge { name, from, to, cost }
    }

    #[test]
    fn the_air_joins_stations_and_links() {
        let site = |name: &str| Site { name: name.into(), track: Track::fixed(Point::default()) };
        let links = [("base", "b", "c"), ("back", "c", "b")];
        let stations = ["s", "b", "t"].map(site);
        let links = links.map(|link| edge(link, 1)).into_iter();
        let graph = Graph::new(links, &stations, &[]).unwrap();
        assert_eq!(graph.path("s", "c").unwrap(), [Hop::Air(0, 1), Hop::Link(0)]);
        assert_eq!(graph.path("c", "t").unwrap(), [Hop::Link(1), Hop::Air(1, 2)]);
        assert_eq!(graph.path("t", "s").unwrap(), [Hop::Air(2, 0)]);
    }

    #[test]
    fn the_shortest_path_unless_a_route_says_otherwise() {
        assert_eq!(graph(&[]).unwrap().path("a", "d").unwrap(), [2, 3].map(Hop::Link));
        let detour = RouteTable { at: "a".into(), to: "d".into(), link: "ab".into() };
        assert_eq!(graph(&[detour]).unwrap().path("a", "d").unwrap(), [0, 1, 3].map(Hop::Link));
    }

    #[test]
    fn the_cheapest_path_if_links_have_costs() {
        let links = [("ad", "a", "d"), ("ab", "a", "b"), ("ac", "a", "c"), ("bd", "b", "d")];
        let costs = [5, 1, 1, 3];
        let edges = links.into_iter().chain([("cd", "c", "d")]).zip(costs.into_iter().chain([3]));
        let graph = Graph::new(edges.map(|(link, cost)| edge(link, cost)), &[], &[]).unwrap();
        // Over b and c it costs the same; the file names the links by b first.
        assert_eq!(graph.path("a", "d").unwrap(), [1, 3].map(Hop::Link));
    }

    #[test]
    fn many_pairs_have_the_ways_that_each_has_alone() {
        let names: Vec<String> = (0..30).map(|node| format!("n{node}")).collect();
        let mut rng = forebay_core::Rng::named(1, "graph");
        let mut node = || (rng.uniform() * 30.0) as usize;
        let ends: Vec<_> = (0..120).map(|link| (format!("l{link}"), node(), node())).collect();
        let edges = ends.iter().map(|(name, from, to)| {
            let cost = (from * to) as u32 % 5 + 1;
            edge((name, &names[*from], &names[*to]), cost)
        });
        let graph = Graph::new(edges, &[], &[]).unwrap();
        let known = |name: &&String| graph.knows(name).is_ok();
        let pairs: Vec<(&str, &str)> = names
            .iter()
            .filter(known)
            .flat_map(|from| names.iter().filter(known).map(|to| (from.as_str(), to.as_str())))
            .collect();
        let say = |way: Result<Vec<Hop>, ConfigError>| way.map_err(|error| error.to_string());
        for (way, (from, to)) in graph.paths(&pairs).into_iter().zip(&pairs) {
            assert_eq!(say(way), say(graph.path(from, to)), "{from} to {to}");
        }
    }

    #[test]
    fn impossible_topologies_are_named() {
        let say = |from, to| graph(&[]).unwrap().path(from, to).unwrap_err().to_string();
        assert_eq!(say("d", "a"), "to: no links lead from \"d\" to \"a\"");
        assert!(say("a", "z").contains("no link names a node \"z\"; nodes are: a, b, c, d"));
        assert!(say("a", "a").contains("must differ"));
        let wrong = RouteTable { at: "b".into(), to: "d".into(), link: "ac".into() };
        let error = graph(&[wrong]).err().unwrap().to_string();
        assert_eq!(error, "route[0].link: link \"ac\" does not begin at \"b\"");
    }
}
