//! The handshake, from the side that opens the connection.

use super::{Sender, Timer};
use crate::accecn::Feedback;
use crate::{Flags, Segment, State};
use forebay_core::{Ecn, Time};

impl Sender {
    pub(super) fn send_syn(&mut self, now: Time) -> Segment {
        if self.next == 1 {
            self.stats.retransmissions += 1;
            if self.linux.as_ref().is_some_and(|machine| machine.falls_back()) {
                (self.ecn, self.ect, self.always_ect) = (false, Flags::NONE, Flags::NONE);
            }
        }
        self.next = 1;
        self.timed.sent(now, 1, 0);
        self.arm(now);
        if let Some(machine) = &self.linux {
            self.deadline = machine.expiry(now, self.rtt.rto());
        }
        let asking = match &mut self.accurate {
            Some(accurate) => accurate.syn(),
            // RFC 3168, section 6.1.1.
            None => Flags::NONE.with_if(self.ecn, Flags::ECE.with(Flags::CWR)),
        };
        let mut syn = self.emitted(now, 0, 0, Flags::SYN.with(asking));
        if asking == Flags::NONE {
            syn.flags = Flags::SYN;
        }
        syn
    }

    /// Whether the acknowledgment of the SYN-ACK is sent before the data, in a segment of its own:
    /// in Linux (tcp_rcv_synsent_state_process), and if it reports how the SYN-ACK arrived (RFC
    /// 9768, section 3.2.2.1).
    #[inline]
    pub(super) fn acknowledges_first(&self) -> bool {
        self.linux.is_some()
            || self.accurate.as_ref().is_some_and(|accurate| accurate.owes_syn_ack())
    }

    /// The SYN-ACK again: the acknowledgment of it was lost (RFC 9293, section 3.10.7.4).
    pub(super) fn on_syn_ack_again(&mut self, came: Ecn) {
        self.handshake_due = true;
        self.accurate.iter_mut().for_each(|accurate| accurate.on_syn_ack_again(came));
    }

    pub(super) fn on_syn_ack(&mut self, now: Time, segment: &Segment, came: Ecn) {
        if segment.flags.has(Flags::RST) {
            return self.finish(State::Aborted);
        }
        let syn_ack = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
        if !syn_ack || segment.ack != 1 || self.next != 1 {
            return;
        }
        self.una = 1;
        self.edge = 1 + u64::from(segment.window);
        self.largest_window = segment.window;
        let syn_marked = self.agree(segment, came);
        self.ts_recent = segment.tsval;
        if self.stats.timeouts > 0 {
            // RFC 5681, section 3.1: a lost SYN means an initial window of one segment.
            self.window.cwnd = self.window.mss;
            self.rtt.after_lost_syn();
        }
        let rtt = self.measure(now, segment);
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, 1.0);
        }
        if let Some(machine) = &mut self.linux {
            let (now, sent) = (machine.instant(now), machine.instant(self.last_sent));
            machine.open(now, rtt, sent, self.stats.timeouts, self.ecn);
        }
        if let Some(stack) = &mut self.stack {
            stack.on_established(now, rtt);
        }
        if syn_marked {
            self.on_echo(now, self.window.cwnd);
        }
        self.retries = 0;
        self.set_timer(Timer::Off, Time::MAX);
        self.state = if self.closed { State::Closing } else { State::Established };
        self.handshake_due = true;
    }

    /// Reads from the SYN-ACK how marks will be reported, and whether the SYN was marked.
    fn agree(&mut self, segment: &Segment, came: Ecn) -> bool {
        let sent = Segment { flags: self.always_ect, ..Segment::default() }.ecn();
        let answer = self.accurate.as_mut().map(|own| own.on_syn_ack(segment, came, sent));
        // RFC 3168, section 6.1.1: both must want it.
        let classic = self.ecn && segment.flags.has(Flags::ECE);
        let feedback = match answer {
            Some(answer) => answer.feedback,
            None if classic => Feedback::Classic,
            None => Feedback::None,
        };
        self.ecn = feedback == Feedback::Classic;
        if feedback != Feedback::Accurate {
            self.accurate = None;
        }
        if feedback == Feedback::Classic && self.ect == Flags::ECT1 {
            // ECT(1) is for those who are told of every mark (RFC 9331, section 4.2).
            (self.ect, self.always_ect) = (Flags::ECT, Flags::NONE);
        }
        if feedback == Feedback::None || answer.is_some_and(|answer| !answer.lets_ect) {
            (self.ect, self.always_ect) = (Flags::NONE, Flags::NONE);
        }
        self.controller.on_feedback(feedback);
        answer.is_some_and(|answer| answer.syn_marked)
    }
}
