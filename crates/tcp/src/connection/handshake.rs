//! The handshake, from the side that opens the connection.

use super::{Connection, Timer};
use crate::accecn::Feedback;
use crate::{Flags, Segment, State};
use forebay_core::{Duration, Ecn, Time};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) now: Time,
    /// When the SYN was last sent.
    pub(crate) sent: Time,
    /// Its round-trip time, if it is unambiguous.
    pub(crate) rtt: Option<Duration>,
    /// Number of times that the SYN's timer expired.
    pub(crate) timeouts: u64,
    /// The receiver's way of reporting marks.
    pub(crate) feedback: Feedback,
    /// The SYN arrived marked.
    pub(crate) syn_marked: bool,
}

impl Connection {
    /// The SYN. Its timer, if it does not run, expires at `deadline`.
    pub(crate) fn send_syn(&mut self, now: Time, deadline: Time, syn: &mut Segment) {
        self.handshake_due = false;
        if self.next == 1 {
            self.stats.retransmissions += 1;
            if self.habits.plain_syn_again {
                (self.ecn, self.ect, self.always_ect) = (false, Flags::NONE, Flags::NONE);
            }
        }
        self.next = 1;
        self.set_timer(Timer::Retransmission, deadline);
        let asking = match &mut self.accurate {
            Some(accurate) => accurate.syn(),
            // RFC 3168, section 6.1.1.
            None => Flags::NONE.with_if(self.ecn, Flags::ECE.with(Flags::CWR)),
        };
        self.emit(now, 0, 0, Flags::SYN.with(asking), syn);
        if asking == Flags::NONE {
            syn.flags = Flags::SYN;
        }
    }

    /// Whether the acknowledgment of the SYN-ACK is sent before the data, in a segment of its own:
    /// in Linux (tcp_rcv_synsent_state_process), and if it reports how the SYN-ACK arrived (RFC
    /// 9768, section 3.2.2.1).
    pub(crate) fn acknowledges_first(&self) -> bool {
        self.habits.separate_ack
            || self.accurate.as_ref().is_some_and(|accurate| accurate.to_tell.is_some())
    }

    /// The SYN-ACK again: the acknowledgment of it was lost (RFC 9293, section 3.10.7.4).
    pub(super) fn on_syn_ack_again(&mut self, came: Ecn) {
        self.handshake_due = true;
        self.accurate.iter_mut().for_each(|accurate| accurate.on_syn_ack_again(came));
    }

    /// A segment arrives that may be the SYN-ACK.
    pub(crate) fn on_syn_ack(&mut self, now: Time, segment: &Segment, came: Ecn) -> Option<Opened> {
        if segment.flags.has(Flags::RST) {
            self.finish(State::Aborted);
            return None;
        }
        let syn_ack = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
        if !syn_ack || segment.ack != 1 || self.next != 1 {
            return None;
        }
        self.una = 1;
        self.edge = 1 + u64::from(segment.window);
        self.largest_window = segment.window;
        let (feedback, syn_marked) = self.agree(segment, came);
        self.ts_recent = segment.tsval;
        let (timeouts, sent) = (self.stats.timeouts, self.last_sent);
        let rtt = match self.timestamps {
            true => self.echoed(now, segment),
            // Karn's algorithm (RFC 6298, section 3).
            false => (timeouts == 0).then(|| now.since(sent)),
        };
        self.retries = 0;
        self.set_timer(Timer::Off, Time::MAX);
        self.state = if self.closed { State::Closing } else { State::Established };
        self.handshake_due = true;
        Some(Opened { now, sent, rtt, timeouts, feedback, syn_marked })
    }

    /// Reads from the SYN-ACK how marks will be reported, and whether the SYN was marked.
    fn agree(&mut self, segment: &Segment, came: Ecn) -> (Feedback, bool) {
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
        (feedback, answer.is_some_and(|answer| answer.syn_marked))
    }
}
