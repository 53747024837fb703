//! ns-2's round-trip times and timeouts, in whole ticks of its clock.

use crate::ConnectionParams;
use forebay_core::{Duration, Time};

#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Length of a tick in nanoseconds.
    tick: u64,
    /// Eight times the smoothed round-trip time, and four times its mean deviation, in ticks.
    srtt: i64,
    variation: i64,
    /// The present timeout (`t_rtxcur_`).
    timeout: Duration,
    /// The factor by which timeouts without a new measurement lengthen the timeout.
    pub(super) backoff: u32,
    minimum: Duration,
    maximum: Duration,
    /// The end of the segment that is timed, and when it was sent (`rtt_active_`, `rtt_seq_`).
    timed: Option<(u64, Time)>,
}

impl Clock {
    /// `rtt_init`, without its rttvar_init_ of 12 s, which the first measurement replaces.
    pub(super) fn new(connection: &ConnectionParams, tick: Duration) -> Self {
        Clock {
            tick: tick.as_nanos(),
            timeout: connection.initial_rto,
            backoff: 1,
            minimum: connection.min_rto,
            maximum: connection.max_rto,
            ..Clock::default()
        }
    }

    /// `output` of new data: one segment at a time is timed.
    pub(super) fn on_new_data(&mut self, now: Time, end: u64) {
        self.timed.get_or_insert((end, now));
    }

    /// `reset_rtx_timer`
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// `newack`. `echoed` is the round-trip time that a timestamp shows. `hold` keeps the backoff.
    pub(super) fn on_new_ack(
        &mut self,
        now: Time,
        number: u64,
        echoed: Option<Duration>,
        hold: bool,
    ) {
        if let Some(rtt) = echoed {
            self.update((rtt.as_nanos() + self.tick / 2) / self.tick);
        }
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| number >= *end) {
            if !hold {
                self.backoff = 1;
            }
            if echoed.is_none() {
                self.measure(now, now.since(sent));
            }
        }
    }

    /// `NewRenoTcpAgent::partialnewack`: the backoff ends, but nothing is measured.
    pub(super) fn end_backoff(&mut self, number: u64) {
        if self.timed.take_if(|(end, _)| number >= *end).is_some() {
            self.backoff = 1;
        }
    }

    /// `rtt_update`: the ticks of the clock that passed. boot_time_ is 0.
    pub(super) fn measure(&mut self, now: Time, rtt: Duration) {
        let sent = now.as_nanos() - rtt.as_nanos();
        self.update(now.as_nanos() / self.tick - sent / self.tick);
    }

    fn update(&mut self, ticks: u64) {
        let ticks = ticks.max(1) as i64;
        if self.srtt == 0 {
            self.srtt = ticks << 3;
            self.variation = ticks << 1;
        } else {
            let delta = ticks - (self.srtt >> 3);
            self.srtt = (self.srtt + delta).max(1);
            self.variation = (self.variation + delta.abs() - (self.variation >> 2)).max(1);
        }
        let ticks = ((self.variation << 3) + self.srtt) >> 3;
        self.timeout = Duration::from_nanos(ticks as u64 * self.tick);
    }

    /// `rtt_timeout`, with rfc2988_.
    pub(super) fn rto(&self) -> Duration {
        let timeout = self.timeout.max(self.minimum).saturating_mul(u64::from(self.backoff));
        timeout.min(self.maximum).max(Duration::from_nanos(2 * self.tick))
    }

    /// `rtt_backoff`
    pub(super) fn back_off(&mut self) {
        if self.backoff < 64 || self.rto() < self.maximum {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            self.variation += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos((self.srtt as u64 * self.tick) / 8))
    }
}
