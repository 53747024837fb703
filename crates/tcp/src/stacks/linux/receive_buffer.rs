//! The receive buffer of 6.1, and the window that the receiver offers. The window grows with the
//! segments that arrive (`tcp_grow_window`) up to a clamp. Buffer and clamp grow with what the
//! application reads in a round trip (`tcp_rcv_space_adjust`, dynamic right-sizing).
//!
//! Memory is counted, not bytes: a segment also takes its buffer's overhead. In 6.1 half of the
//! memory is available for the window (`tcp_win_from_space` with `tcp_adv_win_scale` 1), in 6.12 the
//! share that is payload in the first full segment (`scaling_ratio`). Left out: what
//! happens when memory is exhausted (`tcp_prune_queue`), because a window of half the memory leaves
//! room.

use super::{LinuxParams, Version};
use crate::{ConnectionParams, ReceiveWindow};
use forebay_core::{Duration, Time};

/// Adjacent segments that share one overhead (`tcp_try_coalesce`, `MAX_SKB_FRAGS`).
const MOST_FRAGMENTS: u64 = 17;
/// `SKB_TRUESIZE(0)` and `MAX_TCP_HEADER`, with which `tcp_rcv_space_adjust` estimates a segment.
const THOUGHT: u64 = 576 + 192;
/// Smallest payload that lets the window grow.
const WORTHY: u64 = 128;

/// The part of memory that 6.12 counts in (`TCP_RMEM_TO_WIN_SCALE`).
const SCALE: u64 = 256;
/// The size of a segment before one has arrived (`TCP_MSS_DEFAULT`).
const USUAL: u64 = 536;

/// Half of the memory, rounded up.
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
    version: Version,
    /// The part of the memory that is available, in 256ths, since a full segment has arrived, and
    /// the size of such a segment (`rcv_mss`).
    ratio: Option<u64>,
    full: u64,
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
    pub(crate) fn new(
        version: Version,
        params: &LinuxParams,
        connection: &ConnectionParams,
    ) -> Self {
        let mss = connection.mss();
        let auto = matches!(connection.receive_window, ReceiveWindow::Auto);
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
            version,
            full: if auto { USUAL.min(mss) } else { u64::MAX },
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

    /// The memory that is available for the window (`tcp_win_from_space`).
    fn share(&self, memory: u64) -> u64 {
        self.ratio.map_or(half(memory), |ratio| memory * ratio / SCALE)
    }

    /// A segment of `len` bytes arrived: 6.12 measures what part of its memory is payload
    /// (`tcp_measure_rcv_mss`).
    fn weigh(&mut self, len: u64) {
        if self.version < Version::Linux6_12 || len < self.full || len == self.full {
            return;
        }
        let ratio = len * SCALE / (len + self.version.overhead());
        self.full = len.min(self.mss);
        if self.ratio.replace(ratio) != Some(ratio) {
            self.clamp = self.share(self.size);
            self.before = self.before.min(self.clamp);
        }
    }

    /// `start..end` arrived above a hole (`tcp_data_queue_ofo`). Returns whether the window grew.
    pub(crate) fn on_early(&mut self, start: u64, end: u64) -> bool {
        self.weigh(end - start);
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
                self.early_memory += self.version.overhead();
                self.grow(new.bytes(), before)
            }
        }
    }

    /// `start..end` arrived in order; `window` is the last one offered (`tcp_event_data_recv`).
    /// Returns whether the window grew.
    pub(crate) fn on_data(&mut self, now: Time, start: u64, end: u64, window: u64) -> bool {
        self.weigh(end - start);
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
            self.early_memory -= chunk.bytes() + self.version.overhead();
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
                self.queued_memory += self.version.overhead();
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
        let ago = super::millis(now).wrapping_sub(echo);
        // Within the same millisecond 6.12 measures nothing (`tcp_rtt_tsopt_us`).
        if ago > 0 || self.version < Version::Linux6_12 {
            self.measure(u64::from(ago.max(1)) * 1000, false);
        }
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
        let (first, tail) = (self.first_end.take(), self.tail.take());
        let Some(last) = tail.map(|tail| tail.end) else { return };
        let next = first.unwrap_or(last);
        let micros = now.as_nanos() / 1000 - self.since.as_nanos() / 1000;
        if self.round_trip == 0 || micros < self.round_trip / 8 {
            return;
        }
        // What waits behind does not count in 6.12.
        let behind = if self.version < Version::Linux6_12 { 0 } else { last - next };
        let copied = (next - self.taken).saturating_sub(behind);
        if copied > self.before {
            if self.size < self.most {
                // Twice as much for losses, and the growth of the last round trip twice again.
                let mut window = 2 * copied + 16 * self.mss;
                window += 2 * (window * (copied - self.before) / self.before);
                let wanted = self.memory_for(window).min(self.most);
                if wanted > self.size {
                    self.size = wanted;
                    self.clamp = self.share(wanted);
                }
            }
            self.before = copied;
        }
        (self.taken, self.since) = (next, now);
    }

    /// The memory that a window needs: in 6.1 that of its segments, as they are estimated.
    fn memory_for(&self, window: u64) -> u64 {
        if self.version >= Version::Linux6_12 {
            return window * SCALE / self.ratio.unwrap_or(SCALE / 2);
        }
        let mut segment = self.mss + THOUGHT;
        while half(segment) < self.mss {
            segment += 128;
        }
        window / self.mss * segment
    }

    /// `tcp_space`.
    fn space(&self, held: u64) -> u64 {
        self.share(self.size.saturating_sub(held))
    }

    /// The window to offer now, and whether less than half of the memory is free
    /// (`__tcp_select_window`).
    pub(crate) fn window(&self) -> (u64, bool) {
        let (allowed, mut free) = (self.share(self.size), self.space(self.held()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn buffer(version: Version) -> ReceiveBuffer {
        let config = Config::preset("linux").unwrap();
        ReceiveBuffer::new(version, &LinuxParams::default(), &config.connection)
    }

    #[test]
    fn the_window_of_6_12_is_the_share_of_payload_in_the_memory() {
        // 1448 of 1448 and 832 bytes are 162 of 256 parts.
        for (version, clamp) in
            [(Version::Linux6_1, 65_536 - 1448), (Version::Linux6_12, 131_072 * 162 / 256)]
        {
            let mut buffer = buffer(version);
            buffer.on_data(Time::ZERO, 1, 101, 65_160);
            assert_eq!(buffer.clamp, 65_536 - 1448);
            buffer.on_early(1549, 2997);
            assert_eq!(buffer.clamp, clamp);
        }
    }

    #[test]
    fn what_waits_to_be_read_does_not_count_in_6_12() {
        // 17 segments are one chunk, the other three the next.
        for (version, copied) in [(Version::Linux6_1, 17), (Version::Linux6_12, 14)] {
            let mut buffer = buffer(version);
            (buffer.round_trip, buffer.before) = (8, 1448);
            for at in 0..20 {
                buffer.on_data(Time::ZERO, 1 + 1448 * at, 1 + 1448 * (at + 1), 65_160);
            }
            buffer.on_read(Time::ZERO + Duration::from_millis(1));
            assert_eq!(buffer.before, copied * 1448);
        }
    }

    #[test]
    fn a_round_trip_below_a_millisecond_is_not_measured_in_6_12() {
        let at = Time::ZERO + Duration::from_micros(1200);
        for (version, measured) in [(Version::Linux6_1, Some(1)), (Version::Linux6_12, None)] {
            let mut buffer = buffer(version);
            buffer.measure_echo(at, 1448, 1);
            assert_eq!(buffer.round_trip(), measured.map(Duration::from_millis));
            buffer.measure_echo(at, 1448, 0);
            assert_eq!(buffer.round_trip(), Some(Duration::from_millis(1)));
        }
    }
}
