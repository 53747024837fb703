//! Measurements of a queue: exact time averages, sojourn times, drops by reason.

use super::delay::DelayMeter;
use super::loss::LossEvents;
use forebay_core::{DropReason, Duration, Packet, Time};

/// Measures one link's queue. Waiting packets count; the one in transmission does not.
#[derive(Debug, Clone, Default)]
pub struct QueueMeter {
    since: Time,
    last: Time,
    /// Backlog.
    packets: u32,
    bytes: u64,
    /// Integrals over time, in ns.
    packet_time: f64,
    packet_square_time: f64,
    byte_time: f64,
    /// Largest backlog since the measurement began, and since the last point of the series.
    pub max_packets: u32,
    point_max: u32,
    point: Snapshot,
    /// Waiting times.
    pub delay: DelayMeter,
    /// Packets that arrived, by drop precedence.
    pub offered: [u64; LEVELS],
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Packets dropped, by [`DropReason`] and by drop precedence.
    pub drops: [[u64; LEVELS]; DropReason::ALL.len()],
    /// Events in which flows lose packets.
    pub loss_events: LossEvents,
}

/// Drop precedences that are distinguished, 0 to 7. Higher ones count as 7.
pub const LEVELS: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Snapshot {
    at: Time,
    packet_time: f64,
    byte_time: f64,
    dropped: u64,
    marked: u64,
}

/// One point of a queue's time series: averages and counts since the point before.
#[derive(Debug, Clone, Copy)]
pub struct QueuePoint {
    /// Mean waiting packets.
    pub mean_packets: f64,
    /// Largest backlog in packets.
    pub max_packets: f64,
    /// Mean waiting bytes.
    pub mean_bytes: f64,
    /// Packets dropped.
    pub dropped: f64,
    /// Packets marked.
    pub marked: f64,
}

impl QueueMeter {
    /// A meter of an empty queue that begins at `now`.
    pub fn new(now: Time) -> Self {
        let point = Snapshot { at: now, ..Snapshot::default() };
        QueueMeter { since: now, last: now, point, ..QueueMeter::default() }
    }

    /// Starts again at `now`, with the present backlog.
    pub fn restart(&mut self, now: Time) {
        let (packets, bytes) = (self.packets, self.bytes);
        *self = QueueMeter::new(now);
        (self.packets, self.bytes, self.max_packets, self.point_max) =
            (packets, bytes, packets, packets);
    }

    /// `packet` arrives at `now`. It counts as waiting until it is removed.
    #[inline]
    pub fn arrived(&mut self, now: Time, packet: &Packet) {
        self.advance(now);
        self.offered[level(packet)] += 1;
        self.packets += 1;
        self.bytes += u64::from(packet.len);
    }

    /// `packet` arrives at `now`, finds the queue empty, and leaves at once.
    pub fn passed(&mut self, now: Time, packet: &Packet) {
        self.last = now;
        self.offered[level(packet)] += 1;
        self.point_max = self.point_max.max(1);
        self.delay.record(Duration::ZERO);
    }

    /// The queue has taken or dropped the packet that arrived.
    pub fn settled(&mut self) {
        self.point_max = self.point_max.max(self.packets);
    }

    /// `packet` is dropped, at the time of the last call.
    pub fn dropped(&mut self, reason: DropReason, packet: &Packet) {
        self.drops[reason as usize][level(packet)] += 1;
        self.loss_events.lost(self.last, packet.flow);
        self.left(packet.len);
    }

    /// A packet of `len` bytes leaves at `now` after having waited for `wait`.
    #[inline]
    pub fn sent(&mut self, len: u32, wait: Duration) {
        self.left(len);
        self.delay.record(wait);
    }

    #[inline]
    fn left(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }

    /// Waiting packets, and their bytes.
    pub fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    pub fn waiting(&self) -> u32 {
        self.packets
    }

    /// Updates the integrals to `now`, before something changes.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if self.packets > 0 {
            // Processors convert signed numbers to floating point in one instruction.
            let span = now.since(self.last).as_nanos() as i64 as f64;
            let packets = f64::from(self.packets);
            let packet_time = packets * span;
            self.packet_time += packet_time;
            self.packet_square_time += packets * packet_time;
            self.byte_time += self.bytes as i64 as f64 * span;
        }
        self.last = now;
    }

    /// The next point of the series.
    pub fn sample(&mut self, now: Time) -> QueuePoint {
        self.advance(now);
        let span = (now.since(self.point.at).as_nanos() as f64).max(1.0);
        let dropped = self.dropped_total();
        let point = QueuePoint {
            mean_packets: (self.packet_time - self.point.packet_time) / span,
            max_packets: f64::from(self.point_max),
            mean_bytes: (self.byte_time - self.point.byte_time) / span,
            dropped: (dropped - self.point.dropped) as f64,
            marked: (self.marked - self.point.marked) as f64,
        };
        self.point = Snapshot {
            at: now,
            packet_time: self.packet_time,
            byte_time: self.byte_time,
            dropped,
            marked: self.marked,
        };
        self.max_packets = self.max_packets.max(self.point_max);
        self.point_max = self.packets;
        point
    }

    /// Packets dropped, for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.drops.iter().flatten().sum()
    }

    /// Packets of `level` dropped, for any reason.
    pub fn dropped_of(&self, level: usize) -> u64 {
        self.drops.iter().map(|levels| levels[level]).sum()
    }

    /// Ends the measurement. Returns mean packets, their standard deviation over time, and mean
    /// bytes.
    pub fn averages(&mut self, now: Time) -> (f64, f64, f64) {
        self.advance(now);
        self.max_packets = self.max_packets.max(self.point_max);
        let span = (now.since(self.since).as_nanos() as f64).max(1.0);
        let mean = self.packet_time / span;
        let variance = (self.packet_square_time / span - mean * mean).max(0.0);
        (mean, variance.sqrt(), self.byte_time / span)
    }
}

fn level(packet: &Packet) -> usize {
    usize::from(packet.drop_precedence).min(LEVELS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(meter: &mut QueueMeter, now: Time) {
        let packet = Packet::new(0, 0, 100);
        meter.arrived(now, &packet);
        packet.retire();
    }

    #[test]
    fn averages_are_integrals() {
        let at = Time::from_nanos;
        let mut meter = QueueMeter::new(at(0));
        for _ in 0..2 {
            arrive(&mut meter, at(10));
            meter.settled();
        }
        meter.advance(at(30));
        meter.sent(100, at(30) - at(10));
        let point = meter.sample(at(40));
        assert_eq!(point.mean_packets, (2.0 * 20.0 + 10.0) / 40.0);
        assert_eq!(point.max_packets, 2.0);
        meter.advance(at(100));
        meter.sent(100, at(100) - at(10));
        let (mean, std, bytes) = meter.averages(at(100));
        assert_eq!(mean, (2.0 * 20.0 + 70.0) / 100.0);
        let square = (4.0 * 20.0 + 70.0) / 100.0;
        assert!((std - (square - mean * mean).sqrt()).abs() < 1e-12);
        assert_eq!(bytes, 110.0);
        assert_eq!((meter.max_packets, meter.offered[0]), (2, 2));
    }

    #[test]
    fn a_refused_packet_never_waits() {
        let mut meter = QueueMeter::new(Time::ZERO);
        let mut packet = Packet::new(0, 0, 100);
        packet.drop_precedence = 1;
        meter.arrived(Time::ZERO, &packet);
        meter.dropped(DropReason::Overflow, &packet);
        packet.retire();
        meter.settled();
        assert_eq!(meter.averages(Time::from_nanos(10)), (0.0, 0.0, 0.0));
        assert_eq!((meter.max_packets, meter.dropped_total()), (0, 1));
        assert_eq!([0, 1, 2].map(|level| meter.dropped_of(level)), [0, 1, 0]);
    }

    #[test]
    fn the_warm_up_is_forgotten_but_not_the_backlog() {
        let at = Time::from_nanos;
        let mut meter = QueueMeter::new(at(0));
        for _ in 0..4 {
            arrive(&mut meter, at(0));
        }
        meter.restart(at(50));
        assert_eq!(meter.averages(at(100)), (4.0, 0.0, 400.0));
    }
}
