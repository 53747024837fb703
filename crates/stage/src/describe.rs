//! The message `stage`: what does not move.

use crate::fields;
use crate::host::{Host, Stop};
use crate::lane::Lane;
use crate::vocabulary::Vocabulary;
use crate::written::{link_of, list, nanoseconds, text};
use forebay_sim::scenario;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What all lanes share in a description.
pub(crate) struct Scene<'a> {
    pub(crate) watched: Option<&'a str>,
    pub(crate) grain_ns: u64,
    /// The recorded changes, the stories and the place in one, as they are shown.
    pub(crate) changes: Vec<Value>,
    pub(crate) stories: Vec<Value>,
    pub(crate) story: &'a Value,
    pub(crate) vocabulary: &'a Vocabulary,
}

/// All that does not move of these lanes, at the present instant.
pub(crate) fn stage<H: Host + Clone + 'static>(
    lanes: &mut [Lane<H>],
    scene: Scene,
) -> Result<Value, Stop> {
    let resolved = lanes.iter_mut().map(|lane| Ok(lane.present()?.1));
    let resolved = resolved.collect::<Result<Vec<Value>, Stop>>()?;
    let (first, whole) = (&lanes[0], &resolved[0]);
    let shown = first.run()?.world.shown();
    let (links, classes) = (list(&whole["links"]), list(&shown["classes"]));
    let name = &first.written.name;
    let title = text(&whole["title"]);
    let class = |(place, name): (usize, &Value)| json!({ "id": place, "name": name });
    let link = |link: &Value| show_link(link, scene.watched);
    let each = lanes.iter().zip(&resolved).enumerate();
    let lanes = each.map(|(number, (lane, resolved))| show_lane(number, lane, resolved, &scene));
    Ok(json!({
        "type": "stage",
        "title": if title.is_empty() { name } else { title },
        "scenario": name,
        "duration_s": whole["duration_s"],
        "warmup_s": whole["warmup_s"],
        "grain_s": scene.grain_ns as f64 / 1e9,
        "watched": scene.watched,
        "nodes": nodes(links),
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "classes": classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        "flows": flows(whole, &shown, scene.watched),
        "traffic": traffic(first, whole, classes)?,
        "lanes": lanes.collect::<Vec<_>>(),
        "fields": link_fields(links, &scene),
        "kinds": scene.vocabulary.choices(),
        "changes": scene.changes,
        "stories": scene.stories,
        "story": scene.story,
    }))
}

/// Paths of the fields that a description shows.
pub(crate) fn paths(stage: &Value) -> impl Iterator<Item = &str> {
    let lanes = list(&stage["lanes"]).iter().map(|lane| &lane["fields"]);
    let groups = std::iter::once(&stage["fields"]).chain(lanes);
    groups.flat_map(|group| list(group).iter().map(|field| text(&field["path"])))
}

/// Path and table of the watched queue, with the box in front of it.
fn queue(tree: &Value, resolved: &Value, watched: Option<&str>) -> (String, Map<String, Value>) {
    let Some(link) = watched.and_then(|name| link_of(resolved, name)) else {
        return Default::default();
    };
    let default = || Map::from_iter([("kind".to_owned(), "fifo".into())]);
    let mut table = link["queue"].as_object().cloned().unwrap_or_else(default);
    let place = format!("{}.box", text(&link["path"]));
    if let Ok(Some(block)) = scenario::path::get(tree, &place) {
        table.insert("box".into(), block.clone());
    }
    (text(&link["queue_path"]).to_owned(), table)
}

fn show_lane<H>(number: usize, lane: &Lane<H>, resolved: &Value, scene: &Scene) -> Value {
    let (path, queue) = queue(&lane.written.tree, resolved, scene.watched);
    let (packets, bytes) = fields::limits(&queue);
    json!({
        "id": number,
        "label": lane.label,
        "colour": number,
        "kind": queue.get("kind").map_or("combination", text),
        "fields": fields::of_queue(&path, &queue, scene.vocabulary),
        "queue": queue,
        "limit_packets": packets,
        "limit_bytes": bytes,
    })
}

fn show_link(link: &Value, watched: Option<&str>) -> Value {
    json!({
        "name": link["name"],
        "source": link["from"],
        "target": link["to"],
        "reverse": link["reverse"],
        "rate_bps": link["rate_bps"],
        "delay_s": link["delay_s"],
        "queue": link["queue"]["kind"],
        "watched": Some(text(&link["name"])) == watched,
    })
}

/// Fields of the links, those of the watched one first.
fn link_fields(links: &[Value], scene: &Scene) -> Vec<Value> {
    let is_watched = |link: &&Value| Some(text(&link["name"])) == scene.watched;
    let others = links.iter().filter(|link| link["reverse"] == false && !is_watched(link));
    let shown = links.iter().filter(is_watched).chain(others);
    shown.flat_map(|link| fields::of_link(link, scene.vocabulary)).collect()
}

fn flows(resolved: &Value, shown: &Value, watched: Option<&str>) -> Vec<Value> {
    let rows = list(&shown["flows"]);
    let mut mates: HashMap<u64, u32> = HashMap::new();
    for row in rows {
        *mates.entry(row["traffic"].as_u64().unwrap_or_default()).or_default() += 1;
    }
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let flows = rows.iter().enumerate().map(|(place, row)| {
        let traffic = row["traffic"].as_u64().unwrap_or_default();
        let entry = &resolved["traffic"][traffic as usize];
        let number = seen.entry(traffic).or_default();
        *number += 1;
        let number = if mates[&traffic] > 1 { format!(" {number}") } else { String::new() };
        let crosses = |link: &Value| Some(text(link)) == watched;
        json!({
            "id": place,
            "name": format!("{}{number}", text(&entry["name"])),
            "traffic": row["traffic"],
            "class_id": row["class"],
            "flows": row["flows"],
            "transport": entry["transport"],
            "watched": list(&entry["links"]).iter().any(crosses),
        })
    });
    flows.collect()
}

fn traffic<H: Host + Clone + 'static>(
    lane: &Lane<H>,
    resolved: &Value,
    classes: &[Value],
) -> Result<Vec<Value>, Stop> {
    let now = lane.times()?.0;
    let (mut joined, mut left) = (HashMap::new(), HashMap::new());
    for change in list(&lane.written.tree["change"]) {
        let at = nanoseconds(&change["at"])?;
        if at > now {
            continue;
        }
        if let Some(entry) = change.get("join") {
            let name = entry.get("name").or(entry.get("kind")).map_or("", text);
            joined.insert(name, at as f64 / 1e9);
        }
        if let Some(name) = change.get("leave") {
            left.insert(text(name), at as f64 / 1e9);
        }
    }
    let entries = list(&resolved["traffic"]).iter().enumerate().map(|(place, entry)| {
        let name = text(&entry["name"]);
        json!({
            "id": place,
            "name": name,
            "kind": entry["kind"],
            "class_id": classes.iter().position(|class| *class == entry["class"]),
            "flows": entry["flows"],
            "joined_s": joined.get(name).unwrap_or(&0.0),
            "left_s": left.get(name),
        })
    });
    Ok(entries.collect())
}

/// The ends of links, from left to right as the links go, those of a column below each other.
fn nodes(links: &[Value]) -> Vec<Value> {
    let forward = links.iter().filter(|link| link["reverse"] == false);
    let forward: Vec<_> = forward.map(|link| (text(&link["from"]), text(&link["to"]))).collect();
    let mut columns: Vec<(&str, usize)> = Vec::new();
    for name in forward.iter().flat_map(|(from, to)| [*from, *to]) {
        if columns.iter().all(|(known, _)| *known != name) {
            columns.push((name, 0));
        }
    }
    let places: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(place, (name, _))| (*name, place)).collect();
    // As often as the longest way has links; ways in a circle end there, too.
    for _ in 0..columns.len() {
        for (from, to) in &forward {
            let next = columns[places[to]].1.max(columns[places[from]].1 + 1);
            columns[places[to]].1 = next.min(columns.len() - 1);
        }
    }
    let mut used: Vec<usize> = columns.iter().map(|(_, column)| *column).collect();
    used.sort_unstable();
    used.dedup();
    let last = used.len().saturating_sub(1).max(1) as f64;
    let node = |(place, (name, column)): (usize, &(&str, usize))| {
        let mates = |all: &[(&str, usize)]| all.iter().filter(|(_, its)| its == column).count();
        let x = used.iter().position(|each| each == column).unwrap_or_default();
        let y = (mates(&columns[..place]) as f64 + 0.5) / mates(&columns) as f64;
        json!({ "name": name, "x": x as f64 / last, "y": y })
    };
    columns.iter().enumerate().map(node).collect()
}
