//! The receiving side.

mod linux_6_1;
mod marks;
mod report;
mod view;

use crate::accecn::DataReceiver;
use crate::ranges::RangeSet;
use crate::segment::{micros, millis, put};
use crate::stacks::Acknowledging;
use crate::{Config, Flags, LossRecovery, Segment};
use forebay_core::{Duration, Ecn, Time};
use marks::Tells;

/// Number of out-of-order blocks remembered, newest first: one more than a segment reports, because
/// two may merge.
const RECENT: usize = 4;

/// The receiving side of a connection. Its application reads everything at once, until it is told
/// to stop ([`Receiver::set_reading`]).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Receiver {
    // Every segment touches the fields up to `closed`. With 48 bytes of the simulator before them they
    // are three cache lines.
    /// RCV.NXT: the next offset expected; 0 until the SYN.
    next: u64,
    /// When the delayed acknowledgment is sent.
    deadline: Time,
    /// Offset up to which the application has read.
    read: u64,
    /// RCV.NXT + RCV.WND, as last reported to the sender.
    advertised: u64,
    buffer: u64,
    delay: Duration,
    early: RangeSet,
    mss: u32,
    /// Number of segments that will be acknowledged at once.
    quick: u32,
    /// One offset of each of the most recently received blocks, newest first; 0 if there is none.
    recent: [u64; RECENT],
    /// Offset of the FIN; [`NO_FIN`] until it is seen.
    fin: u64,
    /// TS.Recent (RFC 7323, section 4.3).
    ts_recent: u32,
    /// The codepoint of the packets that it sends.
    ect: Flags,
    /// Segments not yet acknowledged, and how many at most.
    pending: u8,
    count: u8,
    /// Whether the rules are the standards', without quick acknowledgments, reports of every mark or
    /// accurate ECN. Then none of these need be checked for each segment.
    plain: bool,
    /// Set if the rules are those of Linux 6.1, with its receive buffer.
    is_6_1: bool,
    reading: bool,
    sack: bool,
    /// Marks are echoed (RFC 3168). Until the handshake is over: ECN is wanted.
    ecn: bool,
    timestamps: bool,
    /// Congestion was experienced since the last CWR (RFC 3168, section 6.1.3). With `every_mark`:
    /// by the last packet (RFC 8257, section 3.2, DCTCP.CE).
    echo: bool,
    every_mark: bool,
    /// The data that have just arrived must be acknowledged without delay.
    at_once: bool,
    closed: bool,
    // What follows is rare, or for receivers that are not plain.
    /// RCV.NXT when the last acknowledgment was sent, if there are timestamps or Linux's rules.
    last_ack: u64,
    /// The most accurate way in which it can report marks.
    tells: Tells,
    /// The next data must be acknowledged without delay (Linux 6.1), if ECN-capable packets have been
    /// seen.
    alarmed: bool,
    ect_seen: bool,
    /// Sent right after the last acknowledgment.
    second: Option<Box<Segment>>,
    duplicate_bytes: u64,
    /// Bytes that have become contiguous since the last acknowledgment, if Linux's rules apply.
    unread: u64,
    /// Linux's rules, if these decide when to acknowledge.
    linux: Option<Box<Acknowledging>>,
    /// Set in AccECN mode.
    accurate: Option<Box<DataReceiver>>,
}

/// No FIN has been seen.
const NO_FIN: u64 = u64::MAX;

impl Receiver {
    /// A receiver that waits for its first segment. `config` must be valid.
    pub fn new(config: &Config) -> Self {
        let Config { connection, congestion, stack } = config;
        let next = u64::from(!connection.handshake);
        let linux = stack.acknowledging(connection).map(Box::new);
        let every_mark = congestion.counts_marks();
        let special =
            linux.is_some() || connection.accurate_ecn || connection.quick_acks > 0 || every_mark;
        let largest = connection.receive_window.largest();
        let buffer = linux.as_ref().map_or(largest, |linux| linux.window);
        let is_6_1 = linux.as_ref().is_some_and(|linux| linux.buffer.is_some());
        Receiver {
            next,
            read: 1,
            advertised: 1 + buffer,
            buffer,
            mss: connection.mss() as u32,
            deadline: Time::MAX,
            delay: connection.delayed_ack_timeout,
            count: connection.delayed_ack_count,
            quick: connection.quick_acks,
            is_6_1,
            linux,
            plain: !special,
            reading: true,
            sack: connection.recovery == LossRecovery::Sack,
            ecn: connection.ecn && (connection.handshake || !connection.accurate_ecn),
            timestamps: connection.timestamps,
            tells: Tells::by(connection),
            ect: if connection.ecn { congestion.always_ect() } else { Flags::NONE },
            accurate: (connection.accurate_ecn && !connection.handshake)
                .then(|| Box::new(DataReceiver::new(is_6_1))),
            every_mark,
            last_ack: next,
            fin: NO_FIN,
            ..Receiver::default()
        }
    }

    /// Takes an arriving segment, whose packet had the codepoint `ecn`. Returns the acknowledgment
    /// to send now, if any.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> Option<Segment> {
        let mut segment = *segment;
        self.answer(now, &mut segment, ecn).then_some(segment)
    }

    /// The same, but the acknowledgment replaces the segment. Returns false if there is none.
    #[inline]
    pub fn answer(&mut self, now: Time, segment: &mut Segment, ecn: Ecn) -> bool {
        if self.closed || segment.flags.has(Flags::SYN.with(Flags::RST)) || self.next == 0 {
            return put(self.on_control(now, segment, ecn), segment);
        }
        // RFC 7323, section 4.3, (2).
        if segment.has_timestamp && segment.seq <= self.last_ack {
            self.ts_recent = segment.tsval;
        }
        if self.ecn && segment.len > 0 {
            let (ce, reduced) = (ecn == Ecn::Ce, segment.flags.has(Flags::CWR));
            if self.every_mark || self.is_6_1 {
                if ce != self.echo || reduced || !segment.is_ect() {
                    return put(self.on_news_of_marks(now, segment, ce), segment);
                }
            } else {
                // RFC 3168, section 6.1.3: CWR answers what came before; CE is new.
                self.echo = (self.echo && !reduced) || ce;
            }
        } else if !self.plain && self.is_accurate() {
            return put(self.on_counted(now, segment, ecn), segment);
        }
        self.take_over(now, segment)
    }

    // Not inlined, nor is `linux`: otherwise the compiler reads the field before it tests `plain`, and a
    // plain receiver waits for a cache line that it does not need.
    #[inline(never)]
    fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    #[inline(never)]
    fn linux(&self) -> Option<&Acknowledging> {
        self.linux.as_deref()
    }

    /// Takes data, and anything else that an established connection receives.
    fn take(&mut self, now: Time, segment: &Segment) -> Option<Segment> {
        let mut segment = *segment;
        self.take_over(now, &mut segment).then_some(segment)
    }

    /// The same, but the acknowledgment replaces the segment.
    #[inline]
    fn take_over(&mut self, now: Time, segment: &mut Segment) -> bool {
        let start = segment.seq;
        let end = start.saturating_add(u64::from(segment.len));
        let has_fin = segment.flags.has(Flags::FIN);
        if !self.plain
            && let Some(linux) = &mut self.linux
        {
            linux.on_segment(now);
            if let Some(buffer) = &mut linux.buffer
                && segment.has_timestamp
                && segment.len > 0
            {
                buffer.measure_echo(now, u64::from(segment.len), segment.tsecr);
            }
        }
        let of_6_1 = !self.plain && self.is_6_1;
        let edge = if of_6_1 { self.advertised } else { self.read + self.buffer };
        if start == self.next && end <= edge && self.early.is_empty() && !has_fin {
            if segment.len == 0 {
                return false;
            }
            self.next = end;
            if of_6_1 {
                return put(self.on_in_order_6_1(now, segment), segment);
            }
            if self.reading {
                self.read = end;
            }
            return self.acknowledge_in_order(now, segment);
        }
        self.on_irregular(now, start, end, edge, has_fin, segment)
    }

    /// When to call [`Receiver::on_deadline`], unless a segment arrives before.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let mut deadline = self.deadline;
        if !self.plain
            && let Some(linux) = &self.linux
        {
            deadline = deadline.min(linux.compressed_until);
        }
        (deadline != Time::MAX).then_some(deadline)
    }

    /// The deadline has come: sends the delayed acknowledgment. A call that is too early has no
    /// effect.
    pub fn on_deadline(&mut self, now: Time) -> Option<Segment> {
        if !self.plain
            && let Some(second) = self.second.take()
        {
            self.deadline = if self.deadline > now { self.deadline } else { Time::MAX };
            return Some(*second);
        }
        if !self.plain
            && let Some(linux) = &mut self.linux
        {
            if now >= linux.compressed_until {
                return Some(self.acknowledge(now));
            }
            if now >= self.deadline {
                linux.on_expiry();
            }
        }
        if now < self.deadline {
            return None;
        }
        Some(self.acknowledge(now))
    }

    /// The application starts or stops reading. Returns the window update that tells the sender of
    /// the new room (RFC 9293, section 3.8.6.2.2).
    pub fn set_reading(&mut self, now: Time, reading: bool) -> Option<Segment> {
        self.reading = reading;
        if !reading {
            return None;
        }
        self.read = self.data_end().max(self.read);
        if self.is_6_1 {
            self.on_read_6_1(now);
        }
        let before = self.advertised;
        let edge = if self.is_6_1 { self.next + self.offered_6_1().0 } else { self.window_edge() };
        (self.next > 0 && edge > before).then(|| self.acknowledge(now))
    }

    /// Offset after the last byte received in order.
    fn data_end(&self) -> u64 {
        self.next - u64::from(self.finished())
    }

    fn on_control(&mut self, now: Time, segment: &Segment, came: Ecn) -> Option<Segment> {
        if segment.flags.has(Flags::RST) {
            self.closed = true;
            self.deadline = Time::MAX;
        }
        if self.closed || !segment.flags.has(Flags::SYN) {
            return None;
        }
        let open = self.accurate.as_ref().is_some_and(|accurate| accurate.open);
        if self.next > 1 || segment.seq != 0 || open {
            // RFC 5961, section 4: a SYN within the connection is answered with an ACK.
            return (self.next > 0).then(|| self.acknowledge(now));
        }
        self.next = 1;
        if let Some(linux) = &mut self.linux {
            linux.on_syn(now);
        }
        self.ts_recent = segment.tsval;
        let mut reply = self.acknowledge(now);
        if !self.agree(segment, came, &mut reply) {
            self.closed = true;
            self.deadline = Time::MAX;
            return Some(Segment { flags: Flags::RST, ..Segment::default() });
        }
        if self.is_6_1 {
            // Not scaled yet.
            reply.window = self.buffer as u32;
            // What was offered before a repeated SYN stays so.
            self.advertised = self.advertised.max(1 + self.buffer);
        }
        Some(reply)
    }

    /// In-order data: an acknowledgment for every second segment or after the delay (RFC 9293,
    /// section 3.8.6.3).
    #[inline]
    fn acknowledge_in_order(&mut self, now: Time, reply: &mut Segment) -> bool {
        self.pending += 1;
        if !self.plain
            && let Some(linux) = &mut self.linux
        {
            linux.on_data_2_6(now, u64::from(self.mss));
            self.buffer = linux.window;
            if self.pending >= self.count || linux.is_quick() || self.at_once {
                return put(Some(self.acknowledge(now)), reply);
            }
            self.deadline = linux.delayed_until(now, self.deadline);
            return false;
        }
        if self.pending >= self.count || self.quick > 0 || self.at_once {
            self.quick = self.quick.saturating_sub(1);
            self.acknowledge_into(now, reply);
            return true;
        }
        if self.deadline == Time::MAX {
            self.deadline = now + self.delay;
        }
        false
    }

    /// Anything but the next bytes in order is always answered at once (RFC 5681, section 4.2).
    #[cold]
    fn on_irregular(
        &mut self,
        now: Time,
        start: u64,
        end: u64,
        edge: u64,
        has_fin: bool,
        segment: &mut Segment,
    ) -> bool {
        let len = segment.len;
        let (from, to) = (start.max(self.next), end.min(edge));
        let fin_fits = has_fin && end <= edge && (self.fin == NO_FIN || self.fin == end);
        if fin_fits {
            self.fin = end;
        }
        // Nothing lies beyond the end of the stream.
        let to = to.min(self.fin);
        let old = end.min(self.next).saturating_sub(start);
        let before = self.next;
        let early = len > 0 && from < to && from > before;
        let linux = if self.plain { None } else { self.linux() };
        let held_back = linux.is_some_and(|linux| early && linux.lets_go(from, to));
        let first = held_back.then(|| self.acknowledge(now));
        let mut held = 0;
        if from < to {
            let mut fresh = 0;
            let block = self.early.insert(from, to, |low, high| fresh += high - low);
            held = to - from - fresh;
            match &mut self.linux {
                _ if self.plain => self.remember(block),
                Some(linux) if early => linux.reported.add(from, to),
                Some(_) => {}
                None => self.remember(block),
            }
        }
        if len > 0 && old + held > 0 {
            self.duplicate_bytes += old + held;
        }
        self.pending = self.pending.saturating_add(u8::from(len > 0));
        if self.plain {
            if from == before {
                self.advance();
            }
            self.acknowledge_into(now, segment);
            return true;
        }
        let waiting = if self.linux.is_some() { self.early.covered(0, u64::MAX) } else { 0 };
        if from == before {
            self.advance();
        }
        if let Some(linux) = &mut self.linux
            && self.next > before
        {
            linux.reported.advance(self.next, self.early.is_empty());
        }
        // The application has not read these data when the acknowledgment leaves.
        self.unread = if self.linux.is_some() && !self.is_6_1 { self.next - before } else { 0 };
        self.on_alarm();
        if let Some(linux) = &mut self.linux {
            let advanced = self.next > before;
            if len > 0 && old > 0 {
                linux.on_duplicate(start, end.min(before), advanced);
            } else if held > 0 {
                linux.on_duplicate(from, to, true);
            } else if advanced && !self.is_6_1 {
                linux.on_data_2_6(now, waiting);
                self.buffer = linux.window;
            } else if len > 0 && !advanced {
                linux.on_disorder(from, to);
            }
            if self.is_6_1 && advanced && from < to {
                linux.on_data_6_1(now, from, to);
            }
            let waits = !self.early.is_empty() && len > 0 && old == 0;
            let due = self.next - self.last_ack > u64::from(self.mss) && linux.keeps_window();
            if waits && !due && !self.at_once && linux.compresses(now, self.next) {
                return put(first, segment);
            }
        }
        if let Some(accurate) = &mut self.accurate {
            if len > 0 && old > 0 {
                accurate.duplicate = Some((start, end.min(before)));
            } else if held > 0 {
                accurate.duplicate = Some((from, to));
            }
        }
        self.acknowledge_into(now, segment);
        if self.is_6_1 {
            self.on_read_6_1(now);
        }
        true
    }

    /// Moves RCV.NXT past the data that have become contiguous, and past the FIN.
    fn advance(&mut self) {
        if let Some((_, end)) = self.early.containing(self.next) {
            self.early.remove_below(end);
            self.next = end;
            self.forget(|offset| offset < end);
        }
        if self.reading {
            self.read = self.read.max(self.data_end());
        }
        if self.fin == self.next {
            self.next += 1;
        }
    }

    /// The right edge to advertise. It never moves back, and moves by at least one segment or half
    /// the buffer (RFC 9293, sections 3.8.6 and 3.8.6.2.2).
    #[inline]
    fn window_edge(&self) -> u64 {
        if !self.plain
            && let Some(linux) = &self.linux
            && self.reading
        {
            let held = self.unread + self.early.covered(0, u64::MAX);
            return self.advertised.max(self.next + linux.window_beside(held));
        }
        let edge = self.read + self.buffer;
        let worthwhile = self.advertised + u64::from(self.mss).min(self.buffer / 2);
        if edge >= worthwhile { edge } else { self.advertised }
    }

    fn acknowledge(&mut self, now: Time) -> Segment {
        let mut segment = Segment::default();
        self.acknowledge_into(now, &mut segment);
        segment
    }

    #[inline(always)]
    fn acknowledge_into(&mut self, now: Time, segment: &mut Segment) {
        let mut tsval = if self.timestamps { micros(now) } else { 0 };
        let mut duplicate = None;
        if !self.plain
            && let Some(linux) = &mut self.linux
        {
            tsval = if self.timestamps { millis(linux.stamped_at(now)) } else { 0 };
            duplicate = linux.on_sent(self.pending > 0);
        }
        if !self.plain
            && let Some(accurate) = &mut self.accurate
        {
            duplicate = accurate.duplicate.take();
        }
        self.pending = 0;
        self.deadline = Time::MAX;
        if !self.plain {
            // This acknowledgment replaces the one that waits to be sent.
            self.second = None;
        }
        if self.timestamps || !self.plain {
            self.last_ack = self.next;
        }
        let window = if !self.plain && self.is_6_1 {
            self.offer_6_1()
        } else {
            self.advertised = self.window_edge();
            if !self.plain {
                self.unread = 0;
            }
            self.advertised.saturating_sub(self.next)
        };
        *segment = Segment {
            seq: 1,
            ack: self.next,
            window: window as u32,
            tsval,
            tsecr: self.ts_recent,
            flags: Flags::ACK.with_if(self.echo, Flags::ECE).with(self.ect),
            has_timestamp: self.timestamps,
            ..Segment::default()
        };
        if self.sack && (!self.early.is_empty() || duplicate.is_some()) {
            self.report(segment, duplicate);
        }
        if !self.plain
            && let Some(accurate) = &mut self.accurate
        {
            accurate.complete(segment);
        }
    }
}
