//! Routers in a row, with separate hosts for every flow: dumbbells and parking lots.

use super::grammar::AccessTable;
use super::link::{DirectedLink, directions};
use forebay_core::ConfigError;
use forebay_core::config::{read, require, within};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Most hops of a parking lot.
const MOST_HOPS: u32 = 100;

/// A dumbbell's two routers, or a parking lot's more.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of its table: "dumbbell" or "parking_lot".
    pub path: &'static str,
    /// The hosts' links.
    pub access: AccessTable,
    /// Number of links between the routers, each in two directions.
    pub hops: u32,
    /// The fields that all hops share, in both directions.
    pub shared: [DirectedLink; 2],
    /// Hops of a parking lot that have a table of their own, counted from 1.
    pub own: Vec<u32>,
}

impl Row {
    /// The dumbbell in `table`, and its link in both directions.
    pub fn dumbbell(table: &Map<String, Value>) -> Result<(Self, Vec<DirectedLink>), ConfigError> {
        let path = "dumbbell";
        let mut table = table.clone();
        let access = access(&mut table).map_err(|error| error.within(path))?;
        let table = between(&table, "bottleneck", "left", "right");
        let shared = directions(&table, path)?;
        let links = shared.to_vec();
        Ok((Row { path, access, hops: 1, shared, own: Vec::new() }, links))
    }

    /// The parking lot in `table`, and its links, both directions of each next to each other.
    pub fn parking_lot(
        table: &Map<String, Value>,
    ) -> Result<(Self, Vec<DirectedLink>), ConfigError> {
        let path = "parking_lot";
        let mut table = table.clone();
        let mut head = || {
            let access = access(&mut table)?;
            let hops = table.remove("hops").map(|hops| read::<u32>(&hops)).transpose();
            let hops = hops.map_err(|error: ConfigError| error.within("hops"))?.unwrap_or(2);
            within("hops", hops, 1..=MOST_HOPS)?;
            Ok((access, hops, own_tables(table.remove("hop"), hops)?))
        };
        let (access, hops, tables) = head().map_err(|error: ConfigError| error.within(path))?;
        let shared = directions(&between(&table, "hop", "left", "right"), path)?;
        let own = (1..=hops).filter(|hop| tables[*hop as usize - 1].is_some()).collect();
        let row = Row { path, access, hops, shared, own };
        let mut links = Vec::new();
        for (hop, own) in (1..).zip(&tables) {
            links.extend(row.hop(hop, &table, own.as_ref())?);
        }
        Ok((row, links))
    }

    /// Both directions of a hop: the fields of `shared`, replaced by those of `own`.
    fn hop(
        &self,
        hop: u32,
        shared: &Map<String, Value>,
        own: Option<&Map<String, Value>>,
    ) -> Result<[DirectedLink; 2], ConfigError> {
        let place = format!("{}.hop.{hop}", self.path);
        let mut table = shared.clone();
        if let Some(own) = own {
            table.extend(own.clone());
            if let (Some(Value::Object(all)), Some(Value::Object(own))) =
                (shared.get("reverse"), own.get("reverse"))
            {
                let mut back = all.clone();
                back.extend(own.clone());
                table.insert("reverse".into(), Value::Object(back));
            }
        }
        let name = format!("hop{hop}");
        let table = between(&table, &name, &self.router(hop - 1), &self.router(hop));
        let mut links = directions(&table, if own.is_some() { &place } else { self.path })?;
        let back = own.and_then(|own| own.get("reverse")).and_then(Value::as_object);
        let tables = [("", own), (".reverse", back)];
        for (link, (direction, own)) in links.iter_mut().zip(tables) {
            let gives = |field| own.is_some_and(|own| own.contains_key(field));
            link.place = format!("{place}{direction}");
            let written = if gives("queue") { &place } else { self.path };
            link.queue_path = format!("{written}{direction}.queue");
            if let (Some(file), false) = (&mut link.table.pcap, gives("pcap")) {
                *file = with_name(file, &link.table.name);
            }
        }
        Ok(links)
    }

    /// Name of the router after this number of hops.
    pub fn router(&self, hops: u32) -> String {
        match hops {
            0 => "left".to_owned(),
            hops if hops == self.hops => "right".to_owned(),
            hops => format!("router{hops}"),
        }
    }
}

fn access(table: &mut Map<String, Value>) -> Result<AccessTable, ConfigError> {
    let own = table.remove("access").unwrap_or_else(|| json!({}));
    let access: AccessTable = read(&own).map_err(|error| error.within("access"))?;
    require(access.rate.bps() > 0, "access.rate", || "must be greater than 0".into())?;
    refuse_ends(table)?;
    Ok(access)
}

fn refuse_ends(table: &Map<String, Value>) -> Result<(), ConfigError> {
    for field in ["name", "from", "to"] {
        require(!table.contains_key(field), field, || {
            "is not allowed here, because the links between the routers have names of their own"
                .into()
        })?;
    }
    Ok(())
}

/// The table of each hop, if there is one. `hop` has them by number.
fn own_tables(
    hop: Option<Value>,
    hops: u32,
) -> Result<Vec<Option<Map<String, Value>>>, ConfigError> {
    let mut tables = vec![None; hops as usize];
    let given: Map<String, Value> = hop
        .map_or(Ok(Map::new()), |hop| read(&hop))
        .map_err(|error: ConfigError| error.within("hop"))?;
    for (key, table) in given {
        let within = |error: ConfigError| error.within(&format!("hop.{key}"));
        let number = (1..=hops).find(|number| number.to_string() == key);
        let number = number.ok_or_else(|| {
            let last = if hops == 1 { String::new() } else { format!(" to {hops}") };
            within(ConfigError::new("", format!("there is no such hop; the hops are 1{last}")))
        })?;
        let mut table: Map<String, Value> = read(&table).map_err(within)?;
        refuse_ends(&table).map_err(within)?;
        // A hop cannot remove a shared field.
        table.retain(|_, value| !value.is_null());
        if let Some(Value::Object(back)) = table.get_mut("reverse") {
            back.retain(|_, value| !value.is_null());
        }
        tables[number as usize - 1] = Some(table);
    }
    Ok(tables)
}

fn between(table: &Map<String, Value>, name: &str, from: &str, to: &str) -> Map<String, Value> {
    let mut table = table.clone();
    for (field, value) in [("name", name), ("from", from), ("to", to)] {
        table.insert(field.into(), value.into());
    }
    table
}

/// `file` with the link's name before the extension: every link writes a file of its own.
fn with_name(file: &str, link: &str) -> String {
    let path = Path::new(file);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    let name = format!("{stem}-{link}{}", extension.unwrap_or_default());
    path.with_file_name(name).to_string_lossy().into_owned()
}
