//! When a Linux receiver acknowledges (`tcp_event_data_recv`, `tcp_data_queue`,
//! `__tcp_ack_snd_check`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`).

use super::{Clock, Version};
use crate::Config;
use forebay_core::{Duration, Time};

/// Acknowledgments that 2.6 sends at once after a hole, and either after a duplicate or a silence
/// (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// Acknowledgments of data above one hole that 6.1 sends at once (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u32 = 3;
/// Most acknowledgments that 6.1 holds back, and for how long (`tcp_comp_sack_nr`,
/// `tcp_comp_sack_delay_ns`).
const COMPRESSED: u32 = 44;
const COMPRESSION: Duration = Duration::from_millis(1);
/// Longest delay while the round trip is not known.
const LONGEST: Duration = Duration::from_millis(500);

/// The receiver's half.
#[derive(Debug)]
pub(crate) struct Acknowledging {
    version: Version,
    clock: Clock,
    /// Least delay (`TCP_ATO_MIN`), and the delay of now.
    least: Duration,
    ato: Duration,
    /// When data came in order last.
    arrived: Option<Time>,
    opened: Time,
    /// The handshake's, and the timeout that follows from it.
    round_trip: Option<Duration>,
    min_rto: Duration,
    rto: Duration,
    /// Segments yet to be acknowledged at once, and how many at the start.
    quick: u32,
    first: u32,
    /// What arrived a second time last, until it is reported.
    duplicate: Option<(u64, u64)>,
    /// RCV.NXT at which acknowledgments of data above a hole are counted, and how many there were.
    hole: u64,
    sent: u32,
    held: u32,
    compressed_until: Time,
    /// The window to offer, which in 2.6 grows with the segments that come (`tcp_grow_window`), and
    /// the most that it becomes.
    window: u64,
    widest: u64,
    mss: u64,
}

impl Acknowledging {
    pub(crate) fn new(version: Version, config: &Config) -> Self {
        Acknowledging {
            version,
            clock: Clock::new(config),
            least: config.delayed_ack_timeout,
            ato: config.delayed_ack_timeout,
            arrived: None,
            opened: Time::ZERO,
            round_trip: None,
            min_rto: config.min_rto,
            rto: config.initial_rto,
            quick: 0,
            first: config.quick_acks,
            duplicate: None,
            hole: 0,
            sent: 0,
            held: 0,
            compressed_until: Time::MAX,
            window: match version.is_2_6() {
                true => (4 * config.mss()).min(config.receive_window.0),
                false => config.receive_window.0,
            },
            widest: config.receive_window.0,
            mss: config.mss(),
        }
    }

    /// The window to offer.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// The SYN-ACK goes out.
    pub(crate) fn on_syn(&mut self, now: Time) {
        self.opened = now;
    }

    /// Anything but a SYN came.
    pub(crate) fn on_segment(&mut self, now: Time) {
        if self.round_trip.is_none() {
            let rtt = now.since(self.opened);
            self.round_trip = Some(rtt);
            self.rto = rtt + (rtt * 2).max(self.min_rto);
        }
    }

    /// Data came in order.
    pub(crate) fn on_data(&mut self, now: Time) {
        match self.arrived.replace(now) {
            None => self.quick = self.quick.max(self.first),
            Some(before) => {
                let gap = self.clock.ticks(now) - self.clock.ticks(before);
                let gap = self.clock.tick.saturating_mul(gap);
                if gap <= self.least / 2 {
                    self.ato = self.ato / 2 + self.least / 2;
                } else if gap < self.ato {
                    self.ato = (self.ato / 2 + gap).min(self.rto);
                } else if gap > self.rto {
                    self.quick = self.quick.max(QUICK);
                }
            }
        }
        if self.window < self.widest {
            self.window = (self.window + 2 * self.mss).min(self.widest);
            self.quick |= 1;
        }
    }

    /// Data came above a hole.
    pub(crate) fn on_disorder(&mut self) {
        if self.version.is_2_6() {
            self.enter_quick();
        }
    }

    /// Data came a second time.
    pub(crate) fn on_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
        self.enter_quick();
    }

    fn enter_quick(&mut self) {
        self.quick = self.quick.max(QUICK);
        self.ato = self.least;
    }

    /// Whether every segment is to be acknowledged at once.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// Whether the acknowledgment of data above a hole, with `next` expected, waits
    /// (`tcp_compressed_ack_kick`).
    pub(crate) fn compresses(&mut self, now: Time, next: u64) -> bool {
        if self.version.is_2_6() || self.quick > 0 || self.held >= COMPRESSED {
            return false;
        }
        if self.hole != next {
            (self.hole, self.sent) = (next, 0);
        }
        if self.sent < DUPLICATES {
            self.sent += 1;
            return false;
        }
        self.held += 1;
        if self.held == 1 {
            let span = self.round_trip.unwrap_or(Duration::ZERO) / 20;
            self.compressed_until = now + span.min(COMPRESSION);
        }
        true
    }

    /// When what was held back goes.
    pub(crate) fn deadline(&self) -> Time {
        self.compressed_until
    }

    /// An acknowledgment goes out; what arrived twice since the last, if anything.
    pub(crate) fn on_sent(&mut self, data: bool) -> Option<(u64, u64)> {
        (self.held, self.compressed_until) = (0, Time::MAX);
        if self.quick > 0 && data {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.least;
            }
        }
        self.duplicate.take()
    }

    /// When a delayed acknowledgment goes that begins to wait now.
    pub(crate) fn delayed_until(&self, now: Time) -> Time {
        let most = self.round_trip.map_or(LONGEST, |rtt| rtt.max(self.least).min(LONGEST));
        let ato = if self.ato > self.least { self.ato.min(most) } else { self.ato };
        self.clock.expiry(self.version, now, ato)
    }

    /// It waited in vain for a second segment.
    pub(crate) fn on_expiry(&mut self) {
        self.ato = (self.ato * 2).min(self.rto);
    }
}
