//! States, counts and variables of a sender.

use forebay_core::Duration;

/// The stage of a sender's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// The SYN is not yet acknowledged.
    #[default]
    SynSent,
    /// Data may flow.
    Established,
    /// The application has closed; what was written is still being delivered.
    Closing,
    /// Everything is acknowledged, the FIN too.
    Done,
    /// Given up after too many retransmissions, or reset by the peer.
    Aborted,
}

/// Counts of a sender since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct SenderStats {
    /// Segments sent again: data, SYN or FIN.
    pub retransmissions: u64,
    /// Times the retransmission timer expired.
    pub timeouts: u64,
    /// Times fast recovery began.
    pub fast_recoveries: u64,
    /// Times the window was reduced because of an ECN echo.
    pub ecn_reductions: u64,
    /// Window probes sent.
    pub probes: u64,
}

/// The variables of a sender, like `TCP_INFO` of sockets. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold; `u64::MAX` until first set.
    pub ssthresh: u64,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, including backoff.
    pub rto: Duration,
    /// Bytes that count against the congestion window: probably in the network (RFC 6675, pipe).
    pub in_flight: u64,
    /// The phase of loss recovery, in the words of the stack. Empty if it has none.
    pub phase: &'static str,
}
