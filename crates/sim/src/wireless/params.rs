//! The wireless network in a scenario.

use super::contention::{self, Airtimes};
use super::place::{Point, Track, TrackTable};
use super::propagation::RadioTable;
use forebay_core::config::require;
use forebay_core::{ConfigError, Rate, Setting, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

params! {
    /// Stations that share one channel, with multi-hop routes between them.
    pub struct WirelessTable {
        /// Rate of frames to one station. Above 0.
        pub rate: Rate = Rate::from_bps(2_000_000),
        /// Rate of broadcasts and acknowledgments. Above 0.
        pub basic_rate: Rate = Rate::from_bps(1_000_000),
        /// Transmissions of a frame until its link counts as broken (dot11ShortRetryLimit). 1 to
        /// 255.
        pub attempts: u8 = 7,
        /// Queue discipline of every station; routing messages go before.
        pub queue: Value = json!({ "kind": "fifo", "limit": "50p" }),
        /// The radio, the same for all.
        pub radio: RadioTable = RadioTable::default(),
        /// Single stations. One that has the name of a link's node joins the two: a base station.
        pub node: Vec<NodeTable> = Vec::new(),
        /// Stations in rows and columns.
        pub grid: Vec<GridTable> = Vec::new(),
    }
}

/// One station.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeTable {
    /// Its name.
    pub name: String,
    /// Position of one that does not move: x and y in m. Give `at` or `track`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<(f64, f64)>,
    /// Track of one that moves: `[["0s", 100, 200], ["10s", 300, 200]]`, straight between these points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<TrackTable>,
}

/// Stations in rows and columns, called `<name>-<row>-<column>`, counted from 1.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridTable {
    /// Name; as `from` or `to` of a traffic entry it spreads the flows over the stations in turn.
    pub name: String,
    /// Rows, upwards.
    pub rows: u16,
    /// Columns, to the right.
    pub columns: u16,
    /// Distance in m between neighbours. Above 0.
    pub spacing: f64,
    /// Position of the first station: x and y in m.
    #[serde(default)]
    pub at: (f64, f64),
}

/// Most stations of a network.
const MOST_STATIONS: usize = 1000;

/// A station.
#[derive(Debug, Clone)]
pub struct Site {
    pub name: String,
    pub track: Track,
}

impl GridTable {
    /// Names of its stations, row by row.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let name = |row, column| format!("{}-{row}-{column}", self.name);
        (1..=self.rows).flat_map(move |row| (1..=self.columns).map(move |column| name(row, column)))
    }

    fn sites(&self) -> impl Iterator<Item = Site> + '_ {
        let place = |index: usize| Point {
            x: self.at.0 + self.spacing * (index % usize::from(self.columns)) as f64,
            y: self.at.1 + self.spacing * (index / usize::from(self.columns)) as f64,
        };
        let site = move |(index, name)| Site { name, track: Track::fixed(place(index)) };
        self.names().enumerate().map(site)
    }
}

impl WirelessTable {
    /// The properties that the stations' queues may know.
    pub fn setting(&self) -> Setting {
        Setting::new(self.rate, contention::MAC_HEADER as u32, 1500)
    }

    pub fn airtimes(&self) -> Airtimes {
        Airtimes { rate: self.rate, basic_rate: self.basic_rate }
    }

    /// All stations: the single ones, then the grids'.
    pub fn sites(&self) -> Result<Vec<Site>, ConfigError> {
        for (field, rate) in [("rate", self.rate), ("basic_rate", self.basic_rate)] {
            require(rate.bps() > 0, field, || "must be greater than 0".into())?;
        }
        require(self.attempts > 0, "attempts", || "must be 1 to 255, got 0".into())?;
        self.radio.check().map_err(|error| error.within("radio"))?;
        let mut sites = Vec::new();
        for (index, node) in self.node.iter().enumerate() {
            let site = node.site().map_err(|error| error.within(&format!("node[{index}]")))?;
            sites.push(site);
        }
        for (index, grid) in self.grid.iter().enumerate() {
            let path = format!("grid[{index}]");
            let count = usize::from(grid.rows) * usize::from(grid.columns);
            require(count > 0, &path, || "must have at least one row and column".into())?;
            require(grid.spacing.is_finite() && grid.spacing > 0.0, "spacing", || {
                format!("must be greater than 0, got {}", grid.spacing)
            })
            .map_err(|error| error.within(&path))?;
            require(sites.len() + count <= MOST_STATIONS, &path, || {
                format!("a network has at most {MOST_STATIONS} stations")
            })?;
            sites.extend(grid.sites());
        }
        require(sites.len() >= 2, "", || {
            "needs at least two stations; give `node` and `grid` entries".into()
        })?;
        require(sites.len() <= MOST_STATIONS, "node", || {
            format!("a network has at most {MOST_STATIONS} stations")
        })?;
        let mut seen = std::collections::HashSet::new();
        for site in &sites {
            require(seen.insert(&site.name), "node", || {
                format!("two stations are called \"{}\"; names must be unique", site.name)
            })?;
        }
        Ok(sites)
    }
}

impl NodeTable {
    fn site(&self) -> Result<Site, ConfigError> {
        let track = match (&self.at, &self.track) {
            (Some((x, y)), None) => {
                require(x.is_finite() && y.is_finite(), "at", || "must be finite".into())?;
                Track::fixed(Point { x: *x, y: *y })
            }
            (None, Some(track)) => Track::new(track).map_err(|error| error.within("track"))?,
            _ => return Err(ConfigError::new("at", "give either `at` or `track`")),
        };
        Ok(Site { name: self.name.clone(), track })
    }
}
