//! Data of a scenario for an emulation: its links, and the path of every traffic entry.

use super::Scenario;
use super::graph::Hop;
use super::link::DirectedLink;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration};
use forebay_shaper::Variation;
use serde_json::{Value, json};

impl Scenario {
    /// Links and traffic for an emulation:
    /// - `links`: every directed link, those of one table next to each other. They have the fields
    ///   of a scenario's link with all defaults filled in; links of a dumbbell or parking lot have
    ///   names.
    /// - `traffic`: for every entry its table with all defaults, `from` and `to`, `forward` and
    ///   `backward` (names of the links on the path), `tos` (its DS field), `transport` ("tcp" or
    ///   "datagrams") and `access_ns` (delay of the access links at both ends together).
    /// - `seed`.
    ///
    /// A link that varies or loses packets has its [`Variation`] as plain values in `variation`, and in
    /// `queue_rate` the rate that its queue goes by.
    ///
    /// Some fields are also given as numbers: `delay_ns`, `mtu_bytes`, and of TCP `min_rto_ms` and
    /// `receive_window_bytes`.
    ///
    /// # Errors
    /// As [`Scenario::effective`].
    pub fn plan(&self) -> Result<Value, ConfigError> {
        if self.traffic.is_empty() {
            // Not a run, but programs on real hosts may use the links.
            self.without_captures().spec(self.table.seed)?;
        } else {
            self.effective()?;
        }
        require(self.changes.is_empty(), "change", || {
            "cannot be emulated, because links and traffic do not change in an emulation; remove \
             it"
            .into()
        })?;
        let graph = self.graph()?;
        let links = self.links.iter().map(|link| self.plan_link(link)).collect::<Result<_, _>>()?;
        require(self.table.wireless.is_none(), "wireless", || {
            "cannot be emulated, because an emulation has no radio; remove it".into()
        })?;
        let names = |path: Vec<Hop>| -> Vec<&str> {
            let links = path.into_iter().filter_map(|hop| match hop {
                Hop::Link(link) => Some(link),
                Hop::Air(..) => None,
            });
            links.map(|link| self.links[link].table.name.as_str()).collect()
        };
        let mut traffic = Vec::new();
        for entry in &self.traffic {
            let (from, to) = self.ends(&entry.table)?;
            let mut plan = entry.effective();
            plan["transport"] = json!(entry.source.facts.transport);
            plan["forward"] = json!(names(graph.path(&from, &to)?));
            plan["backward"] = json!(names(graph.path(&to, &from)?));
            let access = self.row.as_ref().filter(|_| entry.table.from.is_none());
            let access = access.map_or(0, |row| 2 * row.access.delay.as_nanos());
            plan["access_ns"] = access.into();
            let ecn = entry.table.ecn.unwrap_or_default();
            plan["tos"] = (entry.table.dscp.value() << 2 | ecn as u8).into();
            if let Some(Value::Object(tcp)) = plan.get_mut("tcp") {
                let min_rto = entry.tcp.connection.min_rto.as_nanos() / 1_000_000;
                tcp.insert("min_rto_ms".into(), min_rto.into());
                tcp.insert("linux".into(), json!(entry.tcp.congestion.facts().linux));
                tcp.insert(
                    "receive_window_bytes".into(),
                    entry.tcp.connection.receive_window.largest().into(),
                );
            }
            (plan["from"], plan["to"]) = (from.into(), to.into());
            traffic.push(plan);
        }
        let seed = self.table.seed;
        Ok(json!({ "links": Value::Array(links), "traffic": traffic, "seed": seed }))
    }

    /// What link `name` does in this run, if it is not steady.
    ///
    /// # Errors
    /// Its course cannot be read.
    pub(crate) fn variation(&self, name: &str) -> Result<Option<Variation>, ConfigError> {
        let link = self.links.iter().find(|link| link.table.name == name);
        link.map_or(Ok(None), |link| self.varying(link))
    }

    fn varying(&self, link: &DirectedLink) -> Result<Option<Variation>, ConfigError> {
        (!link.is_steady()).then(|| link.variation(self.a_run(), &self.base)).transpose()
    }

    /// Seed and length.
    fn a_run(&self) -> (u64, Duration) {
        (self.table.seed, self.table.duration)
    }

    fn plan_link(&self, link: &DirectedLink) -> Result<Value, ConfigError> {
        let mut plan = json!(link.table);
        let delay = link.table.delay.largest(&self.base, &format!("{}.delay", link.path))?;
        plan["delay_ns"] = delay.as_nanos().into();
        plan["mtu_bytes"] = link.table.mtu.0.into();
        if let Some(variation) = self.varying(link)? {
            plan["variation"] = variation.plain();
            plan["queue_rate"] = json!(link.setting(&self.base)?.rate);
        }
        if let Some(queue) = link.queue(&self.base, &self.registry.disciplines)? {
            plan["queue"] = queue;
        }
        Ok(plan)
    }
}
