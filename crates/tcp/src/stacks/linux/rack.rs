//! RACK and tail loss probes of 6.1 (RFC 8985 with Linux's choices; `tcp_recovery.c`,
//! `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).

use super::queue::Sent;
use super::{Ack, EVER, LOST, Machine, Pending, RETRANS, Resend, SACKED, State};
use forebay_core::{Duration, Time};

/// Shortest time of a timer (`TCP_TIMEOUT_MIN_US`).
const LEAST: Duration = Duration::from_millis(2);
/// Number of recoveries for which a longer reordering window lasts (`TCP_RACK_RECOVERY_THRESH`).
pub(super) const RECOVERIES: u8 = 16;

/// The segment sent last of those that arrived (`struct tcp_rack`).
#[derive(Debug, Default)]
pub(super) struct Rack {
    at: Time,
    end: u64,
    rtt: Duration,
    least: Option<Duration>,
    pub(super) advanced: bool,
    pub(super) duplicate_seen: bool,
    /// Quarters of the smallest round-trip time to wait, beside the first.
    steps: u8,
    /// Recoveries for which a longer reordering window still lasts.
    pub(super) persist: u8,
    last_delivered: u32,
}

impl Rack {
    /// A round-trip time was measured.
    pub(super) fn least(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// The smallest of them.
    pub(super) fn shortest(&self) -> Option<Duration> {
        self.least
    }

    /// The same; 0 before the first.
    pub(super) fn least_rtt(&self) -> Duration {
        self.least.unwrap_or(Duration::ZERO)
    }

    /// `tcp_rack_update_reo_wnd`: `prior` segments had been delivered before this acknowledgment.
    pub(super) fn adapt(&mut self, prior: u32, delivered: u32) {
        if prior < self.last_delivered {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.steps = self.steps.saturating_add(1);
            self.last_delivered = delivered;
            self.persist = RECOVERIES;
        } else if self.persist == 0 {
            self.steps = 0;
        }
    }

    fn sent_after(at: Time, end: u64, other: Time, other_end: u64) -> bool {
        at > other || (at == other && end > other_end)
    }

    /// Time until `sent` is overdue by `window` (`tcp_rack_skb_timeout`).
    fn remaining(&self, now: Time, sent: &Sent, window: Duration) -> Duration {
        (self.rtt + window).saturating_sub(now.since(sent.at))
    }

    pub(super) fn is_overdue(&self, now: Time, sent: &Sent, window: Duration) -> bool {
        self.remaining(now, sent, window) == Duration::ZERO
    }
}

impl Machine {
    /// `sent` arrived (`tcp_rack_advance`).
    pub(super) fn rack_advance(&mut self, now: Time, sent: &Sent) {
        let rtt = now.since(sent.at);
        if sent.has(RETRANS | EVER) && self.rack.least.is_some_and(|least| rtt < least) {
            // Rather the original than the retransmission.
            return;
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt = rtt;
        if Rack::sent_after(sent.at, sent.end(), rack.at, rack.end) {
            (rack.at, rack.end) = (sent.at, sent.end());
        }
    }

    /// `tcp_rack_reo_wnd`.
    fn reordering_window(&self) -> Duration {
        let eager = self.state >= State::Recovery || self.queue.sacked >= self.reordering;
        if !self.reordering_seen && eager {
            return Duration::ZERO;
        }
        let least = self.rack.least_rtt();
        let window = least.saturating_mul(u64::from(self.rack.steps) + 1) / 4;
        window.min(self.estimator.srtt().unwrap_or(Duration::ZERO))
    }

    /// The segment is lost (`tcp_mark_skb_lost`).
    pub(super) fn lose(&mut self, at: usize) {
        let sent = *self.queue.get(at);
        if sent.has(SACKED) || sent.has(LOST) && !sent.has(RETRANS) {
            return;
        }
        let again = if sent.has(LOST) { RETRANS } else { 0 };
        self.queue.mark(at, LOST, again);
        self.lost += self.queue.segments(&sent);
        if let Some(foreign) = self.congestion.foreign_mut() {
            foreign.on_lost(sent.seq, sent.end());
        }
    }

    /// Marks segments as lost that were sent a round trip before one that arrived. Returns the time
    /// until the others will be (`tcp_rack_detect_loss`).
    fn detect_loss(&mut self, now: Time) -> Duration {
        let window = self.reordering_window();
        let mut wait = Duration::ZERO;
        for at in 0..self.queue.len() {
            let sent = *self.queue.get(at);
            if sent.has(SACKED) || (sent.has(LOST) && !sent.has(RETRANS)) {
                continue;
            }
            if !Rack::sent_after(self.rack.at, self.rack.end, sent.at, sent.end()) {
                if sent.has(EVER) {
                    continue;
                }
                // Those behind were sent later, or later again.
                break;
            }
            let remaining = self.rack.remaining(now, &sent, window);
            if remaining == Duration::ZERO {
                self.lose(at);
            } else {
                wait = wait.max(remaining);
            }
        }
        wait
    }

    /// `tcp_identify_packet_loss`, `tcp_rack_mark_lost`.
    pub(super) fn find_losses(&mut self, now: Time, ack: &mut Ack) {
        if self.queue.is_empty() {
            return;
        }
        let before = self.queue.retrans;
        if std::mem::take(&mut self.rack.advanced) {
            let wait = self.detect_loss(now);
            if wait > Duration::ZERO {
                let after = (wait + LEAST).min(self.estimator.rto);
                self.set_timer(now, Pending::Reordering, after);
                ack.set_timer = false;
            }
        }
        ack.lost_retrans |= before > self.queue.retrans;
    }

    /// `tcp_rack_reo_timeout`.
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        let (in_flight, lost) = (self.queue.in_flight(), self.lost);
        self.detect_loss(now);
        if self.queue.in_flight() != in_flight {
            if self.state != State::Recovery {
                self.enter_recovery_6_1(false);
                if !self.congestion.governs() {
                    self.reduce(1, self.lost > lost, false);
                }
            }
            self.resend = Resend::Lost;
        }
        self.pending = Pending::Reordering;
        self.rearm(now);
    }

    /// Sets the timer for a tail loss probe, if one is due. `advancing` says that the
    /// retransmission timer would restart now.
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let Some(head) = self.queue.front() else { return false };
        if !matches!(self.state, State::Open | State::Cwr) {
            return false;
        }
        let rto = self.estimator.rto;
        let mut after = match self.estimator.srtt() {
            Some(srtt) if self.queue.out() == 1 => srtt * 2 + self.estimator.least(),
            Some(srtt) => srtt * 2 + LEAST,
            None => Duration::from_secs(1),
        };
        let left = if advancing { rto } else { (head.at + rto).since(now) };
        if left > Duration::ZERO {
            after = after.min(left);
        }
        self.set_paced_timer(now, Pending::Probe, after);
        true
    }

    /// Sends one new segment, or the last one again.
    pub(super) fn send_probe(&mut self, now: Time, more: bool) {
        self.holds_new = true;
        if self.probe_seq > 0 {
            return self.probe_held(now);
        }
        self.probe_retrans = !more;
        if more {
            self.loss_probe_due = true;
            return;
        }
        // Not counted as a retransmission in flight (`__tcp_retransmit_skb`).
        let (at, mss) = (self.queue.len() - 1, self.mss);
        let last = *self.queue.get(at);
        let before = u64::from(self.queue.segments(&last) - 1) * mss;
        if before > 0 {
            self.split_after(at, before);
        }
        self.resend = Resend::Probe(self.queue.len() - 1);
        self.probe_sent(now);
    }

    /// No probe is sent, because another is on its way or pacing holds it back. The retransmission
    /// timer takes over (`tcp_send_loss_probe`, rearm_timer).
    pub(super) fn probe_held(&mut self, now: Time) {
        self.pending = Pending::Probe;
        self.rearm(now);
    }

    /// The probe is on its way.
    pub(super) fn probe_sent(&mut self, now: Time) {
        self.probe_seq = self.next;
        self.sent_now = 0;
        self.pending = Pending::Nothing;
        self.rearm(now);
    }
}
