//! Pacing: segments leave at a rate, not as soon as the window allows.

use crate::Segment;
use forebay_core::{Duration, Rate, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Source {
    /// Nothing: whatever the window allows is sent at once.
    #[default]
    None,
    /// The window: `pacing = true`.
    Window,
    /// The controller.
    Controller,
    /// Linux's own BBR, by Linux's rules.
    Machine,
}

#[derive(Debug, Default)]
pub(crate) struct Pace {
    pub(crate) source: Source,
    /// A segment waits.
    holds: bool,
    /// Payload bytes that may still leave together with the last segment.
    burst: u32,
    /// When the next segment may leave.
    pub(crate) until: Time,
    /// Number of data segments that Linux does not pace yet: a buffer is paced that ends with the
    /// tenth or a later one.
    unpaced: u8,
}

impl Pace {
    pub(crate) fn new(source: Source, now: Time) -> Self {
        Pace { source, until: now, unpaced: 10, ..Pace::default() }
    }

    /// No segment waits any more.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.holds = false;
    }

    /// The next segment need not wait, because a timeout asked for it (tcp_retransmit_timer sends
    /// without checking the pace).
    pub(crate) fn excuse(&mut self, mss: u64) {
        self.burst = self.burst.max(mss.min(u64::from(u32::MAX)) as u32);
    }

    /// When the waiting segment may leave.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        if self.holds { self.until } else { Time::MAX }
    }

    /// Whether the pace holds back what could be sent now. `quantum` is asked for the bytes that
    /// leave together, if the controller sets the rate.
    #[inline]
    pub(crate) fn held(&mut self, now: Time, quantum: impl FnOnce() -> u64, mss: u64) -> bool {
        if self.source == Source::Controller && now >= self.until {
            self.burst = quantum().min(u64::from(u32::MAX)) as u32;
        }
        self.holds = now < self.until && u64::from(self.burst) < mss;
        self.holds
    }

    /// The rate of a window: twice the window per round trip in slow start, and 1.2 times
    /// afterwards, so pacing never slows the window's growth (the factors are Linux's).
    #[inline]
    pub(crate) fn of_window(cwnd: u64, ssthresh: u64, srtt: Option<Duration>) -> Option<Rate> {
        let srtt = srtt.filter(|srtt| *srtt > Duration::ZERO)?;
        let factor = if cwnd < ssthresh { 2.0 } else { 1.2 };
        let rate = factor * cwnd as f64 * 8.0 / srtt.as_secs_f64();
        Some(Rate::from_bps((rate as u64).max(1)))
    }

    /// `payload` bytes in `segments` leave at `now` from Linux's machine, at `rate` bytes per second
    /// (`tcp_update_skb_after_send`). After a segment that left late, the next one follows sooner.
    pub(crate) fn sent_by_machine(&mut self, now: Time, payload: u32, segments: u32, rate: u64) {
        self.burst = self.burst.saturating_sub(payload);
        let late = now.since(self.until);
        self.until = self.until.max(now);
        self.unpaced = self.unpaced.saturating_sub(segments.min(255) as u8);
        if self.unpaced == 0
            && let Some(nanos) = (u64::from(payload) * 1_000_000_000).checked_div(rate)
        {
            let span = Duration::from_nanos(nanos);
            self.until += span.saturating_sub(late.min(span / 2));
        }
    }

    /// `segment` leaves at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, segment: &Segment, rate: Option<Rate>) {
        self.burst = self.burst.saturating_sub(segment.len);
        if let Some(rate) = rate {
            self.until = self.until.max(now) + rate.transmission(u64::from(segment.ip_len()));
        }
    }
}
