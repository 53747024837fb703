//! Congestion controls of QUIC hosts: quinn's own, and forebay's.

use crate::clock;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration};
use forebay_tcp::ConnectionParams;
use forebay_tcp::congestion::{
    self, AckSample, Attention, CongestionController, CongestionEvent, CongestionKind, Needs,
    Window,
};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Makes the congestion controllers of connections.
pub type Controls = Arc<dyn ControllerFactory + Send + Sync>;

/// The control called `name`: "quinn-cubic" and "quinn-new-reno" are quinn's, others forebay's, with
/// their usual parameters.
///
/// # Errors
/// There is none of this name, or it needs what quinn does not tell a control.
pub fn control(name: &str) -> Result<Controls, ConfigError> {
    match name {
        "quinn-cubic" => return Ok(Arc::new(CubicConfig::default())),
        "quinn-new-reno" => return Ok(Arc::new(NewRenoConfig::default())),
        _ => {}
    }
    require(name != "quinn-bbr", "congestion", || {
        "quinn's BBR draws from the system's random numbers, so equal seeds would not give equal \
         runs; use \"quinn-cubic\" or \"quinn-new-reno\""
            .into()
    })?;
    let controls = congestion::builtin();
    let entry = controls.find(name).map_err(|error| error.within("congestion"))?;
    let start = entry.build(&Value::Object(Map::new()), &())?;
    let role = start(&ConnectionParams::default()).role();
    let can = entry.facts.needs == Needs::Nothing
        && role.attention == Attention::Growth
        && !role.governs
        && !role.paces;
    require(can, "congestion", || {
        format!(
            "\"{name}\" needs timestamps, reports of marks, delivery rates or a pace of its own, \
             which quinn has not for a control; use \"cubic\", \"new-reno\" or one of quinn's"
        )
    })?;
    Ok(Arc::new(Ours { start }))
}

/// Starts controllers of forebay for quinn.
struct Ours {
    start: congestion::Start,
}

impl ControllerFactory for Ours {
    fn build(self: Arc<Self>, _: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(self, mtu))
    }
}

/// A controller of forebay as quinn asks for it. What is TCP's recovery there is here that of RFC 9002,
/// section 7.3.2: the window is at once what the control sets as `ssthresh`.
struct Adapter {
    factory: Arc<Ours>,
    window: Window,
    /// In a lock, as quinn shares controllers between threads and forebay does not.
    controller: Mutex<Box<dyn CongestionController>>,
    /// Bytes sent and acknowledged so far: the offsets of TCP, which a control compares to find the end
    /// of a round trip.
    sent: u64,
    acked: u64,
    /// What the acknowledgment that is being read acknowledges, outside recovery.
    newly: u64,
    /// When the last packet that it acknowledges was sent.
    newest: Option<Instant>,
    srtt: Option<Duration>,
    /// Packets sent until then do not grow the window, and their loss is part of the same congestion.
    recovering_since: Option<Instant>,
}

impl Adapter {
    fn new(factory: Arc<Ours>, mtu: u16) -> Self {
        let mut window = Window::new(&ConnectionParams::default(), None);
        let mtu = u64::from(mtu);
        window.mss = mtu;
        // RFC 9002, section 7.2.
        window.initial = (10 * mtu).min((2 * mtu).max(14_720));
        window.cwnd = window.initial;
        let controller = Mutex::new((factory.start)(&ConnectionParams::default()));
        Adapter {
            factory,
            window,
            controller,
            sent: 0,
            acked: 0,
            newly: 0,
            newest: None,
            srtt: None,
            recovering_since: None,
        }
    }

    fn controller(&mut self) -> (&mut dyn CongestionController, &mut Window) {
        let controller = self.controller.get_mut().unwrap_or_else(|lock| lock.into_inner());
        (&mut **controller, &mut self.window)
    }
}

fn span(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        if self.sent == self.acked {
            let (controller, window) = self.controller();
            controller.on_restart(window, clock::time(now));
        }
        self.sent += bytes;
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        self.acked += bytes;
        self.srtt = Some(span(rtt.get()));
        self.newest = self.newest.max(Some(sent));
        if self.recovering_since.is_none_or(|since| sent > since) {
            self.newly += bytes;
        }
    }

    fn on_end_acks(&mut self, now: Instant, _: u64, app_limited: bool, _: Option<u64>) {
        let (acked, newest) = (std::mem::take(&mut self.newly), self.newest.take());
        if acked == 0 {
            return;
        }
        let sample = AckSample {
            now: clock::time(now),
            acked,
            ack: self.acked,
            sent: self.sent,
            rtt: newest.map(|sent| span(now.saturating_duration_since(sent))),
            srtt: self.srtt,
            limited: !app_limited,
            ..AckSample::default()
        };
        let (controller, window) = self.controller();
        controller.on_ack(window, &sample);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        if self.recovering_since.is_some_and(|since| sent <= since) {
            return;
        }
        self.recovering_since = Some(now);
        self.newly = 0;
        let kind = match (persistent, lost) {
            (true, _) => CongestionKind::Timeout,
            (false, 0) => CongestionKind::Ecn,
            (false, _) => CongestionKind::Loss,
        };
        let flight = self.window.cwnd.min(self.sent - self.acked);
        let event = CongestionEvent { now: clock::time(now), kind, flight };
        let (controller, window) = self.controller();
        controller.on_congestion(window, &event);
        // RFC 9002, sections 7.2 and 7.6.2: the least window is 2 packets.
        let least = 2 * window.mss;
        window.cwnd = if persistent { least } else { window.ssthresh.max(least) };
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.window.mss = mtu.into();
        self.window.cwnd = self.window.cwnd.max(2 * self.window.mss);
    }

    fn window(&self) -> u64 {
        self.window.cwnd
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window.cwnd;
        metrics.ssthresh = Some(self.window.ssthresh).filter(|bytes| *bytes < u64::MAX);
        metrics
    }

    /// A new controller: quinn clones one for a new path, which has to be measured anew.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Adapter::new(Arc::clone(&self.factory), self.window.mss as u16))
    }

    fn initial_window(&self) -> u64 {
        self.window.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
