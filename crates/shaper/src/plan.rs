//! The plan of a shaper.

use forebay_core::config::require;
use forebay_core::{Capacity, ConfigError, Discipline, Port, Rate, Setting};
use forebay_disciplines::Disciplines;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

impl Plan {
    /// The plan with these fields, in their order.
    pub fn new(rate: Rate, overhead: u32, mtu: u32, queue: Value) -> Self {
        Plan { rate, overhead, mtu, queue }
    }

    /// The setting of the discipline on this link.
    pub fn setting(&self) -> Setting {
        Setting::new(self.rate, self.overhead, self.mtu)
    }

    /// An empty port that follows the plan.
    pub(crate) fn port(&self, disciplines: &Disciplines) -> Result<Port, ConfigError> {
        self.discipline(disciplines).map(|discipline| self.around(discipline))
    }

    /// The plan's discipline.
    pub(crate) fn discipline(
        &self,
        disciplines: &Disciplines,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        require(self.rate.bps() > 0, "rate", || "must be greater than 0".into())?;
        let discipline = disciplines.build(&self.queue, &self.setting());
        discipline.map_err(|error| error.within("queue"))
    }

    /// A port with `discipline`, which is the plan's.
    pub(crate) fn around(&self, discipline: Box<dyn Discipline>) -> Port {
        Port::new(discipline, Capacity::constant(self.rate), self.overhead)
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
