//! Sets of conventions for a connection.

use crate::congestion::{CongestionControl, Cubic, Cubic2008};
use crate::legacy::{Legacy, LostRetransmissions, SlowStartEnd, TimeoutRecovery};
use crate::{Config, LossDetection, LossRecovery, ReceiveWindow, Reduction, Stack};
use forebay_core::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Linux's `tcp_rto_min` is not the least timeout: four RTTVAR are at least as much, and SRTT is
/// added to them.
const LINUX_GRANULARITY: Duration = Duration::from_millis(200);

/// A set of conventions, which makes runs comparable with other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Preset {
    /// Linux 6.1 (2022) with a clock of 250 Hz and without segmentation offload, by its own rules.
    #[serde(rename = "linux-6.1")]
    Linux6_1,
    /// The newest Linux: 6.1.
    #[serde(rename = "linux")]
    Linux,
    /// Linux 2.6.18 (2006), the older kernel of the Network Simulation Cradle 0.5.
    #[serde(rename = "linux-2.6.18")]
    Linux2_6_18,
    /// Linux 2.6.26 (2008), the youngest kernel of the Network Simulation Cradle 0.5.
    #[serde(rename = "linux-2.6.26")]
    Linux2_6_26,
    /// What Linux 2.6.26 (2008) did, the youngest kernel of the Network Simulation Cradle 0.5.
    #[serde(rename = "linux-2.6")]
    Linux26,
    /// The standards' own numbers: minimum RTO 1 s, ACKs delayed by 200 ms.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-2.35's `Agent/TCP/Sack1` and `TCPSink/Sack1` (with `recovery = "reno"` or `"new-reno"`,
    /// its `Reno` or `Newreno`), except its `window_` of 20 segments, which every script sets: give
    /// `max_window`.
    #[serde(rename = "ns-2")]
    Ns2,
    /// ns-3.37's `TcpSocketBase` defaults, except its 536-byte segments.
    #[serde(rename = "ns-3")]
    Ns3,
    /// ns-3.18's `TcpNewReno` and its defaults, except its 536-byte segments.
    #[serde(rename = "ns-3.18")]
    Ns318,
}

impl Config {
    /// The conventions of `preset`.
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Linux => Config::preset(Preset::Linux6_1),
            Preset::Linux6_1 => Config {
                stack: Stack::Linux6_1,
                tick: Duration::from_millis(4),
                receive_window: ReceiveWindow::Auto,
                congestion: CongestionControl::of::<Cubic>(),
                quick_acks: 16,
                clock_granularity: Some(LINUX_GRANULARITY),
                max_rto: Duration::from_secs(120),
                timestamps: true,
                reduction: Reduction::Proportional,
                hystart: true,
                max_retransmissions: Some(15),
                ..Config::default()
            },
            Preset::Linux2_6_18 => {
                Config { stack: Stack::Linux2_6_18, ..Config::preset(Preset::Linux2_6_26) }
            }
            Preset::Linux2_6_26 => Config {
                stack: Stack::Linux2_6_26,
                congestion: CongestionControl::of::<Cubic>(),
                // Three quarters of a buffer of 1 MB.
                receive_window: ReceiveWindow::Fixed(Bytes(748_560)),
                // In the Cradle; three to four elsewhere (tcp_init_cwnd).
                initial_window: 2,
                // A first window of four segments, of which every second is to be acknowledged.
                quick_acks: 2,
                initial_rto: Duration::from_secs(3),
                max_rto: Duration::from_secs(120),
                timestamps: true,
                max_retransmissions: Some(15),
                ..Config::default()
            },
            Preset::Linux26 => Config {
                congestion: CongestionControl::of::<Cubic2008>(),
                initial_window: 3,
                growth_per_ack: Some(1),
                adaptive_delayed_ack: true,
                quick_acks: 16,
                quick_acks_after: Some(Duration::from_millis(200)),
                initial_rto: Duration::from_secs(3),
                clock_granularity: Some(LINUX_GRANULARITY),
                max_rto: Duration::from_secs(120),
                timestamps: true,
                loss_detection: LossDetection::Fack,
                reduction: Reduction::RateHalving,
                max_retransmissions: Some(15),
                legacy: Legacy {
                    slow_start: SlowStartEnd::AboveThreshold,
                    lost_retransmissions: LostRetransmissions::Sack,
                    timeout_recovery: TimeoutRecovery::FRto,
                    ..Legacy::default()
                },
                ..Config::default()
            },
            Preset::Rfc => Config {
                delayed_ack_timeout: Duration::from_millis(200),
                min_rto: Duration::from_secs(1),
                timestamps: true,
                ..Config::default()
            },
            Preset::Ns2 => Config {
                stack: Stack::Ns2,
                // packetSize_ 1000 and 40 bytes of headers.
                mtu: Bytes(1040),
                initial_window: 2,
                delayed_ack_count: 1,
                // rtxcur_init_
                initial_rto: Duration::from_secs(3),
                ..Config::default()
            },
            Preset::Ns318 => Config {
                stack: Stack::Ns318,
                recovery: LossRecovery::NewReno,
                initial_window: 1,
                // MaxWindowSize, of 16 bits
                receive_window: ReceiveWindow::Fixed(Bytes(65_535)),
                delayed_ack_timeout: Duration::from_millis(200),
                // The first data are acknowledged at once (ProcessSynRcvd).
                quick_acks: 1,
                // ConnTimeout; the estimator begins with a round trip of 1 s.
                initial_rto: Duration::from_secs(3),
                limited_transmit: false,
                slow_start_after_idle: false,
                ..Config::default()
            },
            Preset::Ns3 => Config {
                congestion: CongestionControl::of::<Cubic>(),
                receive_window: ReceiveWindow::Fixed(Bytes(131_072)),
                delayed_ack_timeout: Duration::from_millis(200),
                min_rto: Duration::from_secs(1),
                timestamps: true,
                reduction: Reduction::Proportional,
                hystart: true,
                max_retransmissions: Some(6),
                ..Config::default()
            },
        }
    }
}

pub(crate) fn add_preset(schema: &mut schemars::Schema) {
    let preset = serde_json::json!({
        "type": "string",
        "description": "Conventions that every other field given overrides.",
        "enum": [
            "linux", "linux-6.1", "linux-2.6.26", "linux-2.6.18", "linux-2.6", "rfc", "ns-2", "ns-3",
            "ns-3.18",
        ],
    });
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("preset".to_owned(), preset);
    }
}
