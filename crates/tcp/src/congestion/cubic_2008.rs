//! CUBIC as it was before the standard, in Linux 2.6.26 (S. Ha, I. Rhee, L. Xu, "CUBIC: A New
//! TCP-Friendly High-Speed TCP Variant", 2008, algorithm 1). It differs from RFC 9438 in that
//!
//! - windows are whole segments: one more after `cnt` acknowledgments, so that the window waits
//!   until the curve is a segment above it;
//! - the estimate of Reno's window grows by acknowledgments, not bytes, and with the same slope
//!   for ever, while `cnt` makes up for delayed acknowledgments;
//! - nothing limits growth to half a window a round trip;
//! - with no loss remembered, one segment in 50 acknowledgments is the curve (Linux);
//! - the threshold is a share of the window, not of what is in flight.
//!
//! | symbol | here |
//! |---|---|
//! | C, beta | `C`; `beta` is 1 - beta: 717/1024 in Linux, before 2.6.25 819/1024 |
//! | W_last_max, origin_point, K, W_tcp | `last_max`, `origin`, `k`, `w_tcp` |
//! | cnt, cwnd_cnt, ack_cnt, dMin | `cnt`, `cwnd_cnt`, `ack_cnt`, `min_rtt` |

use super::cubic::{time_to_w_max, w_cubic};
use super::{AckSample, CongestionController, CongestionEvent, CongestionKind, SlowStart, Window};
use crate::Config;
use forebay_core::{Duration, Time};

const BETA: f64 = 717.0 / 1024.0;
/// While the window stays as it is, `cnt` is found anew this often at most (Linux).
const PERIOD: Duration = Duration::from_micros(31_250);

/// State of CUBIC of 2008; windows in segments.
#[derive(Debug)]
pub struct Cubic2008 {
    slow_start: SlowStart,
    beta: f64,
    /// Window before the last loss; none after a timeout, nor before the first.
    last_max: Option<f64>,
    epoch: Option<Epoch>,
    min_rtt: Option<Duration>,
    /// Segments an acknowledgment covers, on average.
    ratio: f64,
    cnt: f64,
    cwnd_cnt: f64,
}

/// Since the last loss.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    began: Time,
    origin: f64,
    k: f64,
    w_tcp: f64,
    ack_cnt: f64,
    /// The window that `cnt` was found for, and when.
    found: Option<(u64, Time)>,
}

impl Cubic2008 {
    /// The state of a new connection.
    pub fn new(config: &Config) -> Self {
        Cubic2008 {
            slow_start: SlowStart::new(config),
            beta: config.cubic_beta.unwrap_or(BETA),
            last_max: None,
            epoch: None,
            min_rtt: None,
            ratio: 2.0,
            cnt: 0.0,
            cwnd_cnt: 0.0,
        }
    }

    /// Acknowledgments for another segment (cubic_update).
    fn update(&mut self, now: Time, segments: u64) {
        let cwnd = segments as f64;
        let last_max = self.last_max.unwrap_or(0.0);
        let epoch = self.epoch.get_or_insert_with(|| {
            let k = if last_max > cwnd { time_to_w_max(last_max, cwnd) } else { 0.0 };
            let origin = last_max.max(cwnd);
            Epoch { began: now, origin, k, w_tcp: cwnd, ack_cnt: 0.0, found: None }
        });
        epoch.ack_cnt += 1.0;
        if epoch.found.is_some_and(|(of, at)| of == segments && now.since(at) <= PERIOD) {
            return;
        }
        epoch.found = Some((segments, now));
        let t = now.since(epoch.began) + self.min_rtt.unwrap_or(Duration::ZERO);
        let target = w_cubic(t.as_secs_f64(), epoch.k, epoch.origin).floor();
        let curve = match self.last_max {
            None => 50.0,
            Some(_) if target > cwnd => (cwnd / (target - cwnd)).floor(),
            Some(_) => 100.0 * cwnd,
        };
        // Acknowledgments for another segment of Reno's window.
        let acks = cwnd * (1.0 + self.beta) / (3.0 * (1.0 - self.beta));
        let grown = (epoch.ack_cnt / acks).floor();
        epoch.ack_cnt -= grown * acks;
        epoch.w_tcp += grown;
        let friendly =
            if epoch.w_tcp > cwnd { (cwnd / (epoch.w_tcp - cwnd)).floor() } else { f64::INFINITY };
        self.cnt = (curve.min(friendly) / self.ratio).floor().max(1.0);
    }
}

impl CongestionController for Cubic2008 {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        self.min_rtt = match (self.min_rtt, sample.rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (least, rtt) => least.or(rtt),
        };
        let covered = sample.acked as f64 / window.mss as f64;
        self.ratio += (covered - self.ratio) / 16.0;
        if window.in_slow_start() {
            return self.slow_start.on_ack(window, sample);
        }
        if !sample.limited {
            return;
        }
        self.update(sample.now, window.cwnd / window.mss);
        if self.cwnd_cnt >= self.cnt {
            window.grow(window.mss);
            self.cwnd_cnt = 0.0;
        } else {
            self.cwnd_cnt += 1.0;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let cwnd = (window.cwnd / window.mss) as f64;
        let shrinks = self.last_max.is_some_and(|last| cwnd < last);
        self.last_max = match event.kind {
            // Linux forgets everything.
            CongestionKind::Timeout => None,
            // Fast convergence.
            _ if shrinks => Some(cwnd * (1.0 + self.beta) / 2.0),
            _ => Some(cwnd),
        };
        let threshold = (cwnd * self.beta).floor().max(2.0);
        window.ssthresh = threshold as u64 * window.mss;
        self.epoch = None;
        self.cwnd_cnt = 0.0;
        self.slow_start.on_congestion();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(segments: u64) -> (Cubic2008, Window) {
        let config = Config { growth_per_ack: Some(1), ..Config::default() };
        let mut window = Window::new(&config);
        window.cwnd = segments * window.mss;
        (Cubic2008::new(&config), window)
    }

    fn loss(cubic: &mut Cubic2008, window: &mut Window, kind: CongestionKind) {
        let event = CongestionEvent { now: Time::ZERO, kind, flight: window.cwnd };
        cubic.on_congestion(window, &event);
        window.cwnd = window.ssthresh;
    }

    /// Acknowledges windows, two segments at a time, at `rtt` for so many seconds.
    fn run(cubic: &mut Cubic2008, window: &mut Window, rtt: f64, seconds: f64) {
        let span = Some(Duration::from_secs_f64(rtt));
        let mut t = 0.0;
        while t < seconds {
            let acks = window.cwnd / window.mss / 2;
            for i in 0..acks {
                let at = t + rtt * i as f64 / acks as f64;
                let sample = AckSample {
                    now: Time::ZERO + Duration::from_secs_f64(at),
                    acked: 2 * window.mss,
                    ack: 1,
                    sent: 1,
                    rtt: span,
                    srtt: span,
                    one_way: None,
                    limited: true,
                    after_timeout: false,
                };
                cubic.on_ack(window, &sample);
            }
            t += rtt;
        }
    }

    #[test]
    fn the_window_is_a_segment_below_the_curve() {
        // 100 segments, so 70 after the loss, K = cbrt(30 / 0.4) = 4.217 s. Two seconds later the
        // curve, a round trip ahead, is at 100 - 0.4 (4.217 - 2.1)^3 = 96.2.
        let (mut cubic, mut window) = begin(100);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        assert_eq!(window.cwnd, 70 * window.mss);
        run(&mut cubic, &mut window, 0.1, 2.0);
        let segments = window.cwnd / window.mss;
        assert!((94..=96).contains(&segments), "{segments}");
    }

    #[test]
    fn delayed_acknowledgments_halve_the_growth_of_reno() {
        // 20 ms: 14 segments; Reno's estimate grows by 1 / 1.889 segments in `cwnd`
        // acknowledgments, 7 a round trip: 0.5 s are 25 round trips of 0.265 segments, 6.6, while
        // the curve is back at 20 after 2.5 s, and at 20 - 0.4 (2.47 - 0.52)^3 = 17.0 now.
        let (mut cubic, mut window) = begin(20);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        assert_eq!(window.cwnd, 14 * window.mss);
        run(&mut cubic, &mut window, 0.02, 0.5);
        let segments = window.cwnd / window.mss;
        assert!((19..=21).contains(&segments), "{segments}");
    }

    #[test]
    fn a_timeout_forgets_the_window_before() {
        let (mut cubic, mut window) = begin(100);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        // 70 (1 + 0.7) / 2.
        assert!((cubic.last_max.unwrap() - 59.5).abs() < 0.1);
        loss(&mut cubic, &mut window, CongestionKind::Timeout);
        assert_eq!((cubic.last_max, window.cwnd), (None, 34 * window.mss));
        // One in 50 segments, which are 26 acknowledgments: 17 a round trip.
        run(&mut cubic, &mut window, 0.1, 1.0);
        let segments = window.cwnd / window.mss;
        assert!((39..=42).contains(&segments), "{segments}");
    }
}
