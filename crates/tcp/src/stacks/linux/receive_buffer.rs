//! The receive buffer of 6.1, and the window that the receiver offers. The window grows with the
//! segments that arrive (`tcp_grow_window`) up to a clamp. Buffer and clamp grow with what the
//! application reads in a round trip (`tcp_rcv_space_adjust`, dynamic right-sizing).
//!
//! Memory is counted, not bytes: a segment also takes its buffer's overhead, and half of the memory
//! is available for the window (`tcp_win_from_space` with `tcp_adv_win_scale` 1). Left out: what
//! happens when memory is exhausted (`tcp_prune_queue`), because a window of half the memory leaves
//! room.

use super::LinuxParams;
use crate::{ConnectionParams, ReceiveWindow};
use forebay_core::{Duration, Time};

/// Memory of a segment beside its payload: `SKB_TRUESIZE(MAX_TCP_HEADER)`.
const OVERHEAD: u64 = 768;
/// Adjacent segments that share one such overhead (`tcp_try_coalesce`, `MAX_SKB_FRAGS`).
const MOST_FRAGMENTS: u64 = 17;
/// `SKB_TRUESIZE(0)` and `MAX_TCP_HEADER`, with which `tcp_rcv_space_adjust` estimates a segment.
const THOUGHT: u64 = 576 + 192;
/// Smallest payload that lets the window grow.
const WORTHY: u64 = 128;

/// Half of the memory, rounded up (`tcp_win_from_space`).
fn half(memory: u64) -> u64 {
    memory - memory / 2
}

/// Adjacent segments in one buffer (`struct sk_buff`).
#[derive(Debug, Clone, Copy)]
struct Chunk {
    start: u64,
    end: u64,
}

impl Chunk {
    fn bytes(self) -> u64 {
        self.end - self.start
    }

    /// Whether data that follow may join it, in segments of `mss` bytes.
    fn takes(self, next: Chunk, mss: u64) -> bool {
        let fragments = self.bytes().div_ceil(mss) + next.bytes().div_ceil(mss);
        self.end == next.start && fragments <= MOST_FRAGMENTS
    }
}

#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    /// Memory (`sk_rcvbuf`), and its maximum; equal if it is fixed.
    size: u64,
    most: u64,
    /// The largest window that may be offered (`window_clamp`), and the present limit
    /// (`rcv_ssthresh`).
    pub(crate) clamp: u64,
    threshold: u64,
    mss: u64,
    /// Windows are reported in units of 2 to the power of this (`rcv_wscale`).
    scale: u32,
    /// The offset up to which the application had read at `since`, and what it read in the round trip before
    /// (`rcvq_space`).
    taken: u64,
    since: Time,
    before: u64,
    /// The sender's round trip in eighths of a microsecond; 0 if it is not known
    /// (`rcv_rtt_est.rtt_us`).
    round_trip: u64,
    last_echo: Option<u32>,
    /// Since when a window's worth of data is awaited, and up to which offset.
    measured: Option<(Time, u64)>,
    /// Data above holes, in ascending order (`out_of_order_queue`), and their memory.
    early: Vec<Chunk>,
    early_memory: u64,
    /// Data that the application has not read (`sk_receive_queue`): their memory, the last chunk,
    /// and the end of the first one, if that is another.
    queued_memory: u64,
    tail: Option<Chunk>,
    first_end: Option<u64>,
}

impl ReceiveBuffer {
    pub(crate) fn new(connection: &ConnectionParams, params: &LinuxParams) -> Self {
        let mss = connection.mss();
        let (space, most, clamp) = match connection.receive_window {
            ReceiveWindow::Auto => {
                // One segment is kept back (tcp_init_buffer_space).
                let space = ReceiveWindow::LINUX_FIRST;
                (space, params.tcp_rmem_max.0 / 2, (space - mss.min(space)).max(2 * mss))
            }
            // So much memory that what is asked for can be offered.
            ReceiveWindow::Fixed(window) => (window.0 + mss, window.0 + mss, window.0),
        };
        let first = first_window(connection);
        let threshold = first.min(clamp);
        ReceiveBuffer {
            size: 2 * space,
            most: 2 * most,
            clamp,
            threshold,
            mss,
            scale: match connection.receive_window {
                ReceiveWindow::Auto => (2 * most).ilog2() - 15,
                ReceiveWindow::Fixed(window) => window.0.max(1).ilog2().clamp(15, 29) - 15,
            },
            taken: 1,
            before: threshold.min(first).min(10 * mss),
            ..ReceiveBuffer::default()
        }
    }

    /// All memory in use (`sk_rmem_alloc`).
    pub(crate) fn held(&self) -> u64 {
        self.early_memory + self.queued_memory
    }

    /// `start..end` arrived above a hole (`tcp_data_queue_ofo`). Returns whether the window grew.
    pub(crate) fn on_early(&mut self, start: u64, end: u64) -> bool {
        let new = Chunk { start, end };
        let (at, before) = (self.early.partition_point(|chunk| chunk.start < start), self.held());
        self.early_memory += new.bytes();
        match at.checked_sub(1).map(|below| &mut self.early[below]) {
            Some(chunk) if chunk.takes(new, self.mss) => {
                chunk.end = end;
                self.grow(new.bytes(), before + new.bytes())
            }
            _ => {
                // The window grows before this memory is counted.
                self.early.insert(at, new);
                self.early_memory += OVERHEAD;
                self.grow(new.bytes(), before)
            }
        }
    }

    /// `start..end` arrived in order; `window` is the last one offered (`tcp_event_data_recv`).
    /// Returns whether the window grew.
    pub(crate) fn on_data(&mut self, now: Time, start: u64, end: u64, window: u64) -> bool {
        self.queue(Chunk { start, end });
        self.measure_window(now, end, window);
        let grew = self.grow(end - start, self.held());
        self.join(end);
        grew
    }

    /// Data above holes are now in order up to `next` and beyond (`tcp_ofo_queue`).
    fn join(&mut self, mut next: u64) {
        let mut joined = 0;
        while let Some(chunk) = self.early.get(joined).copied()
            && chunk.start <= next
        {
            joined += 1;
            next = next.max(chunk.end);
            self.early_memory -= chunk.bytes() + OVERHEAD;
            self.queue(chunk);
        }
        self.early.drain(..joined);
    }

    fn queue(&mut self, new: Chunk) {
        self.queued_memory += new.bytes();
        match &mut self.tail {
            Some(tail) if tail.takes(new, self.mss) => tail.end = new.end,
            tail => {
                let first = tail.replace(new);
                self.queued_memory += OVERHEAD;
                self.first_end = self.first_end.or(first.map(|first| first.end));
            }
        }
    }

    /// The handshake is over (`tcp_init_buffer_space`).
    pub(crate) fn open(&mut self, now: Time) {
        self.since = now;
    }

    /// A segment of `len` bytes arrived that echoes the time `echo`, in ms
    /// (`tcp_rcv_rtt_measure_ts`).
    pub(crate) fn measure_echo(&mut self, now: Time, len: u64, echo: u32) {
        if self.last_echo.replace(echo) == Some(echo) || len < self.mss {
            return;
        }
        let ago = super::millis(now).wrapping_sub(echo).max(1);
        self.measure(u64::from(ago) * 1000, false);
    }

    /// In-order data up to `next` arrived, and `window` is the last one offered
    /// (`tcp_rcv_rtt_measure`): a window's worth takes at least a round trip.
    fn measure_window(&mut self, now: Time, next: u64, window: u64) {
        if let Some((from, end)) = self.measured {
            if next < end {
                return;
            }
            self.measure((now.since(from).as_nanos() / 1000).max(1), true);
        }
        self.measured = Some((now, next + window));
    }

    /// `tcp_rcv_rtt_update`. `bound` says that the sample is only an upper bound of the round trip.
    fn measure(&mut self, micros: u64, bound: bool) {
        if self.round_trip == 0 || 8 * micros < self.round_trip {
            self.round_trip = 8 * micros;
        } else if !bound {
            self.round_trip = self.round_trip - self.round_trip / 8 + micros;
        }
    }

    /// The round-trip time by the receiver's measurement.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        (self.round_trip > 0).then(|| Duration::from_nanos(self.round_trip * 1000 / 8))
    }

    /// `tcp_grow_window`: two segments for each whose payload is more than half of its memory.
    fn grow(&mut self, len: u64, held: u64) -> bool {
        let most = self.clamp.min(self.space(held));
        if len < WORTHY || most <= self.threshold {
            return false;
        }
        self.threshold = most.min(self.threshold + 2 * self.mss.max(len));
        true
    }

    /// The application reads everything in order (`tcp_rcv_space_adjust`). The kernel calls this
    /// for every buffer that is emptied; all but the first are at the same time.
    pub(crate) fn on_read(&mut self, now: Time) {
        self.queued_memory = 0;
        let first = self.first_end.take();
        let Some(next) = first.or(self.tail.take().map(|tail| tail.end)) else { return };
        self.tail = None;
        let micros = now.as_nanos() / 1000 - self.since.as_nanos() / 1000;
        if self.round_trip == 0 || micros < self.round_trip / 8 {
            return;
        }
        let copied = next - self.taken;
        if copied > self.before {
            if self.size < self.most {
                // Twice as much for losses, and the growth of the last round trip twice again.
                let mut window = 2 * copied + 16 * self.mss;
                window += 2 * (window * (copied - self.before) / self.before);
                let mut segment = self.mss + THOUGHT;
                while half(segment) < self.mss {
                    segment += 128;
                }
                let wanted = (window / self.mss * segment).min(self.most);
                if wanted > self.size {
                    self.size = wanted;
                    self.clamp = half(wanted);
                }
            }
            self.before = copied;
        }
        (self.taken, self.since) = (next, now);
    }

    /// `tcp_space`.
    fn space(&self, held: u64) -> u64 {
        half(self.size.saturating_sub(held))
    }

    /// The window to offer now, and whether less than half of the memory is free
    /// (`__tcp_select_window`).
    pub(crate) fn window(&self) -> (u64, bool) {
        let (allowed, mut free) = (half(self.size), self.space(self.held()));
        let full = self.clamp.min(allowed);
        let short = free < full / 2;
        if short {
            free = free >> self.scale << self.scale;
            if free < allowed / 16 || free < self.mss.min(full) {
                return (0, true);
            }
        }
        (self.rounded(free.min(self.threshold)), short)
    }

    /// Rounded up to a multiple of the unit.
    pub(crate) fn rounded(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale)
    }

    pub(crate) fn heap(&self) -> usize {
        self.early.capacity() * size_of::<Chunk>()
    }

    /// The part of `window` that a header can express.
    pub(crate) fn told(&self, window: u64) -> u64 {
        window.min(65_535 << self.scale) >> self.scale << self.scale
    }
}

/// The window of the SYN-ACK (`tcp_select_initial_window`): whole segments, not scaled.
pub(crate) fn first_window(connection: &ConnectionParams) -> u64 {
    let space = match connection.receive_window {
        ReceiveWindow::Auto => ReceiveWindow::LINUX_FIRST,
        ReceiveWindow::Fixed(window) => window.0,
    };
    let mss = connection.mss();
    let space = if space > mss { space / mss * mss } else { space };
    space.min(65_535)
}
