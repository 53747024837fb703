//! A sender with the rules of a historical stack, which replaces recovery, congestion control and
//! the estimator of the round-trip time.

use super::{Sender, Timer};
use crate::stacks::{Ack, Flow, Stack};
use crate::{Flags, Segment};
use forebay_core::Time;

impl Sender {
    /// What a historical stack is shown of its connection.
    fn flow(&self, now: Time) -> Flow {
        let (una, next, mss) = (self.una, self.next, self.window.mss);
        let room = self.edge.saturating_sub(una);
        Flow { now, una, next, new: self.new_len(self.probe_due), room, mss }
    }

    #[cold]
    pub(super) fn on_stack_ack(&mut self, now: Time, segment: &Segment, mut stack: Box<Stack>) {
        let rtt = if self.timestamps { self.measure(now, segment) } else { None };
        let echo = self.ecn && segment.flags.has(Flags::ECE);
        let ack = Ack { segment, echo, rtt };
        let timeout = stack.on_ack(&self.flow(now), &ack, &mut self.stats);
        self.cwr_due |= self.ecn && stack.take_reduced();
        let shut = stack.shut();
        let timeout = timeout.or_else(|| (shut && self.timer == Timer::Off).then(|| stack.rto()));
        self.stack = Some(stack);
        if segment.ack > self.una {
            self.una = segment.ack;
            self.retries = 0;
            self.persist_backoff = 0;
        }
        if self.una == self.next && !shut {
            self.set_timer(Timer::Off, Time::MAX);
        } else if let Some(timeout) = timeout {
            self.set_timer(Timer::Retransmission, now + timeout);
        }
    }

    #[cold]
    pub(super) fn poll_stack(&mut self, now: Time) -> Option<Segment> {
        let flow = self.flow(now);
        let stack = self.stack.as_mut()?;
        let start = stack.poll(&flow)?;
        let new = start >= self.next;
        let limit = if new { start + flow.new? } else { (start + flow.mss).min(self.next) };
        let end = limit.min(self.end);
        let fin = self.closed && (limit > self.end || (new && end == self.end));
        let after = end + u64::from(fin);
        stack.sent(&flow, start, after);
        let timeout = stack.rto();
        if self.timer != Timer::Retransmission {
            self.set_timer(Timer::Retransmission, now + timeout);
        }
        if new {
            self.probe_due = false;
            self.probed = false;
            self.next = after;
        } else {
            self.stats.retransmissions += 1;
        }
        let cwr = std::mem::take(&mut self.cwr_due);
        let flags = Flags::ACK.with_if(fin, Flags::FIN).with_if(cwr, Flags::CWR).with(self.ect);
        Some(self.emitted(now, start, (end - start) as u32, flags))
    }

    pub(super) fn on_stack_timeout(&mut self, now: Time, mut stack: Box<Stack>) {
        let timeout = stack.on_timeout(&self.flow(now));
        self.cwr_due |= self.ecn && stack.take_reduced();
        self.stack = Some(stack);
        if self.una == self.next {
            self.set_timer(Timer::Off, Time::MAX);
        } else {
            self.set_timer(Timer::Retransmission, now + timeout);
        }
    }
}
