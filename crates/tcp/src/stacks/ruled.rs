//! A sender by [`Rules`].

use super::{Ack, Flow, Law, Rules};
use crate::connection::{Connection, Offered, Opened, Site, Timer};
use crate::state::Info;
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

/// G of RFC 6298.
const GRANULARITY: Duration = Duration::from_micros(1);

/// The rules, and the timeout of what they do not know: the SYN and window probes.
#[derive(Debug)]
pub(crate) struct Ruled {
    rules: Box<dyn Rules>,
    rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
}

impl Ruled {
    pub(super) fn new(rules: Box<dyn Rules>, site: &Site<'_>) -> Self {
        let params = site.connection;
        let (rto, min_rto, max_rto) = (params.initial_rto, params.min_rto, params.max_rto);
        Ruled { rules, rto, min_rto, max_rto }
    }

    /// The state of the connection, as rules see it.
    fn flow(connection: &Connection, now: Time) -> Flow {
        let (una, next, mss) = (connection.una, connection.next, connection.mss());
        let room = connection.edge.saturating_sub(una);
        Flow { now, una, next, new: connection.new_len(connection.probe_due), room, mss }
    }
}

impl Law for Ruled {
    fn open(&mut self, _connection: &mut Connection, opened: &Opened) {
        // RFC 6298, sections 2.2 and 5.7.
        let rto = opened.rtt.map_or(Duration::from_secs(3), |rtt| rtt + (rtt * 2).max(GRANULARITY));
        self.rto = rto.max(self.min_rto).min(self.max_rto);
        self.rules.on_established(opened.now, opened.rtt);
    }

    #[cold]
    fn on_ack(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
        _offered: Offered,
    ) {
        let rtt = if connection.timestamps { connection.echoed(now, segment) } else { None };
        let echo = connection.ecn && segment.flags.has(Flags::ECE);
        let ack = Ack { segment, echo, rtt };
        let flow = Self::flow(connection, now);
        let timeout = self.rules.on_ack(&flow, &ack, &mut connection.stats);
        connection.cwr_due |= connection.ecn && self.rules.take_reduced();
        let shut = self.rules.shut();
        let waits = shut && connection.timer == Timer::Off;
        let timeout = timeout.or_else(|| waits.then(|| self.rules.rto()));
        if segment.ack > connection.una {
            connection.advance(segment.ack);
        }
        if connection.una == connection.next && !shut {
            connection.set_timer(Timer::Off, Time::MAX);
        } else if let Some(timeout) = timeout {
            connection.set_timer(Timer::Retransmission, now + timeout);
        }
    }

    #[cold]
    fn poll(&mut self, connection: &mut Connection, now: Time, segment: &mut Segment) -> bool {
        let flow = Self::flow(connection, now);
        let Some(start) = self.rules.poll(&flow) else { return false };
        let new = start >= connection.next;
        let limit = match (new, flow.new) {
            (true, None) => return false,
            (true, Some(len)) => start + len,
            (false, _) => (start + flow.mss).min(connection.next),
        };
        let end = limit.min(connection.end);
        let fin = connection.closed && (limit > connection.end || (new && end == connection.end));
        let after = end + u64::from(fin);
        self.rules.sent(&flow, start, after);
        if connection.timer != Timer::Retransmission {
            connection.set_timer(Timer::Retransmission, now + self.rules.rto());
        }
        if new {
            connection.probe_due = false;
            connection.probed = false;
            connection.next = after;
        } else {
            connection.stats.retransmissions += 1;
        }
        let cwr = std::mem::take(&mut connection.cwr_due);
        let flags =
            Flags::ACK.with_if(fin, Flags::FIN).with_if(cwr, Flags::CWR).with(connection.ect);
        connection.emit(now, start, (end - start) as u32, flags, segment);
        true
    }

    fn on_deadline(&mut self, connection: &mut Connection, now: Time) {
        if !connection.try_again() {
            return;
        }
        connection.stats.timeouts += 1;
        let timeout = self.rules.on_timeout(&Self::flow(connection, now));
        connection.cwr_due |= connection.ecn && self.rules.take_reduced();
        if connection.una == connection.next {
            connection.set_timer(Timer::Off, Time::MAX);
        } else {
            connection.set_timer(Timer::Retransmission, now + timeout);
        }
    }

    fn backed_off(&self, times: u8) -> Duration {
        self.rto.saturating_mul(1 << times.min(32)).min(self.max_rto)
    }

    fn info(&self, connection: &Connection) -> Info {
        let (cwnd, ssthresh, srtt) = (self.rules.cwnd(), self.rules.ssthresh(), self.rules.srtt());
        let in_flight = connection.outstanding();
        Info { cwnd, ssthresh, srtt, rto: self.rules.rto(), in_flight, phase: "" }
    }

    fn heap(&self) -> usize {
        self.rules.heap()
    }
}
