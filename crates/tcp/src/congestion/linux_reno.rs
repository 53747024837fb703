//! Reno as counted by Linux before 4.0 (`tcp_reno_cong_avoid`, `tcp_reno_ssthresh`). It differs
//! from RFC 5681: windows are whole segments; at a loss half of the window, not of the data in
//! flight, is taken and rounded down; a window of n segments grows with the acknowledgment after n
//! others.

use super::{AckSample, CongestionController, CongestionEvent, NoParams, SlowStart, Start, Window};
use crate::ConnectionParams;
use forebay_core::{ConfigError, Named};
use std::sync::Arc;

/// Slow start, then one segment for every window of acknowledgments plus one.
#[derive(Debug)]
pub struct LinuxReno {
    slow_start: SlowStart,
    /// Acknowledgments counted towards the next segment (snd_cwnd_cnt).
    acks: u64,
}

impl LinuxReno {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        LinuxReno { slow_start: SlowStart::new(connection), acks: 0 }
    }
}

impl Named for LinuxReno {
    type Family = dyn CongestionController;
    const NAME: &'static str = "linux-reno";
    const SUMMARY: &'static str = "Reno as in Linux before 4.0: windows of whole segments";
    const SOURCE: &'static str = "Linux 2.6.26, tcp_cong.c";
    type Params = NoParams;

    fn build(_params: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(LinuxReno::new(connection))))
    }
}

impl CongestionController for LinuxReno {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if window.in_slow_start() {
            return self.slow_start.on_ack(window, sample);
        }
        if !sample.limited {
            return;
        }
        if self.acks >= window.cwnd / window.mss {
            window.grow(window.mss);
            self.acks = 0;
        } else {
            self.acks += 1;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &CongestionEvent) {
        window.ssthresh = (window.cwnd / window.mss / 2).max(2) * window.mss;
        self.acks = 0;
        self.slow_start.on_congestion();
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.slow_start.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionKind;
    use forebay_core::Time;

    #[test]
    fn windows_are_whole_segments() {
        let connection = ConnectionParams::default();
        let mut reno = LinuxReno::new(&connection);
        let mut window = Window::new(&connection, Some(1));
        let mss = window.mss;
        for (before, after) in [(11, 5), (5, 2), (3, 2), (2, 2)] {
            window.cwnd = before * mss;
            let event =
                CongestionEvent { now: Time::ZERO, kind: CongestionKind::Loss, flight: 4 * mss };
            reno.on_congestion(&mut window, &event);
            assert_eq!(window.ssthresh, after * mss);
        }
        // Of two segments: the third acknowledgment makes it three, the fourth after that four.
        window.cwnd = 2 * mss;
        let sample = AckSample {
            now: Time::ZERO,
            acked: 2 * mss,
            ack: 1,
            sent: 1,
            limited: true,
            ..AckSample::default()
        };
        let windows: Vec<_> = (0..7)
            .map(|_| {
                reno.on_ack(&mut window, &sample);
                window.cwnd / mss
            })
            .collect();
        assert_eq!(windows, [2, 2, 3, 3, 3, 3, 4]);
    }
}
