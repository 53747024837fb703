//! Samples of the delivery rate in 6.1 (`tcp_rate.c`) for BBR, which gets them
//! (`tcp_cong_control`).
//!
//! Counts of delivered segments begin with 1, because the SYN counts.

use super::congestion::{Bbr, Congestion};
use super::queue::Sent;
use super::{Ack, Machine, State};
use crate::congestion::law::{Law, Repair, Sample, Totals};
use forebay_core::{Duration, Time};
use std::collections::VecDeque;

/// The state when a buffer was last sent (`tcp_skb_cb.tx`).
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    first_sent: Time,
    delivered_at: Time,
    delivered: u32,
    app_limited: bool,
    told: bool,
}

/// The sample of the present acknowledgment so far (`struct rate_sample`).
#[derive(Debug, Clone, Copy)]
struct Told {
    snapshot: Snapshot,
    /// Time from sending the first segment of the window to sending this one.
    sending: Duration,
    /// End of the newest segment.
    end: u64,
}

/// State of one connection. Times are whole microseconds.
#[derive(Debug, Default)]
pub(super) struct Rates {
    /// One entry for each buffer of the retransmission queue.
    sent: VecDeque<Snapshot>,
    first_sent: Time,
    delivered_at: Time,
    /// The delivered count at which the application's limit ends; 0 if there is none.
    app_limited: u32,
    told: Option<Told>,
}

impl Rates {
    pub(super) fn new(now: Time) -> Self {
        Rates { first_sent: now, delivered_at: now, ..Rates::default() }
    }

    pub(super) fn heap(&self) -> usize {
        size_of::<Self>() + self.sent.capacity() * size_of::<Snapshot>()
    }

    fn snapshot(&self, delivered: u32) -> Snapshot {
        Snapshot {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered,
            app_limited: self.app_limited > 0,
            told: false,
        }
    }

    /// The buffer at `at` was divided.
    pub(super) fn split(&mut self, at: usize) {
        self.sent.insert(at + 1, self.sent[at]);
    }

    /// `tcp_rate_skb_delivered`.
    fn deliver(&mut self, sent: &Sent, snapshot: Snapshot) {
        let newer = |told: &Told| {
            sent.at > self.first_sent || (sent.at == self.first_sent && sent.end() > told.end)
        };
        if snapshot.told || !self.told.as_ref().is_none_or(newer) {
            return;
        }
        let sending = sent.at.since(snapshot.first_sent);
        self.told = Some(Told { snapshot, sending, end: sent.end() });
        self.first_sent = sent.at;
    }
}

impl Machine {
    fn total_delivered(&self) -> u32 {
        self.delivered + 1
    }

    /// The connection is open; its handshake took `rtt`.
    pub(super) fn begin_rates(&mut self, now: Time, rtt: Option<Duration>) {
        let delivered = self.total_delivered();
        let totals = Totals { delivered, lost: self.lost, delivered_at: now };
        let rtt_us = rtt.map(|rtt| rtt.as_nanos() / 1000);
        if let (Congestion::Bbr(bbr), Some(rates)) = (&mut self.congestion, &mut self.rates) {
            **bbr = Bbr { law: Law::new(self.mss, now, self.window.cwnd, rtt_us, &totals), totals };
            rates.delivered_at = now;
            // The first write finds nothing unsent.
            rates.app_limited = delivered;
        }
    }

    /// The application writes, with `unsent` bytes waiting (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self, unsent: u64) {
        let in_flight = self.queue.in_flight();
        let delivered = self.total_delivered();
        if let Some(rates) = &mut self.rates
            && unsent < self.mss
            && in_flight < self.window.cwnd
            && self.queue.lost <= self.queue.retrans
        {
            rates.app_limited = delivered + in_flight;
        }
    }

    /// A new segment is sent (`tcp_rate_skb_sent`).
    pub(super) fn rate_sent(&mut self, now: Time) {
        let delivered = self.total_delivered();
        let Some(rates) = &mut self.rates else { return };
        if self.queue.is_empty() {
            (rates.first_sent, rates.delivered_at) = (now, now);
        }
        let snapshot = rates.snapshot(delivered);
        rates.sent.push_back(snapshot);
    }

    /// A segment is sent again.
    pub(super) fn rate_resent(&mut self, at: usize) {
        let delivered = self.total_delivered();
        let Some(rates) = &mut self.rates else { return };
        rates.sent[at] = rates.snapshot(delivered);
    }

    /// A segment was SACKed.
    pub(super) fn rate_sacked(&mut self, at: usize, sent: &Sent) {
        let Some(rates) = &mut self.rates else { return };
        rates.deliver(sent, rates.sent[at]);
        rates.sent[at].told = true;
    }

    /// The first buffer was acknowledged, or segments of it.
    pub(super) fn rate_acknowledged(&mut self, sent: &Sent, whole: bool) {
        let Some(rates) = &mut self.rates else { return };
        if let Some(snapshot) = rates.sent.front().copied() {
            rates.deliver(sent, snapshot);
        }
        if whole {
            rates.sent.pop_front();
        }
    }

    /// Something is sent while nothing is in flight (`CA_EVENT_TX_START`).
    pub(super) fn restart_rates(&mut self, now: Time) {
        let limited = self.rates.as_ref().is_some_and(|rates| rates.app_limited > 0);
        if let (Congestion::Bbr(bbr), true) = (&mut self.congestion, limited) {
            bbr.on_restart(&mut self.window, now);
        }
    }

    /// `tcp_rate_gen`, and the congestion control's response to it.
    pub(super) fn control(&mut self, now: Time, ack: &Ack, prior_in_flight: u32, losses: u32) {
        let delivered = self.total_delivered();
        let in_flight = self.queue.in_flight();
        let (Congestion::Bbr(bbr), Some(rates)) = (&mut self.congestion, &mut self.rates) else {
            return;
        };
        if delivered > rates.app_limited {
            rates.app_limited = 0;
        }
        if ack.delivered > 0 {
            rates.delivered_at = now;
        }
        let told = rates.told.take().filter(|_| !ack.reneging);
        let interval = told.map(|told| told.sending.max(now.since(told.snapshot.delivered_at)));
        let least = self.rack.least_rtt();
        let micros = |span: Duration| span.as_nanos() / 1000;
        let sample = Sample {
            now,
            totals: Totals { delivered, lost: self.lost, delivered_at: rates.delivered_at },
            delivered: told.map(|told| delivered - told.snapshot.delivered),
            interval_us: interval.filter(|interval| *interval >= least).map(micros),
            prior_delivered: told.map_or(0, |told| told.snapshot.delivered),
            app_limited: told.is_some_and(|told| told.snapshot.app_limited),
            acked: ack.delivered,
            losses,
            prior_in_flight,
            in_flight,
            rtt_us: ack.rtt.map(micros),
            srtt_us: self.estimator.srtt().map(micros),
            repair: match self.state {
                State::Recovery => Repair::Recovery,
                State::Loss => Repair::Loss,
                _ => Repair::Nothing,
            },
            next_send: self.pace.until,
        };
        if bbr.on_ack(&mut self.window, &sample) {
            rates.app_limited = delivered + in_flight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinuxParams;
    use super::super::{Report, Version};
    use super::*;
    use crate::congestion::{self, CongestionControl};
    use crate::connection::Site;
    use crate::{ConnectionParams, Flags, SackBlock, Segment};

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// BBR in Linux's machine, open, with four segments of 1000 bytes sent a millisecond apart.
    fn machine() -> Machine {
        let connection = ConnectionParams {
            mtu: "1040B".parse().unwrap(),
            handshake: false,
            ..ConnectionParams::default()
        };
        let congestion = &CongestionControl::of::<congestion::Bbr>();
        let site = Site { connection: &connection, congestion, now: at(0) };
        let mut machine = Machine::new(Version::Linux6_1, &LinuxParams::default(), &site);
        (0..4).for_each(|millis| machine.on_new(at(millis), 1000, 0));
        machine
    }

    fn rates(machine: &Machine) -> &Rates {
        machine.rates.as_ref().expect("BBR has them")
    }

    #[test]
    fn what_was_sent_before_the_application_had_more_is_limited_until_it_arrives() {
        let mut machine = machine();
        assert!(rates(&machine).sent.iter().all(|each| each.app_limited));
        let ack = |number| Segment { ack: number, flags: Flags::ACK, ..Segment::default() };
        machine.read(at(20), &ack(1001), false, Report::Echo(false), true);
        machine.on_new(at(20), 1000, 0);
        let newest = rates(&machine).sent.back().unwrap();
        // The SYN and a segment were delivered; the window that it ends began at 0.
        assert_eq!((newest.app_limited, newest.delivered), (false, 2));
        assert_eq!((newest.first_sent, newest.delivered_at), (at(0), at(20)));
        // The application writes again, with nothing unsent: three more are in flight, and it.
        machine.check_app_limited(0);
        assert_eq!(rates(&machine).app_limited, 2 + 4);
        machine.check_app_limited(1000);
        assert_eq!(rates(&machine).app_limited, 2 + 4);
        machine.read(at(40), &ack(5001), false, Report::Echo(false), true);
        assert_eq!((rates(&machine).app_limited, rates(&machine).first_sent), (6, at(20)));
    }

    #[test]
    fn what_was_reported_selectively_does_not_tell_again() {
        let mut machine = machine();
        let sack = SackBlock { start: 2000, end: 3000 };
        let report = Segment {
            ack: 1,
            flags: Flags::ACK,
            sack: [sack; 3],
            sack_count: 1,
            ..Segment::default()
        };
        machine.read(at(20), &report, false, Report::Echo(false), true);
        assert_eq!(rates(&machine).first_sent, at(2));
        assert!(rates(&machine).sent[2].told && machine.delivered == 1);
        let ack = Segment { ack: 3001, flags: Flags::ACK, ..Segment::default() };
        machine.read(at(21), &ack, false, Report::Echo(false), true);
        // The two before it are older than the newest that was delivered; the first of them tells.
        assert_eq!((rates(&machine).sent.len(), machine.delivered), (1, 3));
        assert_eq!(rates(&machine).delivered_at, at(21));
    }
}
