//! Traffic entries that join while a lane runs.

use crate::host::{Host, Stop, refuse};
use crate::lane::Lane;
use crate::written::{Entry, instant, list, text};
use serde_json::{Value, json};

/// What a burst has from the entry that it is like.
const KEPT: [&str; 8] =
    ["from", "to", "direction", "hop", "q", "precedence", "drop_precedence", "dscp"];
/// Rate of a burst, in bit/s: that of the hosts' own links, or a hundred times the watched link's.
const RATE: u64 = 1_000_000_000;

/// A traffic entry of what is resolved, by its place.
pub(crate) fn entry(resolved: &Value, place: u64) -> Result<&Value, Stop> {
    let entries = list(&resolved["traffic"]);
    let found = usize::try_from(place).ok().and_then(|place| entries.get(place));
    found.map_or_else(|| refuse(format!("there is no traffic entry {place}")), Ok)
}

/// The entry with a name that nobody has.
pub(crate) fn named<H: Host + Clone + 'static>(
    lane: &Lane<H>,
    mut traffic: Entry,
) -> Result<Entry, Stop> {
    let taken = lane.names()?;
    let own = ["name", "kind"].iter().find_map(|field| match traffic.get(*field)? {
        Value::Null => None,
        Value::String(name) if name.is_empty() => None,
        Value::String(name) => Some(name.clone()),
        other => Some(other.to_string()),
    });
    let wanted = own.unwrap_or_else(|| "traffic".to_owned());
    let others = (2..).map(|number| format!("{wanted}-{number}"));
    let free = std::iter::once(wanted.clone()).chain(others).find(|name| !taken.contains(name));
    traffic.insert("name".into(), free.into());
    Ok(traffic)
}

/// Datagrams at once, like entry `like`, or the first one that crosses the watched link.
pub(crate) fn burst<H: Host + Clone + 'static>(
    lane: &mut Lane<H>,
    (packets, size): (u32, u32),
    like: Option<u64>,
    watched: Option<&str>,
) -> Result<Entry, Stop> {
    let (tree, resolved) = lane.present()?;
    let crosses = |entry: &Value| {
        watched.is_some_and(|link| list(&entry["links"]).iter().any(|each| each == link))
    };
    let first = || list(&resolved["traffic"]).iter().position(crosses).unwrap_or(0) as u64;
    let place = like.unwrap_or_else(first);
    entry(&resolved, place)?;
    let like = &tree["traffic"][place as usize];
    let span_ns = u64::from(packets) * u64::from(size) * 8 * 1_000_000_000 / RATE;
    let kept = KEPT.iter().filter_map(|key| Some(((*key).to_owned(), like.get(key)?.clone())));
    let mut table: Entry = kept.collect();
    let own = json!({
        "name": "burst",
        "kind": "cbr",
        "rate": "1Gbit",
        "size": format!("{size}B"),
        "stop": instant(lane.times()?.0 + span_ns),
    });
    if let Value::Object(own) = own {
        table.extend(own);
    }
    named(lane, table)
}

/// A change as a page shows it.
pub(crate) fn in_words(entry: &Entry) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Object(table) => {
            let name = ["label", "kind"].iter().find_map(|field| table.get(*field)?.as_str());
            name.map_or_else(|| json!(table).to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    if let Some(Value::Object(fields)) = entry.get("set") {
        let each = fields.iter().map(|(path, new)| format!("{path} = {}", value(new)));
        return each.collect::<Vec<_>>().join(", ");
    }
    if let Some(traffic) = entry.get("join") {
        let name = ["name", "kind"].iter().map(|field| text(&traffic[field]));
        return format!("{} joins", name.into_iter().find(|name| !name.is_empty()).unwrap_or("?"));
    }
    format!("{} leaves", entry.get("leave").map(text).unwrap_or_default())
}
