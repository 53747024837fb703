//! DCTCP (RFC 8257): the window is reduced by the share of bytes that were marked.
//!
//! A queue marks every packet that arrives while it is longer than a threshold. The receiver
//! reports each mark (section 3.2; [`Needs::EveryMark`]), and the sender keeps a moving average of
//! the marked share.
//!
//! | symbol | here |
//! |---|---|
//! | DCTCP.Alpha, g | `alpha`, `gain` |
//! | DCTCP.BytesAcked, DCTCP.BytesMarked, DCTCP.WindowEnd | `acked`, `marked`, [`Delivery::round_end`] |
//! | M | the share of `marked` |
//!
//! # Deviations
//! - D1. Acknowledgments with an echo do not increase the window, and do not reduce it during loss
//!   recovery, as with RFC 3168 (section 3.3 leaves growth to RFC 5681).
//! - D2. If the receiver's state changes while an acknowledgment waits, two acknowledgments are
//!   sent, and only the second reports the new state (section 3.2 allows either).
//! - D3. Retransmissions, window probes, SYNs and pure acknowledgments are ECN-capable, too, as in
//!   Linux. Otherwise a queue that marks at a step would drop them.

use super::{
    AckSample, Attention, Conduct, CongestionController, CongestionEvent, CongestionKind, Delivery,
    Needs, NewReno, Role, Start, Window,
};
use crate::ConnectionParams;
use forebay_core::config::{positive_share, require};
use forebay_core::{ConfigError, Named, params};
use std::sync::Arc;

params! {
    // The defaults are those of Linux; section 3.3, too, begins with an average share of 1.
    /// Parameters of DCTCP.
    #[derive(Copy, PartialEq)]
    pub struct DctcpParams {
        /// Weight of the last round trip in the average share of marked bytes (g, section 3.3),
        /// above 0 to 1. Linux's stack takes the next smaller power of two, from 1/1024.
        pub gain: f64 = 0.0625,
        /// The average share before the first marks (DCTCP.Alpha, section 3.3), 0 to 1.
        pub initial_alpha: f64 = 1.0,
    }
}

impl DctcpParams {
    fn validate(&self) -> Result<(), ConfigError> {
        let DctcpParams { gain, initial_alpha } = self;
        positive_share("gain", *gain)?;
        require((0.0..=1.0).contains(initial_alpha), "initial_alpha", || {
            format!("must be from 0 to 1, got {initial_alpha}")
        })
    }
}

/// The average share after a round trip whose own share is `marked` (section 3.3, step 6).
pub(crate) fn next_alpha(alpha: f64, gain: f64, marked: f64) -> f64 {
    alpha * (1.0 - gain) + gain * marked
}

/// State of DCTCP.
#[derive(Debug)]
pub struct Dctcp {
    /// Window growth, and the response to losses.
    reno: NewReno,
    gain: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
}

impl Dctcp {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams, params: DctcpParams) -> Self {
        let DctcpParams { gain, initial_alpha } = params;
        Dctcp { reno: NewReno::new(connection), gain, alpha: initial_alpha, acked: 0, marked: 0 }
    }
}

impl Named for Dctcp {
    type Family = dyn CongestionController;
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "reduces the window by the share of bytes that were marked";
    const SOURCE: &'static str = "RFC 8257";
    const FACTS: Conduct = Conduct { linux: Some("dctcp"), needs: Needs::EveryMark };
    type Params = DctcpParams;

    fn build(params: &DctcpParams, _: &()) -> Result<Start, ConfigError> {
        params.validate()?;
        let params = *params;
        Ok(Arc::new(move |connection| Box::new(Dctcp::new(connection, params))))
    }
}

impl CongestionController for Dctcp {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        self.reno.on_ack(window, sample);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // Sections 3.4 and 3.5: losses and timeouts are answered as by New Reno.
        self.reno.on_congestion(window, event);
        if event.kind == CongestionKind::Ecn {
            // Section 3.3, step 9.
            let reduced = window.cwnd as f64 * (1.0 - self.alpha / 2.0);
            window.ssthresh = (reduced as u64).max(2 * window.mss);
        }
    }

    fn role(&self) -> Role {
        Role { attention: Attention::Acknowledgments, ..Role::default() }
    }

    fn on_delivery(&mut self, _: &mut Window, delivery: &Delivery) {
        // Section 3.3, steps 1 to 8.
        self.acked += delivery.acked;
        self.marked += delivery.marked;
        if delivery.round_end && self.acked > 0 {
            // Counters are ahead of cumulative acknowledgments (RFC 9768).
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha = next_alpha(self.alpha, self.gain, share);
            (self.acked, self.marked) = (0, 0);
        }
    }

    fn heap(&self) -> usize {
        size_of::<Self>() - size_of::<NewReno>() + self.reno.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Time;

    fn begin(initial_alpha: f64) -> (Dctcp, Window) {
        let connection = ConnectionParams::default();
        let mut window = Window::new(&connection, None);
        window.cwnd = 100 * window.mss;
        let params = DctcpParams { initial_alpha, ..DctcpParams::default() };
        (Dctcp::new(&connection, params), window)
    }

    /// A round trip of 100 segments, of which the last `marked` were marked.
    fn round(dctcp: &mut Dctcp, window: &mut Window, marked: u64) {
        for number in 1..=100 {
            let echo = number > 100 - marked;
            let delivery = Delivery {
                acked: 1000,
                marked: if echo { 1000 } else { 0 },
                echo,
                round_end: number == 100,
                ..Delivery::default()
            };
            dctcp.on_delivery(window, &delivery);
        }
    }

    #[test]
    fn alpha_is_the_moving_average_of_the_share_marked() {
        let (mut dctcp, mut window) = begin(0.0);
        // Every round a quarter: 0.25 (1 - (15/16)^n).
        for n in 1..=32 {
            round(&mut dctcp, &mut window, 25);
            let want = 0.25 * (1.0 - libm::pow(0.9375, f64::from(n)));
            assert!((dctcp.alpha - want).abs() < 1e-12, "{n}: {} {want}", dctcp.alpha);
        }
        // From 1 without marks: (15/16)^n.
        let (mut dctcp, mut window) = begin(1.0);
        (0..16).for_each(|_| round(&mut dctcp, &mut window, 0));
        assert!((dctcp.alpha - libm::pow(0.9375, 16.0)).abs() < 1e-12);
    }

    #[test]
    fn marks_take_half_of_alpha_and_losses_half_of_the_window() {
        for (alpha, kind, segments) in [
            (1.0, CongestionKind::Ecn, 50),
            (0.5, CongestionKind::Ecn, 75),
            (0.02, CongestionKind::Ecn, 99),
            (0.02, CongestionKind::Loss, 50),
            (0.02, CongestionKind::Timeout, 50),
        ] {
            let (mut dctcp, mut window) = begin(alpha);
            let event = CongestionEvent { now: Time::ZERO, kind, flight: window.cwnd };
            dctcp.on_congestion(&mut window, &event);
            assert_eq!(window.ssthresh, segments * window.mss, "{alpha} {kind:?}");
        }
        let (mut dctcp, mut window) = begin(1.0);
        window.cwnd = 2 * window.mss;
        let event = CongestionEvent { now: Time::ZERO, kind: CongestionKind::Ecn, flight: 1 };
        dctcp.on_congestion(&mut window, &event);
        assert_eq!(window.ssthresh, 2 * window.mss);
    }
}
