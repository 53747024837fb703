//! A congestion control that was chosen from a registry.

use super::CongestionController;
use crate::chosen::Chosen;
use crate::{ConnectionParams, Flags};
use forebay_core::config::require;
use forebay_core::{ConfigError, Family};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Makes the state of a new connection.
pub type Start = Arc<dyn Fn(&ConnectionParams) -> Box<dyn CongestionController> + Send + Sync>;

/// Requirements of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing that some connections lack.
    Nothing,
    /// Timestamps (RFC 7323), with which it measures delays.
    Timestamps,
    /// ECN on every packet, and reports of every mark (RFC 8257, section 3.2).
    EveryMark,
    /// Accurate ECN feedback (RFC 9768); every packet is sent as ECT(1) (RFC 9331).
    AccurateEcn,
}

impl Needs {
    /// Fields of a connection's configuration that must be true for it.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Needs::Nothing => &[],
            Needs::Timestamps => &["timestamps"],
            Needs::EveryMark => &["ecn"],
            Needs::AccurateEcn => &["ecn", "accurate_ecn"],
        }
    }
}

/// Properties of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conduct {
    /// Linux's name of its own control of this kind. Linux's stacks use that one if they have it,
    /// and so does the lab.
    pub linux: Option<&'static str>,
    /// The features that a connection must have.
    pub needs: Needs,
}

impl Conduct {
    /// Linux has none, and it needs nothing.
    pub const USUAL: Conduct = Conduct { linux: None, needs: Needs::Nothing };
    /// Linux's Reno.
    pub const RENO: Conduct = Conduct { linux: Some("reno"), ..Conduct::USUAL };
    /// Linux's BBR.
    pub const BBR: Conduct = Conduct { linux: Some("bbr"), ..Conduct::USUAL };
    /// Linux's CUBIC.
    pub const CUBIC: Conduct = Conduct { linux: Some("cubic"), ..Conduct::USUAL };
}

impl Family for dyn CongestionController {
    const WHAT: &'static str = "congestion control";
    type Facts = Conduct;
    const USUAL: Conduct = Conduct::USUAL;
    type Site<'a> = ();
    type Built = Start;
}

/// A control without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoParams {}

/// A congestion control with its parameters, which can start connections.
pub type CongestionControl = Chosen<Conduct, Start>;

impl CongestionControl {
    /// The state of a new connection with these parameters.
    pub fn start(&self, connection: &ConnectionParams) -> Box<dyn CongestionController> {
        (self.built)(connection)
    }

    /// Whether the receiver reports every change of marks.
    pub(crate) fn counts_marks(&self) -> bool {
        self.facts().needs == Needs::EveryMark
    }

    /// The codepoint of every packet, if not only data are ECN-capable.
    pub(crate) fn always_ect(&self) -> Flags {
        match self.facts().needs {
            Needs::Nothing | Needs::Timestamps => Flags::NONE,
            Needs::EveryMark => Flags::ECT,
            Needs::AccurateEcn => Flags::ECT1,
        }
    }

    pub(crate) fn check(&self, connection: &ConnectionParams) -> Result<(), ConfigError> {
        let needed = self.facts().needs.fields();
        require(needed.iter().all(|field| connection.uses(field)), "congestion", || {
            let needed: Vec<_> = needed.iter().map(|field| format!("{field} = true")).collect();
            format!("{:?} works only with {}", self.name(), needed.join(" and "))
        })
    }
}
