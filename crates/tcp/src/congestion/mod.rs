//! Congestion control: how much data may be in flight.
//!
//! The sender owns a [`Window`] and reports acknowledgments and congestion to a
//! [`CongestionController`], which changes `cwnd` and `ssthresh`. *Within* a recovery episode the
//! recovery algorithm changes `cwnd`, unless the controller governs it. On request, a controller is
//! also told of every acknowledgment and every loss, with samples of the delivery rate, and sets
//! the rate and the size of bursts.
//!
//! [`builtin`] has all of them by name, and [`CongestionControl`] is one that has been chosen.

mod agent;
mod bbr;
mod bbr3;
mod builtin;
mod choice;
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
mod rfc2581;
mod slow_start;

use crate::ConnectionParams;
use forebay_core::{Duration, Rate, Time};
use std::any::Any;
use std::fmt;

pub use crate::accecn::Feedback;
pub use agent::{Agent, AgentParams};
pub use bbr::Bbr;
pub(crate) use bbr::law;
pub use bbr3::Bbr3;
pub use builtin::builtin;
pub use choice::{Conduct, CongestionControl, Needs, NoParams, Start};
pub use cubic::Cubic;
pub use cubic_2008::{Cubic2008, Cubic2008Params};
pub use dctcp::{Dctcp, DctcpParams};
pub use hystart::HyStart;
pub use ledbat::{Ledbat, LedbatParams};
pub use linux_reno::LinuxReno;
pub use new_reno::NewReno;
pub use prague::{Prague, PragueParams};
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
    /// Largest congestion window in bytes.
    pub maximum: u64,
    /// Most bytes that one acknowledgment counts for.
    pub per_ack: u64,
    /// Initial window in bytes.
    pub initial: u64,
}

impl Window {
    /// The window of a new connection. An acknowledgment counts for `per_ack` segments at most, for
    /// all that it acknowledges if that is None.
    pub fn new(connection: &ConnectionParams, per_ack: Option<u32>) -> Self {
        let mss = connection.mss();
        let maximum =
            connection.max_window.map_or(u64::MAX >> 1, |segments| u64::from(segments) * mss);
        let initial = (u64::from(connection.initial_window) * mss).min(maximum);
        // RFC 5681, section 3.1: the initial ssthresh should be arbitrarily high.
        let ssthresh = connection.initial_ssthresh.map_or(u64::MAX, |n| u64::from(n) * mss);
        let per_ack = per_ack.map_or(u64::MAX, |n| u64::from(n) * mss);
        Window { cwnd: initial, ssthresh, mss, maximum, per_ack, initial }
    }

    /// Whether slow start applies (RFC 5681, section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Adds `bytes` to the congestion window, up to its limit.
    #[inline]
    pub fn grow(&mut self, bytes: u64) {
        self.cwnd = (self.cwnd + bytes).min(self.maximum);
    }
}

/// Bytes or nanoseconds of a connection, which are below 2^63, as a signed number. Processors
/// convert these faster.
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
    /// Delay from sender to receiver, as the difference of their clocks (RFC 7323), which need not
    /// agree.
    pub one_way: Option<Duration>,
    /// Whether the window, not the application or the receiver, limited the sender.
    pub limited: bool,
    /// Whether this is slow start after a retransmission timeout.
    pub after_timeout: bool,
}

/// Any acknowledgment, also during recovery. For controllers with [`Attention`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly acknowledged or selectively acknowledged.
    pub delivered: u64,
    /// Bytes that the receiver newly reports as marked (RFC 3168, CE). If it sends only echoes: the
    /// bytes newly acknowledged cumulatively.
    pub marked: u64,
    /// Whether it reports marks.
    pub echo: bool,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Bytes in flight after it and the losses that it reports.
    pub in_flight: u64,
    /// Whether a round trip is over: all data sent before the last one ended are acknowledged.
    pub round_end: bool,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Whether the window, not the application or the receiver, limited the sender.
    pub limited: bool,
    /// Whether losses are being repaired.
    pub repairing: bool,
    /// When the next segment may leave, if segments are paced (C.next_send_time).
    pub next_send: Time,
    /// A sample of the delivery rate, for [`Attention::Rates`], if data were delivered.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr-05, section 4.1.2, RS).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateSample {
    /// Bytes per second. None if the interval is too short (RS.delivery_rate).
    pub rate: Option<f64>,
    /// Whether the application had nothing to send at some time meanwhile (RS.is_app_limited).
    pub app_limited: bool,
    /// The longer of the times in which the data were sent and acknowledged (RS.interval).
    pub interval: Duration,
    /// Bytes delivered in this interval (RS.delivered).
    pub delivered: u64,
    /// Bytes delivered before the packet was sent (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Bytes delivered in total, including this acknowledgment (C.delivered).
    pub total_delivered: u64,
    /// Bytes lost between sending and delivery of the packet (RS.lost).
    pub lost: u64,
    /// Bytes in flight when the packet was sent, including itself (RS.tx_in_flight).
    pub tx_in_flight: u64,
    /// Time since the packet was sent. None if it was sent more than once (RS.rtt; Karn's rule).
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
    /// Bytes in flight when it was sent, including itself (P.tx_in_flight).
    pub tx_in_flight: u64,
    /// Bytes lost since it was sent, including itself (C.lost - P.lost).
    pub lost: u64,
    /// Whether the application had nothing more to send when it was sent (P.is_app_limited).
    pub app_limited: bool,
}

/// The sign of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionKind {
    /// Loss, found by duplicate or selective acknowledgments.
    Loss,
    /// An explicit congestion notification.
    Ecn,
    /// The retransmission timer expired, for the first time for this segment.
    Timeout,
}

/// Congestion, reported at most once per window of data.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// When it was found.
    pub now: Time,
    /// Its sign.
    pub kind: CongestionKind,
    /// FlightSize in bytes: data outstanding, without what limited transmit added.
    pub flight: u64,
}

/// The amount that a controller is told of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Attention {
    /// Only [`CongestionController::on_ack`] and [`CongestionController::on_congestion`].
    #[default]
    Growth,
    /// Also [`CongestionController::on_delivery`].
    Acknowledgments,
    /// Also [`CongestionController::on_lost`], and samples of the delivery rate, which take memory
    /// for every segment in flight.
    Rates,
}

/// The tasks of a controller beside growing its window, and the reports that it needs for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// The amount that it is told.
    pub attention: Attention,
    /// Whether it alone sets `cwnd`, also in recovery and at timeouts.
    pub governs: bool,
    /// Whether it sets a pacing rate.
    pub paces: bool,
}

/// Fetching into the cache before use. Every type has it, so no author sees it.
#[doc(hidden)]
pub trait Fetch {
    /// Asks for the cache lines in which the value begins and ends.
    fn fetch(&self);
}

impl<T> Fetch for T {
    fn fetch(&self) {
        forebay_core::fetch_whole(self);
    }
}

/// A congestion control algorithm, as the state of one connection.
pub trait CongestionController: Any + fmt::Debug + Fetch + Send {
    /// New data were acknowledged outside recovery: may grow the window.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample);

    /// Congestion: must set `ssthresh`. The caller then sets `cwnd` according to its recovery,
    /// unless the controller governs it.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);

    /// The retransmission timer expired again for a segment that was already sent again at an
    /// earlier expiry. RFC 5681, section 3.1, keeps `ssthresh`.
    fn on_repeated_timeout(&mut self, _window: &mut Window) {}

    /// The sender had nothing in flight and now sends again.
    fn on_restart(&mut self, _window: &mut Window, _now: Time) {}

    /// The kind of feedback of marks was negotiated. Called once.
    fn on_feedback(&mut self, _feedback: Feedback) {}

    /// The controller's tasks beside growing its window. Asked once.
    fn role(&self) -> Role {
        Role::default()
    }

    /// An acknowledgment has been read. Called before it has any other effect.
    fn on_delivery(&mut self, _window: &mut Window, _delivery: &Delivery) {}

    /// A segment was found lost. The acknowledgment that reported it follows.
    fn on_lost(&mut self, _window: &mut Window, _lost: &Lost) {}

    /// The last timeout was spurious: nothing was lost (RFC 5682, section 2.1, step 3b).
    fn on_spurious(&mut self, _window: &mut Window) {}

    /// Whether segments sent now cannot measure the path's bandwidth, because little is sent on
    /// purpose. Samples of them are marked as limited by the application.
    fn understates(&self) -> bool {
        false
    }

    /// The rate to send at, on the wire, if it paces. None: whatever the window allows is sent at
    /// once.
    fn pacing_rate(&self, _window: &Window, _srtt: Option<Duration>) -> Option<Rate> {
        None
    }

    /// Takes over the parameters of `fresh`, a controller that was just started, and keeps its own
    /// state. Returns false, and changes nothing, if it cannot.
    fn retune(&mut self, _window: &mut Window, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// Payload bytes that leave together when segments are paced; at least one segment.
    fn send_quantum(&self, window: &Window) -> u64 {
        window.mss
    }

    /// Reports its own variables, for traces: by the names of its source, in bytes, bytes per
    /// second and seconds.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Bytes of heap memory, including the value itself. Only a controller that points to more than
    /// itself says it.
    fn heap(&self) -> usize {
        size_of_val(self)
    }
}
