//! Nodes, links and routes.

use super::grammar::RouteTable;
use crate::wireless::Site;
use crate::wireless::medium::Station;
use forebay_core::ConfigError;
use std::collections::{HashMap, VecDeque};

/// Index of a directed link.
pub type LinkIndex = usize;

/// The directed links between nodes, and the way from each node to each other.
pub struct Graph {
    nodes: HashMap<String, usize>,
    /// (from, to) of each directed link.
    ends: Vec<(usize, usize)>,
    /// Links by name.
    names: HashMap<String, LinkIndex>,
    /// (at, destination) to link.
    routes: HashMap<(usize, usize), LinkIndex>,
    /// How many nodes there are; one more than have names if there is a wireless network.
    count: usize,
    /// How many links come from tables; then follow those to and from the air.
    wired: usize,
}

/// One stretch of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hop {
    /// A link.
    Link(LinkIndex),
    /// Through the wireless network, from a station to another.
    Air(Station, Station),
}

impl Graph {
    /// The graph of directed links given as (name, from, to), with next hops that differ from the
    /// shortest path. From each of the `stations` to each other there are two hops, by way of the
    /// air, whatever the radio's range: that is the network's own concern.
    ///
    /// # Errors
    /// A route that names an unknown node or link, or a link that begins elsewhere.
    pub fn new<'a>(
        links: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
        stations: &[Site],
        routes: &[RouteTable],
    ) -> Result<Self, ConfigError> {
        let mut graph = Graph {
            count: 0,
            wired: 0,
            nodes: HashMap::new(),
            ends: Vec::new(),
            names: HashMap::new(),
            routes: HashMap::new(),
        };
        for (index, (name, from, to)) in links.enumerate() {
            let ends = (graph.add_node(from), graph.add_node(to));
            graph.ends.push(ends);
            graph.names.insert(name.to_owned(), index);
        }
        graph.wired = graph.ends.len();
        let at: Vec<_> = stations.iter().map(|site| graph.add_node(&site.name)).collect();
        let air = graph.nodes.len();
        graph.count = air + usize::from(!stations.is_empty());
        graph.ends.extend(at.into_iter().flat_map(|station| [(station, air), (air, station)]));
        for (index, route) in routes.iter().enumerate() {
            graph.add_route(route).map_err(|error| error.within(&format!("route[{index}]")))?;
        }
        Ok(graph)
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
            let known = known.join(", ");
            ConfigError::new("", format!("no link names a node \"{name}\"; nodes are: {known}"))
        })
    }

    /// The links from node `from` to node `to`: fewest hops, then the order of the file.
    ///
    /// # Errors
    /// An unknown node (at `from` or `to`), or no way between the two, or a route that turns in a
    /// circle.
    pub fn path(&self, from: &str, to: &str) -> Result<Vec<Hop>, ConfigError> {
        let links = self.links(from, to)?;
        let mut hops = Vec::new();
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
        Ok(hops)
    }

    fn links(&self, from: &str, to: &str) -> Result<Vec<LinkIndex>, ConfigError> {
        let start = self.node(from).map_err(|error| error.within("from"))?;
        let goal = self.node(to).map_err(|error| error.within("to"))?;
        if start == goal {
            return Err(ConfigError::new(
                "to",
                format!("must differ from `from`, both are \"{to}\""),
            ));
        }
        let next = self.next_hops(goal);
        let mut path = Vec::new();
        let mut at = start;
        while at != goal {
            let link = self.routes.get(&(at, goal)).copied().or(next[at]).ok_or_else(|| {
                ConfigError::new("to", format!("no links lead from \"{from}\" to \"{to}\""))
            })?;
            path.push(link);
            at = self.ends[link].1;
            if path.len() > self.count {
                let message = format!("the routes from \"{from}\" to \"{to}\" turn in a circle");
                return Err(ConfigError::new("to", message));
            }
        }
        Ok(path)
    }

    /// For every node the first link of a shortest path to `goal`.
    fn next_hops(&self, goal: usize) -> Vec<Option<LinkIndex>> {
        let mut next = vec![None; self.count];
        let mut open = VecDeque::from([goal]);
        while let Some(node) = open.pop_front() {
            for (link, &(from, to)) in self.ends.iter().enumerate() {
                if to == node && from != goal && next[from].is_none() {
                    next[from] = Some(link);
                    open.push_back(from);
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wireless::{Point, Track};

    fn graph(routes: &[RouteTable]) -> Result<Graph, ConfigError> {
        let links = [("ab", "a", "b"), ("bc", "b", "c"), ("ac", "a", "c"), ("cd", "c", "d")];
        Graph::new(links.into_iter(), &[], routes)
    }

    #[test]
    fn the_air_joins_stations_and_links() {
        let site = |name: &str| Site { name: name.into(), track: Track::fixed(Point::default()) };
        let links = [("base", "b", "c"), ("back", "c", "b")];
        let stations = ["s", "b", "t"].map(site);
        let graph = Graph::new(links.into_iter(), &stations, &[]).unwrap();
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
