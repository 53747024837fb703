//! The window when it is not used (RFC 2861): after an idle time, and while the application has
//! less to send.

use super::{Machine, State};
use forebay_core::{Duration, Time};

impl Machine {
    /// The threshold to which a reduction returns when it is undone (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() {
            return self.window.ssthresh;
        }
        self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4)
    }

    /// Something is sent after everything was acknowledged (`tcp_cwnd_restart`).
    pub(super) fn on_restart(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        let rto = self.estimator.rto;
        self.congestion.on_restart(&mut self.window, now, self.last_sent);
        self.restart_rates(now);
        if self.slow_start_after_idle && idle > rto && self.next > 1 {
            self.window.ssthresh = self.current_ssthresh();
            let least = self.initial.min(self.window.cwnd);
            let (mut cwnd, mut left) = (self.window.cwnd, idle.saturating_sub(rto));
            while left > Duration::ZERO && cwnd > least {
                cwnd >>= 1;
                left = left.saturating_sub(rto);
            }
            self.window.cwnd = cwnd.max(least);
            self.used_at = now;
            self.used = 0;
        }
    }

    /// The window was not used for a timeout (`tcp_cwnd_application_limited`; RFC 2861).
    pub(super) fn unused(&mut self, now: Time, more: bool) {
        self.used = self.used.max(self.queue.out());
        if now.since(self.used_at) < self.estimator.rto || !self.slow_start_after_idle {
            return;
        }
        if self.state == State::Open && !more {
            let used = self.used.max(self.initial);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = u32::midpoint(self.window.cwnd, used);
            }
            self.used = 0;
        }
        self.used_at = now;
    }
}
