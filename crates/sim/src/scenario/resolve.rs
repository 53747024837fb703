//! Contents of a scenario: links by name, traffic, and files that it reads. Also puts a queue on a link.

use super::grammar::LinkTable;
use super::graph::listed;
use super::link::DirectedLink;
use super::{Scenario, Traffic};
use crate::Registry;
use crate::pcap_in;
use forebay_core::config::require;
use forebay_core::{ConfigError, file};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Written instead of a link's name for all links that have a queue.
const EVERY_LINK: &str = "*";

impl Scenario {
    /// Links, traffic and files, as [`Scenario::summary`](crate::summary()) names them:
    /// - `links`: every directed link in the order of the summary. `path` is that of its table in
    ///   the file. `queue_path` is where its queue is written, or would be. `queue` has every
    ///   default filled in. `shares_with` are the other links whose queue is written at the same
    ///   place. `rate_bps` and `delay_s` are null if they vary.
    /// - `traffic`: every entry with its class, its transport, the criterion by which it is judged,
    ///   whether it replays a capture (`open_loop`), its ends and the links on its path.
    /// - `files`: every file that is read, with the path of the field that names it first.
    /// - `default_link`: the link on which disciplines are compared, if it must be named after the
    ///   `[compare]` table is removed: that of `compare`, "*" for all, or the only one. It is null
    ///   for a dumbbell and a parking lot, whose tables have one place for a queue, and if a link
    ///   must be chosen.
    ///
    /// # Errors
    /// A queue is wrong, a trace cannot be read, or there is no path between two ends.
    pub fn resolve(&self) -> Result<Value, ConfigError> {
        let table = &self.table;
        let mut sharing: HashMap<&str, Vec<&str>> = HashMap::new();
        for link in &self.links {
            sharing.entry(&link.queue_path).or_default().push(&link.table.name);
        }
        let link = |(index, link): (usize, &DirectedLink)| {
            self.link_of(index, link, &sharing[link.queue_path.as_str()])
        };
        let links = self.links.iter().enumerate().map(link);
        let files = self.files().map(|(file, path)| json!({ "file": file, "path": path }));
        Ok(json!({
            "title": table.title,
            "duration_s": table.duration.as_secs_f64(),
            "warmup_s": table.warmup.as_secs_f64(),
            "seed": table.seed,
            "links": links.collect::<Result<Vec<_>, _>>()?,
            "traffic": self.resolve_traffic()?,
            "files": files.collect::<Vec<_>>(),
            "default_link": self.default_link(),
        }))
    }

    fn default_link(&self) -> Option<&str> {
        let only = match self.links.as_slice() {
            [forward, _] if matches!(forward.path.as_str(), "dumbbell" | "parking_lot") => None,
            [forward, _] => Some(forward.table.name.as_str()),
            _ => None,
        };
        self.chosen(None).or(only)
    }

    /// The entry of a link, one of the `sharing` whose queue is written at the same place.
    fn link_of(
        &self,
        index: usize,
        link: &DirectedLink,
        sharing: &[&str],
    ) -> Result<Value, ConfigError> {
        let table = &link.table;
        let shares = sharing.iter().filter(|other| **other != table.name);
        Ok(json!({
            "name": table.name,
            "from": table.from,
            "to": table.to,
            "reverse": index % 2 == 1,
            "path": link.path,
            "queue_path": link.queue_path,
            "queue": link.queue(&self.base, &self.registry.disciplines)?,
            "shares_with": shares.collect::<Vec<_>>(),
            "rate_bps": link.rate().constant().map(|rate| rate.bps()),
            "delay_s": table.delay.constant().map(|delay| delay.as_secs_f64()),
            "loss": table.loss.constant(),
            "pcap": table.pcap,
        }))
    }

    fn resolve_traffic(&self) -> Result<Vec<Value>, ConfigError> {
        let paths = self.paths(&self.graph()?)?;
        let (classes, class_of) = self.classes();
        let entries = self.traffic.iter().zip(paths).enumerate();
        entries
            .map(|(index, (entry, paths))| {
                let Traffic { table, source, .. } = entry;
                let (from, to) = self.ends(table)?;
                let mut links: Vec<&str> = Vec::new();
                for hop in paths.iter().flat_map(|way| way.forward_links()) {
                    let name = self.links[hop].table.name.as_str();
                    if !links.contains(&name) {
                        links.push(name);
                    }
                }
                Ok(json!({
                    "name": table.name,
                    "kind": table.kind,
                    "class": classes[class_of[index] as usize],
                    "flows": table.flows,
                    "transport": source.facts.transport,
                    "judged_by": source.facts.judged_by,
                    "open_loop": entry.capture().is_some(),
                    "from": from,
                    "to": to,
                    "path": format!("traffic[{index}]"),
                    "links": links,
                }))
            })
            .collect()
    }

    /// Every file that is read, as written, with the path of the field that names it first.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, String)> {
        let plugins = self.table.plugins.iter().enumerate();
        let plugins = plugins.map(|(index, file)| (file.clone(), format!("plugins[{index}]")));
        let traces = self.links.iter().flat_map(|link| {
            let LinkTable { delay, loss, .. } = &link.table;
            let courses =
                [("rate", link.rate().file()), ("delay", delay.file()), ("loss", loss.file())];
            courses.into_iter().filter_map(|(field, file)| {
                Some((file?.to_owned(), format!("{}.{field}.trace", link.path)))
            })
        });
        let sources = self.last().traffic.iter().enumerate();
        let sources = sources.flat_map(|(index, entry)| {
            let capture = entry.capture().map(|file| (file, format!("traffic[{index}].file")));
            let traces = entry.of_courses("trace").filter_map(move |(field, file)| {
                Some((file.as_str()?.to_owned(), format!("traffic[{index}].{field}.trace")))
            });
            capture.into_iter().chain(traces)
        });
        let mut files: Vec<(String, String)> = Vec::new();
        for (file, path) in plugins.chain(traces).chain(sources) {
            if files.iter().all(|(known, _)| *known != file) {
                files.push((file, path));
            }
        }
        files.into_iter()
    }

    /// A hash, in hexadecimal digits, of everything that decides what a run does except its seed:
    /// the effective scenario, the content of the files that it reads and the version of the
    /// engine. Its title, the tables to keep, `[compare]`, `[tune]`, and positions on a map do not
    /// count.
    ///
    /// # Errors
    /// As [`Scenario::effective`], or a file cannot be read.
    pub fn identity(&self) -> Result<String, ConfigError> {
        let mut tree = self.effective()?;
        if let Value::Object(tree) = &mut tree {
            for field in ["title", "seed", "tables", "compare", "tune", "positions", "agent"] {
                tree.remove(field);
            }
        }
        tree.sort_all_objects();
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            // Lengths separate the parts.
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(tree.to_string().as_bytes());
        for (file, path) in self.files() {
            if let Some(hash) = self.registry.plugins.get(&file) {
                add(hash.as_bytes());
                continue;
            }
            let content = file::read(&self.base.join(&file), pcap_in::LARGEST);
            let content = content
                .map_err(|error| ConfigError::new(&path, format!("cannot be read: {error}")))?;
            add(&content);
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The plug-ins that it names, each with the SHA-256 of its content; null if it is not loaded.
    pub fn plugins(&self) -> Value {
        let loaded = &self.registry.plugins;
        let of = |file: &String| json!({ "file": file, "sha256": loaded.get(file) });
        self.table.plugins.iter().map(of).collect()
    }

    /// Index of the link called `name`.
    ///
    /// # Errors
    /// There is none. The message lists the names that exist.
    pub fn link(&self, name: &str) -> Result<usize, ConfigError> {
        self.links.iter().position(|link| link.table.name == name).ok_or_else(|| {
            let message = format!("no link is called \"{name}\"; {}", self.link_names());
            ConfigError::new("", message)
        })
    }

    fn link_names(&self) -> String {
        let forward = self.links.iter().step_by(2);
        let names: Vec<_> = forward.map(|link| format!("\"{}\"", link.table.name)).collect();
        if names.is_empty() {
            return "there is none".into();
        }
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        format!("one of {}, or its name with \"-reverse\"", listed(&names))
    }

    /// The link that is chosen for disciplines: `link`, or else that of `compare`.
    fn chosen<'a>(&'a self, link: Option<&'a str>) -> Option<&'a str> {
        link.or_else(|| self.table.compare.as_ref()?.link.as_deref())
    }

    /// The links on which disciplines are compared: the chosen one, or every link with a queue if
    /// that is "*". Otherwise the only link, a dumbbell's, or every hop of a parking lot, forward.
    /// The measures of the first one are shown.
    ///
    /// # Errors
    /// There is no such link, or there are several and none is chosen.
    pub(super) fn compared(&self, link: Option<&str>) -> Result<Vec<usize>, ConfigError> {
        match self.chosen(link) {
            Some(EVERY_LINK) => return self.with_queues(),
            Some(name) => return Ok(vec![self.link(name)?]),
            None => {}
        }
        match (&self.row, self.links.len()) {
            (Some(row), _) => Ok((0..row.hops as usize).map(|hop| 2 * hop).collect()),
            (None, 2) => Ok(vec![0]),
            (None, 0) => {
                Err(ConfigError::new("link", "there is none; add a [[link]] or a [dumbbell]"))
            }
            (None, _) => Err(ConfigError::new(
                "compare.link",
                format!("say on which link to put the disciplines, {}", self.link_names()),
            )),
        }
    }

    /// The links that have a queue.
    ///
    /// # Errors
    /// None has one.
    fn with_queues(&self) -> Result<Vec<usize>, ConfigError> {
        let links = self.links.iter().enumerate();
        let found: Vec<_> =
            links.filter_map(|(index, link)| link.table.queue.as_ref().map(|_| index)).collect();
        require(!found.is_empty(), "", || {
            "no link has a queue that could be replaced; write one, such as \
             queue = { kind = \"fifo\" }"
                .into()
        })?;
        Ok(found)
    }

    /// Name of the link whose measures a comparison shows, if disciplines are put on `link`.
    ///
    /// # Errors
    /// As [`with_queue`].
    pub fn compared_link(&self, link: Option<&str>) -> Result<String, ConfigError> {
        Ok(self.links[self.compared(link)?[0]].table.name.clone())
    }
}

/// The document `tree`, with `queue` on `link`. `link` is the name of any link, or "*" for every
/// link that has a queue. Without it: the link of `compare`, or else the only one, a dumbbell's, or
/// every hop of a parking lot, forward. The rest of the document does not change.
///
/// # Errors
/// The document is not a scenario, there is no such link, or there are several and none is chosen.
pub fn with_queue(
    tree: &Value,
    base: &Path,
    link: Option<&str>,
    queue: &Value,
    registry: &Arc<Registry>,
) -> Result<Value, ConfigError> {
    let scenario = Scenario::read(tree, base, registry)?;
    let links = scenario.compared(link)?;
    let mut tree = tree.clone();
    match (&scenario.row, links.as_slice()) {
        // The shared table has the queue, and no hop a queue of its own.
        (Some(row), [_, _, ..]) if scenario.chosen(link) != Some(EVERY_LINK) => {
            for hop in &row.own {
                table_at(&mut tree, &format!("{}.hop.{hop}", row.path)).remove("queue");
            }
            table_at(&mut tree, row.path).insert("queue".into(), queue.clone());
        }
        (_, links) => {
            for &link in links {
                let place = &scenario.links[link].place;
                table_at(&mut tree, place).insert("queue".into(), queue.clone());
            }
        }
    }
    Ok(tree)
}

/// The table at `path` of a document that has been read as a scenario. Created if it is missing.
fn table_at<'a>(tree: &'a mut Value, path: &str) -> &'a mut Map<String, Value> {
    let mut at = tree;
    for step in path.split('.') {
        at = match step.split_once('[') {
            Some((list, index)) => {
                let index: usize = index.trim_end_matches(']').parse().expect("a path of ours");
                &mut at[list][index]
            }
            None => &mut at[step],
        };
        if at.is_null() {
            *at = json!({});
        }
    }
    at.as_object_mut().expect("it has been read as a table")
}
