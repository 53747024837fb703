//! Congestion control: how much may be in flight, given what the network says.
//!
//! The sender owns a [`Window`] and tells a [`CongestionController`] of acknowledgments and of
//! congestion; the controller moves `cwnd` and `ssthresh`. What happens to `cwnd` *within* a recovery
//! episode is the recovery algorithm's business, unless the controller governs. A controller that
//! asks for it is told of every acknowledgment and every loss as well, with samples of the delivery
//! rate, and says at which rate and in which bursts to send.
//!
//! [`registry`] has all of them by name, and [`CongestionControl`] is one that has been chosen.

mod agent;
mod bbr;
mod bbr3;
mod cubic;
mod cubic_2008;
mod dctcp;
mod draw;
mod hystart;
mod ledbat;
mod linux_reno;
mod max_filter;
mod new_reno;
mod prague;
mod registry;
mod rfc2581;
mod slow_start;

use crate::Config;
use forebay_core::{Duration, Rate, Time};
use std::any::Any;
use std::fmt;

pub use crate::accecn::Feedback;
pub use agent::{Agent, AgentParams};
pub use bbr::Bbr;
pub(crate) use bbr::law;
pub use bbr3::Bbr3;
pub use cubic::Cubic;
pub use cubic_2008::Cubic2008;
pub use dctcp::{Dctcp, DctcpParams};
pub use hystart::HyStart;
pub use ledbat::{Ledbat, LedbatParams};
pub use linux_reno::LinuxReno;
pub use new_reno::NewReno;
pub use prague::{Prague, PragueParams};
pub use registry::{Conduct, CongestionControl, Needs, NoParams, Start, builtin};
pub use rfc2581::Rfc2581;
pub use slow_start::SlowStart;

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
        let at_ssthresh =
            u64::from(config.legacy.slow_start == crate::SlowStartEnd::AboveThreshold);
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

/// Bytes or nanoseconds of a connection, of which there are less than 2^63: as a signed number, which
/// processors convert at once.
#[inline]
pub(crate) fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// One acknowledgment of new data, outside recovery.
#[derive(Debug, Clone, Copy, Default)]
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

/// Any acknowledgment, whatever is being repaired; for controllers with [`Attention`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly acknowledged or selectively acknowledged.
    pub delivered: u64,
    /// Bytes that the receiver newly says came marked (RFC 3168, CE): those newly acknowledged
    /// cumulatively, if all that it tells is an echo.
    pub marked: u64,
    /// Whether it tells of marks.
    pub echo: bool,
    /// Bytes in flight before it, and after it and what it tells of losses.
    pub prior_in_flight: u64,
    /// The same after it.
    pub in_flight: u64,
    /// Whether all data sent before the last round ended have been acknowledged: a round trip is
    /// over.
    pub round_end: bool,
    /// Round-trip time measured by this acknowledgment.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Whether the window, not the application or the receiver, held the sender back.
    pub limited: bool,
    /// Whether losses are being repaired.
    pub repairing: bool,
    /// When the next segment may leave, if segments are paced (C.next_send_time).
    pub next_send: Time,
    /// Of the delivery rate, for [`Attention::Rates`], if data were delivered.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr-05, section 4.1.2, RS).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateSample {
    /// Bytes a second; None if the interval is too short to tell (RS.delivery_rate).
    pub rate: Option<f64>,
    /// Whether the application left the connection idle meanwhile (RS.is_app_limited).
    pub app_limited: bool,
    /// The longer of the times in which the data were sent and acknowledged (RS.interval).
    pub interval: Duration,
    /// Bytes delivered within it (RS.delivered).
    pub delivered: u64,
    /// Bytes delivered before the packet was sent (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Bytes delivered, of all time, this acknowledgment included (C.delivered).
    pub total_delivered: u64,
    /// Bytes found lost with this acknowledgment (RS.newly_lost).
    pub newly_lost: u64,
    /// Bytes lost between sending and delivery of the packet (RS.lost).
    pub lost: u64,
    /// Bytes in flight when the packet was sent, itself included (RS.tx_in_flight).
    pub tx_in_flight: u64,
    /// Since the packet was sent, unless it was sent more than once (RS.rtt; Karn's rule).
    pub rtt: Option<Duration>,
}

/// A segment that was found lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lost {
    /// When it was found.
    pub now: Time,
    /// Its first offset.
    pub start: u64,
    /// Its payload in bytes.
    pub bytes: u64,
    /// Bytes in flight when it was sent, itself included (P.tx_in_flight).
    pub tx_in_flight: u64,
    /// Bytes lost since it was sent, itself included (C.lost - P.lost).
    pub lost: u64,
    /// Whether the application left the connection idle when it was sent (P.is_app_limited).
    pub app_limited: bool,
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

/// How much of its connection a controller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Attention {
    /// [`CongestionController::on_ack`] and [`CongestionController::on_congestion`].
    #[default]
    Growth,
    /// [`CongestionController::on_delivery`] beside them.
    Acknowledgments,
    /// And [`CongestionController::on_lost`], with samples of the delivery rate, which take memory
    /// for every segment in flight.
    Rates,
}

/// What can be fetched into the cache ahead of its use: everything.
pub trait Fetch {
    /// Asks memory for the cache lines in which it begins and ends.
    fn fetch(&self);
}

impl<T> Fetch for T {
    fn fetch(&self) {
        forebay_core::fetch_whole(self);
    }
}

/// A congestion control algorithm: the state of one connection.
pub trait CongestionController: Any + fmt::Debug + Fetch + Send {
    /// New data were acknowledged outside recovery: grow the window.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample);

    /// Congestion: sets `ssthresh`. The caller then sets `cwnd`, according to its recovery, unless
    /// the controller governs.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);

    /// The retransmission timer expired again for a segment that was sent again at its last
    /// expiry. RFC 5681, section 3.1, holds `ssthresh`.
    fn on_repeated_timeout(&mut self, _window: &mut Window) {}

    /// The sender has had nothing in flight and now sends again.
    fn on_restart(&mut self, _window: &mut Window, _now: Time) {}

    /// What feedback of marks there is has been agreed upon, once.
    fn on_feedback(&mut self, _feedback: Feedback) {}

    /// What it is told beside that; asked once.
    fn attention(&self) -> Attention {
        Attention::Growth
    }

    /// An acknowledgment has been read, before anything else is made of it.
    fn on_delivery(&mut self, _window: &mut Window, _delivery: &Delivery) {}

    /// A segment was found lost; the acknowledgment that told of it follows.
    fn on_lost(&mut self, _window: &mut Window, _lost: &Lost) {}

    /// The last timeout was spurious: nothing had been lost (RFC 5682, section 2.1, step 3b).
    fn on_spurious(&mut self, _window: &mut Window) {}

    /// Whether `cwnd` is the controller's own at all times, recovery and timeouts included; asked
    /// once.
    fn governs(&self) -> bool {
        false
    }

    /// Whether what is sent now tells nothing of the path's bandwidth, because little is sent on
    /// purpose: samples of it are marked as the application's limit.
    fn understates(&self) -> bool {
        false
    }

    /// The window that rate halving does not go below; `ssthresh` has been set.
    fn floor(&self, window: &Window) -> u64 {
        window.ssthresh
    }

    /// Whether it has a pacing rate of its own; asked once.
    fn paces(&self) -> bool {
        false
    }

    /// The rate to send at, on the wire, if it paces; None sends whatever the window allows at once.
    fn pacing_rate(&self, _window: &Window, _srtt: Option<Duration>) -> Option<Rate> {
        None
    }

    /// Goes on with the parameters of `fresh`, a controller just started, and the state that it has.
    /// False, and nothing has changed, if it cannot.
    fn retune(&mut self, _window: &mut Window, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// Bytes of payload that leave together when segments are paced, at least one segment.
    fn send_quantum(&self, window: &Window) -> u64 {
        window.mss
    }

    /// Reports its own variables, for traces: by names of its source, in bytes, bytes a second and
    /// seconds.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Bytes of heap, the value itself included.
    fn heap(&self) -> usize;
}
