//! Hybrid slow start (`hystart_update` of `tcp_cubic.c`).

use super::{Cwnd, Measured};
use forebay_core::{Duration, Time};

/// Hybrid slow start of Linux since 2.6.29, as 6.1 has it (`hystart_update`).
#[derive(Debug, Default)]
pub(super) struct HyStart {
    pub(super) found: bool,
    began: Time,
    last_ack: Time,
    end: u64,
    least: Option<Duration>,
    samples: u8,
}

impl HyStart {
    const LOW_WINDOW: u32 = 16;
    const SAMPLES: u8 = 8;
    const TRAIN: Duration = Duration::from_millis(2);
    const LEAST: Duration = Duration::from_millis(4);
    const MOST: Duration = Duration::from_millis(16);

    pub(super) fn restart(&mut self, now: Time, next: u64) {
        *self = HyStart {
            found: self.found,
            began: now,
            last_ack: now,
            end: next,
            ..HyStart::default()
        };
    }

    pub(super) fn update(
        &mut self,
        window: &mut Cwnd,
        sample: &Measured,
        rtt: Duration,
        least: Duration,
    ) {
        if sample.una > self.end {
            self.restart(sample.now, sample.next);
        }
        if window.cwnd < Self::LOW_WINDOW {
            return;
        }
        if sample.now.since(self.last_ack) <= Self::TRAIN {
            self.last_ack = sample.now;
            // Room for segments that are sent together: four times 64 KiB, 1 ms at most.
            let burst = 4.0 * 65_536.0 / sample.pacing_rate.max(1.0);
            let span = least + Duration::from_secs_f64(burst.min(1e-3));
            let span = if sample.paced { span } else { span / 2 };
            if sample.now.since(self.began) > span {
                self.found = true;
                window.ssthresh = window.cwnd;
            }
        }
        let shortest = self.least.map_or(rtt, |before| before.min(rtt));
        self.least = Some(shortest);
        if self.samples < Self::SAMPLES {
            self.samples += 1;
        } else if shortest > least + (least / 8).max(Self::LEAST).min(Self::MOST) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }
}
