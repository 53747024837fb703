//! Pacing: segments leave at a rate, not as soon as the window allows.

use crate::congestion::{CongestionController, Window};
use crate::{Config, Segment};
use forebay_core::{Duration, Rate, Time};

/// What sets the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Nothing: whatever the window allows is sent at once.
    None,
    /// The window: `pacing = true`.
    Window,
    /// The controller.
    Controller,
    /// Linux's machine, by Linux's rules.
    Machine,
}

/// The pace of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    source: Source,
    /// A segment waits.
    holds: bool,
    /// Payload bytes that may still leave together with the last segment.
    burst: u32,
    /// When the next segment may leave.
    until: Time,
    /// Number of data segments that Linux does not pace yet: those before the tenth.
    unpaced: u8,
}

impl Pace {
    /// `machine` says whether Linux's machine has a rate of its own.
    pub(super) fn new(
        config: &Config,
        controller: &dyn CongestionController,
        machine: bool,
        now: Time,
    ) -> Self {
        let source = match (machine, controller.paces(), config.pacing) {
            (true, ..) => Source::Machine,
            (false, true, _) => Source::Controller,
            (false, false, true) => Source::Window,
            (false, false, false) => Source::None,
        };
        Pace { source, holds: false, burst: 0, until: now, unpaced: 9 }
    }

    /// Whether there is pacing.
    #[inline]
    pub(super) fn paces(&self) -> bool {
        self.source != Source::None
    }

    /// Whether a segment waits for the pace.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// No segment waits any more.
    #[inline]
    pub(super) fn release(&mut self) {
        self.holds = false;
    }

    /// The next segment need not wait, because a timeout asked for it (tcp_retransmit_timer sends
    /// without checking the pace).
    pub(super) fn excuse(&mut self, window: &Window) {
        self.burst = self.burst.max(window.mss.min(u64::from(u32::MAX)) as u32);
    }

    /// When the next segment may leave.
    #[inline]
    pub(super) fn next_send(&self) -> Time {
        self.until
    }

    /// When the waiting segment may leave.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        if self.holds { self.until } else { Time::MAX }
    }

    /// Whether the pace holds back what could be sent now.
    #[inline]
    pub(super) fn held(
        &mut self,
        now: Time,
        controller: &dyn CongestionController,
        window: &Window,
    ) -> bool {
        if self.source == Source::Controller && now >= self.until {
            self.burst = controller.send_quantum(window).min(u64::from(u32::MAX)) as u32;
        }
        self.holds = now < self.until && u64::from(self.burst) < window.mss;
        self.holds
    }

    /// The rate to send at. If the controller sets none, it is twice the window per round trip in
    /// slow start, and 1.2 times afterwards, so pacing never slows the window's growth (the factors
    /// are Linux's).
    #[inline]
    pub(super) fn rate(
        &self,
        controller: &dyn CongestionController,
        window: &Window,
        srtt: Option<Duration>,
    ) -> Option<Rate> {
        if self.source == Source::Controller {
            return controller.pacing_rate(window, srtt);
        }
        let srtt = srtt.filter(|srtt| *srtt > Duration::ZERO)?;
        let factor = if window.in_slow_start() { 2.0 } else { 1.2 };
        let rate = factor * window.cwnd as f64 * 8.0 / srtt.as_secs_f64();
        Some(Rate::from_bps((rate as u64).max(1)))
    }

    /// `payload` bytes leave at `now` from Linux's machine, at `rate` bytes per second
    /// (`tcp_update_skb_after_send`). After a segment that left late, the next one follows sooner.
    pub(super) fn sent_by_machine(&mut self, now: Time, payload: u32, rate: u64) {
        let late = now.since(self.until);
        self.until = self.until.max(now);
        if self.unpaced > 0 {
            self.unpaced -= 1;
        } else if let Some(nanos) = (u64::from(payload) * 1_000_000_000).checked_div(rate) {
            let span = Duration::from_nanos(nanos);
            self.until += span.saturating_sub(late.min(span / 2));
        }
    }

    /// `segment` leaves at `now`.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, segment: &Segment, rate: Option<Rate>) {
        self.burst = self.burst.saturating_sub(segment.len);
        if let Some(rate) = rate {
            self.until = self.until.max(now) + rate.transmission(u64::from(segment.ip_len()));
        }
    }
}
