//! CUBIC (RFC 9438).
//!
//! | symbol | here |
//! |---|---|
//! | C, beta_cubic, alpha_cubic | `C`, `BETA`, `ALPHA` |
//! | W_max, cwnd_prior, W_est, K | `w_max`, `prior`, `w_est`, `k` |
//! | t_epoch | `epoch` |
//!
//! Windows are in segments, as in the RFC, and times in seconds.
//!
//! # Deviations
//! - D1. A reduction that turns out to be spurious is not undone (section 4.9 leaves it open).
//! - D2. `growth_per_ack` also limits the segments that one acknowledgment counts for in W_est.
//! - D3. HyStart++ (RFC 9406) is used in slow start only with `hystart` (section 4.10 recommends
//!   it).

use super::{
    AckSample, Conduct, CongestionController, CongestionEvent, CongestionKind, NoParams, SlowStart,
    Start, Window, real,
};
use crate::ConnectionParams;
use forebay_core::{ConfigError, Duration, Named, Time};
use std::sync::Arc;

/// Section 5: determines the aggressiveness; segments / s^3.
const C: f64 = 0.4;
/// Section 4.6: multiplicative decrease.
const BETA: f64 = 0.7;
/// Section 4.3: additive increase that matches Reno's mean window under `BETA`.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC.
#[derive(Debug, Default)]
pub struct Cubic {
    slow_start: SlowStart,
    /// Start of the congestion avoidance stage, without times when the window was not used.
    epoch: Option<Time>,
    /// When the last acknowledgment arrived.
    last: Time,
    /// The larger window that is remembered of the last two reductions (section 4.7).
    w_max: f64,
    /// Window before the last reduction.
    prior: f64,
    w_est: f64,
    k: f64,
    /// Fraction of a byte not yet added to the window.
    credit: f64,
}

/// W_cubic(t), equation 1: segments, `t` seconds after the stage began.
pub(crate) fn w_cubic(t: f64, k: f64, w_max: f64) -> f64 {
    let d = t - k;
    C * d * d * d + w_max
}

/// K, equation 2: seconds until the window is back at `w_max`.
pub(crate) fn time_to_w_max(w_max: f64, cwnd: f64) -> f64 {
    libm::cbrt((w_max - cwnd) / C)
}

fn seconds(span: Duration) -> f64 {
    real(span.as_nanos()) / 1e9
}

impl Cubic {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        Cubic { slow_start: SlowStart::new(connection), ..Cubic::default() }
    }

    fn begin(&mut self, now: Time, cwnd: f64) -> Time {
        self.epoch = Some(now);
        self.w_est = cwnd;
        self.credit = 0.0;
        if self.w_max > cwnd {
            self.k = time_to_w_max(self.w_max, cwnd);
        } else {
            // Left slow start without congestion, passed W_max in slow start, or first stage
            // after a timeout (sections 4.8 and 4.10).
            self.w_max = cwnd;
            self.k = 0.0;
        }
        now
    }
}

impl Named for Cubic {
    type Family = dyn CongestionController;
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "a window that is a cubic function of the time since the last loss";
    const SOURCE: &'static str = "RFC 9438";
    const FACTS: Conduct = Conduct::CUBIC;
    type Params = NoParams;

    fn build(_params: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(Cubic::new(connection))))
    }
}

impl CongestionController for Cubic {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        let now = sample.now;
        if window.in_slow_start() {
            self.last = now;
            return self.slow_start.on_ack(window, sample);
        }
        let mss = real(window.mss);
        let cwnd = (real(window.cwnd) + self.credit) / mss;
        let epoch = match self.epoch {
            Some(epoch) if sample.limited => epoch,
            // Section 4.2: time in which the window is not used does not count.
            Some(epoch) => {
                self.epoch = Some(epoch + now.since(self.last));
                self.last = now;
                return;
            }
            None => self.begin(now, cwnd),
        };
        self.last = now;
        if !sample.limited {
            return;
        }
        let acked = real(sample.acked) / mss;
        let t = seconds(now.since(epoch));
        // Section 4.3, equation 4; alpha is 1 once the window before the reduction is regained.
        let alpha = if self.w_est >= self.prior { 1.0 } else { ALPHA };
        let counted =
            if sample.acked <= window.per_ack { acked } else { real(window.per_ack) / mss };
        self.w_est += alpha * counted / cwnd;
        let next = if w_cubic(t, self.k, self.w_max) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            // Section 4.2: aim at the window one round trip from now, at most 1.5 times today's.
            let rtt = seconds(sample.srtt.unwrap_or(Duration::ZERO));
            let target = w_cubic(t + rtt, self.k, self.w_max).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        let bytes = (next * mss - real(window.cwnd)).max(0.0);
        let whole = bytes as i64;
        self.credit = bytes - whole as f64;
        window.grow(whole as u64);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let cwnd = window.cwnd as f64 / window.mss as f64;
        self.prior = cwnd;
        self.w_max = if event.kind == CongestionKind::Timeout {
            // Section 4.8: the next stage starts with K = 0 and W_max = cwnd.
            0.0
        } else if cwnd < self.w_max {
            // Section 4.7, fast convergence: leave room to newcomers.
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        // Section 4.6.
        let flight = event.flight as f64 * BETA;
        window.ssthresh = (flight as u64).max(2 * window.mss);
        self.epoch = None;
        self.credit = 0.0;
        self.slow_start.on_congestion();
    }

    fn on_restart(&mut self, _: &mut Window, now: Time) {
        if let Some(epoch) = self.epoch {
            self.epoch = Some(epoch + now.since(self.last));
            self.last = now;
        }
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.slow_start.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_that_of_equations_1_and_2() {
        // From 70 to 100 segments: K = cbrt(30 / 0.4) = 4.2172 s.
        let k = time_to_w_max(100.0, 70.0);
        assert!((k - 4.217_163).abs() < 1e-6);
        for (t, segments) in [(0.0, 70.0), (k, 100.0), (k + 5.0, 150.0), (2.0 * k, 130.0)] {
            assert!((w_cubic(t, k, 100.0) - segments).abs() < 1e-9);
        }
    }

    fn window(segments: u64) -> (Cubic, Window) {
        let connection = ConnectionParams::default();
        let mut window = Window::new(&connection, None);
        window.cwnd = segments * window.mss;
        (Cubic::new(&connection), window)
    }

    /// Acknowledges whole windows of single segments at `rtt`, from `from` until `until` seconds.
    fn run(cubic: &mut Cubic, window: &mut Window, rtt: f64, from: f64, until: f64, limited: bool) {
        let (mut t, mss) = (from, window.mss);
        let rtt_span = Duration::from_secs_f64(rtt);
        while t + rtt / 2.0 < until {
            let segments = window.cwnd / mss;
            for i in 0..segments {
                let at = t + rtt * i as f64 / segments as f64;
                cubic.on_ack(
                    window,
                    &AckSample {
                        now: Time::ZERO + Duration::from_secs_f64(at),
                        acked: mss,
                        ack: 1,
                        sent: 1,
                        rtt: Some(rtt_span),
                        srtt: Some(rtt_span),
                        limited,
                        ..AckSample::default()
                    },
                );
            }
            t += rtt;
        }
    }

    fn loss(cubic: &mut Cubic, window: &mut Window, kind: CongestionKind) {
        let event = CongestionEvent { now: Time::ZERO, kind, flight: window.cwnd };
        cubic.on_congestion(window, &event);
        window.cwnd = window.ssthresh;
    }

    fn segments(window: &Window) -> f64 {
        window.cwnd as f64 / window.mss as f64
    }

    #[test]
    fn the_window_follows_the_curve() {
        // Long RTT and large window, so that the Reno-friendly region does not apply: W_max =
        // 1000, beta 0.7, K = cbrt(750) = 9.0856 s; W(5) = 0.4 (5 - 9.0856)^3 + 1000 = 972.7.
        let (mut cubic, mut window) = window(1000);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        assert!((segments(&window) - 700.0).abs() < 0.01);
        run(&mut cubic, &mut window, 0.2, 0.0, 5.0, true);
        assert!((segments(&window) - 972.7).abs() < 2.0, "{}", segments(&window));
        run(&mut cubic, &mut window, 0.2, 5.0, 14.0, true);
        // W(14) = 0.4 (4.9144)^3 + 1000 = 1047.5.
        assert!((segments(&window) - 1047.5).abs() < 2.0, "{}", segments(&window));
    }

    #[test]
    fn short_paths_get_the_reno_friendly_window() {
        // 5 ms: W_est grows by 9/17 of a segment a round trip, 0.529 * 40 = 21.2 in 0.2 s, until
        // it passes the window before the loss (30 segments off): the curve would stand at 70 +
        // 100 - 0.4 (4.217 - 0.2)^3 - 70 = 74.1.
        let (mut cubic, mut window) = window(100);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        run(&mut cubic, &mut window, 0.005, 0.0, 0.2, true);
        assert!((segments(&window) - 91.2).abs() < 1.5, "{}", segments(&window));
    }

    #[test]
    fn fast_convergence_lowers_w_max() {
        let (mut cubic, mut window) = window(100);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        assert_eq!(cubic.w_max, 100.0);
        // A second loss at 70 < 100: W_max = 70 * 0.85.
        loss(&mut cubic, &mut window, CongestionKind::Ecn);
        assert!((cubic.w_max - 59.5).abs() < 1e-9);
    }

    #[test]
    fn after_a_timeout_the_curve_starts_flat() {
        let (mut cubic, mut window) = window(100);
        loss(&mut cubic, &mut window, CongestionKind::Timeout);
        assert!((segments(&window) - 70.0).abs() < 0.01);
        run(&mut cubic, &mut window, 1.0, 0.0, 1.0, true);
        assert_eq!((cubic.k, cubic.w_max.round()), (0.0, 70.0));
    }

    #[test]
    fn unused_time_does_not_count() {
        let (mut cubic, mut window) = window(1000);
        loss(&mut cubic, &mut window, CongestionKind::Loss);
        run(&mut cubic, &mut window, 0.2, 0.0, 1.0, true);
        let before = window.cwnd;
        run(&mut cubic, &mut window, 0.2, 1.0, 9.0, false);
        assert_eq!(window.cwnd, before);
        let now = Time::ZERO + Duration::from_secs(20);
        cubic.on_restart(&mut window, now);
        let t = now.since(cubic.epoch.unwrap()).as_secs_f64();
        assert!((0.9..1.1).contains(&t), "{t}");
    }
}
