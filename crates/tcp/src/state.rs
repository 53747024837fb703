//! What a sender tells of itself.

/// Where in its life a sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The SYN is not yet acknowledged.
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

/// What a sender has done so far.
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
