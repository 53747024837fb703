//! What a queue did: exact time averages, sojourn times, drops by reason.

use super::delay::DelayMeter;
use forebay_core::{Backlog, DropReason, Duration, Time};

/// Measures one link's queue. Waiting packets count; the one in transmission does not.
#[derive(Debug, Clone)]
pub struct QueueMeter {
    since: Time,
    last: Time,
    packets: usize,
    bytes: u64,
    /// Integrals over time, in ns.
    packet_time: f64,
    packet_square_time: f64,
    byte_time: f64,
    /// Largest backlog since the measurement began, and since the last point of the series.
    pub max_packets: usize,
    point_max: usize,
    point: Snapshot,
    /// Waiting times.
    pub delay: DelayMeter,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Packets dropped, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
}

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
        QueueMeter {
            since: now,
            last: now,
            packets: 0,
            bytes: 0,
            packet_time: 0.0,
            packet_square_time: 0.0,
            byte_time: 0.0,
            max_packets: 0,
            point_max: 0,
            point: Snapshot { at: now, ..Snapshot::default() },
            delay: DelayMeter::default(),
            offered: 0,
            marked: 0,
            dropped: [0; DropReason::ALL.len()],
        }
    }

    /// Begins anew at `now` with the backlog as it is.
    pub fn restart(&mut self, now: Time) {
        let (packets, bytes) = (self.packets, self.bytes);
        *self = QueueMeter::new(now);
        (self.packets, self.bytes, self.max_packets, self.point_max) =
            (packets, bytes, packets, packets);
    }

    /// Is told of the backlog after each change.
    #[inline]
    pub fn changed(&mut self, now: Time, backlog: Backlog) {
        self.advance(now);
        self.packets = backlog.packets;
        self.bytes = backlog.bytes;
        if backlog.packets > self.point_max {
            self.point_max = backlog.packets;
        }
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        let span = now.since(self.last).as_nanos() as f64;
        let packets = self.packets as f64;
        let packet_time = packets * span;
        self.packet_time += packet_time;
        self.packet_square_time += packets * packet_time;
        self.byte_time += self.bytes as f64 * span;
        self.last = now;
    }

    /// The series' next point.
    pub fn sample(&mut self, now: Time) -> QueuePoint {
        self.advance(now);
        let span = (now.since(self.point.at).as_nanos() as f64).max(1.0);
        let dropped = self.dropped_total();
        let point = QueuePoint {
            mean_packets: (self.packet_time - self.point.packet_time) / span,
            max_packets: self.point_max as f64,
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

    /// Packets dropped for whatever reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Ends the measurement: (mean packets, their standard deviation over time, mean bytes).
    pub fn averages(&mut self, now: Time) -> (f64, f64, f64) {
        self.advance(now);
        self.max_packets = self.max_packets.max(self.point_max);
        let span = (now.since(self.since).as_nanos() as f64).max(1.0);
        let mean = self.packet_time / span;
        let variance = (self.packet_square_time / span - mean * mean).max(0.0);
        (mean, variance.sqrt(), self.byte_time / span)
    }

    /// Is told how long a packet waited.
    #[inline]
    pub fn waited(&mut self, span: Duration) {
        self.delay.record(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_integrals() {
        let at = Time::from_nanos;
        let mut meter = QueueMeter::new(at(0));
        meter.changed(at(10), Backlog { packets: 2, bytes: 200 });
        meter.changed(at(30), Backlog { packets: 1, bytes: 100 });
        let point = meter.sample(at(40));
        assert_eq!(point.mean_packets, (2.0 * 20.0 + 10.0) / 40.0);
        assert_eq!(point.max_packets, 2.0);
        meter.changed(at(100), Backlog::default());
        let (mean, std, bytes) = meter.averages(at(100));
        assert_eq!(mean, (2.0 * 20.0 + 70.0) / 100.0);
        let square = (4.0 * 20.0 + 70.0) / 100.0;
        assert!((std - (square - mean * mean).sqrt()).abs() < 1e-12);
        assert_eq!(bytes, 110.0);
        assert_eq!(meter.max_packets, 2);
    }

    #[test]
    fn the_warm_up_is_forgotten_but_not_the_backlog() {
        let at = Time::from_nanos;
        let mut meter = QueueMeter::new(at(0));
        meter.changed(at(0), Backlog { packets: 4, bytes: 400 });
        meter.restart(at(50));
        assert_eq!(meter.averages(at(100)), (4.0, 0.0, 400.0));
    }
}
