//! The plan of a shaper.

use forebay_core::config::require;
use forebay_core::{Capacity, ConfigError, Discipline, Port, Rate, Setting};
use forebay_disciplines::Disciplines;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The link and the discipline of a shaper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// The link's rate, above 0.
    pub rate: Rate,
    /// Bytes that the link adds to every IP packet.
    pub overhead: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// The queue discipline, as a scenario writes it.
    pub queue: Value,
}

/// A plan and its discipline, which may have been built in another thread: that of ten thousand
/// circuits takes tenths of a second.
pub struct Built {
    pub(crate) plan: Plan,
    pub(crate) discipline: Box<dyn Discipline>,
}

impl Built {
    /// The discipline.
    pub fn discipline(&mut self) -> &mut dyn Discipline {
        &mut *self.discipline
    }
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Plan {
    /// The plan with these fields, in their order.
    pub fn new(rate: Rate, overhead: u32, mtu: u32, queue: Value) -> Self {
        Plan { rate, overhead, mtu, queue }
    }

    /// The setting of the discipline on this link.
    pub fn setting(&self) -> Setting {
        Setting::new(self.rate, self.overhead, self.mtu)
    }

    /// Builds the plan's discipline, one of `disciplines`.
    ///
    /// # Errors
    /// A rate of zero, or an error in the queue, with its path.
    pub fn build(self, disciplines: &Disciplines) -> Result<Built, ConfigError> {
        require(self.rate.bps() > 0, "rate", || "must be greater than 0".into())?;
        let discipline = disciplines.build(&self.queue, &self.setting());
        let discipline = discipline.map_err(|error| error.within("queue"))?;
        Ok(Built { plan: self, discipline })
    }

    /// A port with `discipline`, which is the plan's.
    pub(crate) fn around(&self, discipline: Box<dyn Discipline>) -> Port {
        Port::new(discipline, Capacity::constant(self.rate), self.overhead)
    }

    /// Whether nothing but the rate may differ from `before`.
    pub(crate) fn only_rate(&self, before: &Plan) -> bool {
        (self.overhead, self.mtu) == (before.overhead, before.mtu) && self.queue == before.queue
    }

    /// Whether packets of a port that follows `before` may stay where they are, if the discipline
    /// can do it: both are trees, in which a change of one class must not touch the others.
    pub(crate) fn keeps(&self, before: &Plan) -> bool {
        self.is_tree() && before.is_tree() && self.overhead == before.overhead
    }

    /// Whether the queue is a tree of classes with rates of their own.
    pub(crate) fn is_tree(&self) -> bool {
        self.queue["kind"] == "htb"
    }
}
