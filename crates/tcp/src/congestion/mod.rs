//! Congestion control: how much may be in flight, given what the network says.
//!
//! The sender owns a [`Window`] and tells the controller of acknowledgments and of congestion; the
//! controller moves `cwnd` and `ssthresh`. What happens to `cwnd` *within* a recovery episode is
//! the recovery algorithm's business, not the controller's.

mod cubic;
mod cubic_2008;
mod hystart;
mod ledbat;
mod linux_reno;
mod new_reno;
mod rfc2581;

use crate::{Config, CongestionControl, SlowStartEnd};
use forebay_core::{Duration, Rate, Time};

pub use cubic::Cubic;
pub use cubic_2008::Cubic2008;
pub use hystart::HyStart;
pub use ledbat::Ledbat;
pub use linux_reno::LinuxReno;
pub use new_reno::NewReno;
pub use rfc2581::Rfc2581;

/// Congestion window and slow start threshold, in bytes (RFC 5681, section 2).
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes.
    pub ssthresh: u64,
    /// Sender maximum segment size in bytes.
    pub mss: u64,
    /// Initial window in bytes.
    pub initial: u64,
    /// Largest congestion window in bytes.
    pub maximum: u64,
    /// Most bytes that one acknowledgment counts for.
    pub per_ack: u64,
    /// 1 if slow start goes on at `ssthresh` itself, else 0.
    at_ssthresh: u64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(config: &Config) -> Self {
        let mss = config.mss();
        let maximum = config.max_window.map_or(u64::MAX >> 1, |segments| u64::from(segments) * mss);
        let initial = (u64::from(config.initial_window) * mss).min(maximum);
        // RFC 5681, section 3.1: the initial ssthresh should be arbitrarily high.
        let ssthresh = config.initial_ssthresh.map_or(u64::MAX, |n| u64::from(n) * mss);
        let per_ack = config.growth_per_ack.map_or(u64::MAX, |n| u64::from(n) * mss);
        let at_ssthresh = u64::from(config.legacy.slow_start == SlowStartEnd::AboveThreshold);
        Window { cwnd: initial, ssthresh, mss, initial, maximum, per_ack, at_ssthresh }
    }

    /// Whether slow start applies (RFC 5681, section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd - self.at_ssthresh < self.ssthresh
    }

    /// Adds `bytes` to the congestion window, up to its maximum.
    #[inline]
    pub fn grow(&mut self, bytes: u64) {
        self.cwnd = (self.cwnd + bytes).min(self.maximum);
    }
}

/// One acknowledgment of new data, outside recovery.
#[derive(Debug, Clone, Copy)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// The acknowledgment number.
    pub ack: u64,
    /// The next offset to be sent (SND.NXT).
    pub sent: u64,
    /// Round-trip time measured by this acknowledgment.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Delay from sender to receiver, by the difference of their clocks (RFC 7323), which need not
    /// agree.
    pub one_way: Option<Duration>,
    /// Whether the window, not the application or the receiver, held the sender back.
    pub limited: bool,
    /// Whether this is slow start after a retransmission timeout.
    pub after_timeout: bool,
}

/// What told of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionKind {
    /// Loss, found by duplicate or selective acknowledgments.
    Loss,
    /// An explicit congestion notification.
    Ecn,
    /// The retransmission timer expired, for the first time for this segment.
    Timeout,
}

/// Congestion, at most once a window of data.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// When it was found.
    pub now: Time,
    /// By what.
    pub kind: CongestionKind,
    /// FlightSize in bytes: data outstanding, without what limited transmit added.
    pub flight: u64,
}

/// A congestion control algorithm.
pub trait CongestionController {
    /// New data were acknowledged outside recovery: grow the window.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample);

    /// Congestion: sets `ssthresh`. The caller then sets `cwnd`, according to its recovery.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);

    /// The retransmission timer expired again for a segment that was sent again at its last
    /// expiry. RFC 5681, section 3.1, holds `ssthresh`.
    fn on_repeated_timeout(&mut self, _window: &mut Window) {}

    /// The sender has had nothing in flight and now sends again.
    fn on_restart(&mut self, _now: Time) {}

    /// The rate to send at; None sends whatever the window allows at once.
    fn pacing_rate(&self, _window: &Window, _srtt: Option<Duration>) -> Option<Rate> {
        None
    }
}

/// Slow start: RFC 5681 with appropriate byte counting, or HyStart++ before the first congestion.
#[derive(Debug)]
pub(crate) struct SlowStart {
    /// Elsewhere, since it is soon over.
    hystart: Option<Box<HyStart>>,
}

impl SlowStart {
    pub(crate) fn new(config: &Config) -> Self {
        SlowStart { hystart: config.hystart.then(|| Box::new(HyStart::new(config.pacing))) }
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if let Some(hystart) = &mut self.hystart {
            return hystart.on_ack(window, sample);
        }
        if sample.limited {
            // RFC 3465, section 2.3: L = 2, to make up for delayed acknowledgments, but 1 in the
            // slow start after a timeout, when one ACK may cover much that arrived before.
            let limit = if sample.after_timeout { 1 } else { 2 };
            window.grow(sample.acked.min(limit * window.mss).min(window.per_ack));
        }
    }

    /// HyStart++ is for the initial slow start only (RFC 9406, section 4.3).
    pub(crate) fn on_congestion(&mut self) {
        self.hystart = None;
    }
}

/// The controllers by name. An enum, not a box: the choice is made once and the calls inline.
#[derive(Debug)]
pub(crate) enum Algorithm {
    NewReno(NewReno),
    Cubic(Cubic),
    Cubic2008(Cubic2008),
    /// By far the largest, and the rarest.
    Ledbat(Box<Ledbat>),
    LinuxReno(LinuxReno),
    Rfc2581(Rfc2581),
}

/// The configured algorithm, with pacing over it if asked.
#[derive(Debug)]
pub(crate) struct Controller {
    algorithm: Algorithm,
    paced: bool,
}

impl Controller {
    pub(crate) fn new(config: &Config) -> Self {
        let algorithm = match config.congestion {
            CongestionControl::NewReno => Algorithm::NewReno(NewReno::new(config)),
            CongestionControl::Cubic => Algorithm::Cubic(Cubic::new(config)),
            CongestionControl::Cubic2008 => Algorithm::Cubic2008(Cubic2008::new(config)),
            CongestionControl::Ledbat => Algorithm::Ledbat(Box::new(Ledbat::new(config))),
            CongestionControl::LinuxReno => Algorithm::LinuxReno(LinuxReno::new(config)),
            CongestionControl::Rfc2581 => Algorithm::Rfc2581(Rfc2581::new(config)),
        };
        Controller { algorithm, paced: config.pacing }
    }

    /// The window that rate halving does not go below; `ssthresh` has been set. For Reno's kin half
    /// of it, as in Linux: a quarter of the window before the loss.
    pub(crate) fn floor(&self, window: &Window) -> u64 {
        match self.algorithm {
            Algorithm::NewReno(_) | Algorithm::LinuxReno(_) | Algorithm::Rfc2581(_) => {
                window.ssthresh / 2
            }
            _ => window.ssthresh,
        }
    }
}

impl CongestionController for Controller {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        match &mut self.algorithm {
            Algorithm::NewReno(algorithm) => algorithm.on_ack(window, sample),
            Algorithm::Cubic(algorithm) => algorithm.on_ack(window, sample),
            Algorithm::Cubic2008(algorithm) => algorithm.on_ack(window, sample),
            Algorithm::Ledbat(algorithm) => algorithm.on_ack(window, sample),
            Algorithm::LinuxReno(algorithm) => algorithm.on_ack(window, sample),
            Algorithm::Rfc2581(algorithm) => algorithm.on_ack(window, sample),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        match &mut self.algorithm {
            Algorithm::NewReno(algorithm) => algorithm.on_congestion(window, event),
            Algorithm::Cubic(algorithm) => algorithm.on_congestion(window, event),
            Algorithm::Cubic2008(algorithm) => algorithm.on_congestion(window, event),
            Algorithm::Ledbat(algorithm) => algorithm.on_congestion(window, event),
            Algorithm::LinuxReno(algorithm) => algorithm.on_congestion(window, event),
            Algorithm::Rfc2581(algorithm) => algorithm.on_congestion(window, event),
        }
    }

    fn on_repeated_timeout(&mut self, window: &mut Window) {
        match &mut self.algorithm {
            Algorithm::NewReno(algorithm) => algorithm.on_repeated_timeout(window),
            Algorithm::Cubic(algorithm) => algorithm.on_repeated_timeout(window),
            Algorithm::Cubic2008(algorithm) => algorithm.on_repeated_timeout(window),
            Algorithm::Ledbat(algorithm) => algorithm.on_repeated_timeout(window),
            Algorithm::LinuxReno(algorithm) => algorithm.on_repeated_timeout(window),
            Algorithm::Rfc2581(algorithm) => algorithm.on_repeated_timeout(window),
        }
    }

    fn on_restart(&mut self, now: Time) {
        match &mut self.algorithm {
            Algorithm::NewReno(algorithm) => algorithm.on_restart(now),
            Algorithm::Cubic(algorithm) => algorithm.on_restart(now),
            Algorithm::Cubic2008(algorithm) => algorithm.on_restart(now),
            Algorithm::Ledbat(algorithm) => algorithm.on_restart(now),
            Algorithm::LinuxReno(algorithm) => algorithm.on_restart(now),
            Algorithm::Rfc2581(algorithm) => algorithm.on_restart(now),
        }
    }

    /// Twice the window a round trip in slow start, 1.2 times after it, so that pacing never holds
    /// the window's growth back (the factors are Linux's).
    #[inline]
    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let srtt = srtt.filter(|srtt| self.paced && *srtt > Duration::ZERO)?;
        let factor = if window.in_slow_start() { 2.0 } else { 1.2 };
        let rate = factor * window.cwnd as f64 * 8.0 / srtt.as_secs_f64();
        Some(Rate::from_bps((rate as u64).max(1)))
    }
}
