//! DCTCP as in Linux 6.1 (`tcp_dctcp.c`): with integers in which 1024 means 1, and with segments
//! counted when they are delivered, not when they are acknowledged.

use super::Cwnd;
use crate::congestion::CongestionControl;

/// The value 1 (`DCTCP_MAX_ALPHA`).
const ONE: u32 = 1024;

/// State of DCTCP.
#[derive(Debug)]
pub(crate) struct Dctcp {
    /// g is 2 to the power of minus this (`dctcp_shift_g`).
    shift: u32,
    alpha: u32,
    /// The round ends when this offset is acknowledged (`next_seq`).
    round: u64,
    /// Segments delivered when the round began, and those of them with an echo.
    delivered: u32,
    marked: u32,
    /// The window before the last reduction (`loss_cwnd`).
    pub(super) before: u32,
}

impl Dctcp {
    pub(super) fn new(control: &CongestionControl) -> Self {
        let params = control.params();
        let number = |name: &str| params.get(name).and_then(serde_json::Value::as_f64);
        let (gain, alpha) = (number("gain").unwrap_or(1.0), number("initial_alpha").unwrap_or(1.0));
        Dctcp {
            shift: libm::ceil(-libm::log2(gain)).clamp(0.0, 10.0) as u32,
            alpha: (alpha * f64::from(ONE)) as u32,
            round: 1,
            delivered: 0,
            marked: 0,
            before: 0,
        }
    }

    /// `dctcp_ssthresh`.
    pub(super) fn ssthresh(&mut self, cwnd: u32) -> u32 {
        self.before = cwnd;
        (cwnd - ((u64::from(cwnd) * u64::from(self.alpha)) >> 11) as u32).max(2)
    }

    /// `dctcp_react_to_loss`.
    pub(crate) fn on_loss(&mut self, window: &mut Cwnd) {
        self.before = window.cwnd;
        window.ssthresh = (window.cwnd / 2).max(2);
    }

    /// `dctcp_update_alpha`: segments delivered in total, and those of them with an echo.
    pub(crate) fn on_ack(&mut self, una: u64, next: u64, delivered: u32, marked: u32) {
        if una < self.round {
            return;
        }
        // At least one, unless nothing is left (`min_not_zero`).
        let less = match self.alpha >> self.shift {
            0 => self.alpha,
            less => less,
        };
        self.alpha -= less;
        let newly_marked = marked - self.marked;
        if newly_marked > 0 {
            let share = (newly_marked << (10 - self.shift)) / (delivered - self.delivered).max(1);
            self.alpha = (self.alpha + share).min(ONE);
        }
        (self.round, self.delivered, self.marked) = (next, delivered, marked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dctcp() -> Dctcp {
        Dctcp::new(&CongestionControl::of::<crate::congestion::Dctcp>())
    }

    #[test]
    fn alpha_is_counted_in_integers() {
        let mut dctcp = dctcp();
        assert_eq!((dctcp.shift, dctcp.alpha), (4, 1024));
        dctcp.on_ack(1, 101, 0, 0);
        assert_eq!(dctcp.alpha, 960);
        // Within the round nothing is counted; at its end three of ten: 960 - 60 + 3 * 64 / 10.
        dctcp.on_ack(100, 201, 9, 2);
        assert_eq!(dctcp.alpha, 960);
        dctcp.on_ack(101, 201, 10, 3);
        assert_eq!(dctcp.alpha, 960 - 60 + 19);
        // Below 16 it goes to nothing at once.
        for round in 2..100 {
            let una = 100 * round + 1;
            dctcp.on_ack(una, una + 100, 10, 3);
        }
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half_of_the_window() {
        let mut dctcp = dctcp();
        assert_eq!(dctcp.ssthresh(20), 10);
        dctcp.alpha = 100;
        // 20 * 100 / 2048 is less than one.
        assert_eq!((dctcp.ssthresh(20), dctcp.ssthresh(41), dctcp.ssthresh(2)), (20, 39, 2));
        let mut window = Cwnd { cwnd: 21, ssthresh: 20, count: 0, most: 100 };
        dctcp.on_loss(&mut window);
        assert_eq!((window.ssthresh, dctcp.before), (10, 21));
    }
}
