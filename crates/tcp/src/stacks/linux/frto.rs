//! F-RTO of 2.6.26 with SACK (RFC 4138, appendix B; `tcp_enter_frto`, `tcp_process_frto`). After a
//! timeout only the first segment is sent again, and then two new ones. The others are lost if
//! these arrive.

use super::{Ack, EVER, LOST, Machine, RETRANS, SACKED, State};
use forebay_core::Time;

impl Machine {
    /// The retransmission timer expired.
    pub(super) fn enter_frto(&mut self) {
        let again = self.frto_counter > 0;
        let first = !again && self.state <= State::Disorder;
        let repeated = (self.state == State::Loss || again) && self.retransmits == 0;
        if first || self.una == self.high_seq || repeated {
            self.prior_ssthresh = self.current_ssthresh();
            let mut window = self.window;
            if again {
                window.cwnd = 2;
            }
            self.window.ssthresh = self.congestion.ssthresh(&window);
        }
        self.undo_marker = self.una;
        self.undo_retrans = 0;
        if self.queue.get(0).has(RETRANS | EVER) {
            self.undo_marker = 0;
        }
        self.queue.mark(0, 0, RETRANS);
        self.window.cwnd = self.window.cwnd.min(self.queue.in_flight() + 1);
        let recovering = again || matches!(self.state, State::Recovery | State::Loss);
        let earlier = recovering && self.high_seq > self.una;
        self.frto_highmark = if earlier { self.high_seq } else { self.next };
        self.state = State::Disorder;
        self.high_seq = self.next;
        self.frto_counter = 1;
    }

    /// An acknowledgment after that. Returns true if it does not change the window. `more` says
    /// that there are new data for which the receiver has room.
    pub(super) fn on_frto_ack(&mut self, now: Time, ack: &Ack, more: bool) -> bool {
        let data = ack.acked > 0;
        if data {
            self.retransmits = 0;
        }
        if ack.others_acked || (self.frto_counter >= 2 && ack.retrans_acked) {
            self.undo_marker = 0;
        }
        if self.una >= self.frto_highmark {
            self.frto_loss(now, if self.frto_counter == 1 { 2 } else { 3 }, data);
            return true;
        }
        if self.frto_counter == 1 {
            if !data {
                // No new data yet; the retransmission counts even if pacing still holds it.
                self.window.cwnd = self.window.cwnd.min(self.queue.in_flight().max(1));
                return true;
            }
            self.window.cwnd = self.queue.in_flight() + 2;
            self.frto_counter = 2;
            if !more {
                self.frto_loss(now, 2, data);
            }
            return true;
        }
        let progress = data || ack.sacked;
        if !progress || (ack.sacked && !ack.original) {
            if progress || !ack.news() {
                self.frto_loss(now, 3, data);
            }
            return true;
        }
        // The timeout was spurious; the default response is a reduction nevertheless.
        self.enter_cwr();
        self.frto_counter = 0;
        self.undo_marker = 0;
        false
    }

    /// The timeout was real (`tcp_enter_frto_loss`): everything that is not SACKed is sent again,
    /// beginning with `segments`.
    fn frto_loss(&mut self, now: Time, segments: u32, mut acked: bool) {
        for at in 0..self.queue.len() {
            let sent = *self.queue.get(at);
            let mut remove = LOST;
            if self.frto_counter == 1 && !acked {
                // The retransmission of the timeout still counts.
                acked = true;
            } else {
                if sent.has(RETRANS | EVER) {
                    self.undo_marker = 0;
                }
                remove |= RETRANS;
            }
            self.queue.mark(at, 0, remove);
            if !sent.has(SACKED) {
                self.queue.mark(at, LOST, 0);
            }
        }
        self.window.cwnd = self.queue.in_flight() + segments;
        self.window.count = 0;
        self.frto_counter = 0;
        self.enter_loss_state(now);
    }
}
