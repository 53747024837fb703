//! Parameters of a TCP connection.

use crate::ReceiveWindow;
use crate::congestion::{self, CongestionControl, CongestionController, NewReno};
use crate::legacy::Legacy;
use crate::linux::{self, Version};
use crate::presets::add_preset;
use forebay_core::config::{read, require};
use forebay_core::{Bytes, ConfigError, Duration, Registry};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How losses are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossRecovery {
    /// Fast retransmit and fast recovery, which the first new acknowledgment ends (RFC 5681).
    Reno,
    /// One loss a round trip is repaired by partial acknowledgments (RFC 6582).
    NewReno,
    /// Selective acknowledgments (RFC 2018, RFC 6675).
    Sack,
}

/// Whose sender and receiver rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Stack {
    /// The standards', with the options below.
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// Linux 2.6.18 (2006): forward acknowledgment, rate halving.
    #[serde(rename = "linux-2.6.18")]
    Linux2_6_18,
    /// Linux 2.6.26 (2008): as before, with F-RTO.
    #[serde(rename = "linux-2.6.26")]
    Linux2_6_26,
    /// Linux 6.1 (2022): RACK, tail loss probes, proportional rate reduction.
    #[serde(rename = "linux-6.1")]
    Linux6_1,
    /// The sender is that of ns-2.35: `Agent/TCP/Reno`, `Agent/TCP/Newreno` or `Agent/TCP/Sack1`,
    /// by `recovery`; `clock_granularity` is its `tcpTick_`, 10 ms if absent.
    #[serde(rename = "ns-2")]
    Ns2,
    /// The sender is ns-3.18's `TcpNewReno`; asks for `recovery = "new-reno"`.
    #[serde(rename = "ns-3.18")]
    Ns318,
}

impl Stack {
    fn is_standard(&self) -> bool {
        *self == Stack::Standard
    }
}

/// Which bytes are taken for lost, with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// Those with three segments above them that have arrived (RFC 6675, IsLost).
    Rfc6675,
    /// Forward acknowledgment: those with two segments, whatever became of these, between them and
    /// the highest SACKed one (Mathis, Mahdavi 1996; Linux 2.2 to 4.14).
    Fack,
}

/// How the window comes down to its threshold during recovery with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once (RFC 6675).
    AtOnce,
    /// Proportional rate reduction (RFC 6937).
    Proportional,
    /// Rate halving: a segment less for every two acknowledgments, down to the threshold (New Reno:
    /// to half of it), and one sent for each at most; afterwards the window stays if it is below
    /// the threshold (Mathis, Semke, Mahdavi, Lahey 1999; Linux 2.2 to 3.1).
    RateHalving,
}

/// HZ of 1000.
const TICK: Duration = Duration::from_millis(1);

fn is_default_tick(tick: &Duration) -> bool {
    *tick == TICK
}

/// Parameters of one connection; both ends take the same.
///
/// In a file, `preset = "linux"` (today `"linux-6.1"`; or `"linux-2.6.26"`, `"linux-2.6.18"`,
/// `"linux-2.6"`, `"rfc"`, `"ns-2"`, `"ns-3"`, `"ns-3.18"`) chooses a set of conventions and every
/// other field given overrides it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, remote = "Self")]
#[schemars(transform = add_preset)]
pub struct Config {
    /// Whose rules for losses, timers and acknowledgments apply: `"standard"`, `"linux-2.6.18"`,
    /// `"linux-2.6.26"`, `"linux-6.1"`, `"ns-2"` (2.35) or `"ns-3.18"`. The last two are senders
    /// with congestion control of their own. Linux's apply to `recovery = "sack"` with the
    /// congestion controls that it has of its own (`"new-reno"`, `"cubic"`, and in 6.1 `"dctcp"`;
    /// with others the standards' do), and know of the options below only `mtu`, windows, timeouts,
    /// `delayed_ack_*`, `timestamps`, `ecn`, `hystart`, `pacing`, `slow_start_after_idle` and those
    /// of the handshake.
    #[serde(skip_serializing_if = "Stack::is_standard")]
    pub stack: Stack,
    /// Tick of a Linux host's clock (1/HZ), from 1 ms to 10 ms. Timers expire only at ticks.
    #[serde(skip_serializing_if = "is_default_tick")]
    pub tick: Duration,
    /// Congestion control by its name; its parameters, if it has any, are in a table of that name.
    #[serde(serialize_with = "write_name", deserialize_with = "read_name")]
    #[schemars(with = "String")]
    pub congestion: CongestionControl,
    /// Loss recovery: `"reno"` (RFC 5681), `"new-reno"` (RFC 6582) or `"sack"` (RFC 6675).
    pub recovery: LossRecovery,
    /// Largest IP packet in bytes, 100 to 65535; a segment carries 40 bytes less, and 12 less
    /// again with timestamps.
    pub mtu: Bytes,
    /// Initial congestion window in segments, 1 to 65535 (RFC 6928: 10).
    pub initial_window: u32,
    /// Initial slow start threshold in segments, at least 2; unlimited if absent (RFC 5681,
    /// section 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<u32>,
    /// Largest congestion window in segments, at least 1; unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_window: Option<u32>,
    /// Most segments that one acknowledgment counts for when the window grows, at least 1; as many
    /// as it acknowledges if absent (RFC 3465). 1 is RFC 5681, section 3.1, and Linux before 4.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_per_ack: Option<u32>,
    /// Receive buffer, and so the window advertised by a reader that keeps up, from one segment to
    /// 1 GiB (RFC 7323, section 2.3); `"auto"`, which `stack = "linux-6.1"` takes
    /// for a window that grows with what arrives in a round trip, from 64 KB to 3 MiB (dynamic
    /// right-sizing), and every other for 3 MiB.
    pub receive_window: ReceiveWindow,
    /// Full segments per acknowledgment, 1 or 2 (RFC 9293, section 3.8.6.3).
    pub delayed_ack_count: u8,
    /// Longest delay of an acknowledgment, below 500 ms (RFC 9293, section 3.8.6.3).
    pub delayed_ack_timeout: Duration,
    /// The delay of an acknowledgment follows the gaps between segments, and doubles when no second
    /// segment came: from `delayed_ack_timeout` up to the round trip that the handshake took, by
    /// its timestamps (Linux).
    pub adaptive_delayed_ack: bool,
    /// Number of segments at the start of a connection that are acknowledged at once, so that slow
    /// start is not delayed; Linux: 16, standards: 0.
    pub quick_acks: u32,
    /// Time without segments after which this number of segments is again acknowledged at once;
    /// never if absent (Linux: the receiver's own retransmission timeout, 200 ms and a round trip).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_acks_after: Option<Duration>,
    /// Minimum retransmission timeout (RFC 6298, section 2.4: 1 s; Linux: 200 ms).
    pub min_rto: Duration,
    /// Retransmission timeout before the first measurement (RFC 6298, section 2.1: 1 s).
    pub initial_rto: Duration,
    /// Clock granularity (G of RFC 6298, section 2.3): the timeout is at least this far above the
    /// smoothed round-trip time; 1us if absent (Linux: its `tcp_rto_min` of 200ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_granularity: Option<Duration>,
    /// Maximum retransmission timeout, also after backoff (RFC 6298, section 2.5: at least 60 s).
    pub max_rto: Duration,
    /// Timestamps on every segment and a round-trip sample from every new acknowledgment (RFC
    /// 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Accurate ECN feedback (AccECN, RFC 9768), with `ecn = true`: the receiver counts marked
    /// packets and bytes instead of echoing that there were some. Each side falls back to RFC 3168
    /// if the other does not have it. Linux up to 6.1 and older senders do not have it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accurate_ecn: bool,
    /// New data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// Which bytes are lost: `"rfc6675"` or `"fack"`; applies to `recovery = "sack"`.
    pub loss_detection: LossDetection,
    /// How the window comes down during recovery: `"at-once"` (RFC 6675), `"proportional"` (RFC
    /// 6937) or `"rate-halving"` (Linux before 3.2); applies to `recovery = "sack"`.
    pub reduction: Reduction,
    /// HyStart++ in the initial slow start (RFC 9406).
    pub hystart: bool,
    /// Space segments over the round trip at 2 (slow start) or 1.2 times cwnd / SRTT.
    pub pacing: bool,
    /// Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1).
    pub slow_start_after_idle: bool,
    /// Retransmissions of one segment by timeout before the connection is aborted, at least 1 (R2
    /// of RFC 9293, section 3.8.3); never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<u32>,
    /// Begin with SYN and SYN-ACK; otherwise both ends are established from the start.
    pub handshake: bool,
    /// What historical stacks did differently.
    pub legacy: Legacy,
}

impl Default for Config {
    /// SACK, initial window 10, ACKs delayed for two segments or 40 ms, minimum RTO 200 ms.
    fn default() -> Self {
        Config {
            stack: Stack::Standard,
            tick: TICK,
            congestion: CongestionControl::of::<NewReno>(),
            recovery: LossRecovery::Sack,
            mtu: Bytes(1500),
            initial_window: 10,
            initial_ssthresh: None,
            max_window: None,
            growth_per_ack: None,
            receive_window: ReceiveWindow::Fixed(Bytes(6_000_000)),
            delayed_ack_count: 2,
            delayed_ack_timeout: Duration::from_millis(40),
            adaptive_delayed_ack: false,
            quick_acks: 0,
            quick_acks_after: None,
            min_rto: Duration::from_millis(200),
            initial_rto: Duration::from_secs(1),
            clock_granularity: None,
            max_rto: Duration::from_secs(60),
            timestamps: false,
            ecn: false,
            accurate_ecn: false,
            limited_transmit: true,
            loss_detection: LossDetection::Rfc6675,
            reduction: Reduction::AtOnce,
            hystart: false,
            pacing: false,
            slow_start_after_idle: true,
            max_retransmissions: None,
            handshake: true,
            legacy: Legacy::default(),
        }
    }
}

impl Config {
    /// Reads the table `given`: the preset first, then the other fields over it. Congestion
    /// controls are those of this crate. [`Config::validate`] checks ranges.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    pub fn read(given: &Value) -> Result<Self, ConfigError> {
        Config::read_with(given, &congestion::builtin())
    }

    /// The same, with the congestion controls of `known`.
    ///
    /// # Errors
    /// As [`Config::read`], and a parameter of a congestion control that is out of its range.
    pub fn read_with(
        given: &Value,
        known: &Registry<dyn CongestionController>,
    ) -> Result<Self, ConfigError> {
        let mut given: Map<String, Value> = read(given)?;
        let mut tables = take_tables(&mut given, known)?;
        let chosen = given.remove("congestion");
        let base = match given.remove("preset") {
            Some(name) => {
                Config::preset(read(&name).map_err(|error: ConfigError| error.within("preset"))?)
            }
            None => Config::default(),
        };
        let whole = Config::serialize(&base, serde_json::value::Serializer);
        let Ok(Value::Object(mut whole)) = whole else {
            unreachable!("parameters are plain data");
        };
        for (name, value) in given {
            match (whole.get_mut(&name), value) {
                // What a table does not give stays as the preset has it.
                (Some(Value::Object(base)), Value::Object(table)) => base.extend(table),
                (_, value) => drop(whole.insert(name, value)),
            }
        }
        let Plain(config) = read(&Value::Object(whole))?;
        if chosen.is_none() && tables.is_empty() {
            return Ok(config);
        }
        let name: String = match &chosen {
            Some(name) => read(name).map_err(|error: ConfigError| error.within("congestion"))?,
            None => config.congestion.name().to_owned(),
        };
        let params = tables.remove(&name).unwrap_or_default();
        Ok(Config { congestion: CongestionControl::choose(known, &name, &params)?, ..config })
    }

    /// Payload of a full segment in bytes: the MTU less 40 bytes of headers, less 12 more with
    /// timestamps (RFC 6691, section 3).
    pub fn mss(&self) -> u64 {
        self.mtu.0.saturating_sub(if self.timestamps { 52 } else { 40 })
    }

    /// The first window that the receiver offers, in bytes.
    pub(crate) fn first_window(&self) -> u64 {
        match Version::of(self) {
            Some(Version::Linux6_1) => linux::first_window(self),
            _ => self.receive_window.largest(),
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of range, with the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let at_least = |path, value: Option<u32>, least: u32| {
            let value = value.unwrap_or(least);
            require(value >= least, path, || format!("must be at least {least}, got {value}"))
        };
        require((100..=65_535).contains(&self.mtu.0), "mtu", || {
            format!("must be from 100B to 65535B, got \"{}\"", self.mtu)
        })?;
        require((1..=65_535).contains(&self.initial_window), "initial_window", || {
            format!("must be from 1 to 65535 segments, got {}", self.initial_window)
        })?;
        at_least("initial_ssthresh", self.initial_ssthresh, 2)?;
        at_least("max_window", self.max_window, 1)?;
        at_least("growth_per_ack", self.growth_per_ack, 1)?;
        at_least("max_retransmissions", self.max_retransmissions, 1)?;
        self.congestion.check(self)?;
        require(self.ecn || !self.accurate_ecn, "accurate_ecn", || {
            "needs ECN; set ecn = true".to_owned()
        })?;
        require(!self.accurate_ecn || Version::of(self).is_none(), "accurate_ecn", || {
            "Linux up to 6.1 does not have it; set stack = \"standard\"".to_owned()
        })?;
        self.legacy.validate()?;
        self.validate_sender()?;
        let window = self.receive_window;
        require((self.mss()..=1 << 30).contains(&window.largest()), "receive_window", || {
            format!("must be from {}B to 1GiB, got \"{window}\"", self.mss())
        })?;
        require((1..=2).contains(&self.delayed_ack_count), "delayed_ack_count", || {
            format!("must be 1 or 2, got {}", self.delayed_ack_count)
        })?;
        let half_second = Duration::from_millis(500);
        let timeout = self.delayed_ack_timeout;
        require(timeout > Duration::ZERO && timeout < half_second, "delayed_ack_timeout", || {
            format!("must be greater than 0 and below 500ms, got \"{timeout}\"")
        })?;
        let ticks = Duration::from_millis(1)..=Duration::from_millis(10);
        require(ticks.contains(&self.tick), "tick", || {
            format!("must be from 1ms to 10ms, got \"{}\"", self.tick)
        })?;
        require(self.min_rto > Duration::ZERO, "min_rto", || {
            format!("must be greater than 0, got \"{}\"", self.min_rto)
        })?;
        require(self.initial_rto > Duration::ZERO, "initial_rto", || {
            format!("must be greater than 0, got \"{}\"", self.initial_rto)
        })?;
        let least = self.min_rto.max(self.initial_rto);
        require(self.max_rto >= least, "max_rto", || {
            format!("must be at least min_rto and initial_rto ({least}), got \"{}\"", self.max_rto)
        })
    }

    /// A historical sender does not support later extensions.
    fn validate_sender(&self) -> Result<(), ConfigError> {
        let name = match self.stack {
            Stack::Ns2 => "ns-2",
            Stack::Ns318 => "ns-3.18",
            _ => return Ok(()),
        };
        let standard = Config::default();
        let old = self.stack == Stack::Ns318;
        for (field, same, want) in [
            ("congestion", self.congestion == standard.congestion, "\"new-reno\""),
            ("pacing", !self.pacing, "false"),
            ("hystart", !self.hystart, "false"),
            ("reduction", self.reduction == standard.reduction, "\"at-once\""),
            ("loss_detection", self.loss_detection == standard.loss_detection, "\"rfc6675\""),
            ("recovery", !old || self.recovery == LossRecovery::NewReno, "\"new-reno\""),
            ("timestamps", !(old && self.timestamps), "false"),
            ("ecn", !(old && self.ecn), "false"),
            ("accurate_ecn", !self.accurate_ecn, "false"),
            ("slow_start_after_idle", !(old && self.slow_start_after_idle), "false"),
        ] {
            require(same, field, || {
                format!("the sender {name:?} has its own rules; set {field} = {want}")
            })?;
        }
        require(self.legacy == Legacy::default(), "legacy", || {
            format!("the sender {name:?} has its own rules; leave this out")
        })?;
        for (field, given) in [
            ("growth_per_ack", self.growth_per_ack.is_some()),
            ("max_window", old && self.max_window.is_some()),
            ("clock_granularity", old && self.clock_granularity.is_some()),
        ] {
            require(!given, field, || {
                format!("the sender {name:?} does not use it; leave it out")
            })?;
        }
        let ticks = Duration::from_micros(1)..=Duration::from_secs(1);
        let tick = self.clock_granularity.unwrap_or(*ticks.start());
        require(ticks.contains(&tick), "clock_granularity", || {
            format!("for the sender {name:?}, it must be from 1us to 1s, got \"{tick}\"")
        })
    }
}

/// Removes the tables of congestion controls from `given`. Those of controls that are not chosen
/// are checked, too.
fn take_tables(
    given: &mut Map<String, Value>,
    known: &Registry<dyn CongestionController>,
) -> Result<HashMap<String, Map<String, Value>>, ConfigError> {
    let mut tables = HashMap::new();
    for entry in known {
        if let Some(table) = given.remove(&*entry.name) {
            let table = read(&table).map_err(|error: ConfigError| error.within(&entry.name))?;
            CongestionControl::choose(known, &entry.name, &table)?;
            tables.insert(entry.name.to_string(), table);
        }
    }
    Ok(tables)
}

fn write_name<S: Serializer>(control: &CongestionControl, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(control.name())
}

fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<CongestionControl, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The fields, and the parameters of the congestion control in a table of its name.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.congestion.params().is_empty() {
            return Config::serialize(self, serializer);
        }
        let whole = Config::serialize(self, serde_json::value::Serializer);
        let mut whole = whole.map_err(serde::ser::Error::custom)?;
        whole[self.congestion.name()] = Value::Object(self.congestion.params().clone());
        whole.serialize(serializer)
    }
}

/// As [`Config::read`]. The message contains the field's name.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::Object(Map::deserialize(deserializer)?);
        Config::read(&given).map_err(serde::de::Error::custom)
    }
}

/// A configuration in which every field is given that has an effect.
struct Plain(Config);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Config::deserialize(deserializer).map(Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use crate::legacy::SlowStartEnd;
    use serde_json::json;

    fn parse(value: Value) -> Result<Config, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_override_the_preset() {
        let config = parse(json!({"preset": "ns-2", "mtu": "500B", "max_window": 8})).unwrap();
        let want = Config { mtu: Bytes(500), max_window: Some(8), ..Config::preset(Preset::Ns2) };
        assert_eq!(config, want);
        assert_eq!(config.mss(), 460);
        assert_eq!(parse(json!({})).unwrap(), Config::default());
        let given = json!({"preset": "linux-2.6", "legacy": {"slow_start": "at-threshold"}});
        let linux = Config::preset(Preset::Linux26);
        let legacy = Legacy { slow_start: SlowStartEnd::AtThreshold, ..linux.legacy };
        assert_eq!(parse(given).unwrap(), Config { legacy, ..linux });
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for preset in [
            Preset::Linux,
            Preset::Linux6_1,
            Preset::Linux2_6_18,
            Preset::Linux2_6_26,
            Preset::Linux26,
            Preset::Rfc,
            Preset::Ns2,
            Preset::Ns3,
            Preset::Ns318,
        ] {
            let config = Config::preset(preset);
            config.validate().unwrap();
            assert_eq!(parse(serde_json::to_value(&config).unwrap()).unwrap(), config);
            let text = toml::to_string(&config).unwrap();
            assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (value, path) in [
            (json!({"min_rto": 0.2}), "min_rto"),
            (json!({"rto": "1s"}), "rto"),
            (json!({"preset": "bsd"}), "preset"),
            (json!({"congestion": "vegas"}), "congestion"),
            (json!("linux"), ""),
        ] {
            assert_eq!(Config::read(&value).unwrap_err().path, path);
            // Where the reader has no path to give, the message has it.
            let error = parse(value).unwrap_err();
            assert!(error.contains(path), "{error}");
        }
        let ledbat = json!({"congestion": "ledbat", "timestamps": true});
        let config = parse(ledbat.clone()).unwrap();
        config.validate().unwrap();
        assert_eq!(config.congestion.params()["target"], "100ms");
        for (field, value, path) in [
            ("ledbat", json!({"target": "101ms"}), "ledbat.target"),
            ("ledbat", json!({"target": "0s"}), "ledbat.target"),
            ("ledbat", json!({"gain": -1}), "ledbat.gain"),
            ("ledbat", json!({"gian": 1}), "ledbat.gian"),
            ("ledbat", json!(1), "ledbat"),
        ] {
            let mut bad = ledbat.clone();
            bad[field] = value;
            assert_eq!(Config::read(&bad).unwrap_err().path, path);
            // Of a control that is not chosen likewise.
            bad["congestion"] = json!("cubic");
            assert_eq!(Config::read(&bad).unwrap_err().path, path);
        }
        let bad = Config { delayed_ack_count: 3, ..Config::default() };
        assert_eq!(bad.validate().unwrap_err().path, "delayed_ack_count");
        let legacy = Legacy { cubic_beta: Some(1.0), ..Legacy::default() };
        let bad = Config { legacy, ..Config::default() };
        assert_eq!(bad.validate().unwrap_err().path, "legacy.cubic_beta");
        for (preset, field, value, path) in [
            ("ns-2", "congestion", json!("cubic"), "congestion"),
            ("ns-2", "growth_per_ack", json!(1), "growth_per_ack"),
            ("ns-2", "legacy", json!({"slow_start": "above-threshold"}), "legacy"),
            ("ns-3.18", "recovery", json!("sack"), "recovery"),
            ("ns-3.18", "max_window", json!(20), "max_window"),
        ] {
            let bad = parse(json!({"preset": preset, field: value})).unwrap();
            assert_eq!(bad.validate().unwrap_err().path, path);
        }
        for (config, path) in [
            (Config { accurate_ecn: true, ..Config::default() }, "accurate_ecn"),
            (
                Config { ecn: true, accurate_ecn: true, ..Config::preset(Preset::Linux6_1) },
                "accurate_ecn",
            ),
        ] {
            assert_eq!(config.validate().unwrap_err().path, path);
        }
        let bad = Config { max_rto: Duration::from_millis(100), ..Config::default() };
        assert_eq!(bad.validate().unwrap_err().path, "max_rto");
    }

    #[test]
    fn parameters_of_a_control_stand_in_a_table_of_its_name() {
        let given = json!({"congestion": "ledbat", "timestamps": true, "ledbat": {"gain": 10.0}});
        let config = parse(given).unwrap();
        let whole = serde_json::to_value(&config).unwrap();
        assert_eq!(whole["congestion"], "ledbat");
        assert_eq!(whole["ledbat"], json!({"target": "100ms", "gain": 10.0}));
        assert_eq!(parse(whole).unwrap(), config);
        // What is not chosen is of no account.
        let other = parse(json!({"congestion": "cubic", "ledbat": {"gain": 10.0}})).unwrap();
        assert_eq!(other, parse(json!({"congestion": "cubic"})).unwrap());
    }

    #[test]
    fn the_schema_offers_presets() {
        let schema = schemars::schema_for!(Config);
        let properties = schema.get("properties").and_then(Value::as_object).unwrap();
        assert!(properties.contains_key("preset") && properties.contains_key("min_rto"));
    }
}
