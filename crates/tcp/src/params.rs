//! Parameters that every stack has.

use crate::ReceiveWindow;
use crate::accecn::Feedback;
use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Duration, named_enum, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

named_enum! {
    /// The way in which losses are found and repaired. Its name is that in a configuration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
    #[serde(rename_all = "kebab-case")]
    pub enum LossRecovery {
        /// Fast retransmit and fast recovery, which the first new acknowledgment ends (RFC 5681).
        Reno = "reno",
        /// One loss a round trip is repaired by partial acknowledgments (RFC 6582).
        NewReno = "new-reno",
        /// Selective acknowledgments (RFC 2018, RFC 6675).
        #[default]
        Sack = "sack",
    }
}

params! {
    /// Parameters of one connection that do not depend on the stack; both ends take the same.
    #[derive(PartialEq)]
    pub struct ConnectionParams {
        /// Loss recovery: `"reno"` (RFC 5681), `"new-reno"` (RFC 6582) or `"sack"` (RFC 6675).
        /// Linux's stacks have `"sack"`, `ns-3.18` has `"new-reno"`.
        pub recovery: LossRecovery = LossRecovery::Sack,
        /// Largest IP packet in bytes, 100 to 65535; a segment carries 40 bytes less, and 12 less
        /// again with timestamps.
        pub mtu: Bytes = Bytes(1500),
        /// Initial congestion window in segments, 1 to 65535 (RFC 6928: 10).
        pub initial_window: u32 = 10,
        /// Initial slow start threshold in segments, at least 2; unlimited if absent (RFC 5681,
        /// section 3.1).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub initial_ssthresh: Option<u32> = None,
        /// Largest congestion window in segments, at least 1; unlimited if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_window: Option<u32> = None,
        /// Receive buffer, and so the window advertised by a reader that keeps up, from one segment
        /// to 1 GiB (RFC 7323, section 2.3); `"auto"`, which `stack = "linux-6.1"` takes for a
        /// window that grows with what arrives in a round trip, from 64 KB to 3 MiB (dynamic
        /// right-sizing), and every other for 3 MiB.
        pub receive_window: ReceiveWindow = ReceiveWindow::Fixed(Bytes(6_000_000)),
        /// Full segments per acknowledgment, 1 or 2 (RFC 9293, section 3.8.6.3).
        pub delayed_ack_count: u8 = 2,
        /// Longest delay of an acknowledgment, below 500 ms (RFC 9293, section 3.8.6.3). Linux's
        /// stacks adapt the delay, and take this for the shortest.
        pub delayed_ack_timeout: Duration = Duration::from_millis(40),
        /// Number of segments at the start of a connection that are acknowledged at once, so that
        /// slow start is not delayed. Linux's stacks choose it themselves.
        pub quick_acks: u32 = 0,
        /// Minimum retransmission timeout (RFC 6298, section 2.4: 1 s; Linux: 200 ms).
        pub min_rto: Duration = Duration::from_millis(200),
        /// Retransmission timeout before the first measurement (RFC 6298, section 2.1: 1 s).
        pub initial_rto: Duration = Duration::from_secs(1),
        /// Maximum retransmission timeout, also after backoff (RFC 6298, section 2.5: at least 60
        /// s).
        pub max_rto: Duration = Duration::from_secs(60),
        /// Timestamps on every segment and a round-trip sample from every new acknowledgment (RFC
        /// 7323).
        pub timestamps: bool = false,
        /// Explicit congestion notification (RFC 3168).
        pub ecn: bool = false,
        /// Accurate ECN feedback (AccECN, RFC 9768), with `ecn = true`: the receiver counts marked
        /// packets and bytes instead of echoing that there were some. Each side falls back to RFC
        /// 3168 if the other does not have it. The stacks `standard`, `linux-6.1` and `linux-6.12` have it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub accurate_ecn: bool = false,
        /// HyStart++ in the initial slow start (RFC 9406); in Linux, CUBIC's own HyStart.
        pub hystart: bool = false,
        /// Space segments over the round trip at 2 (slow start) or 1.2 times cwnd / SRTT.
        pub pacing: bool = false,
        /// Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1).
        pub slow_start_after_idle: bool = true,
        /// Retransmissions of one segment by timeout before the connection is aborted, at least 1
        /// (R2 of RFC 9293, section 3.8.3); never if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_retransmissions: Option<u32> = None,
        /// Begin with SYN and SYN-ACK; otherwise both ends are established from the start.
        pub handshake: bool = true,
    }
}

impl ConnectionParams {
    /// How marks are reported, if both ends want what it asks for.
    pub(crate) fn feedback(&self) -> Feedback {
        match self {
            ConnectionParams { accurate_ecn: true, .. } => Feedback::Accurate,
            ConnectionParams { ecn: true, .. } => Feedback::Classic,
            _ => Feedback::None,
        }
    }

    /// Payload of a full segment in bytes: the MTU less 40 bytes of headers, less 12 more with
    /// timestamps (RFC 6691, section 3).
    pub fn mss(&self) -> u64 {
        self.mtu.0.saturating_sub(if self.timestamps { 52 } else { 40 })
    }

    /// Whether the option called `field` is in use: it is set, and neither false nor zero.
    pub(crate) fn uses(&self, field: &str) -> bool {
        let params = serde_json::to_value(self).expect("parameters are plain data");
        ![&Value::Null, &false.into(), &0.into()].contains(&&params[field])
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
        at_least("max_retransmissions", self.max_retransmissions, 1)?;
        require(self.ecn || !self.accurate_ecn, "accurate_ecn", || {
            "needs ECN; set ecn = true".to_owned()
        })?;
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
        for (path, timeout) in [("min_rto", self.min_rto), ("initial_rto", self.initial_rto)] {
            require(timeout > Duration::ZERO, path, || {
                format!("must be greater than 0, got \"{timeout}\"")
            })?;
        }
        let least = self.min_rto.max(self.initial_rto);
        require(self.max_rto >= least, "max_rto", || {
            format!("must be at least min_rto and initial_rto ({least}), got \"{}\"", self.max_rto)
        })
    }
}
