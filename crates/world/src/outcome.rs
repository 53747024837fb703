//! What a run has found, and checks of it.

use crate::picture::picture;
use forebay_sim::Table;
use serde_json::Value;
use std::ops::RangeBounds;

/// The results of a run. A check that fails panics with a message and a picture of the run.
#[derive(Debug, Clone)]
pub struct Outcome {
    summary: Value,
    tables: Vec<Table>,
}

impl Outcome {
    pub(crate) fn new(summary: Value, tables: Vec<Table>) -> Self {
        Outcome { summary, tables }
    }

    /// All measures, by their names in the summary of a run.
    pub fn summary(&self) -> &Value {
        &self.summary
    }

    /// The series over time, and the distributions of delays.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The hash of all that happened. Equal scenarios, endpoints and seeds have equal ones.
    pub fn fingerprint(&self) -> &str {
        self.summary["fingerprint"].as_str().unwrap_or_default()
    }

    /// A number of the summary by its path, such as `["queues", "bottleneck", "loss"]`.
    ///
    /// # Panics
    /// There is no such number.
    #[track_caller]
    pub fn number(&self, path: &[&str]) -> f64 {
        let at = |value: &'_ Value, key: &&str| value.get(*key).cloned().unwrap_or(Value::Null);
        let found = path.iter().fold(self.summary.clone(), |value, key| at(&value, key));
        let number = found.as_f64();
        number.unwrap_or_else(|| panic!("the summary has no number {}: {found}", path.join(".")))
    }

    /// Rate at which data reached the application of `name`, the sum of its flows, in bit/s.
    ///
    /// # Panics
    /// No traffic has this name.
    #[track_caller]
    pub fn goodput_bps(&self, name: &str) -> f64 {
        self.number(&["classes", name, "goodput_bps"])
    }

    /// Its part of the goodput of all traffic, 0 to 1.
    ///
    /// # Panics
    /// No traffic has this name.
    #[track_caller]
    pub fn share_of(&self, name: &str) -> f64 {
        let classes = self.summary["classes"].as_object();
        let names = classes.into_iter().flat_map(|classes| classes.keys());
        let all: f64 = names.map(|name| self.goodput_bps(name)).sum();
        self.goodput_bps(name) / all
    }

    /// The link on which packets waited longest.
    fn bottleneck(&self) -> &str {
        let queues = self.summary["queues"].as_object().into_iter().flatten();
        let wait = |queue: &Value| queue["mean_delay_ms"].as_f64().unwrap_or(0.0);
        let longest = queues.max_by(|(_, one), (_, other)| wait(one).total_cmp(&wait(other)));
        longest.map_or("", |(name, _)| name)
    }

    /// Checks the goodput of `name` in bit/s.
    ///
    /// # Panics
    /// It is not in `range`.
    #[track_caller]
    pub fn goodput(&self, name: &str, range: impl RangeBounds<f64>) -> &Self {
        self.check(&format!("goodput of \"{name}\" in bit/s"), self.goodput_bps(name), range)
    }

    /// Checks the part of the goodput of all traffic that `name` has, 0 to 1.
    ///
    /// # Panics
    /// It is not in `range`.
    #[track_caller]
    pub fn share(&self, name: &str, range: impl RangeBounds<f64>) -> &Self {
        self.check(&format!("share of \"{name}\""), self.share_of(name), range)
    }

    /// Checks the mean wait in the longest queue, in ms.
    ///
    /// # Panics
    /// It is not in `range`.
    #[track_caller]
    pub fn queue_ms(&self, range: impl RangeBounds<f64>) -> &Self {
        let link = self.bottleneck();
        let value = self.summary["queues"][link]["mean_delay_ms"].as_f64().unwrap_or(0.0);
        self.check(&format!("mean wait at \"{link}\" in ms"), value, range)
    }

    /// Checks the part of the packets that the longest queue drops, 0 to 1.
    ///
    /// # Panics
    /// It is not in `range`.
    #[track_caller]
    pub fn loss(&self, range: impl RangeBounds<f64>) -> &Self {
        let link = self.bottleneck();
        let value = self.summary["queues"][link]["loss"].as_f64().unwrap_or(0.0);
        self.check(&format!("loss at \"{link}\""), value, range)
    }

    /// Checks that `value`, called `what`, is in `range`.
    ///
    /// # Panics
    /// It is not.
    #[track_caller]
    pub fn check(&self, what: &str, value: f64, range: impl RangeBounds<f64>) -> &Self {
        if !range.contains(&value) {
            let bounds = (range.start_bound(), range.end_bound());
            panic!("{what} is {value:.6}, not within {bounds:?}\n\n{}", self.picture());
        }
        self
    }

    /// The goodput of every class and the length of every queue over time, as text.
    pub fn picture(&self) -> String {
        picture(&self.summary, &self.tables)
    }
}
