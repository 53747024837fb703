//! The controller's parameters.

use super::{Priority, STEPS};
use forebay_core::config::{require, within};
use forebay_core::{ConfigError, Duration, Rate, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a flow is held back while a higher level is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Freeze {
    /// All the time, as in the paper.
    #[default]
    Always,
    /// Only while the higher levels fill the link.
    WhenFull,
}

params! {
    // The defaults are the paper's algorithm.
    /// Parameters of the controller.
    #[derive(PartialEq, Eq)]
    pub struct Params {
        /// The rule for a packet's priority level: "class" (its QoS class), `{ dscp = [["EF"]]
        /// }` or `{ ports = [[5001, 5002]] }`: lists of codepoints or ports, those of level 1
        /// first; all others are level 0.
        pub priority: Priority = Priority::Class,
        /// Time without a packet after which a flow no longer holds lower levels back; above 0.
        pub idle_timeout: Duration = Duration::from_secs(1),
        /// Flows known at once, 1 to 10 million, about 300 B each; the one silent longest is
        /// forgotten first.
        pub max_flows: u32 = 65_536,
        /// Interval at which a frozen sender may send a segment; above 0. Never if absent. Not for
        /// BBR, which takes the trickle for the rate of the path.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub trickle: Option<Duration> = None,
        /// Time over which a release opens the window in eight steps; above 0. At once if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub staged_release: Option<Duration> = None,
        /// Interval at which a release is repeated until data come, at most ten times; above 0.
        /// Never if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub repeat_release: Option<Duration> = None,
        /// Longest time that a flow may send nothing; above 0. Without limit if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub freeze_limit: Option<Duration> = None,
        /// When a flow is held back: "always" (the paper's; its window is 0 as long as a higher
        /// level is active) or "when-full" (only while higher levels fill the link).
        pub freeze: Freeze = Freeze::Always,
        /// Rate of the device's link, for "when-full"; above 0. By default that of the link in front
        /// of which the box is.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rate: Option<Rate> = None,
    }
}

impl Params {
    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field out of its range, and the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.priority.validate().map_err(|error| error.within("priority"))?;
        within("max_flows", self.max_flows, 1..=10_000_000)?;
        let positive = |field, span: Option<Duration>| {
            require(span != Some(Duration::ZERO), field, || "must be greater than 0".into())
        };
        positive("idle_timeout", Some(self.idle_timeout))?;
        positive("trickle", self.trickle)?;
        // An eighth of it must be some time, too.
        let eighth = self.staged_release.map(|span| span / u64::from(STEPS));
        positive("staged_release", eighth)?;
        positive("repeat_release", self.repeat_release)?;
        positive("freeze_limit", self.freeze_limit)?;
        require(self.rate.is_none_or(|rate| rate.bps() > 0), "rate", || {
            "must be greater than 0".into()
        })?;
        require(self.freeze == Freeze::Always || self.rate.is_some(), "rate", || {
            "is missing; \"when-full\" needs the rate of the device's link, such as \"10Mbit\""
                .into()
        })
    }
}
