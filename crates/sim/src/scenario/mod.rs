//! Scenarios: a file with every default filled in, ready to run.

mod agent;
mod build;
mod change;
mod grammar;
mod graph;
mod link;
pub mod path;
mod place;
mod plan;
mod profile;
mod resolve;
mod row;
mod schema;
mod size;

pub use agent::{AgentTable, Seen};
pub use build::Participant;
pub use grammar::ScenarioTable;
pub(crate) use grammar::TrafficTable;
pub(crate) use place::{Flows, QueuePlace};
pub use resolve::with_queue;
pub use schema::{FILES, catalogue, described, link_fields, part_schemas, schema};
pub use size::MOST_MEMORY;

use crate::Registry;
use crate::traffic::{BuildSite, Codec, Generator, Transport};
use crate::wireless::{Site, WirelessTable};
use change::Dated;
use forebay_core::config::{finite, read, require, unknown, within};
use forebay_core::{ConfigError, Duration, Entry};
use forebay_tcp::Config as TcpConfig;
use grammar::{LinkTable, TRAFFIC_FIELDS};
use graph::{Edge, Graph};
use link::{DirectedLink, directions};
use profile::NamedProfile;
use row::Row;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parameters of sources that may be courses.
const VARYING: [&str; 2] = ["rate", "interval"];

/// Largest scenario file in bytes.
pub const LARGEST: u64 = 16 << 20;

/// A scenario, all of whose fields have been checked.
#[derive(Clone)]
pub struct Scenario {
    table: ScenarioTable,
    links: Vec<DirectedLink>,
    row: Option<Row>,
    profiles: Vec<NamedProfile>,
    /// Stations of the wireless network.
    sites: Vec<Site>,
    traffic: Vec<Traffic>,
    /// The scenario as written, without its changes.
    tree: Value,
    changes: Vec<Dated>,
    base: PathBuf,
    registry: Arc<Registry>,
}

/// A traffic entry: the common fields, the source's own parameters, and its TCP.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    pub(crate) table: TrafficTable,
    source: Entry<Generator>,
    /// The source's parameters, with all defaults filled in.
    params: Value,
    tcp: TcpConfig,
}

/// The tree of the TOML text `text`.
///
/// # Errors
/// The text is not TOML; the error has line and column. Or a number is not finite.
pub fn parse(text: &str) -> Result<Value, ConfigError> {
    let tree: Value =
        toml::from_str(text).map_err(|error| ConfigError::new("", short(&error.to_string())))?;
    finite(&tree)?;
    Ok(tree)
}

/// The tree of the JSON text `text`.
///
/// # Errors
/// The fault of a text that is not JSON, with line and column.
pub fn parse_json(text: &str) -> Result<Value, ConfigError> {
    serde_json::from_str(text).map_err(|error| ConfigError::new("", short(&error.to_string())))
}

/// A message of a parser; the line of the file that `toml` shows is cut to what is near the column.
fn short(message: &str) -> String {
    const SHOWN: usize = 80;
    if message.contains("recursion") {
        return "is nested too deeply".to_owned();
    }
    let lines: Vec<&str> = message.lines().collect();
    let [_, bar, line, marked, ..] = lines[..] else { return message.to_owned() };
    let (gutter, column) = (bar.len() + 1, marked.find('^').unwrap_or_default());
    if line.chars().count() <= gutter + SHOWN {
        return message.to_owned();
    }
    let from = column.saturating_sub(SHOWN / 2).max(gutter);
    let near = |line: &str| -> String {
        let chars = || line.chars();
        chars().take(gutter).chain(chars().skip(from).take(SHOWN)).collect()
    };
    let cut = lines.iter().enumerate().map(|(place, line)| match place {
        2 | 3 => near(line),
        _ => (*line).to_owned(),
    });
    cut.collect::<Vec<_>>().join("\n")
}

impl Scenario {
    /// Reads the tree of a scenario, which can name parts of `registry`. Relative file names start
    /// from `base`.
    ///
    /// # Errors
    /// The first fault, with its path and the remedy.
    pub fn read(tree: &Value, base: &Path, registry: &Arc<Registry>) -> Result<Self, ConfigError> {
        Scenario::read_after(None, tree, base, registry)
    }

    /// The same for a tree that may have more changes than `known`. Equal changes are not read again.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub fn read_after(
        known: Option<&Scenario>,
        tree: &Value,
        base: &Path,
        registry: &Arc<Registry>,
    ) -> Result<Self, ConfigError> {
        let table: ScenarioTable = read(tree)?;
        let (links, row) = read_links(&table)?;
        let profile = |(name, given): (&String, &Value)| NamedProfile::read(name, given, registry);
        let profiles = table.profile.iter().map(profile);
        let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
        let sites = table.wireless.as_ref().map_or(Ok(Vec::new()), WirelessTable::sites);
        let sites = sites.map_err(|error| error.within("wireless"))?;
        let read_entry = |(index, entry)| {
            Traffic::read(entry, &format!("traffic[{index}]"), &table.tcp, registry, base)
        };
        let traffic = table.traffic.iter().enumerate().map(read_entry);
        let traffic = traffic.collect::<Result<Vec<_>, _>>()?;
        let (base, registry) = (base.to_owned(), Arc::clone(registry));
        let mut tree = tree.clone();
        tree.as_object_mut().expect("it has been read as a table").remove("change");
        let changes = Vec::new();
        let mut scenario =
            Scenario { links, row, sites, profiles, traffic, table, tree, changes, base, registry };
        scenario.check()?;
        scenario.changes = scenario.read_changes(known)?;
        Ok(scenario)
    }

    /// Checks fields against each other.
    fn check(&self) -> Result<(), ConfigError> {
        let table = &self.table;
        require(table.duration > Duration::ZERO, "duration", || "must be greater than 0".into())?;
        require(table.warmup < table.duration, "warmup", || {
            format!("must be below the duration of {}, got \"{}\"", table.duration, table.warmup)
        })?;
        require(self.sample() > Duration::ZERO, "sample", || "must be greater than 0".into())?;
        check_unique("link", self.links.iter().map(|link| link.table.name.as_str()))?;
        self.check_captures()?;
        check_unique("traffic", self.traffic.iter().map(|entry| entry.table.name.as_str()))?;
        if let Some(compare) = &table.compare {
            if compare.link.is_some() {
                self.compared(None).map_err(|error| error.within("compare.link"))?;
            }
            require(compare.replications > 0, "compare.replications", || {
                "must be 1 or more".into()
            })?;
        }
        self.check_positions()?;
        self.check_size()
    }

    /// Checks that every name with a position is a node.
    fn check_positions(&self) -> Result<(), ConfigError> {
        if self.table.positions.is_empty() {
            return Ok(());
        }
        let graph = self.graph()?;
        for (node, at) in &self.table.positions {
            let check = graph.knows(node).and_then(|()| {
                require(at.iter().all(|value| value.is_finite()), "", || {
                    "must be two finite numbers".into()
                })
            });
            check.map_err(|error| error.within(&format!("positions.{node}")))?;
        }
        Ok(())
    }

    /// Checks that every link with a capture has a file of its own, which is none that is read.
    fn check_captures(&self) -> Result<(), ConfigError> {
        let place = |file: &str| {
            let path = self.base.join(file);
            path.canonicalize().unwrap_or(path)
        };
        let read: Vec<PathBuf> = self.files().map(|(file, _)| place(&file)).collect();
        let mut known: HashMap<PathBuf, &str> = HashMap::new();
        for link in &self.links {
            let Some(file) = &link.table.pcap else { continue };
            require(!read.contains(&place(file)), &format!("{}.pcap", link.path), || {
                format!("\"{file}\" is read by the scenario; name another file")
            })?;
            let earlier = known.insert(place(file), &link.table.name);
            require(earlier.is_none(), &format!("{}.pcap", link.path), || {
                let earlier = earlier.unwrap_or_default();
                format!(
                    "\"{file}\" is already the file of link \"{earlier}\"; give each link its own"
                )
            })?;
        }
        Ok(())
    }

    fn graph(&self) -> Result<Graph, ConfigError> {
        let edges = self.links.iter().map(|link| {
            let LinkTable { name, from, to, cost, .. } = &link.table;
            Edge { name, from, to, cost: *cost }
        });
        Graph::new(edges, &self.sites, &self.table.route)
    }

    /// Interval of the time series.
    pub fn sample(&self) -> Duration {
        self.table.sample.unwrap_or(self.table.duration / 300)
    }

    /// The scenario's own fields.
    pub fn table(&self) -> &ScenarioTable {
        &self.table
    }

    /// Ends of the intervals of the time series, in s.
    pub(crate) fn points(&self) -> Vec<f64> {
        let (sample, duration) = (self.sample(), self.table.duration);
        let count = duration.as_nanos() / sample.as_nanos();
        (1..=count).map(|point| (sample * point).as_secs_f64()).collect()
    }

    /// The traffic entries, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Traffic> {
        self.traffic.iter()
    }

    /// Names of the traffic entries, in order.
    pub fn traffic_names(&self) -> Vec<String> {
        self.traffic.iter().map(|entry| entry.table.name.clone()).collect()
    }

    /// The effective configuration, with every default filled in. It is a scenario, too.
    ///
    /// # Errors
    /// An error beyond the form of the fields: values out of range, unknown kinds, files that
    /// cannot be used, nodes without a path between them.
    pub fn effective(&self) -> Result<Value, ConfigError> {
        for (index, file) in self.table.plugins.iter().enumerate() {
            let is_loaded = self.registry.plugins.contains_key(file);
            let is_there = is_loaded || self.base.join(file).is_file();
            require(is_there, &format!("plugins[{index}]"), || {
                format!("there is no file \"{file}\"")
            })?;
        }
        // Building finds all errors. A check must not create the files that a run writes.
        self.without_captures().world(self.table.seed)?;
        let mut tree = to_object(&self.table);
        // `tcp` is part of each traffic entry.
        tree.retain(|field, value| field != "tcp" && !is_empty(value));
        tree.insert("sample".into(), json!(self.sample()));
        let pairs: Vec<_> =
            self.links.chunks(2).map(|pair| self.both_ways(pair)).collect::<Result<_, _>>()?;
        let in_row = self.row.as_ref().map_or(0, |row| row.hops as usize);
        if let Some(row) = &self.row {
            let mut table = without_ends(self.both_ways(&row.shared)?);
            table.insert("access".into(), Value::Object(to_object(&row.access)));
            if self.table.parking_lot.is_some() {
                table.insert("hops".into(), row.hops.into());
            }
            if !row.own.is_empty() {
                let own = |hop: &u32| {
                    let table = without_ends(pairs[*hop as usize - 1].clone());
                    (hop.to_string(), Value::Object(table))
                };
                table.insert("hop".into(), row.own.iter().map(own).collect());
            }
            tree.insert(row.path.into(), Value::Object(table));
        }
        let links = pairs.into_iter().skip(in_row).map(Value::Object).collect();
        tree.insert("link".into(), Value::Array(links));
        if let Some(wireless) = &self.table.wireless {
            let mut table = to_object(wireless);
            let queue = self.registry.disciplines.effective(&wireless.queue, &wireless.setting());
            let queue = queue.map_err(|error| error.within("wireless.queue"))?;
            table.insert("queue".into(), queue);
            tree.insert("wireless".into(), Value::Object(table));
        }
        tree.insert("route".into(), json!(self.table.route));
        if !self.profiles.is_empty() {
            let profiles = self.profiles.iter().map(NamedProfile::effective);
            tree.insert("profile".into(), profiles.collect());
        }
        tree.insert("traffic".into(), self.traffic.iter().map(Traffic::effective).collect());
        if !self.changes.is_empty() {
            tree.insert("change".into(), Value::Array(self.effective_changes()?));
        }
        Ok(Value::Object(tree))
    }

    /// The table of a link with its reverse direction, with every default filled in.
    fn both_ways(&self, pair: &[DirectedLink]) -> Result<Map<String, Value>, ConfigError> {
        let mut tables = pair.iter().map(|link| {
            let mut table = to_object(&link.table);
            if let Some(queue) = link.queue(&self.base, &self.registry.disciplines)? {
                table.insert("queue".into(), queue);
            }
            if let Some(block) = &link.table.middlebox {
                let block = self
                    .registry
                    .boxes
                    .effective(block, &Some(link.setting(&self.base)?))
                    .map_err(|error| error.within(&format!("{}.box", link.path)))?;
                table.insert("box".into(), block);
            }
            Ok(table)
        });
        let mut next = || tables.next().expect("links come in pairs");
        let (mut table, reverse) = (next()?, next()?);
        table.insert("reverse".into(), Value::Object(without_ends(reverse)));
        Ok(table)
    }

    fn without_captures(&self) -> Scenario {
        let mut scenario = self.clone();
        scenario.links.iter_mut().for_each(|link| link.table.pcap = None);
        scenario.table.tcp_trace = None;
        scenario
    }
}

fn read_links(table: &ScenarioTable) -> Result<(Vec<DirectedLink>, Option<Row>), ConfigError> {
    let row = match (&table.dumbbell, &table.parking_lot) {
        (Some(_), Some(_)) => {
            return Err(ConfigError::new("parking_lot", "give it or `dumbbell`, not both"));
        }
        (Some(dumbbell), None) => Some(Row::dumbbell(dumbbell)?),
        (None, Some(lot)) => Some(Row::parking_lot(lot)?),
        (None, None) => None,
    };
    let (row, mut links) = row.map_or((None, Vec::new()), |(row, links)| (Some(row), links));
    for (index, link) in table.link.iter().enumerate() {
        links.extend(directions(link, &format!("link[{index}]"))?);
    }
    require(!links.is_empty() || table.wireless.is_some(), "link", || {
        "there is no link; give [[link]] entries, a [dumbbell], a [parking_lot] or [wireless]"
            .into()
    })?;
    Ok((links, row))
}

impl Traffic {
    /// Reads the `entry` at path `place`; `defaults` is the `tcp` of the scenario.
    fn read(
        entry: &Map<String, Value>,
        place: &str,
        defaults: &Map<String, Value>,
        registry: &Registry,
        base: &Path,
    ) -> Result<Self, ConfigError> {
        let own = Traffic::read_own(entry, registry, base);
        let (table, source, params) = own.map_err(|error| error.within(place))?;
        let mut tcp = defaults.clone();
        // Parameters of the preset's stack are nothing to another preset.
        let of_preset =
            |stack: &Value| stack.as_object().is_some_and(|it| !it.contains_key("kind"));
        if table.tcp.get("preset").is_some_and(|own| Some(own) != defaults.get("preset"))
            && tcp.get("stack").is_some_and(of_preset)
        {
            tcp.remove("stack");
        }
        tcp.extend(table.tcp.clone());
        let tcp = TcpConfig::read_valid(&tcp, &registry.controls, &registry.stacks);
        let tcp = tcp.map_err(|error| {
            let field = error.path.split('.').next().unwrap_or_default();
            let is_own = table.tcp.contains_key(field)
                || (!table.tcp.is_empty() && !defaults.contains_key(field));
            let error = error.within("tcp");
            if is_own { error.within(place) } else { error }
        })?;
        Ok(Traffic { table, source, params, tcp })
    }

    /// Reads what does not depend on the `tcp` of the scenario: the table, the source and its
    /// parameters.
    fn read_own(
        entry: &Map<String, Value>,
        registry: &Registry,
        base: &Path,
    ) -> Result<(TrafficTable, Entry<Generator>, Value), ConfigError> {
        let (mut common, params): (Map<_, _>, Map<_, _>) =
            entry.clone().into_iter().partition(|(key, _)| TRAFFIC_FIELDS.contains(&key.as_str()));
        if !common.contains_key("name") {
            let kind = common.get("kind").cloned().unwrap_or_default();
            common.insert("name".into(), kind);
        }
        let mut table: TrafficTable = read(&Value::Object(common))?;
        if table.from.is_none() && table.to.is_none() {
            table.direction.get_or_insert_default();
        }
        within("flows", table.flows, 1..=10_000_000)?;
        require(table.drop_precedence < 8, "drop_precedence", || "must be 0 to 7".into())?;
        let source = registry.sources.find(&table.kind).map_err(|error| match &*table.kind {
            "quic" => ConfigError::new(
                "kind",
                "this engine was built without \"quic\"; build it with the feature of this name \
                 (docs/endpoints.md)",
            ),
            _ => error,
        })?;
        let source = source.clone();
        let own = table.ecn.is_some() && source.facts.transport == Transport::Tcp;
        require(!own, "ecn", || {
            "is for datagrams; TCP's packets are ECN-capable with `tcp.ecn`".into()
        })?;
        let site = BuildSite::nowhere(base);
        let params = source.effective(&Value::Object(params.clone()), &site).map_err(|error| {
            let own = source.fields();
            let known = || TRAFFIC_FIELDS.iter().copied().chain(own.iter().map(String::as_str));
            match params.keys().find(|key| known().all(|field| field != *key)) {
                Some(key) => {
                    ConfigError::new(key, unknown("field", key, &known().collect::<Vec<_>>()))
                }
                None => error,
            }
        })?;
        Ok((table, source, params))
    }

    /// Voice codec, for the quality of calls.
    pub(crate) fn codec(&self) -> Option<Codec> {
        (self.table.kind == "voice").then(|| read(&self.params["codec"]).ok()).flatten()
    }

    fn effective(&self) -> Value {
        let mut whole = to_object(&self.table);
        whole.extend(to_object(&self.params));
        if self.source.facts.transport == Transport::Tcp {
            whole.insert("tcp".into(), Value::Object(to_object(&self.tcp)));
        }
        Value::Object(whole)
    }

    /// The capture file that it replays, if it does.
    fn capture(&self) -> Option<String> {
        let site = BuildSite::nowhere(Path::new(""));
        let file = self.source.reads(&self.params, &site).expect("they have been read before");
        file.filter(|file| !file.is_empty())
    }

    /// `field` of the course of each parameter that varies, with the parameter's name.
    fn of_courses<'a>(&'a self, field: &str) -> impl Iterator<Item = (&'static str, &'a Value)> {
        let course = |name| Some((name, self.params[name].get(field)?));
        VARYING.into_iter().filter_map(course).collect::<Vec<_>>().into_iter()
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The table of a link, without the fields that its place in the file implies.
fn without_ends(mut table: Map<String, Value>) -> Map<String, Value> {
    ["name", "from", "to"].iter().for_each(|field| drop(table.remove(*field)));
    table
}

fn to_object<T: serde::Serialize>(value: &T) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => unreachable!("tables are plain data"),
    }
}

fn check_unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        require(seen.insert(name), what, || {
            format!("two entries are called \"{name}\"; names must be unique")
        })?;
    }
    Ok(())
}
