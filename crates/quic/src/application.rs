//! What applications do at both ends of a connection.

use crate::clock;
use bytes::Bytes;
use forebay_core::{Duration, Rate, Time};
use forebay_sim::traffic::Completed;
use quinn_proto::{Connection, Dir, StreamId, VarInt};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Content of streams and datagrams, which nobody reads.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Bytes at the beginning of a stream: the time at which it was opened.
pub const HEAD: u64 = 8;

/// What a sender sends.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    /// Streams at the same time; each that is complete is followed by another.
    pub streams: u32,
    /// Bytes of a stream, at least [`HEAD`]. None: endless.
    pub bytes: Option<u64>,
    /// Datagrams (RFC 9221): their rate, counted as their payload, and their length in bytes.
    pub datagrams: Option<(Rate, u64)>,
}

/// The sending application.
#[derive(Debug)]
pub struct Sender {
    sending: Sending,
    /// Streams that are open, and the bytes of each that are still to be written.
    open: BTreeMap<StreamId, u64>,
    /// When the next datagram is due.
    next: Option<Time>,
    is_over: bool,
}

impl Sender {
    pub fn new(sending: Sending) -> Self {
        Sender { sending, open: BTreeMap::new(), next: None, is_over: false }
    }

    /// When it has something to do beside what the connection reports.
    pub fn deadline(&self) -> Option<Time> {
        self.next.filter(|_| !self.is_over)
    }

    /// Sends no more. Streams end with what was written.
    pub fn end(&mut self, connection: &mut Connection, now: Instant) {
        self.is_over = true;
        for id in std::mem::take(&mut self.open).into_keys() {
            // It fails only for a stream that has ended already.
            let _ = connection.send_stream(id).finish();
        }
        if connection.is_handshaking() {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }

    /// Opens streams and writes to them what the connection takes. Called when the connection is open, and
    /// when it reports that it takes more.
    pub fn write(&mut self, connection: &mut Connection, now: Instant) {
        if self.is_over {
            return;
        }
        let Sending { streams, bytes, .. } = self.sending;
        loop {
            while self.open.len() < streams as usize
                && let Some(id) = connection.streams().open(Dir::Uni)
            {
                let left = self.open.entry(id).or_insert(bytes.unwrap_or(u64::MAX));
                let start = clock::time(now).as_nanos().to_be_bytes();
                let mut head = [Bytes::copy_from_slice(&start)];
                // A new stream has room, unless the whole connection has none: then the start is
                // written with the rest, as zeros, and its completion is not counted.
                if connection.send_stream(id).write_chunks(&mut head).is_ok() {
                    *left -= HEAD;
                }
            }
            let before = self.open.len();
            self.open.retain(|id, left| fill(connection, *id, left, bytes.is_some()));
            // One that is complete is followed by another.
            if self.open.len() == before {
                return;
            }
        }
    }

    /// Sends the datagrams that are due, on a connection that is open.
    pub fn send_datagrams(&mut self, connection: &mut Connection, now: Time) {
        let Some((rate, len)) = self.sending.datagrams.filter(|_| !self.is_over) else { return };
        let interval = Duration::from_nanos(len * 8 * 1_000_000_000 / rate.bps().max(1));
        let next = self.next.get_or_insert(now);
        while *next <= now {
            let data = Bytes::from_static(&ZEROS[..len as usize]);
            // If the connection's buffer is full, the oldest datagram makes room, as in a call.
            let _ = connection.datagrams().send(data, true);
            *next += interval.max(Duration::from_nanos(1));
        }
    }
}

/// Writes to stream `id`, of which `left` bytes are left unless it is endless, until it takes no more. False
/// if it is complete.
fn fill(connection: &mut Connection, id: StreamId, left: &mut u64, has_end: bool) -> bool {
    let mut stream = connection.send_stream(id);
    while *left > 0 {
        let len = (*left).min(ZEROS.len() as u64) as usize;
        match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..len])]) {
            Ok(written) if has_end => *left -= written.bytes as u64,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
    let _ = stream.finish();
    false
}

/// The receiving application.
#[derive(Debug, Default)]
pub struct Receiver {
    /// Streams that are open: the start of each, and the bytes that have arrived.
    open: BTreeMap<StreamId, (Vec<u8>, u64)>,
    pub delivered: u64,
    pub completed: VecDeque<Completed>,
}

impl Receiver {
    /// Reads all that has arrived.
    pub fn read(&mut self, connection: &mut Connection) {
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.open.insert(id, (Vec::new(), 0));
        }
        let Receiver { open, delivered, completed } = self;
        open.retain(|id, (head, bytes)| {
            let mut stream = connection.recv_stream(*id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let is_open = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => {
                        let missing = (HEAD as usize).saturating_sub(head.len());
                        head.extend(chunk.bytes.iter().take(missing));
                        *bytes += chunk.bytes.len() as u64;
                        *delivered += chunk.bytes.len() as u64;
                    }
                    Ok(None) => break false,
                    Err(quinn_proto::ReadError::Blocked) => break true,
                    Err(_) => break false,
                }
            };
            // The connection asks for what has to be sent anyway.
            let _ = chunks.finalize();
            let start = head.as_slice().try_into().map(u64::from_be_bytes);
            if let Ok(start @ 1..) = start
                && !is_open
            {
                completed.push_back(Completed { start: Time::from_nanos(start), bytes: *bytes });
            }
            is_open
        });
        while let Some(datagram) = connection.datagrams().recv() {
            *delivered += datagram.len() as u64;
        }
    }
}
