//! Recordings: all calls of a shaper, and their results.
//!
//! A file begins with the line `forebay recording 2` and a line of JSON: the [`Plan`] and the seed.
//! Operations follow, each with a tag byte and its fields. An operation that begins a call
//! (`Offer`, `Poll`, `Change`) has the nanoseconds since the previous one. What happens within the
//! call comes next, and the call's result ends it. Numbers are LEB128: seven bits in a byte, lowest
//! first. A packet that is offered and sent takes about 24 bytes.
//!
//! Calls are written whole. If a write fails, an end mark follows the last call that was written, so
//! what is left is a shorter recording.

use crate::Plan;
use forebay_core::tcp::Tcp;
use forebay_core::{DropReason, Duration, Packet, PacketKind, Poll, Time, Verdict};
use serde_json::{Value, json};
use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

const MAGIC: &str = "forebay recording 2";
/// The tag that ends a recording before the end of its file.
const END: u8 = 255;
/// Bytes that are collected before they are written.
const BLOCK: usize = 1 << 16;
/// Time after which fewer are written, because the recorder's process may be killed.
const PATIENCE: Duration = Duration::from_secs(1);

/// One entry of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// A packet arrived.
    Offer {
        /// Its handle, unique among the waiting packets.
        id: u32,
        /// Length of the IP packet in bytes.
        len: u32,
        /// Hash of the five-tuple.
        flow: u32,
        /// QoS class, precedence and drop precedence.
        marks: [u8; 3],
        /// DS field and ECN.
        tos: u8,
        /// Data, pure acknowledgment or control.
        kind: PacketKind,
        /// The hosts that sent it and to which it goes.
        hosts: [u16; 2],
    },
    /// Its fate.
    Verdict(Verdict),
    /// The link was free, and a packet was requested.
    Poll,
    /// This packet was returned.
    Sent {
        /// Handle.
        id: u32,
        /// DS field and ECN as they leave.
        tos: u8,
        /// Time that the transmission takes.
        takes: Duration,
    },
    /// No packet was returned. Ask again at this time.
    Until(Duration),
    /// No packet was returned. Ask again after the next arrival.
    Idle,
    /// A packet was dropped.
    Dropped {
        /// Handle.
        id: u32,
        /// Why.
        reason: DropReason,
    },
    /// A packet was marked congestion-experienced.
    Marked {
        /// Handle.
        id: u32,
    },
    /// The plan was changed.
    Change(Plan),
    /// The discipline looked at the TCP header of the packet that arrived.
    TcpHeader(Tcp),
}

const KINDS: [PacketKind; 3] = [PacketKind::Data, PacketKind::PureAck, PacketKind::Control];

impl Operation {
    pub(crate) fn offer(packet: &Packet) -> Self {
        Operation::Offer {
            id: packet.id,
            len: packet.len,
            flow: packet.flow,
            marks: [packet.class, packet.precedence, packet.drop_precedence],
            tos: packet.tos,
            kind: packet.kind,
            hosts: [packet.source, packet.destination],
        }
    }

    pub(crate) fn answer(poll: &Poll, now: Time) -> Self {
        match poll {
            Poll::Idle => Operation::Idle,
            Poll::Until(time) => Operation::Until(time.since(now)),
            Poll::Send { packet, done_at } => {
                Operation::Sent { id: packet.id, tos: packet.tos, takes: done_at.since(now) }
            }
        }
    }

    fn tag(&self) -> u8 {
        match self {
            Operation::Offer { .. } => 0,
            Operation::Verdict(_) => 1,
            Operation::Poll => 2,
            Operation::Sent { .. } => 3,
            Operation::Until(_) => 4,
            Operation::Idle => 5,
            Operation::Dropped { .. } => 6,
            Operation::Marked { .. } => 7,
            Operation::Change(_) => 8,
            Operation::TcpHeader(_) => 9,
        }
    }

    /// Whether it begins a call and therefore contains a time.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Operation::Offer { .. } | Operation::Poll | Operation::Change(_))
    }
}

/// A file for a recording.
pub trait Storage: Write + Seek + Send {}

impl<T: Write + Seek + Send> Storage for T {}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("bytes", &self.bytes)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// Writes a recording.
pub struct Recorder {
    out: Box<dyn Storage>,
    /// Operations that are not written yet.
    block: Vec<u8>,
    /// Length of the file, up to the end of a call.
    written: u64,
    /// When the last block was written.
    written_at: Time,
    last: Time,
    bytes: u64,
    limit: u64,
    open: bool,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Begins a recording of a shaper with `plan` and `seed`. It ends with the last call that fits
    /// into `limit` bytes.
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn new(mut out: Box<dyn Storage>, plan: &Plan, seed: u64, limit: u64) -> io::Result<Self> {
        let head = format!("{MAGIC}\n{}\n", json!({ "plan": plan, "seed": seed }));
        out.write_all(head.as_bytes())?;
        Ok(Recorder {
            out,
            block: Vec::with_capacity(BLOCK + 64),
            written: head.len() as u64,
            written_at: Time::ZERO,
            last: Time::ZERO,
            bytes: 0,
            limit,
            open: true,
            failed: None,
        })
    }

    /// Bytes of operations so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is still recording: the limit is not reached, and no write has failed.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Appends `operation`, which happened at `now`.
    pub(crate) fn write(&mut self, now: Time, operation: &Operation) {
        if !self.open {
            return;
        }
        if operation.is_call() {
            if self.block.len() >= BLOCK || now.since(self.written_at) >= PATIENCE {
                self.written_at = now;
                self.write_block();
            }
            self.open &= self.bytes < self.limit;
            if !self.open {
                return;
            }
        }
        let out = &mut self.block;
        let before = out.len();
        out.push(operation.tag());
        if operation.is_call() {
            put(out, now.since(self.last).as_nanos());
            self.last = now;
        }
        match operation {
            Operation::Offer { id, len, flow, marks, tos, kind, hosts } => {
                put(out, u64::from(*id));
                put(out, u64::from(*len));
                out.extend(flow.to_le_bytes());
                out.extend(marks);
                out.extend([*tos, *kind as u8]);
                hosts.iter().for_each(|host| out.extend(host.to_le_bytes()));
            }
            Operation::Verdict(verdict) => out.push(u8::from(*verdict == Verdict::Dropped)),
            Operation::Poll | Operation::Idle => {}
            Operation::Sent { id, tos, takes } => {
                put(out, u64::from(*id));
                out.push(*tos);
                put(out, takes.as_nanos());
            }
            Operation::Until(span) => put(out, span.as_nanos()),
            Operation::Dropped { id, reason } => {
                put(out, u64::from(*id));
                out.push(*reason as u8);
            }
            Operation::Marked { id } => put(out, u64::from(*id)),
            Operation::Change(plan) => {
                let text = json!(plan).to_string();
                put(out, text.len() as u64);
                out.extend(text.as_bytes());
            }
            Operation::TcpHeader(header) => put_header(out, header),
        }
        self.bytes += (out.len() - before) as u64;
    }

    /// Writes the calls since the last time.
    fn write_block(&mut self) {
        match self.out.write_all(&self.block).and_then(|()| self.out.flush()) {
            Ok(()) => self.written += self.block.len() as u64,
            Err(error) => {
                self.failed = Some(error);
                self.open = false;
                // If a part of the block was written, there is room for the mark. If none was, the
                // recording needs no mark.
                let begin = self.out.seek(SeekFrom::Start(self.written));
                let _ = begin.and_then(|_| self.out.write_all(&[END]));
            }
        }
        self.block.clear();
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// A write failed, now or earlier.
    pub fn finish(mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.write_block();
        }
        self.failed.map_or(Ok(()), Err)
    }
}

/// A recording to read.
#[derive(Debug)]
pub struct Recording<R> {
    input: R,
    plan: Plan,
    seed: u64,
    now: Time,
}

/// The error of a recording that cannot be read.
fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl<R: BufRead> Recording<R> {
    /// Opens the recording in `input`.
    ///
    /// # Errors
    /// The head of the file is wrong.
    pub fn open(mut input: R) -> io::Result<Self> {
        let mut line = |limit| -> io::Result<String> {
            let mut line = String::new();
            let text = (&mut input).take(limit).read_line(&mut line).map(|_| line);
            text.map_err(|_| invalid("is not a recording of a gate"))
        };
        let magic = line(100)?;
        if magic.trim_end() != MAGIC {
            return Err(invalid(format!(
                "is not a recording that this version can read; its first line must be `{MAGIC}`"
            )));
        }
        let head: Value = serde_json::from_str(&line(1 << 20)?)
            .map_err(|error| invalid(format!("line 2: {error}")))?;
        let plan = serde_json::from_value(head["plan"].clone())
            .map_err(|error| invalid(format!("line 2: plan: {error}")))?;
        let seed = head["seed"].as_u64().ok_or_else(|| invalid("line 2: seed is missing"))?;
        Ok(Recording { input, plan, seed, now: Time::ZERO })
    }

    /// The plan of the recorded shaper.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The seed of its random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next operation and its time. None at the end; do not read on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends within an operation; otherwise a message
    /// that says what is wrong.
    pub fn read(&mut self) -> io::Result<Option<(Time, Operation)>> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let tag = self.byte()?;
        if tag == END {
            return Ok(None);
        }
        if matches!(tag, 0 | 2 | 8) {
            let span = Duration::from_nanos(self.number()?);
            self.now += span;
        }
        let operation = match tag {
            0 => Operation::Offer {
                id: self.small()?,
                len: self.small()?,
                flow: u32::from_le_bytes(self.bytes()?),
                marks: self.bytes()?,
                tos: self.byte()?,
                kind: *KINDS
                    .get(usize::from(self.byte()?))
                    .ok_or_else(|| invalid("unknown kind of packet"))?,
                hosts: [u16::from_le_bytes(self.bytes()?), u16::from_le_bytes(self.bytes()?)],
            },
            1 => Operation::Verdict(match self.byte()? {
                0 => Verdict::Queued,
                1 => Verdict::Dropped,
                other => return Err(invalid(format!("unknown verdict {other}"))),
            }),
            2 => Operation::Poll,
            3 => Operation::Sent {
                id: self.small()?,
                tos: self.byte()?,
                takes: Duration::from_nanos(self.number()?),
            },
            4 => Operation::Until(Duration::from_nanos(self.number()?)),
            5 => Operation::Idle,
            6 => Operation::Dropped {
                id: self.small()?,
                reason: *DropReason::ALL
                    .get(usize::from(self.byte()?))
                    .ok_or_else(|| invalid("unknown reason of a drop"))?,
            },
            7 => Operation::Marked { id: self.small()? },
            8 => {
                let size = self.number()?;
                let mut text = Vec::new();
                let size = size.min(1 << 20);
                if ((&mut self.input).take(size).read_to_end(&mut text)? as u64) < size {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let plan = serde_json::from_slice(&text);
                Operation::Change(plan.map_err(|error| invalid(format!("plan: {error}")))?)
            }
            9 => Operation::TcpHeader(self.header()?),
            other => return Err(invalid(format!("unknown operation {other}"))),
        };
        Ok(Some((self.now, operation)))
    }

    /// A header, as [`put_header`] writes it.
    fn header(&mut self) -> io::Result<Tcp> {
        let mut header = Tcp {
            seq: self.small()?,
            ack: self.small()?,
            payload_len: self.small()?,
            window: u16::from_le_bytes(self.bytes()?),
            ..Tcp::default()
        };
        let bits = u16::from_le_bytes(self.bytes()?);
        header.flags = bits & 0xfff;
        header.other_options = bits & OTHER_OPTIONS != 0;
        if bits & TIMESTAMPS != 0 {
            header.timestamps = Some((self.small()?, self.small()?));
        }
        if bits & WINDOW_SCALE != 0 {
            header.window_scale = Some(self.byte()?);
        }
        for _ in 0..self.byte()? {
            header.sack.push(self.small()?, self.small()?);
        }
        Ok(header)
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.bytes::<1>()?[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(invalid("a number of more than 64 bits"))
    }

    fn small(&mut self) -> io::Result<u32> {
        u32::try_from(self.number()?).map_err(|_| invalid("a number of more than 32 bits"))
    }
}

/// Which parts of a header are present, above its 12 control bits.
const TIMESTAMPS: u16 = 1 << 12;
const WINDOW_SCALE: u16 = 1 << 13;
const OTHER_OPTIONS: u16 = 1 << 14;

/// Appends `header`.
fn put_header(out: &mut Vec<u8>, header: &Tcp) {
    let Tcp { seq, ack, flags, window, payload_len, timestamps, window_scale, .. } = *header;
    [seq, ack, payload_len].iter().for_each(|number| put(out, u64::from(*number)));
    out.extend(window.to_le_bytes());
    let there = [
        (timestamps.is_some(), TIMESTAMPS),
        (window_scale.is_some(), WINDOW_SCALE),
        (header.other_options, OTHER_OPTIONS),
    ];
    let bits = there.iter().filter(|(is, _)| *is).fold(flags & 0xfff, |bits, (_, bit)| bits | bit);
    out.extend(bits.to_le_bytes());
    if let Some((value, echo)) = timestamps {
        [value, echo].iter().for_each(|number| put(out, u64::from(*number)));
    }
    out.extend(window_scale);
    let blocks = header.sack.as_slice();
    out.push(blocks.len() as u8);
    for (left, right) in blocks {
        [left, right].iter().for_each(|edge| put(out, u64::from(**edge)));
    }
}

/// Appends `value` in LEB128.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
