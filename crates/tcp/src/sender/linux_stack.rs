//! The sender by Linux's rules: sends what [`crate::linux::Machine`] decides.

use super::{Sender, Timer};
use crate::linux::{Expired, Machine};
use crate::{Flags, Segment, State};
use forebay_core::Time;

impl Sender {
    fn machine(&mut self) -> &mut Machine {
        self.linux.as_mut().expect("the sender is Linux's")
    }

    /// Whether there are new data for which the receiver has room.
    fn has_more(&self) -> bool {
        self.new_len(false).is_some()
    }

    /// Reads an acknowledgment. `widened` says that the receiver has more room than it reported
    /// before.
    pub(super) fn on_linux_ack(&mut self, now: Time, segment: &Segment, widened: bool) {
        if segment.ack > self.una {
            self.retries = 0;
            self.persist_backoff = 0;
        }
        self.una = segment.ack;
        let echo = self.ecn && segment.flags.has(Flags::ECE);
        let more = self.has_more();
        let next_send = self.pace.next_send();
        self.machine().set_next_send(next_send);
        let now = self.machine().instant(now);
        let reduced = self.machine().on_ack(now, segment, widened, echo, more);
        self.stats.fast_recoveries += u64::from(reduced.recovery);
        self.stats.ecn_reductions += u64::from(reduced.echo);
        if self.timer == Timer::Persist && self.una < self.next {
            self.timer = Timer::Off;
        }
        self.follow();
        if self.closed && self.una > self.end {
            self.finish(State::Done);
        }
    }

    /// The machine's timer has expired.
    pub(super) fn on_linux_deadline(&mut self, now: Time) {
        if self.machine().awaits_timeout() {
            self.retries += 1;
            if self.retries > self.retries_allowed {
                return self.finish(State::Aborted);
            }
        }
        let more = self.has_more();
        let now = self.machine().instant(now);
        match self.machine().on_deadline(now, more) {
            Expired::Nothing => {}
            Expired::Timeout => {
                self.stats.timeouts += 1;
                self.pace.excuse(&self.window);
                self.cwr_due = self.ecn;
            }
            Expired::ProbeNew => self.loss_probe_due = true,
        }
        self.follow();
    }

    pub(super) fn poll_linux(&mut self, now: Time) -> Option<Segment> {
        let at = self.machine().instant(now);
        let held = self.pace.held(now, &*self.controller, &self.window);
        if held && std::mem::take(&mut self.loss_probe_due) {
            self.machine().probe_held(at);
            self.follow();
        }
        if held && self.machine().pacing().is_none() {
            return None;
        }
        let end = self.end;
        self.machine().supply(end);
        loop {
            let more = self.has_more();
            if let Some((seq, len, fin)) = self.machine().next_resend(at, more, held) {
                self.stats.retransmissions += 1;
                let pushed = self.machine().pushes(seq, len);
                self.follow();
                let flags = Flags::ACK.with_if(fin, Flags::FIN).with_if(pushed, Flags::PSH);
                return Some(self.emitted(now, seq, len, flags));
            }
            let probe = std::mem::take(&mut self.loss_probe_due);
            if !held
                && (probe || self.machine().lets_new())
                && let Some(len) = self.new_len(self.probe_due)
            {
                let mut segment = Segment::default();
                self.send_new(now, len, &mut segment);
                let pushed = self.machine().pushes(segment.seq, segment.len);
                segment.flags = segment.flags.with_if(pushed, Flags::PSH);
                let fin = segment.flags.has(Flags::FIN);
                self.machine().on_new(at, segment.len, fin);
                if probe {
                    self.machine().probe_sent(at);
                }
                self.follow();
                return Some(segment);
            }
            if !self.machine().settled(at, more) {
                self.follow();
                return None;
            }
        }
    }

    /// Copies the machine's window and timer.
    fn follow(&mut self) {
        let machine = self.linux.as_mut().expect("the sender is Linux's");
        self.cwr_due |= self.ecn && machine.take_reduced();
        self.window.cwnd = machine.cwnd();
        self.window.ssthresh = machine.ssthresh();
        let deadline = machine.deadline();
        if deadline != Time::MAX {
            self.set_timer(Timer::Retransmission, deadline);
        } else if self.timer == Timer::Retransmission {
            self.set_timer(Timer::Off, Time::MAX);
        }
    }
}
