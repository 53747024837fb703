//! The places in a scenario that an agent can control.

use super::Scenario;
use crate::traffic::Transport;
use forebay_core::config::{require, unknown};
use forebay_core::{ConfigError, Discipline, Registry, Setting};
use forebay_tcp::Config as TcpConfig;
use forebay_tcp::congestion::CongestionController;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// The queue of a link.
pub struct QueuePlace {
    /// Index of the link.
    pub link: usize,
    /// The queue as written.
    pub block: Value,
    pub setting: Setting,
}

/// The flows of a traffic entry.
pub struct Flows {
    pub users: Range<u32>,
    pub tcp: Arc<TcpConfig>,
}

impl Scenario {
    /// The queue of the link called `name`.
    pub(crate) fn queue_place(&self, name: &str) -> Result<QueuePlace, ConfigError> {
        let index = self.link(name)?;
        let link = &self.links[index];
        let block = link.table.queue.clone().ok_or_else(|| {
            ConfigError::new("", format!("link \"{name}\" has no queue; give it one"))
        })?;
        Ok(QueuePlace { link: index, block, setting: link.setting(&self.base)? })
    }

    /// The queue that `block` describes, at this place.
    pub(crate) fn build_queue(
        &self,
        place: &QueuePlace,
        block: &Value,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        self.registry.disciplines.build(block, &place.setting)
    }

    /// The kinds, built for `setting`, that differ in whether `holds` is true.
    pub(crate) fn kinds_that(
        &self,
        setting: &Setting,
        holds: impl Fn(&mut dyn Discipline, &mut dyn Discipline) -> bool,
    ) -> Vec<String> {
        let disciplines = &self.registry.disciplines;
        let build = |name: &str| disciplines.build(&json!({ "kind": name }), setting).ok();
        let holds = |name: &String| {
            let two = build(name).zip(build(name));
            two.is_some_and(|(mut one, mut other)| holds(&mut *one, &mut *other))
        };
        disciplines.every_kind().names().into_iter().map(str::to_owned).filter(holds).collect()
    }

    /// The flows of the traffic entry called `name`.
    pub(crate) fn flows_of(&self, name: &str) -> Result<Flows, ConfigError> {
        let mut first = 0;
        for entry in &self.traffic {
            let users = first..first + entry.table.flows;
            if entry.table.name == name {
                require(entry.source.facts.transport == Transport::Tcp, "", || {
                    format!("\"{name}\" sends datagrams; name an entry that uses TCP")
                })?;
                return Ok(Flows { users, tcp: Arc::new(entry.tcp.clone()) });
            }
            first = users.end;
        }
        let names = self.traffic_names();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        Err(ConfigError::new("", unknown("traffic entry", name, &names)))
    }

    /// All congestion controls.
    pub(crate) fn controls(&self) -> &Registry<dyn CongestionController> {
        &self.registry.controls
    }
}
