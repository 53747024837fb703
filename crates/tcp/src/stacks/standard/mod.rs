//! The rules of the standards, with options for some that differ from them.
//!
//! Source: RFC 5681, 6582, 6675, 3042, 6937 and 5682 for losses, RFC 6298 for the timer, RFC 3168 and
//! 9768 for marks.
//!
//! | part | rules |
//! |---|---|
//! | `recovery` | what `cwnd` is while losses are repaired, and what is sent again |
//! | `scoreboard` | which data have arrived, are lost or were sent again (RFC 6675) |
//! | `rtt` | round-trip time and timeout (RFC 6298) |
//!
//! Any congestion control runs in it.

mod recovery;
mod rtt;
mod scoreboard;

use super::Law;
use super::watch::Watch;
use crate::accecn::News;
use crate::congestion::{
    AckSample, CongestionControl, CongestionController, CongestionEvent, CongestionKind, Delivery,
    Role, Window, real,
};
use crate::connection::{Connection, Offered, Opened, Site, Timer};
use crate::pace::{Pace, Source};
use crate::state::Info;
use crate::{ConnectionParams, Flags, Segment};
use forebay_core::{Duration, Time, params};
use recovery::{Phase, Progress, Recovery, Repair};
use rtt::{RttEstimator, TimedSegments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::mem::offset_of;

/// The window's way down to its threshold during recovery with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once (RFC 6675).
    #[default]
    AtOnce,
    /// Proportional rate reduction (RFC 6937).
    Proportional,
}

/// The order of retransmissions with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepairOrder {
    /// Data deemed lost, then new data, then other holes (RFC 6675, NextSeg).
    LostFirst,
    /// Whatever is missing below the highest SACKed segment, before new data (NextSeg with rule 3
    /// before rule 2; ns-2's `Sack1`).
    HolesFirst,
}

/// The treatment of outstanding data at a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutRecovery {
    /// They are lost (RFC 5681, section 3.1).
    Resend,
    /// Only the first segment is sent again, and then two new ones: the others are lost if it is
    /// these that arrive (RFC 5682, section 3).
    #[serde(rename = "f-rto")]
    FRto,
}

params! {
    /// Parameters of `standard`.
    #[derive(PartialEq)]
    pub struct StandardParams {
        /// New data on the first two duplicate acknowledgments (RFC 3042).
        pub limited_transmit: bool = true,
        /// The window's way down during recovery with SACK: `"at-once"` (RFC 6675) or
        /// `"proportional"` (RFC 6937).
        pub reduction: Reduction = Reduction::AtOnce,
        /// Most segments that one acknowledgment counts for when the window grows, at least 1; as
        /// many as it acknowledges if absent (RFC 3465). 1 is RFC 5681, section 3.1, and Linux
        /// before 4.0.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub growth_per_ack: Option<u32> = None,
        /// Clock granularity (G of RFC 6298, section 2.3): the timeout is at least this far above
        /// the smoothed round-trip time; 1us if absent (Linux: its `tcp_rto_min` of 200ms).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub clock_granularity: Option<Duration> = None,
        /// Order of retransmissions with SACK: `"lost-first"` (RFC 6675), or `"holes-first"`
        /// (ns-2's `Sack1`).
        pub repair_order: RepairOrder = RepairOrder::LostFirst,
        /// Treatment of outstanding data at a timeout, with SACK: `"resend"` (RFC 5681), or
        /// `"f-rto"` (RFC 5682; Linux from 2.6.24).
        pub timeout_recovery: TimeoutRecovery = TimeoutRecovery::Resend,
    }
}

/// A sender by the standards' rules.
#[derive(Debug)]
#[repr(C)]
pub struct Standard {
    // The window completes the connection's last cache line.
    window: Window,
    // The next cache line.
    rtt: RttEstimator,
    /// The controller sets `cwnd`, also in recovery.
    governed: bool,
    slow_start_after_idle: bool,
    // The next one. Entries beyond it are rarely used.
    timed: TimedSegments,
    // Two more cache lines that every acknowledgment touches.
    controller: Box<dyn CongestionController>,
    recovery: Recovery,
    /// For a controller with attention.
    watch: Option<Box<Watch>>,
    /// No reduction for ECN until this offset is passed: once per window (RFC 3168, section 6.1.2).
    reduced_at: u64,
    pace: Pace,
}

impl Standard {
    pub(super) fn new(params: &StandardParams, site: &Site<'_>) -> Self {
        let connection = site.connection;
        let mut controller = site.congestion.start(connection);
        if !connection.handshake {
            controller.on_feedback(connection.feedback());
        }
        let Role { attention, governs, paces } = controller.role();
        let source = match (paces, connection.pacing) {
            (true, _) => Source::Controller,
            (false, true) => Source::Window,
            (false, false) => Source::None,
        };
        Standard {
            window: Window::new(connection, params.growth_per_ack),
            rtt: RttEstimator::new(connection, params.clock_granularity),
            timed: TimedSegments::default(),
            governed: governs,
            slow_start_after_idle: connection.slow_start_after_idle,
            watch: Watch::new(attention),
            pace: Pace::new(source, site.now),
            recovery: Recovery::new(connection.recovery, params),
            controller,
            reduced_at: 0,
        }
    }

    /// Whether it is neither paced nor watched.
    pub(super) fn is_plain(&self) -> bool {
        self.watch.is_none() && self.pace.source == Source::None
    }

    /// Takes over the parameters of `control`, and keeps its state. Returns false, and changes
    /// nothing, if it cannot.
    pub(crate) fn retune(
        &mut self,
        control: &CongestionControl,
        connection: &ConnectionParams,
    ) -> bool {
        self.controller.retune(&mut self.window, &mut *control.start(connection))
    }

    #[inline]
    fn in_flight(&self, connection: &Connection) -> u64 {
        self.recovery.in_flight(connection.outstanding(), self.window.mss)
    }

    /// Bytes in flight, if there is a watch.
    // Not inlined: otherwise the compiler reads the field before it tests `plain`, and a plain sender
    // waits for a cache line that it does not need.
    #[inline(never)]
    fn watched_in_flight(&self, connection: &Connection) -> Option<u64> {
        self.watch.is_some().then(|| self.in_flight(connection))
    }

    /// The report of `segment` about marks.
    #[inline]
    fn read_marks(
        &mut self,
        connection: &mut Connection,
        segment: &Segment,
        progress: &Progress,
    ) -> News {
        let accurate = if connection.plain { None } else { connection.accurate.as_mut() };
        let Some(accurate) = accurate else {
            let marks = connection.ecn && segment.flags.has(Flags::ECE);
            let marked = if marks { progress.acked } else { 0 };
            return News { marks, marked, ..News::default() };
        };
        let news = accurate.read(segment, progress.delivered, self.window.mss);
        if news.mangled {
            (connection.ect, connection.always_ect) = (Flags::NONE, Flags::NONE);
        }
        news
    }

    /// `segment` advances SND.UNA. Returns the round-trip time that it shows.
    #[inline]
    fn on_progress(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
    ) -> Option<Duration> {
        let outstanding = connection.outstanding();
        let timestamps = connection.timestamps;
        let rtt = match timestamps {
            true => connection.echoed(now, segment),
            false => self.timed.acknowledged(now, segment.ack),
        };
        if let Some(rtt) = rtt {
            // One acknowledgment for two segments is what delayed ACKs give (RFC 7323, app. G);
            // without timestamps at most eight segments a window are timed.
            let per_round = real(outstanding) / real(2 * self.window.mss);
            self.rtt.sample(rtt, if timestamps { per_round } else { per_round.min(8.0) });
        }
        connection.advance(segment.ack);
        rtt
    }

    /// Tells a controller with attention of an acknowledgment. `before` are the bytes in flight
    /// before it.
    #[cold]
    fn tell(
        &mut self,
        connection: &Connection,
        now: Time,
        segment: &Segment,
        progress: &Progress,
        news: &News,
        before: u64,
    ) {
        let Some(mut watch) = self.watch.take() else { return };
        let (controller, window) = (&mut self.controller, &mut self.window);
        watch.all_lost_below(now, self.recovery.board.lost_edge, |lost| {
            controller.on_lost(window, lost)
        });
        let rate = watch.on_ack(now, segment, connection.next);
        let delivery = Delivery {
            now,
            acked: progress.acked,
            delivered: progress.delivered,
            marked: news.marked,
            echo: news.marks,
            prior_in_flight: before,
            in_flight: self.in_flight(connection),
            round_end: watch.round_end(connection.una, connection.next),
            srtt: self.rtt.srtt(),
            limited: connection.limited,
            repairing: self.recovery.phase != Phase::Open,
            next_send: self.pace.until,
            rate,
        };
        self.controller.on_delivery(&mut self.window, &delivery);
        if self.controller.understates() {
            watch.on_idle(delivery.in_flight);
        }
        self.watch = Some(watch);
    }

    #[inline]
    fn govern(&mut self, cwnd: u64) {
        if self.governed {
            self.window.cwnd = cwnd;
        }
    }

    #[inline(always)]
    fn watch_sent(&mut self, connection: &Connection, now: Time, start: u64, end: u64) {
        if !connection.plain {
            self.tell_sent(connection, now, start, end);
        }
    }

    #[inline(never)]
    fn tell_sent(&mut self, connection: &Connection, now: Time, start: u64, end: u64) {
        if self.watch.is_some() {
            let in_flight = self.in_flight(connection);
            self.watch.iter_mut().for_each(|watch| watch.on_sent(now, start, end, in_flight));
        }
    }

    /// The application has no more data, and the window has room.
    #[inline]
    fn watch_idle(&mut self, connection: &Connection) {
        if !connection.plain
            && connection.next >= connection.end
            && let Some(in_flight) = self.watched_in_flight(connection)
            && in_flight < self.window.cwnd
        {
            self.watch.iter_mut().for_each(|watch| watch.on_idle(in_flight));
        }
    }

    /// Reacts to an acknowledgment: recovery, growth of the window, the timer.
    #[inline(always)]
    fn react(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
        progress: &Progress,
        echo: bool,
        rtt: Option<Duration>,
    ) {
        let (una, next) = (connection.una, connection.next);
        let mut restart = progress.acked > 0;
        match self.recovery.phase {
            Phase::Fast => {
                restart &= self.recovery.on_fast(&mut self.window, progress, una, next);
                if self.recovery.phase == Phase::Open {
                    self.timed.restart(next);
                }
            }
            Phase::Probing => {
                let new_data = connection.has_more();
                self.recovery.on_probing(&mut self.window, progress, una, next, new_data);
                if self.recovery.phase == Phase::Open {
                    self.controller.on_spurious(&mut self.window);
                }
            }
            phase => {
                if phase == Phase::Timeout && restart {
                    self.recovery.on_timeout_ack(una);
                }
                if echo && una > self.reduced_at {
                    self.on_echo(connection, now, progress.acked);
                } else if restart && !echo {
                    let sample = AckSample {
                        now,
                        acked: progress.acked,
                        ack: una,
                        sent: next,
                        rtt,
                        srtt: self.rtt.srtt(),
                        one_way: segment.one_way_delay(Duration::from_micros(1)),
                        limited: connection.limited,
                        after_timeout: phase == Phase::Timeout,
                    };
                    self.controller.on_ack(&mut self.window, &sample);
                }
                if self.recovery.phase == Phase::Open && self.recovery.finds_loss(progress, una) {
                    self.on_loss(connection, now, progress.delivered);
                }
            }
        }
        if restart {
            // RFC 6298, sections 5.2 and 5.3.
            if una == next {
                connection.set_timer(Timer::Off, Time::MAX);
            } else {
                connection.set_timer(Timer::Retransmission, now + self.rtt.rto());
            }
        }
    }

    fn reduce(
        &mut self,
        connection: &mut Connection,
        now: Time,
        kind: CongestionKind,
        outstanding: u64,
    ) {
        // FlightSize without what limited transmit added (RFC 5681, section 3.2, step 2).
        let flight = outstanding.min(self.window.cwnd);
        let event = CongestionEvent { now, kind, flight };
        self.controller.on_congestion(&mut self.window, &event);
        // RFC 3168, section 6.1.2: CWR tells of a reduction for whatever reason.
        connection.cwr_due = connection.ecn;
        if connection.ecn || !connection.plain {
            self.reduced_at = connection.next;
        }
    }

    fn on_loss(&mut self, connection: &mut Connection, now: Time, delivered: u64) {
        connection.stats.fast_recoveries += 1;
        self.reduce(connection, now, CongestionKind::Loss, connection.outstanding());
        if !connection.plain
            && let Some(watch) = &mut self.watch
        {
            let (controller, window) = (&mut self.controller, &mut self.window);
            watch.head_lost(now, |lost| controller.on_lost(window, lost));
        }
        self.recovery.begin_fast(&mut self.window, connection.una, connection.next, delivered);
        self.timed.restart(u64::MAX);
        // As BSD, Linux and ns-2 do; RFC 6298 is silent. A timer that still counts from the last
        // new acknowledgment would often expire before the one for the retransmission comes.
        connection.set_timer(Timer::Retransmission, now + self.rtt.rto());
    }

    fn on_echo(&mut self, connection: &mut Connection, now: Time, acked: u64) {
        connection.stats.ecn_reductions += 1;
        self.reduce(connection, now, CongestionKind::Ecn, connection.outstanding() + acked);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    #[cold]
    fn poll_repair(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &mut Segment,
    ) -> bool {
        if !connection.plain && self.is_held(now) {
            return false;
        }
        let new_data = connection.has_more();
        let (una, next) = (connection.una, connection.next);
        let (start, end) =
            match self.recovery.next_retransmission(&self.window, una, next, new_data) {
                Repair::Send(start, end) => (start, end),
                Repair::Held => {
                    connection.limited = true;
                    return false;
                }
                Repair::Nothing => return self.poll_new(connection, now, segment),
            };
        connection.stats.retransmissions += 1;
        let fin = connection.closed && end > connection.end;
        let len = end.min(connection.end).saturating_sub(start);
        let flags = Flags::ACK.with_if(fin, Flags::FIN);
        if start == una && self.recovery.uses_sack() {
            // RFC 6675, section 6, for what the cumulative acknowledgment waits for, as Linux does:
            // a hole found late in a recovery would otherwise time out before its repair.
            connection.set_timer(Timer::Retransmission, now + self.rtt.rto());
        } else {
            self.arm(connection, now);
        }
        self.watch_sent(connection, now, start, start + len);
        connection.emit(now, start, len as u32, flags, segment);
        self.on_sent(connection, now, segment);
        true
    }

    // Inlined: it is called for every packet and for every acknowledgment.
    #[inline(always)]
    fn poll_new(&mut self, connection: &mut Connection, now: Time, segment: &mut Segment) -> bool {
        let outstanding = connection.outstanding();
        let Some(len) = connection.new_len(connection.probe_due) else {
            connection.limited = false;
            self.watch_idle(connection);
            return false;
        };
        if outstanding == 0 && connection.next > 1 {
            self.restart(connection, now);
        }
        let in_flight = self.in_flight(connection);
        if in_flight + len > self.window.cwnd {
            connection.limited = true;
            return false;
        }
        if !connection.plain && self.is_held(now) {
            // A window of its own does not hold a controller back that paces.
            connection.limited &= !self.governed;
            return false;
        }
        self.watch_sent(connection, now, connection.next, connection.next + len);
        connection.send_new(now, len, segment);
        self.on_sent(connection, now, segment);
        if !connection.timestamps {
            self.timed.sent(now, connection.next, self.window.cwnd);
        }
        self.arm(connection, now);
        true
    }

    /// Something is sent after everything was acknowledged.
    fn restart(&mut self, connection: &Connection, now: Time) {
        self.controller.on_restart(&mut self.window, now);
        if self.slow_start_after_idle && now.since(connection.last_sent) > self.rtt.rto() {
            // RFC 5681, section 4.1.
            self.window.cwnd = self.window.cwnd.min(self.window.initial);
        }
    }

    /// RFC 6298, section 5.1.
    #[inline]
    fn arm(&self, connection: &mut Connection, now: Time) {
        if connection.timer != Timer::Retransmission {
            connection.set_timer(Timer::Retransmission, now + self.rtt.rto());
        }
    }

    /// Whether the pace holds back what could be sent now.
    fn is_held(&mut self, now: Time) -> bool {
        self.pace.held(now, || self.controller.send_quantum(&self.window), self.window.mss)
    }

    /// Offsets of fields that every acknowledgment needs, one on each of its cache lines.
    pub(crate) const FETCHED: [usize; 5] = [
        offset_of!(Standard, window),
        offset_of!(Standard, rtt),
        offset_of!(Standard, timed),
        offset_of!(Standard, controller),
        offset_of!(Standard, recovery.board.sacked),
    ];

    /// Fetches what these point to.
    #[inline]
    pub(crate) fn fetch_further(&self) {
        self.recovery.board.ranges.fetch();
        self.timed.fetch_further();
        if self.recovery.phase != Phase::Open {
            self.recovery.fetch_repair();
        }
        // Fast recovery does not call the controller.
        if self.recovery.phase != Phase::Fast {
            self.controller.fetch();
        }
    }
}

impl Law for Standard {
    fn open(&mut self, connection: &mut Connection, opened: &Opened) {
        self.controller.on_feedback(opened.feedback);
        if opened.timeouts > 0 {
            // RFC 5681, section 3.1: a lost SYN means an initial window of one segment.
            self.window.cwnd = self.window.mss;
            self.rtt.after_lost_syn();
        }
        if let Some(rtt) = opened.rtt {
            self.rtt.sample(rtt, 1.0);
        }
        if opened.syn_marked {
            self.on_echo(connection, opened.now, self.window.cwnd);
        }
    }

    #[inline]
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
        offered: Offered,
    ) {
        let una = connection.una;
        let before = if connection.plain { None } else { self.watched_in_flight(connection) };
        let progress =
            self.recovery.read(segment, una, connection.next, self.window.mss, offered.repeated);
        let rtt =
            if progress.acked > 0 { self.on_progress(connection, now, segment) } else { None };
        let news = self.read_marks(connection, segment, &progress);
        if let Some(before) = before {
            self.tell(connection, now, segment, &progress, &news, before);
        }
        let cwnd = self.window.cwnd;
        self.react(connection, now, segment, &progress, news.marks, rtt);
        self.govern(cwnd);
    }

    fn on_deadline(&mut self, connection: &mut Connection, now: Time) {
        if !connection.try_again() {
            return;
        }
        connection.stats.timeouts += 1;
        if !connection.plain {
            self.pace.excuse(self.window.mss);
        }
        self.rtt.back_off();
        // RFC 5681, section 3.1: once for a segment, however often it is sent again.
        if connection.retries == 1 {
            self.reduce(connection, now, CongestionKind::Timeout, connection.outstanding());
        } else {
            self.controller.on_repeated_timeout(&mut self.window);
        }
        let cwnd = self.window.cwnd;
        self.recovery.begin_timeout(&mut self.window, connection.una, connection.next);
        self.govern(cwnd);
        if !connection.plain
            && let Some(watch) = &mut self.watch
        {
            let (controller, window) = (&mut self.controller, &mut self.window);
            watch.all_lost(now, |lost| controller.on_lost(window, lost));
        }
        self.timed.restart(connection.next);
        // RFC 6298, section 5.6.
        connection.set_timer(Timer::Retransmission, now + self.rtt.rto());
    }

    #[inline]
    fn poll(&mut self, connection: &mut Connection, now: Time, segment: &mut Segment) -> bool {
        if !connection.plain {
            self.pace.release();
        }
        match self.recovery.phase {
            Phase::Open => self.poll_new(connection, now, segment),
            _ => self.poll_repair(connection, now, segment),
        }
    }

    #[inline(always)]
    fn on_sent(&mut self, connection: &Connection, now: Time, segment: &Segment) {
        self.recovery.sent(u64::from(segment.len));
        if !connection.plain && segment.len > 0 && self.pace.source != Source::None {
            let (window, srtt) = (&self.window, self.rtt.srtt());
            let rate = match self.pace.source {
                Source::Controller => self.controller.pacing_rate(window, srtt),
                _ => Pace::of_window(window.cwnd, window.ssthresh, srtt),
            };
            self.pace.sent(now, segment, rate);
        }
    }

    fn pace_deadline(&self) -> Time {
        self.pace.deadline()
    }

    fn cwnd(&self, _connection: &Connection) -> u64 {
        self.window.cwnd
    }

    fn info(&self, connection: &Connection) -> Info {
        Info {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            in_flight: self.in_flight(connection),
            phase: match self.recovery.phase {
                Phase::Open => "Open",
                Phase::Fast => "Fast",
                Phase::Timeout => "Timeout",
                Phase::Probing => "Probing",
            },
        }
    }

    fn backed_off(&self, times: u8) -> Duration {
        self.rtt.backed_off(times)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.controller.probe(out);
    }

    fn heap(&self) -> usize {
        let watch = self.watch.as_ref().map_or(0, |watch| watch.heap());
        self.recovery.board.ranges.heap() + self.controller.heap() + watch
    }
}
