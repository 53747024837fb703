//! Pacing: segments leave at a rate, not as soon as the window allows.

use crate::congestion::{CongestionController, Window};
use crate::{Config, Segment};
use forebay_core::{Duration, Rate, Time};

/// Whose rate it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Nobody's: whatever the window allows leaves at once.
    None,
    /// The window's: `pacing = true`.
    Window,
    /// The controller's own.
    Controller,
    /// That of Linux's machine, by Linux's rules.
    Machine,
}

/// The pace of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    source: Source,
    /// A segment waits.
    holds: bool,
    /// Bytes of payload that may still leave with the last segment.
    burst: u32,
    /// When the next segment may leave.
    until: Time,
    /// Segments of data that Linux will not yet pace: those before the tenth.
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

    /// Whether there is any.
    #[inline]
    pub(super) fn paces(&self) -> bool {
        self.source != Source::None
    }

    /// Whether a segment waits for it.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// Nothing waits.
    #[inline]
    pub(super) fn release(&mut self) {
        self.holds = false;
    }

    /// The next segment need not wait: a timeout has asked for it (tcp_retransmit_timer sends
    /// without a look at the pace).
    pub(super) fn excuse(&mut self, window: &Window) {
        self.burst = self.burst.max(window.mss.min(u64::from(u32::MAX)) as u32);
    }

    /// When the next segment may leave.
    #[inline]
    pub(super) fn next_send(&self) -> Time {
        self.until
    }

    /// When what waits may go.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        if self.holds { self.until } else { Time::MAX }
    }

    /// Whether it holds back what could be sent now.
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

    /// The rate to send at. Without one of the controller's it is twice the window a round trip in
    /// slow start, 1.2 times after it, so that pacing never holds the window's growth back (the
    /// factors are Linux's).
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

    /// `payload` bytes leave at `now` from Linux's machine, at `rate` bytes a second
    /// (`tcp_update_skb_after_send`): a segment that left late is followed sooner.
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
