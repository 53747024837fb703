//! TCP: over a network that loses, repeats and reorders, everything arrives; against a peer that
//! forges segments, nothing breaks.

use crate::generate;
use crate::scenario::schema;
use arbitrary::{Result, Unstructured};
use forebay_core::{Duration, Ecn, Time};
use forebay_tcp::{Config, Flags, Receiver, SackBlock, Segment, Sender, State};

/// Bytes that are written in all.
const MOST_WRITTEN: u64 = 300_000;
/// Segments under way at once; the network drops what is beyond.
const MOST_UNDER_WAY: usize = 200;
/// Segments that a sender gives at one instant before the network takes no more for now.
const BURST: usize = 2_000;
/// The runs end here; timeouts may be set to centuries.
const END: Time = Time::from_nanos(1 << 62);

/// A configuration and what happens to the connection, all from the input.
pub fn segments(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(&mut Unstructured::new(data));
}

fn exercise(u: &mut Unstructured) -> Result<()> {
    let given = generate::value(&schema()["properties"]["tcp"], schema(), u)?;
    let Ok(config) = Config::read(&given) else { return Ok(()) };
    if config.validate().is_err() {
        return Ok(());
    }
    let forged = u.arbitrary()?;
    let mut pair = Pair::new(&config, forged);
    while !u.is_empty() && pair.now < END {
        pair.operate(u)?;
        pair.settle();
    }
    // With a timer far below the round-trip time, little but timeouts happens.
    if !forged && config.connection.max_rto >= Duration::from_secs(60) {
        pair.finish();
    }
    Ok(())
}

struct Pair {
    sender: Sender,
    receiver: Receiver,
    config: Config,
    now: Time,
    /// Segments under way: data, and acknowledgments.
    data: Vec<Segment>,
    acks: Vec<Segment>,
    written: u64,
    closed: bool,
    /// Whether segments are made up, too.
    forged: bool,
    /// Up to where the sender may send: without a handshake it knows the receiver's buffer.
    edge: u64,
    /// Right edge of the window that the receiver has offered.
    offered: u64,
    delivered: u64,
}

impl Pair {
    fn new(config: &Config, forged: bool) -> Self {
        Pair {
            sender: Sender::new(config, Time::ZERO),
            receiver: Receiver::new(config),
            config: config.clone(),
            now: Time::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            written: 0,
            closed: false,
            forged,
            edge: 1 + config.connection.receive_window.largest(),
            offered: 0,
            delivered: 0,
        }
    }

    fn operate(&mut self, u: &mut Unstructured) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0 | 1 => self.write(u64::from(u.arbitrary::<u16>()?)),
            2 if u.int_in_range(0..=7)? == 0 => self.close(),
            2 | 3 => {
                self.pass(Duration::from_nanos(u.arbitrary::<u64>()? >> u.int_in_range(10..=50)?))
            }
            4 | 5 => self.next_deadline(),
            6 => {
                let reading = u.arbitrary()?;
                let update = self.receiver.set_reading(self.now, reading);
                self.answer(update);
            }
            7..=9 => {
                let count = u.int_in_range(1..=20)?;
                (0..count).for_each(|_| self.deliver_data(0));
            }
            10 | 11 => {
                let count = u.int_in_range(1..=20)?;
                (0..count).for_each(|_| self.deliver_ack(0));
            }
            12 => {
                let index = usize::from(u.arbitrary::<u8>()?);
                self.deliver_data(index);
                self.deliver_ack(index);
            }
            13 => {
                let index = usize::from(u.arbitrary::<u8>()?);
                // Loss of one, and repetition of another.
                if index < self.data.len() {
                    self.data.remove(index);
                } else if let Some(segment) = self.acks.get(index % 16).copied() {
                    self.acks.push(segment);
                } else if let Some(segment) = self.data.first().copied() {
                    self.data.push(segment);
                }
            }
            14 => self.acks.truncate(usize::from(u.arbitrary::<u8>()?)),
            _ if self.forged => {
                let segment = self.forge(u)?;
                if u.arbitrary()? {
                    self.sender.on_segment(self.now, &segment, segment.ecn());
                } else {
                    let ecn = if u.arbitrary()? { Ecn::Ce } else { segment.ecn() };
                    let reply = self.receiver.on_segment(self.now, &segment, ecn);
                    self.answer(reply);
                }
            }
            _ => self.data.truncate(usize::from(u.arbitrary::<u8>()?)),
        }
        Ok(())
    }

    fn write(&mut self, bytes: u64) {
        if !self.closed {
            let bytes = bytes.min(MOST_WRITTEN - self.written);
            self.sender.write(bytes);
            self.written += bytes;
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.sender.close();
    }

    fn pass(&mut self, span: Duration) {
        self.now = (self.now + span).min(END);
    }

    fn next_deadline(&mut self) {
        let due = [self.sender.deadline(), self.receiver.deadline()].into_iter().flatten().min();
        self.now = due.unwrap_or(self.now).clamp(self.now, END);
    }

    fn deliver_data(&mut self, index: usize) {
        if index < self.data.len() {
            let segment = self.data.remove(index);
            let marked = segment.is_ect() && segment.seq.is_multiple_of(7);
            let ecn = if marked { Ecn::Ce } else { segment.ecn() };
            let reply = self.receiver.on_segment(self.now, &segment, ecn);
            self.answer(reply);
        }
    }

    fn deliver_ack(&mut self, index: usize) {
        if index < self.acks.len() {
            let segment = self.acks.remove(index);
            let marked = segment.is_ect() && segment.ack.is_multiple_of(7);
            let ecn = if marked { Ecn::Ce } else { segment.ecn() };
            self.sender.on_segment(self.now, &segment, ecn);
        }
    }

    /// The receiver sends `reply`, if any.
    fn answer(&mut self, reply: Option<Segment>) {
        let Some(segment) = reply else { return };
        let edge = segment.ack + u64::from(segment.window);
        // The window of a SYN is not scaled (RFC 7323, section 2.2), that of a repeated one neither.
        let syn = segment.flags.has(Flags::SYN);
        assert!(edge >= self.offered || segment.ack == 0 || syn, "the window shrinks: {segment:?}");
        // Linux rounds up to the unit in which a header tells it.
        let largest = self.config.connection.receive_window.largest();
        assert!(u64::from(segment.window) <= largest + largest / 32_768 + 1);
        assert!(segment.sack_blocks().all(|(start, end)| start < end));
        // The first may be a duplicate (RFC 2883).
        assert!(segment.sack_blocks().skip(1).all(|(start, _)| segment.ack < start));
        self.offered = self.offered.max(edge);
        self.edge = self.edge.max(edge);
        if self.acks.len() < MOST_UNDER_WAY {
            self.acks.push(segment);
        }
    }

    /// Lets happen whatever is due, sends all that may be sent, and checks the invariants.
    fn settle(&mut self) {
        if self.sender.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.sender.on_deadline(self.now);
        }
        if self.receiver.deadline().is_some_and(|deadline| deadline <= self.now) {
            let reply = self.receiver.on_deadline(self.now);
            self.answer(reply);
        }
        let mut ended = false;
        for _ in 0..BURST {
            let Some(segment) = self.sender.poll(self.now) else {
                ended = true;
                break;
            };
            self.check_sent(&segment);
            if self.data.len() < MOST_UNDER_WAY {
                self.data.push(segment);
            }
        }
        self.check(ended);
    }

    fn check_sent(&self, segment: &Segment) {
        assert!(u64::from(segment.len) <= self.config.mss(), "{segment:?}");
        let end = segment.seq + u64::from(segment.len);
        assert!(
            segment.len == 0 || end <= 1 + self.written,
            "beyond what was written: {segment:?}"
        );
        // One octet beyond the window is a probe (RFC 9293, section 3.8.6.1).
        let room = self.edge + u64::from(segment.len == 1);
        assert!(self.forged || end <= room, "beyond the window: {segment:?}");
    }

    fn check(&mut self, polled: bool) {
        let sender = &self.sender;
        // ns-2 halves a window of one segment, too, ns-3.18 takes from it what a partial acknowledgment
        // covers; both then wait for their timer.
        let least = u64::from(!self.config.stack.name().starts_with("ns-"));
        assert!((least..=u64::MAX >> 1).contains(&sender.info().cwnd), "{sender:?}");
        assert!(sender.outstanding() <= self.written + 2, "{sender:?}");
        assert!(sender.bytes_acked() <= self.written, "{sender:?}");
        let waits = match sender.state() {
            State::SynSent | State::Closing => true,
            State::Established => sender.bytes_acked() < self.written,
            State::Done | State::Aborted => false,
        };
        // A deadline later than any event is none.
        let far = self.config.connection.max_rto > Duration::from_secs(1 << 30);
        assert!(!waits || !polled || far || sender.deadline().is_some(), "stuck: {sender:?}");
        let delivered = self.receiver.delivered();
        assert!(delivered >= self.delivered);
        assert!(self.forged || delivered <= self.written);
        self.delivered = delivered;
    }

    fn forge(&self, u: &mut Unstructured) -> Result<Segment> {
        let near = |base: u64, u: &mut Unstructured| -> Result<u64> {
            Ok(match u.int_in_range(0..=4)? {
                0 => u.arbitrary()?,
                1 => base,
                2 => base + self.config.mss() * u64::from(u.arbitrary::<u8>()?),
                3 => base.saturating_sub(u64::from(u.arbitrary::<u8>()?)),
                _ => base + u64::from(u.arbitrary::<u16>()?),
            })
        };
        let offset = |u: &mut Unstructured| -> Result<u32> {
            Ok(if u.arbitrary()? { u.arbitrary()? } else { u32::from(u.arbitrary::<u16>()?) })
        };
        let mut flags = Flags::NONE;
        let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::ECE, Flags::CWR, Flags::ECT];
        let bits = if u.arbitrary()? { u.arbitrary::<u8>()? } else { 0 };
        for (bit, flag) in all.into_iter().enumerate() {
            flags = flags.with_if(bits >> bit & 1 == 1, flag);
        }
        let mut segment = Segment {
            seq: near(1 + self.delivered, u)?,
            ack: near(1 + self.sender.bytes_acked(), u)?,
            len: if u.arbitrary()? { 0 } else { offset(u)? },
            window: offset(u)?,
            tsval: u.arbitrary()?,
            tsecr: u.arbitrary()?,
            flags: flags.with_if(bits & 0x80 == 0, Flags::ACK),
            has_timestamp: u.arbitrary()?,
            sack_count: u.int_in_range(0..=3)?,
            ..Segment::default()
        };
        for block in &mut segment.sack[..usize::from(segment.sack_count)] {
            *block = SackBlock { start: offset(u)?, end: offset(u)? };
        }
        Ok(segment)
    }

    /// From here on nothing is lost and all is read: everything must arrive.
    fn finish(&mut self) {
        if !self.closed {
            self.close();
        }
        let update = self.receiver.set_reading(self.now, true);
        self.answer(update);
        for _ in 0..100_000 {
            self.settle();
            if matches!(self.sender.state(), State::Done | State::Aborted) || self.now >= END {
                break;
            }
            if self.data.is_empty() && self.acks.is_empty() {
                self.next_deadline();
            } else {
                self.pass(Duration::from_millis(1));
                (0..self.data.len()).for_each(|_| self.deliver_data(0));
                (0..self.acks.len()).for_each(|_| self.deliver_ack(0));
            }
        }
        let given_up = self.sender.state() == State::Aborted || self.now >= END;
        if given_up {
            return;
        }
        assert_eq!(self.sender.state(), State::Done, "{:?}", self.sender);
        assert_eq!(self.receiver.delivered(), self.written);
        assert!(self.receiver.finished());
    }
}
