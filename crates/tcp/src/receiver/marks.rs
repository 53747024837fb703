//! The receiver's reports of marks: that there were some (RFC 3168), each change (RFC 8257), or how
//! many there were (RFC 9768).

use super::Receiver;
use crate::accecn::{Asked, DataReceiver};
use crate::{ConnectionParams, Flags, Segment};
use forebay_core::{Ecn, Time};

/// The most accurate report of which it is capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tells {
    /// Only echoes.
    #[default]
    Echoes,
    /// Counts, if the other end requests them. Nothing has arrived yet.
    Counts,
    /// Counts, and a SYN has requested them.
    Asked(Asked),
}

impl Tells {
    pub(super) fn by(connection: &ConnectionParams) -> Self {
        if connection.accurate_ecn { Tells::Counts } else { Tells::Echoes }
    }
}

impl Receiver {
    /// Completes the SYN-ACK `reply` to `syn`, which arrived as `came`. Returns false if the
    /// connection must be reset.
    pub(super) fn agree(&mut self, syn: &Segment, came: Ecn, reply: &mut Segment) -> bool {
        reply.flags = Flags::SYN.with(Flags::ACK);
        let asks = Asked::by(syn);
        let first = match self.tells {
            Tells::Echoes => None,
            Tells::Counts => Some(asks),
            // RFC 9768, section 3.1.5: a client that wants both is not one.
            Tells::Asked(Asked::Accurate) if asks == Asked::Classic => return false,
            Tells::Asked(Asked::Classic) if asks == Asked::Accurate => return false,
            Tells::Asked(first) => Some(first),
        };
        if let Some(first) = first {
            self.tells = Tells::Asked(first);
        }
        if first == Some(Asked::Accurate) {
            self.ecn = false;
            if asks == Asked::Nothing {
                self.ect = Flags::NONE;
            }
            let new = || Box::new(DataReceiver::new(self.is_6_1));
            let accurate = self.accurate.get_or_insert_with(new);
            let (flags, option) = accurate.syn_ack(came);
            if flags == Flags::NONE {
                self.ect = Flags::NONE;
            }
            reply.option = Default::default();
            option.into_iter().for_each(|option| reply.set_accecn(option));
            reply.flags = reply.flags.with(flags).with(self.ect);
            return true;
        }
        // RFC 3168, section 6.1.1: a SYN with ECE and CWR asks, a SYN-ACK with ECE agrees.
        self.ecn &= syn.flags.has(Flags::ECE);
        if !self.ecn || self.ect == Flags::ECT1 {
            // ECT(1) is for those who are told of every mark (RFC 9331, section 4.2).
            self.ect = Flags::NONE;
        }
        reply.flags = reply.flags.with_if(self.ecn, Flags::ECE).with(self.ect);
        true
    }

    /// A segment without SYN in AccECN mode.
    #[cold]
    pub(super) fn on_counted(
        &mut self,
        now: Time,
        segment: &Segment,
        came: Ecn,
    ) -> Option<Segment> {
        let sent = Segment { flags: self.ect, ..Segment::default() }.ecn();
        // RFC 9293, section 3.10.7.4: what is old or beyond the window does not count.
        let edge = self.advertised.max(self.next);
        let acceptable =
            segment.end().max(segment.seq.saturating_add(1)) > self.next && segment.seq <= edge;
        let waits = self.pending > 0 || segment.len > 0;
        let accurate = self.accurate.as_mut()?;
        if !accurate.lets_ect(segment, sent) {
            self.ect = Flags::NONE;
        }
        self.at_once = acceptable && accurate.on_packet(came, segment.len, waits);
        let mut reply = self.take(now, segment);
        if std::mem::take(&mut self.at_once) && reply.is_none() {
            // It has no payload: an acknowledgment of an acknowledgment, without SACK blocks.
            let mut ack = self.acknowledge(now);
            ack.sack_count = 0;
            reply = Some(ack);
        }
        reply
    }

    /// Whether the packet is marked and the last one was not, or the reverse; or it reports a
    /// reduction; or it is not ECN-capable, and therefore a retransmission.
    #[cold]
    pub(super) fn on_news_of_marks(
        &mut self,
        now: Time,
        segment: &Segment,
        ce: bool,
    ) -> Option<Segment> {
        // tcp_ecn_accept_cwr
        self.at_once = self.is_6_1 && segment.flags.has(Flags::CWR);
        let mut first = None;
        if self.every_mark {
            // RFC 8257, section 3.2: what waits is acknowledged as the last packet was, and this one
            // at once, as it is.
            if ce != self.echo {
                let waits = self.pending > 0 && self.deadline != Time::MAX;
                first = waits.then(|| self.acknowledge(now));
                self.at_once = true;
            }
            self.echo = ce;
        } else {
            // __tcp_ecn_check_ce
            let echo = self.echo && !segment.flags.has(Flags::CWR);
            let new = segment.end() > self.next;
            self.alarmed = new && if segment.is_ect() { ce && !echo } else { self.ect_seen };
            self.ect_seen |= segment.is_ect();
            self.echo = echo || (ce && new);
        }
        let reply = self.take(now, segment);
        self.at_once = false;
        let Some(first) = first else { return reply };
        self.second = reply.map(Box::new);
        if self.second.is_some() {
            self.deadline = now;
        }
        Some(first)
    }

    /// Applies the marks to which Linux 6.1 reacts, after the data themselves.
    pub(super) fn on_alarm(&mut self) {
        if std::mem::take(&mut self.alarmed)
            && let Some(linux) = &mut self.linux
        {
            linux.on_mark();
        }
    }
}
