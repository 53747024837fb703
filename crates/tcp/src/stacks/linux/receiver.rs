//! When a Linux receiver acknowledges (`tcp_event_data_recv`, `tcp_data_queue`,
//! `__tcp_ack_snd_check`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`).

use super::LinuxParams;
use super::receive_buffer::{ReceiveBuffer, first_window};
use super::reported::Reported;
use super::{Clock, Version};
use crate::ConnectionParams;
use forebay_core::{Duration, Time};

/// Most acknowledgments that are sent at once: at the start, after a duplicate or an idle time, in
/// 2.6 also after a hole (`TCP_MAX_QUICKACKS`).
const QUICK: u64 = 16;
/// Acknowledgments of data above one hole that 6.1 sends at once (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u32 = 3;
/// Most acknowledgments that 6.1 holds back, for how long, and how much longer if nothing else
/// wakes the host (`tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`).
const COMPRESSED: u32 = 44;
const COMPRESSION: Duration = Duration::from_millis(1);
const SLACK: Duration = Duration::from_micros(100);
/// Memory of a segment beside its payload.
const BUFFER: u64 = 312;
/// Longest delay while the round-trip time is not known.
const LONGEST: Duration = Duration::from_millis(500);
/// Longest delay since 6.1 (`TCP_DELACK_MAX`).
const DELAY: Duration = Duration::from_millis(200);

/// The receiver's half.
#[derive(Debug, Default)]
pub(crate) struct Acknowledging {
    version: Version,
    clock: Clock,
    /// Smallest delay (`TCP_ATO_MIN`), and the present delay, in ticks.
    least: u64,
    ato: u64,
    /// When data last arrived in order.
    arrived: Option<Time>,
    opened: Time,
    /// The handshake's round-trip time, and the timeout that follows from it.
    round_trip: Option<Duration>,
    min_rto: Duration,
    /// In ticks.
    rto: u64,
    /// Number of segments that will be acknowledged at once.
    quick: u32,
    /// Data that arrived twice, until they are reported.
    duplicate: Option<(u64, u64)>,
    /// RCV.NXT at which acknowledgments of data above a hole are counted, and their number.
    hole: u64,
    sent: u32,
    held: u32,
    /// When what was held back is sent.
    pub(crate) compressed_until: Time,
    /// When the timer of delayed acknowledgments expires. It does so even if the acknowledgment has
    /// been sent, and sends what is held back.
    alarm: Time,
    /// When a segment last arrived.
    refreshed: Time,
    /// The window to offer, which in 2.6 grows with the segments that arrive (`tcp_grow_window`),
    /// and its maximum. In 6.1 the last window offered.
    pub(crate) window: u64,
    widest: u64,
    mss: u64,
    /// SACK blocks.
    pub(crate) reported: Reported,
    /// Memory and window of 6.1.
    pub(crate) buffer: Option<ReceiveBuffer>,
}

impl Acknowledging {
    pub(crate) fn new(
        version: Version,
        params: &LinuxParams,
        connection: &ConnectionParams,
    ) -> Self {
        let clock = Clock { tick: params.tick };
        let least = clock.ticks_up(connection.delayed_ack_timeout);
        Acknowledging {
            version,
            clock,
            least,
            ato: least,
            min_rto: connection.min_rto,
            rto: clock.ticks_up(connection.initial_rto),
            compressed_until: Time::MAX,
            window: match version.is_2_6() {
                true => (4 * connection.mss()).min(connection.receive_window.largest()),
                false => first_window(connection),
            },
            widest: connection.receive_window.largest(),
            mss: connection.mss(),
            buffer: (!version.is_2_6()).then(|| ReceiveBuffer::new(version, params, connection)),
            ..Acknowledging::default()
        }
    }

    pub(crate) fn heap(&self) -> usize {
        let buffer = self.buffer.as_ref().map_or(0, ReceiveBuffer::heap);
        size_of::<Self>() + self.reported.heap() + buffer
    }

    /// Whether the window is no smaller than the last one, although the application has not read
    /// (`__tcp_ack_snd_check` of 6.1).
    pub(crate) fn keeps_window(&mut self) -> bool {
        let Some(buffer) = &self.buffer else { return true };
        let (window, short) = buffer.window();
        self.offer(self.window, short);
        window >= self.window
    }

    /// 6.1 offers `window`. If `short`, there is little room for it (`__tcp_select_window`).
    pub(crate) fn offer(&mut self, window: u64, short: bool) {
        self.window = window;
        if short {
            self.quick = 0;
        }
    }

    /// The window to offer while `held` bytes wait. A segment also takes the memory of its buffer,
    /// of which three quarters count in 2.6 (`tcp_win_from_space`), and the window leaves room for
    /// one more.
    pub(crate) fn window_beside(&self, held: u64) -> u64 {
        self.window.min(self.space(held))
    }

    /// `tcp_space`.
    fn space(&self, held: u64) -> u64 {
        let taken = held.div_ceil(self.mss) * (self.mss + BUFFER) * 3 / 4;
        (self.widest + self.mss).saturating_sub(taken)
    }

    /// The SYN-ACK is sent.
    pub(crate) fn on_syn(&mut self, now: Time) {
        self.opened = now;
    }

    /// A segment other than a SYN arrived.
    pub(crate) fn on_segment(&mut self, now: Time) {
        self.refreshed = now;
        if self.round_trip.is_none() {
            let rtt = now.since(self.opened);
            self.round_trip = Some(Duration::from_micros(rtt.as_nanos() / 1000));
            if let Some(buffer) = &mut self.buffer {
                buffer.open(now);
            }
            self.rto = self.clock.ticks_up(rtt + (rtt * 2).max(self.min_rto));
        }
    }

    /// Data arrived in order, and `held` bytes, including these, wait for the application or for a
    /// hole.
    pub(crate) fn on_data_2_6(&mut self, now: Time, held: u64) {
        self.adapt(now);
        if self.window < self.widest && self.window < self.space(held) {
            self.window = (self.window + 2 * self.mss).min(self.widest);
            self.quick |= 1;
        }
    }

    pub(crate) fn on_data_6_1(&mut self, now: Time, start: u64, end: u64) {
        self.adapt(now);
        let window = self.window;
        let buffer = self.buffer.as_mut();
        if buffer.is_some_and(|buffer| buffer.on_data(now, start, end, window)) {
            self.quick |= 1;
        }
    }

    /// Adapts the delay to the gaps between data.
    fn adapt(&mut self, now: Time) {
        match self.arrived.replace(now) {
            None => self.add_quick(),
            Some(before) => {
                let gap = self.clock.ticks(now) - self.clock.ticks(before);
                if gap <= self.least / 2 {
                    self.ato = self.ato / 2 + self.least / 2;
                } else if gap < self.ato {
                    self.ato = (self.ato / 2 + gap).min(self.longest_ato());
                } else if gap > self.rto {
                    self.add_quick();
                }
            }
        }
    }

    /// Until 6.12 no timeout, from then on no delay is longer.
    fn longest_ato(&self) -> u64 {
        match self.version {
            Version::Linux6_12 => self.rto.min(self.clock.ticks_up(DELAY)),
            _ => self.rto,
        }
    }

    /// Ticks that an acknowledgment is delayed at most (`tcp_send_delayed_ack`). In 6.12 they are
    /// fewer than those of the smallest timeout (`tcp_delack_max`).
    fn longest_delay(&self) -> u64 {
        let delay = self.clock.ticks_up(DELAY);
        match self.version {
            Version::Linux2_6_18 | Version::Linux2_6_26 => u64::MAX,
            Version::Linux6_1 => delay,
            Version::Linux6_12 => delay.min(self.clock.ticks_up(self.min_rto).max(2) - 1),
        }
    }

    /// `start..end` arrived above a hole.
    pub(crate) fn on_disorder(&mut self, start: u64, end: u64) {
        match &mut self.buffer {
            None => self.enter_quick(),
            Some(buffer) if start < end => self.quick |= u32::from(buffer.on_early(start, end)),
            // All of it lies beyond the window, and is not kept.
            Some(_) => {}
        }
    }

    /// Whether acknowledgments that are held back are sent before `start..end`, which was not
    /// expected, is reported (`tcp_sack_compress_send_ack`).
    pub(crate) fn lets_go(&self, start: u64, end: u64) -> bool {
        self.held > 0 && !self.reported.expects(start, end)
    }

    /// Data arrived twice. `early` says that they wait above a hole; only 6.1 reports these.
    pub(crate) fn on_duplicate(&mut self, start: u64, end: u64, early: bool) {
        self.duplicate = Some((start, end));
        if !early || self.version.is_2_6() {
            self.enter_quick();
        }
    }

    fn enter_quick(&mut self) {
        self.add_quick();
        self.ato = self.least;
    }

    /// As many as half of the window, at least two (`tcp_incr_quickack`).
    fn add_quick(&mut self) {
        let count = match self.window / (2 * self.mss) {
            0 => 2,
            count => count.min(QUICK) as u32,
        };
        self.quick = self.quick.max(count);
    }

    /// A packet was marked or sent again: two acknowledgments are sent at once
    /// (`__tcp_ecn_check_ce`).
    pub(crate) fn on_mark(&mut self) {
        let half = self.window / (2 * self.mss);
        self.quick = self.quick.max(if half == 1 { 1 } else { 2 });
        self.ato = self.least;
    }

    /// Whether every segment must be acknowledged at once.
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
            let measured = self.buffer.as_ref().and_then(|buffer| buffer.round_trip());
            let span = measured.into_iter().chain(self.round_trip).min().unwrap_or_default() / 20;
            self.compressed_until = now + span.min(COMPRESSION) + SLACK;
            if self.alarm > now {
                self.compressed_until = self.compressed_until.min(self.alarm);
            }
        }
        true
    }

    /// The timestamp of an acknowledgment that is sent now. One that was held back has that of the
    /// last segment, unless the timer of delayed acknowledgments sent it
    /// (`tcp_compressed_ack_kick`, which has no `tcp_mstamp_refresh`).
    pub(crate) fn stamped_at(&self, now: Time) -> Time {
        let kicked = self.held > 0 && now >= self.compressed_until && now != self.alarm;
        if kicked { self.refreshed } else { now }
    }

    /// An acknowledgment is sent. Returns the data that arrived twice since the last one, if any.
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

    /// When a delayed acknowledgment is sent that begins to wait now, or waits until `before`.
    pub(crate) fn delayed_until(&mut self, now: Time, before: Time) -> Time {
        let most = self.clock.ticks_up(self.round_trip.unwrap_or(LONGEST).min(LONGEST));
        let ato = self.ato.min(most.max(self.least)).min(self.longest_delay());
        let span = self.clock.tick.saturating_mul(ato);
        let until = self.clock.expiry(self.version, now, span, self.alarm);
        self.alarm = until.min(before);
        self.alarm
    }

    /// A delayed acknowledgment was sent because no second segment came.
    pub(crate) fn on_expiry(&mut self) {
        self.ato = (self.ato * 2).min(self.longest_ato());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn the_longest_delays_are_those_of_the_version() {
        let config = Config::preset("linux").unwrap();
        let params = LinuxParams { tick: Duration::from_millis(4), ..LinuxParams::default() };
        // In ticks of 4 ms: of the timer, and of what it adapts to with a timeout of 1 s.
        for (version, delay, ato) in [
            (Version::Linux2_6_26, u64::MAX, 250),
            (Version::Linux6_1, 50, 250),
            (Version::Linux6_12, 49, 50),
        ] {
            let host = Acknowledging::new(version, &params, &config.connection);
            assert_eq!((host.longest_delay(), host.longest_ato()), (delay, ato));
        }
    }
}
