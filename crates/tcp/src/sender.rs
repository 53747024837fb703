//! The sending side.

mod handshake;
mod linux_stack;
mod pace;
mod stack;
mod standard;
mod view;
mod watch;

use crate::accecn::{DataSender, Feedback};
use crate::congestion::{CongestionController, CongestionKind, Window};
use crate::linux::{self, Machine, Version};
use crate::recovery::{Phase, Recovery};
use crate::rtt::{RttEstimator, TimedSegments};
use crate::segment::put;
use crate::stacks::Stack;
use crate::{Config, Flags, Segment, SenderStats, State};
use forebay_core::{Duration, Ecn, Time};
use pace::Pace;
use watch::Watch;

/// The purpose of the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Off,
    Retransmission,
    /// Window probes (RFC 9293, section 3.8.6.1).
    Persist,
}

/// Length of a stream without end. There is as much room again above it, so sums cannot overflow.
const FOREVER: u64 = u64::MAX >> 2;

/// The sending side of a connection.
/// After each call of [`Sender::on_segment`] (a segment arrives), [`Sender::on_deadline`] (its
/// [`Sender::deadline`] has come), [`Sender::write`] and [`Sender::close`], call [`Sender::poll`]
/// until it returns None.
///
/// The fields are in the order of use. With many connections packets wait mostly for memory, and
/// the fields that every acknowledgment needs are on adjacent cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    // With what stands before it in the simulator, these are the end of a cache line.
    timer: Timer,
    state: State,
    closed: bool,
    /// Whether the rules are the standards', without pacing, accurate ECN or a controller with
    /// attention. Then none of these need be checked for each segment.
    plain: bool,
    timestamps: bool,
    /// Marks are echoed and echoes answered (RFC 3168). Until the handshake is over: ECN is wanted.
    ecn: bool,
    /// The codepoint of new data, and that of all packets, including retransmissions and SYNs.
    ect: Flags,
    // The second one.
    /// SND.UNA: the first offset not acknowledged.
    una: u64,
    /// SND.NXT: the first offset not sent.
    next: u64,
    /// Offset after the last byte written, which is that of the FIN.
    end: u64,
    /// SND.UNA + SND.WND: the first offset for which the receiver has no room.
    edge: u64,
    deadline: Time,
    /// Largest window ever offered, in bytes (RFC 9293, Max(SND.WND)).
    largest_window: u32,
    /// Expiries of the timer without progress.
    retries: u32,
    ts_recent: u32,
    always_ect: Flags,
    /// The window, not the application or the receiver, limited the last [`Sender::poll`].
    limited: bool,
    /// A SYN, or the ACK that ends the handshake, must be sent.
    handshake_due: bool,
    /// A window probe must be sent.
    probe_due: bool,
    /// The octet at `next` was sent as a window probe.
    probed: bool,
    /// CWR is set on the next new data (RFC 3168, section 6.1.2).
    cwr_due: bool,
    slow_start_after_idle: bool,
    /// The controller sets `cwnd`, also in recovery.
    governed: bool,
    /// A new segment must be sent as a tail loss probe.
    loss_probe_due: bool,
    persist_backoff: u8,
    // The third.
    window: Window,
    segments_sent: u64,
    // The fourth.
    rtt: RttEstimator,
    last_sent: Time,
    // The fifth; what it has beyond that is rarely needed.
    timed: TimedSegments,
    // The rest of what every acknowledgment touches are two more.
    controller: Box<dyn CongestionController>,
    recovery: Recovery,
    stats: SenderStats,
    /// For a controller with attention.
    watch: Option<Box<Watch>>,
    /// A historical sender, which replaces recovery, controller and estimator.
    stack: Option<Box<Stack>>,
    /// No reduction for ECN until this offset is passed: once per window (RFC 3168, section 6.1.2).
    reduced_at: u64,
    /// Replaces `rtt`, `recovery` and `controller`, if the sender is Linux's.
    linux: Option<Box<Machine>>,
    /// Set in AccECN mode, and while it is requested.
    accurate: Option<Box<DataSender>>,
    pace: Pace,
    retries_allowed: u32,
}

impl Sender {
    /// A sender that opens its connection at `now`, with the first [`Sender::poll`]. `config` must
    /// be valid ([`Config::validate`]).
    pub fn new(config: &Config, now: Time) -> Self {
        let mut controller = config.congestion.start(config);
        let linux = Version::of(config).map(|version| Box::new(Machine::new(version, config, now)));
        let machine_paces = linux.as_ref().is_some_and(|machine| machine.pacing().is_some());
        let always = if config.ecn { config.congestion.always_ect() } else { Flags::NONE };
        let accurate = config.accurate_ecn.then(|| Box::new(DataSender::new()));
        let stack = Stack::new(config);
        let watch = Watch::new(controller.attention());
        let pace = Pace::new(config, &*controller, machine_paces, now);
        let special = linux.is_some() || stack.is_some() || accurate.is_some() || watch.is_some();
        if !config.handshake {
            controller.on_feedback(if accurate.is_some() {
                Feedback::Accurate
            } else if config.ecn {
                Feedback::Classic
            } else {
                Feedback::None
            });
        }
        Sender {
            una: u64::from(!config.handshake),
            next: u64::from(!config.handshake),
            end: 1,
            edge: if config.handshake { 1 } else { 1 + config.first_window() },
            largest_window: config.first_window() as u32,
            window: Window::new(config),
            deadline: Time::MAX,
            timer: Timer::Off,
            state: if config.handshake { State::SynSent } else { State::Established },
            closed: false,
            plain: !special && !pace.paces(),
            timestamps: config.timestamps,
            ecn: config.ecn && (config.handshake || accurate.is_none()),
            ect: Flags::NONE.with_if(config.ecn && always == Flags::NONE, Flags::ECT).with(always),
            always_ect: always,
            limited: false,
            handshake_due: config.handshake,
            probe_due: false,
            probed: false,
            cwr_due: false,
            slow_start_after_idle: config.slow_start_after_idle,
            persist_backoff: 0,
            retries: 0,
            retries_allowed: config.max_retransmissions.unwrap_or(u32::MAX),
            reduced_at: 0,
            last_sent: now,
            pace,
            governed: controller.governs(),
            watch,
            ts_recent: 0,
            recovery: Recovery::new(config),
            controller,
            stack,
            rtt: RttEstimator::new(config),
            timed: TimedSegments::default(),
            linux,
            accurate,
            loss_probe_due: false,
            stats: SenderStats::default(),
            segments_sent: 0,
        }
    }

    /// Takes over the parameters of the control of `config`, which must be of the same kind, and
    /// keeps its state. Returns false, and changes nothing, if it cannot. Call [`Sender::poll`]
    /// afterwards.
    pub fn retune(&mut self, config: &Config) -> bool {
        let own = self.linux.is_none() && self.stack.is_none();
        own && self.controller.retune(&mut self.window, &mut *config.congestion.start(config))
    }

    /// Adds `bytes` to the stream.
    ///
    /// # Panics
    /// In debug builds, after [`Sender::close`].
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closed, "nothing can be written after close");
        let unsent = self.end.saturating_sub(self.next);
        if let Some(machine) = &mut self.linux {
            machine.on_write(unsent);
        }
        self.end = self.end.saturating_add(bytes).min(FOREVER);
    }

    /// Makes the stream endless.
    pub fn write_forever(&mut self) {
        self.write(FOREVER);
    }

    /// Whether the stream has no end.
    pub fn is_endless(&self) -> bool {
        self.end == FOREVER
    }

    /// Ends the stream: a FIN follows the last byte written.
    pub fn close(&mut self) {
        self.closed = true;
        if self.state == State::Established {
            self.state = State::Closing;
        }
    }

    /// Ends the stream after what has been sent: the application is gone, and with it the rest.
    pub fn cut(&mut self) {
        // A FIN that is out says where the end is; a probe may have brought an octet more.
        if self.next <= self.end {
            self.end = (self.next + u64::from(self.probed)).clamp(1, self.end.max(1));
        }
        self.close();
    }

    /// Takes an arriving segment, whose packet had the codepoint `ecn`.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        match self.state {
            State::Done | State::Aborted => return,
            State::SynSent => return self.on_syn_ack(now, segment, ecn),
            State::Established | State::Closing => {}
        }
        if segment.flags.has(Flags::RST.with(Flags::SYN)) {
            if segment.flags.has(Flags::RST) {
                self.finish(State::Aborted);
            } else {
                self.on_syn_ack_again(ecn);
            }
            return;
        }
        // RFC 9293, section 3.10.7.4: neither old nor of anything not sent.
        let sent = self.next + u64::from(self.probed);
        if !segment.flags.has(Flags::ACK) || segment.ack < self.una || segment.ack > sent {
            return;
        }
        if segment.has_timestamp {
            self.ts_recent = segment.tsval;
        }
        if !self.plain
            && let Some(accurate) = &mut self.accurate
        {
            self.handshake_due |= accurate.on_packet(ecn);
        }
        if segment.ack > self.next {
            // The window probe's octet was taken.
            self.next = segment.ack;
            self.probed = false;
        }
        let edge = segment.ack + u64::from(segment.window);
        let repeats = segment.len == 0 && edge == self.edge;
        let widened = edge > self.edge;
        self.edge = edge;
        self.largest_window = self.largest_window.max(segment.window);
        if self.timer == Timer::Persist {
            // RFC 9293, section 3.8.6.1: as long as probes are answered, the connection stays.
            self.retries = 0;
        }
        if !self.plain && self.linux.is_some() {
            return self.on_linux_ack(now, segment, widened);
        }
        if !self.plain
            && let Some(stack) = self.stack.take()
        {
            self.on_stack_ack(now, segment, stack);
        } else {
            self.on_own_ack(now, segment, repeats);
        }
        if self.closed && self.una > self.end {
            self.finish(State::Done);
        }
    }

    /// The next segment to send now. Call it until it returns None.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// The same, written into `segment`. Returns false if there is none.
    #[inline]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        match self.state {
            State::Established | State::Closing if !self.handshake_due => {}
            State::Established | State::Closing | State::SynSent if self.handshake_due => {
                if put(self.poll_handshake(now), segment) {
                    return true;
                }
            }
            _ => return false,
        }
        if !self.plain {
            self.pace.release();
        }
        let sent = match self.recovery.phase {
            _ if !self.plain && self.linux.is_some() => put(self.poll_linux(now), segment),
            _ if !self.plain && self.stack.is_some() => put(self.poll_stack(now), segment),
            Phase::Open => self.poll_new(now, segment),
            _ => self.poll_repair(now, segment),
        };
        if sent {
            return true;
        }
        if self.probe_due || self.handshake_due {
            self.send_bare(now, segment);
            return true;
        }
        if self.timer == Timer::Off
            && self.una == self.next
            && self.next < self.end
            && !self.pace.holds()
        {
            // Nothing in flight, data waiting, and the receiver has no room for it.
            self.set_timer(Timer::Persist, now + self.rto());
        }
        false
    }

    /// What the handshake must send before data.
    #[cold]
    fn poll_handshake(&mut self, now: Time) -> Option<Segment> {
        if self.state == State::SynSent {
            self.handshake_due = false;
            return Some(self.send_syn(now));
        }
        self.pace.release();
        self.acknowledges_first().then(|| self.emitted(now, self.next, 0, Flags::ACK))
    }

    /// When to call [`Sender::on_deadline`], unless a segment arrives before.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let deadline =
            if self.plain { self.deadline } else { self.pace.deadline().min(self.deadline) };
        (deadline != Time::MAX).then_some(deadline)
    }

    /// The deadline has come. A call that is too early has no effect.
    pub fn on_deadline(&mut self, now: Time) {
        if now < self.deadline {
            return self.linux.iter_mut().for_each(|machine| machine.on_pace());
        }
        if !self.plain
            && self.linux.is_some()
            && self.timer == Timer::Retransmission
            && self.state != State::SynSent
        {
            return self.on_linux_deadline(now);
        }
        self.retries += 1;
        if self.retries > self.retries_allowed {
            return self.finish(State::Aborted);
        }
        match self.timer {
            Timer::Off => {}
            Timer::Persist => {
                self.probe_due = true;
                self.persist_backoff = self.persist_backoff.saturating_add(1);
                let times = self.persist_backoff;
                let after = match &self.linux {
                    Some(machine) => machine.backed_off(times),
                    None => self.rtt.backed_off(times),
                };
                self.set_timer(Timer::Persist, now + after);
            }
            Timer::Retransmission => self.on_timeout(now),
        }
    }

    fn finish(&mut self, state: State) {
        self.state = state;
        self.handshake_due = false;
        self.probe_due = false;
        self.pace.release();
        self.set_timer(Timer::Off, Time::MAX);
    }

    #[inline]
    fn set_timer(&mut self, timer: Timer, deadline: Time) {
        self.timer = timer;
        self.deadline = deadline;
    }

    /// The round-trip time that `segment` shows, if it acknowledges something new.
    #[inline]
    fn measure(&mut self, now: Time, segment: &Segment) -> Option<Duration> {
        if self.timestamps {
            // RFC 7323, section 4.1; the echo is exact even of retransmissions.
            let ago = u64::from(self.clock(now).wrapping_sub(segment.tsecr));
            let millis = !self.plain && self.linux.is_some();
            let unit = Duration::from_micros(if millis { 1000 } else { 1 });
            segment.has_timestamp.then(|| unit * ago)
        } else {
            self.timed.acknowledged(now, segment.ack)
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        if !self.plain {
            self.pace.excuse(&self.window);
        }
        self.rtt.back_off();
        if self.state == State::SynSent {
            self.handshake_due = true;
            self.timed.restart(u64::MAX);
        } else if !self.plain
            && let Some(stack) = self.stack.take()
        {
            return self.on_stack_timeout(now, stack);
        } else {
            // RFC 5681, section 3.1: once for a segment, however often it is sent again.
            if self.retries == 1 {
                self.reduce(now, CongestionKind::Timeout, self.outstanding());
            } else {
                self.controller.on_repeated_timeout(&mut self.window);
            }
            let cwnd = self.window.cwnd;
            self.recovery.begin_timeout(&mut self.window, self.una, self.next);
            self.govern(cwnd);
            self.watch_timeout(now);
            self.timed.restart(self.next);
        }
        // RFC 6298, section 5.6.
        self.set_timer(Timer::Retransmission, now + self.rtt.rto());
    }

    /// Length of the next segment of new data, if the receiver has room for it: everything that is
    /// left, or a full segment, or half the largest window (RFC 9293, section 3.8.6.2.1). None if
    /// there is nothing to send; 0 for a FIN alone. `anyhow` sends what fits, after the persist
    /// timer.
    #[inline]
    fn new_len(&self, anyhow: bool) -> Option<u64> {
        let left = self.end.saturating_sub(self.next);
        if left == 0 {
            return (self.closed && self.next == self.end).then_some(0);
        }
        let room = self.edge.saturating_sub(self.next);
        let whole = left.min(self.window.mss);
        if whole <= room {
            Some(whole)
        } else if room > 0 && (anyhow || 2 * room >= u64::from(self.largest_window)) {
            Some(room)
        } else {
            None
        }
    }

    /// The next `len` bytes, with the FIN if they are the last.
    #[inline(always)]
    fn send_new(&mut self, now: Time, len: u64, segment: &mut Segment) {
        self.probe_due = false;
        self.probed = false;
        let start = self.next;
        let fin = self.closed && start + len == self.end;
        let cwr = len > 0 && std::mem::take(&mut self.cwr_due);
        let flags = Flags::ACK.with_if(fin, Flags::FIN).with_if(cwr, Flags::CWR).with(if len > 0 {
            self.ect
        } else {
            Flags::NONE
        });
        self.next = start + len + u64::from(fin);
        self.emit(now, start, len as u32, flags, segment);
    }

    /// RFC 6298, section 5.1.
    #[inline]
    fn arm(&mut self, now: Time) {
        if self.timer != Timer::Retransmission {
            self.set_timer(Timer::Retransmission, now + self.rtt.rto());
        }
    }

    /// A window probe, if it is due: one octet beyond the window, not ECN-capable (RFC 9293,
    /// section 3.8.6.1; RFC 3168, section 6.1.6). It counts as sent only when it is acknowledged.
    /// Otherwise the ACK that ends the handshake.
    #[cold]
    fn send_bare(&mut self, now: Time, segment: &mut Segment) {
        let probes = std::mem::take(&mut self.probe_due);
        if probes {
            self.probed = true;
            self.stats.probes += 1;
        }
        self.emit(now, self.next, u32::from(probes), Flags::ACK, segment);
    }

    /// The timestamp clock.
    #[inline]
    fn clock(&self, now: Time) -> u32 {
        if !self.plain && self.linux.is_some() { linux::stamp(now) } else { micros(now) }
    }

    fn emitted(&mut self, now: Time, seq: u64, len: u32, flags: Flags) -> Segment {
        let mut segment = Segment::default();
        self.emit(now, seq, len, flags, &mut segment);
        segment
    }

    #[inline(always)]
    fn emit(&mut self, now: Time, seq: u64, len: u32, mut flags: Flags, segment: &mut Segment) {
        if !self.plain {
            flags = self.counted(flags, len);
        }
        self.last_sent = now;
        self.handshake_due = false;
        self.segments_sent += 1;
        self.recovery.sent(u64::from(len));
        *segment = Segment {
            seq,
            ack: 1,
            len,
            window: 65_535,
            tsval: if self.timestamps { self.clock(now) } else { 0 },
            tsecr: self.ts_recent,
            flags: flags.with(self.always_ect),
            has_timestamp: self.timestamps,
            ..Segment::default()
        };
        if !self.plain && len > 0 && self.pace.paces() {
            if let Some(rate) = self.linux.as_ref().and_then(|machine| machine.pacing()) {
                self.pace.sent_by_machine(now, len, rate);
            } else {
                let rate = self.pace.rate(&*self.controller, &self.window, self.srtt());
                self.pace.sent(now, segment, rate);
            }
        }
    }

    /// `flags` of a segment with `len` bytes of payload, with the reports of AccECN.
    fn counted(&mut self, flags: Flags, len: u32) -> Flags {
        match &mut self.accurate {
            Some(accurate) if !flags.has(Flags::SYN) => {
                flags.with_ace(accurate.ace(len == 0 && !flags.has(Flags::FIN)))
            }
            _ => flags,
        }
    }
}

/// The timestamp clock: microseconds, wrapping.
#[inline]
pub(crate) fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}
