//! The plan of a shaper.

use forebay_core::config::require;
use forebay_core::{Capacity, ConfigError, Port, Rate, Setting};
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
        require(self.rate.bps() > 0, "rate", || "must be greater than 0".into())?;
        let discipline = disciplines.build(&self.queue, &self.setting());
        let discipline = discipline.map_err(|error| error.within("queue"))?;
        Ok(Port::new(discipline, Capacity::constant(self.rate), self.overhead))
    }
}
