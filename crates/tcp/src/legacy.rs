//! Single rules of historical stacks, for this crate's own sender.

use forebay_core::ConfigError;
use forebay_core::config::require;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When slow start ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartEnd {
    /// As soon as cwnd has reached ssthresh (RFC 5681, section 3.1, leaves it open).
    AtThreshold,
    /// Only when cwnd is above ssthresh (Linux before 4.2).
    AboveThreshold,
}

/// How the loss of a retransmission is found, with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostRetransmissions {
    /// By the retransmission timer alone (RFC 6675).
    Timer,
    /// When more than one segment sent after it was SACKed: it is sent again (Linux).
    Sack,
}

/// What is sent again first, with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepairOrder {
    /// What is deemed lost, then new data, then other holes (RFC 6675, NextSeg).
    LostFirst,
    /// Whatever is missing below the highest SACKed segment, before new data (NextSeg with rule 3
    /// before rule 2; ns-2's `Sack1`).
    HolesFirst,
}

/// What a timeout makes of the data outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutRecovery {
    /// They are lost (RFC 5681, section 3.1).
    Resend,
    /// Only the first segment is sent again, and then two new ones: the others are lost if it is
    /// these that arrive (RFC 5682, section 3; Linux from 2.6.24). Applies to `recovery = "sack"`.
    #[serde(rename = "f-rto")]
    FRto,
}

/// What historical stacks did differently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Legacy {
    /// When slow start ends: `"at-threshold"`, or `"above-threshold"` (Linux before 4.2).
    pub slow_start: SlowStartEnd,
    /// Share of the window that `congestion = "cubic-2008"` keeps at a loss, from 0.5 to below 1;
    /// 717/1024 if absent (Linux before 2.6.25: 819/1024).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubic_beta: Option<f64>,
    /// How lost retransmissions are found: by the `"timer"`, or by `"sack"` (Linux). Applies to
    /// `recovery = "sack"`.
    pub lost_retransmissions: LostRetransmissions,
    /// What is sent again first: `"lost-first"`, or `"holes-first"` (ns-2's `Sack1`). Applies to
    /// `recovery = "sack"`.
    pub repair_order: RepairOrder,
    /// What a timeout makes of the data outstanding: `"resend"`, or `"f-rto"` (Linux from 2.6.24).
    pub timeout_recovery: TimeoutRecovery,
}

impl Default for Legacy {
    /// The rules of the standards.
    fn default() -> Self {
        Legacy {
            slow_start: SlowStartEnd::AtThreshold,
            cubic_beta: None,
            lost_retransmissions: LostRetransmissions::Timer,
            repair_order: RepairOrder::LostFirst,
            timeout_recovery: TimeoutRecovery::Resend,
        }
    }
}

impl Legacy {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let beta = self.cubic_beta.unwrap_or(0.5);
        require((0.5..1.0).contains(&beta), "legacy.cubic_beta", || {
            format!("must be from 0.5 to below 1, got {beta}")
        })
    }
}
