//! CUBIC before the standard, as in Linux 2.6.26 (S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly
//! High-Speed TCP Variant", 2008, algorithm 1). It differs from RFC 9438 as follows:
//!
//! - Windows are whole segments: one more after `cnt` acknowledgments. So the window waits until
//!   the curve is a segment above it.
//! - The estimate of Reno's window grows by acknowledgments, not bytes, and always with the same
//!   slope, while `cnt` compensates for delayed acknowledgments.
//! - Numbers are integers. The segments that an acknowledgment covers are averaged in sixteenths,
//!   whose whole part decays. From its initial two the average never falls below 31/16, so `cnt` is
//!   about halved even if every segment is acknowledged (Linux before 4.0).
//! - Growth is not limited to half a window per round trip.
//! - The threshold is a share of the window, not of the data in flight.
//!
//! | symbol | here |
//! |---|---|
//! | C, beta | `C`; `beta` is 1 - beta: 717/1024 in Linux, before 2.6.25 819/1024 |
//! | W_last_max, origin_point, K, W_tcp | `last_max`, `origin`, `k`, `w_tcp` |
//! | cnt, cwnd_cnt, ack_cnt, dMin | `cnt`, `cwnd_cnt`, `ack_cnt`, `min_rtt` |

use super::cubic::{time_to_w_max, w_cubic};
use super::{
    AckSample, CongestionController, CongestionEvent, CongestionKind, SlowStart, Start, Window,
};
use crate::ConnectionParams;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Named, Time, params};
use std::sync::Arc;

const BETA: u64 = 717;
/// The unit of `beta`.
const SCALE: u64 = 1024;
/// Number of fractional bits of `ratio`: ACK_RATIO_SHIFT.
const RATIO_SHIFT: u32 = 4;
/// Two segments per acknowledgment.
const DELAYED: u64 = 2 << RATIO_SHIFT;
/// While the window does not change, `cnt` is computed at most this often (Linux).
const PERIOD: Duration = Duration::from_micros(31_250);

/// State of CUBIC of 2008, with windows in segments.
#[derive(Debug, Default)]
pub struct Cubic2008 {
    slow_start: SlowStart,
    /// In units of 1/1024.
    beta: u64,
    /// Window before the last loss. 0 after a timeout, and before the first loss.
    last_max: u64,
    epoch: Option<Epoch>,
    min_rtt: Duration,
    /// Average number of segments that an acknowledgment covers, in sixteenths.
    ratio: u64,
    /// The window for which `cnt` was computed, and when.
    found: Option<(u64, Time)>,
    ack_cnt: u64,
    cnt: u64,
    cwnd_cnt: u64,
}

/// The growth since the last loss: its beginning, and W_tcp of algorithm 1.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    began: Time,
    origin: u64,
    k: f64,
    w_tcp: u64,
}

params! {
    /// Parameters of `cubic-2008`.
    #[derive(Copy, PartialEq)]
    pub struct Cubic2008Params {
        /// Share of the window that stays after a loss, from 0.5 to below 1. Default 717/1024;
        /// Linux before 2.6.25 had 819/1024.
        pub beta: f64 = BETA as f64 / SCALE as f64,
    }
}

impl Cubic2008 {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams, params: Cubic2008Params) -> Self {
        let beta = (params.beta * SCALE as f64).round() as u64;
        Cubic2008 { slow_start: SlowStart::new(connection), beta, ..Cubic2008::reset() }
    }

    /// Resets everything, as Linux does at a timeout.
    fn reset() -> Self {
        Cubic2008 { ratio: DELAYED, ..Cubic2008::default() }
    }

    /// Number of acknowledgments for one more segment (cubic_update).
    fn update(&mut self, now: Time, cwnd: u64) {
        self.ack_cnt += 1;
        if self.found.is_some_and(|(of, at)| of == cwnd && now.since(at) <= PERIOD) {
            return;
        }
        self.found = Some((cwnd, now));
        let (last_max, ack_cnt) = (self.last_max, &mut self.ack_cnt);
        let epoch = self.epoch.get_or_insert_with(|| {
            *ack_cnt = 1;
            let k = if last_max > cwnd { time_to_w_max(last_max as f64, cwnd as f64) } else { 0.0 };
            Epoch { began: now, origin: last_max.max(cwnd), k, w_tcp: cwnd }
        });
        let t = (now.since(epoch.began) + self.min_rtt).as_secs_f64();
        let away = w_cubic(t, epoch.k, 0.0).abs().floor() as u64;
        let target =
            if t < epoch.k { epoch.origin - away } else { epoch.origin.saturating_add(away) };
        let curve = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Acknowledgments for another segment of Reno's window.
        let acks = cwnd * (8 * (SCALE + self.beta) / 3 / (SCALE - self.beta)) / 8;
        while *ack_cnt > acks {
            *ack_cnt -= acks;
            epoch.w_tcp += 1;
        }
        let friendly = if epoch.w_tcp > cwnd { cwnd / (epoch.w_tcp - cwnd) } else { u64::MAX };
        self.cnt = ((curve.min(friendly) << RATIO_SHIFT) / self.ratio).max(1);
    }
}

impl Named for Cubic2008 {
    type Family = dyn CongestionController;
    const NAME: &'static str = "cubic-2008";
    const SUMMARY: &'static str =
        "CUBIC of 2008, as in Linux 2.6.26: growth counted in acknowledgments";
    const SOURCE: &'static str =
        "S. Ha, I. Rhee, L. Xu, CUBIC, 2008, algorithm 1; Linux 2.6.26, tcp_cubic.c";
    type Params = Cubic2008Params;

    fn build(params: &Cubic2008Params, _: &()) -> Result<Start, ConfigError> {
        let params = *params;
        require((0.5..1.0).contains(&params.beta), "beta", || {
            format!("must be from 0.5 to below 1, got {}", params.beta)
        })?;
        Ok(Arc::new(move |connection| Box::new(Cubic2008::new(connection, params))))
    }
}

impl CongestionController for Cubic2008 {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if let Some(rtt) = sample.rtt
            && (self.min_rtt == Duration::ZERO || rtt < self.min_rtt)
        {
            self.min_rtt = rtt;
        }
        if !sample.after_timeout {
            let covered = sample.acked.div_ceil(window.mss);
            self.ratio = self.ratio - (self.ratio >> RATIO_SHIFT) + covered;
        }
        if window.in_slow_start() {
            return self.slow_start.on_ack(window, sample);
        }
        if !sample.limited {
            return;
        }
        self.update(sample.now, window.cwnd / window.mss);
        if self.cwnd_cnt >= self.cnt {
            window.grow(window.mss);
            self.cwnd_cnt = 0;
        } else {
            self.cwnd_cnt += 1;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let cwnd = window.cwnd / window.mss;
        window.ssthresh = (cwnd * self.beta / SCALE).max(2) * window.mss;
        self.slow_start.on_congestion();
        if event.kind == CongestionKind::Timeout {
            *self = Cubic2008 { beta: self.beta, ..Cubic2008::reset() };
            return;
        }
        // Fast convergence.
        let shrinks = cwnd < self.last_max;
        self.last_max = if shrinks { cwnd * (SCALE + self.beta) / (2 * SCALE) } else { cwnd };
        self.epoch = None;
        self.cwnd_cnt = 0;
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.slow_start.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(segments: u64) -> (Cubic2008, Window) {
        let connection = ConnectionParams::default();
        let mut window = Window::new(&connection, Some(1));
        window.cwnd = segments * window.mss;
        (Cubic2008::new(&connection, Cubic2008Params::default()), window)
    }

    fn loss(cubic: &mut Cubic2008, window: &mut Window, kind: CongestionKind) {
        let event = CongestionEvent { now: Time::ZERO, kind, flight: window.cwnd };
        cubic.on_congestion(window, &event);
        window.cwnd = window.ssthresh;
    }

    /// Acknowledges windows, two segments at a time, at `rtt` for the given number of seconds.
    fn run(cubic: &mut Cubic2008, window: &mut Window, rtt: f64, seconds: f64) {
        run_with(cubic, window, rtt, seconds, 2);
    }

    fn run_with(cubic: &mut Cubic2008, window: &mut Window, rtt: f64, seconds: f64, each: u64) {
        let span = Some(Duration::from_secs_f64(rtt));
        let mut t = 0.0;
        while t < seconds {
            let acks = window.cwnd / window.mss / each;
            for i in 0..acks {
                let at = t + rtt * i as f64 / acks as f64;
                let sample = AckSample {
                    now: Time::ZERO + Duration::from_secs_f64(at),
                    acked: each * window.mss,
                    ack: 1,
                    sent: 1,
                    rtt: span,
                    srtt: span,
                    limited: true,
                    ..AckSample::default()
                };
                cubic.on_ack(window, &sample);
            }
            t += rtt;
        }
    }

    #[test]
    fn the_window_follows_the_curve() {
        // 100 segments, so 70 after the loss, K = cbrt(30 / 0.4) = 4.217 s. Two seconds later the
        // curve, a round trip ahead, is at 100 - 0.4 (4.217 - 2.1)^3 = 96.2, of which Linux rounds
        // the 3.8 down.
        let (mut cubic, mut window) = begin(100);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        assert_eq!(window.cwnd, 70 * window.mss);
        run(&mut cubic, &mut window, 0.1, 2.0);
        let segments = window.cwnd / window.mss;
        assert!((95..=97).contains(&segments), "{segments}");
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
        assert_eq!(cubic.last_max, 59);
        loss(&mut cubic, &mut window, CongestionKind::Timeout);
        assert_eq!((cubic.last_max, window.cwnd), (0, 34 * window.mss));
        // From there the curve is 0.4 t^3, and Reno's estimate grows faster: 0.27 a round trip.
        run(&mut cubic, &mut window, 0.1, 1.0);
        let segments = window.cwnd / window.mss;
        assert!((36..=37).contains(&segments), "{segments}");
    }

    #[test]
    fn without_delayed_acknowledgments_the_average_stays_near_two() {
        // From 32/16: 32 - 2 + 1 = 31, and 31 - 1 + 1 = 31 for ever.
        let (mut cubic, mut window) = begin(20);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        run_with(&mut cubic, &mut window, 0.02, 1.0, 1);
        assert_eq!(cubic.ratio, 31);
        run_with(&mut cubic, &mut window, 0.02, 0.1, 3);
        assert!(cubic.ratio >= 32);
    }
}
