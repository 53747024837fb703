//! The reports to controllers with attention: acknowledgments, rounds, losses and samples of the
//! delivery rate (draft-ietf-ccwg-bbr-05, section 4.1).
//!
//! | draft | here |
//! |---|---|
//! | C.delivered, C.delivered_time, C.first_send_time, C.lost | `delivered`, `delivered_at`, `first_sent`, `lost` |
//! | C.app_limited | `app_limited` |
//! | P.* | [`Sent`] |
//! | RS.* | [`RateSample`] |
//!
//! # Deviations
//! - D1. Bytes are payload: a FIN counts as none.
//! - D2. C.min_rtt, below which an interval gives no rate, is the smallest round-trip time of the
//!   whole connection.
//! - D3. Without selective acknowledgments nothing is known of duplicates, so arrived data count
//!   when a cumulative acknowledgment covers them (section 4.1.2.4.5.1).

use crate::Segment;
use crate::congestion::{Attention, Lost, RateSample};
use forebay_core::{Duration, Time};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    lost_before: u64,
    in_flight: u64,
    app_limited: bool,
    arrived: bool,
    lost: bool,
    /// Whether it was sent again: the scoreboard's edge has passed it.
    again: bool,
}

impl Sent {
    fn len(&self) -> u64 {
        self.end - self.start
    }
}

#[derive(Debug, Default)]
pub(super) struct Watch {
    /// A round ends when this offset is acknowledged.
    round: u64,
    /// State for samples of the rate.
    sent: Option<VecDeque<Sent>>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// The end of the newest segment that gave a sample.
    newest: u64,
    lost: u64,
    /// The value of `delivered` up to which samples are limited by the application; 0 if they are not.
    app_limited: u64,
    least: Duration,
}

impl Watch {
    /// The state of a new connection, if its controller asks for it.
    pub(super) fn new(attention: Attention) -> Option<Box<Self>> {
        let sent = (attention == Attention::Rates).then(VecDeque::new);
        (attention > Attention::Growth)
            .then(|| Box::new(Watch { sent, least: Duration::MAX, ..Watch::default() }))
    }

    pub(super) fn heap(&self) -> usize {
        let sent = self.sent.as_ref().map_or(0, |sent| sent.capacity() * size_of::<Sent>());
        size_of::<Self>() + sent
    }

    /// Whether `una` ends a round. If so, the next one begins, with everything up to `next` sent.
    pub(super) fn round_end(&mut self, una: u64, next: u64) -> bool {
        let over = una > self.round;
        if over {
            self.round = next;
        }
        over
    }

    /// `start..end` is sent at `now`, for the first time or again, with `in_flight` bytes in flight
    /// before it.
    pub(super) fn on_sent(&mut self, now: Time, start: u64, end: u64, in_flight: u64) {
        let Some(sent) = &mut self.sent else { return };
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let fresh = Sent {
            start,
            end,
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost_before: self.lost,
            in_flight: in_flight + (end - start),
            app_limited: self.app_limited > 0,
            arrived: false,
            lost: false,
            again: false,
        };
        if sent.back().is_none_or(|last| start >= last.end) {
            return sent.push_back(fresh);
        }
        let from = sent.partition_point(|each| each.end <= start);
        for each in sent.range_mut(from..).take_while(|each| each.start < end) {
            if !each.arrived {
                *each = Sent { start: each.start, end: each.end, again: true, ..fresh };
            }
        }
    }

    /// The application has nothing more to send, with `in_flight` bytes on their way.
    pub(super) fn on_idle(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The timer expired: every segment that is not known to have arrived is lost.
    pub(super) fn all_lost(&mut self, now: Time, each: impl FnMut(&Lost)) {
        self.lose(now, |sent| !sent.lost, each);
    }

    /// The first segment is lost, as recovery says.
    pub(super) fn head_lost(&mut self, now: Time, each: impl FnMut(&Lost)) {
        let una = self.sent.as_ref().and_then(|sent| sent.front()).map(|head| head.start);
        self.lose(now, |sent| Some(sent.start) == una && !sent.lost && !sent.again, each);
    }

    /// The data from `start` to `end` are lost, if they were not since they were last sent.
    pub(super) fn range_lost(&mut self, now: Time, start: u64, end: u64, each: impl FnMut(&Lost)) {
        self.lose(now, |sent| start <= sent.start && sent.end <= end && !sent.lost, each);
    }

    /// Everything below `edge` is lost, as far as it was sent once.
    pub(super) fn all_lost_below(&mut self, now: Time, edge: u64, each: impl FnMut(&Lost)) {
        self.lose(now, |sent| sent.end <= edge && !sent.lost && !sent.again, each);
    }

    fn lose(&mut self, now: Time, which: impl Fn(&Sent) -> bool, mut each: impl FnMut(&Lost)) {
        for sent in self.sent.iter_mut().flatten() {
            if !sent.arrived && which(sent) {
                sent.lost = true;
                self.lost += sent.len();
                each(&Lost {
                    now,
                    start: sent.start,
                    bytes: sent.len(),
                    tx_in_flight: sent.in_flight,
                    lost: self.lost - sent.lost_before,
                    app_limited: sent.app_limited,
                });
            }
        }
    }

    /// Reads what `segment` newly acknowledges or reports. Returns the sample that it gives.
    pub(super) fn on_ack(&mut self, now: Time, segment: &Segment, next: u64) -> Option<RateSample> {
        let mut queue = self.sent.take()?;
        let mut sample = None;
        while let Some(head) = queue.front_mut()
            && head.start < segment.ack
        {
            if head.end > segment.ack {
                // Part of a segment: the rest counts by itself.
                let part = Sent { end: segment.ack, ..*head };
                head.start = segment.ack;
                self.arrive(now, &part, &mut sample);
                break;
            }
            let head = queue.pop_front().expect("it was seen");
            self.arrive(now, &head, &mut sample);
        }
        for (start, end) in segment.sack_blocks().filter(|&(start, end)| start < end && end <= next)
        {
            let from = queue.partition_point(|each| each.start < start);
            for each in queue.range_mut(from..).take_while(|each| each.end <= end) {
                let known = *each;
                each.arrived = true;
                self.arrive(now, &known, &mut sample);
            }
        }
        self.sent = Some(queue);
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let sample: RateSample = sample?;
        self.least = sample.rtt.map_or(self.least, |rtt| self.least.min(rtt));
        let delivered = self.delivered - sample.prior_delivered;
        let enough = sample.interval >= self.least && sample.interval > Duration::ZERO;
        let rate = enough.then(|| delivered as f64 / sample.interval.as_secs_f64());
        Some(RateSample { rate, delivered, total_delivered: self.delivered, ..sample })
    }

    /// A segment has arrived (UpdateRateSample). The one that was sent last gives the sample.
    fn arrive(&mut self, now: Time, sent: &Sent, sample: &mut Option<RateSample>) {
        if sent.arrived {
            return;
        }
        self.delivered += sent.len();
        self.delivered_at = now;
        let newer =
            sent.at > self.first_sent || (sent.at == self.first_sent && sent.end > self.newest);
        if sample.is_some() && !newer {
            return;
        }
        self.first_sent = sent.at;
        self.newest = sent.end;
        let sending = sent.at.since(sent.first_sent);
        *sample = Some(RateSample {
            app_limited: sent.app_limited,
            interval: sending.max(now.since(sent.delivered_at)),
            prior_delivered: sent.delivered,
            lost: self.lost - sent.lost_before,
            tx_in_flight: sent.in_flight,
            rtt: (!sent.again).then(|| now.since(sent.at)),
            ..RateSample::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, SackBlock};

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn ack(number: u64) -> Segment {
        Segment { ack: number, flags: Flags::ACK, ..Segment::default() }
    }

    fn watch() -> Watch {
        *Watch::new(Attention::Rates).expect("it has attention")
    }

    #[test]
    fn the_slower_of_sending_and_acknowledging_tells() {
        // Ten segments of 1000 bytes at once; after 100 ms acknowledged one a millisecond.
        let mut watch = watch();
        (0..10).for_each(|i| watch.on_sent(at(0), 1 + 1000 * i, 1001 + 1000 * i, 1000 * i));
        let first = watch.on_ack(at(100), &ack(1001), 10_001).unwrap();
        assert_eq!((first.rate, first.delivered), (Some(10_000.0), 1000));
        // Sent in answer: since the first acknowledgment, when it was sent, 1000 bytes were
        // delivered a millisecond.
        watch.on_sent(at(100), 10_001, 11_001, 9000);
        (1..10).for_each(|i| {
            watch.on_ack(at(100 + i), &ack(1001 + 1000 * i), 11_001).unwrap();
        });
        let last = watch.on_ack(at(200), &ack(11_001), 11_001).unwrap();
        assert_eq!((last.prior_delivered, last.delivered), (1000, 10_000));
        assert_eq!((last.rate, last.rtt), (Some(100_000.0), Some(Duration::from_millis(100))));
        assert_eq!(last.tx_in_flight, 10_000);
        // Acknowledgments that come together do not tell more than was sent: 2000 bytes in 50 ms.
        watch.on_sent(at(300), 11_001, 12_001, 0);
        watch.on_sent(at(350), 12_001, 13_001, 1000);
        let both = watch.on_ack(at(400), &ack(13_001), 13_001).unwrap();
        assert_eq!((both.interval, both.delivered), (Duration::from_millis(100), 2000));
    }

    #[test]
    fn losses_are_told_once_for_each_time_of_sending() {
        let mut watch = watch();
        (0..6).for_each(|i| watch.on_sent(at(i), 1 + 1000 * i, 1001 + 1000 * i, 1000 * i));
        let mut lost = Vec::new();
        watch.head_lost(at(50), |each| lost.push((each.bytes, each.tx_in_flight, each.lost)));
        watch.head_lost(at(51), |each| lost.push((each.bytes, each.tx_in_flight, each.lost)));
        assert_eq!(lost, [(1000, 1000, 1000)]);
        watch.on_sent(at(60), 1, 1001, 5000);
        let sack = SackBlock { start: 1000, end: 3000 };
        let reports = Segment { sack: [sack; 3], sack_count: 1, ..ack(1) };
        let sample = watch.on_ack(at(61), &reports, 6001).unwrap();
        // The third was sent 59 ms ago, when nothing was lost.
        assert_eq!((sample.total_delivered, sample.lost), (2000, 1000));
        watch.all_lost(at(100), |each| lost.push((each.bytes, each.tx_in_flight, each.lost)));
        // The first again, and three others; two have arrived.
        assert_eq!(
            lost[1..],
            [(1000, 6000, 1000), (1000, 4000, 3000), (1000, 5000, 4000), (1000, 6000, 5000)]
        );
        assert_eq!(watch.on_ack(at(120), &ack(6001), 6001).unwrap().total_delivered, 6000);
    }

    #[test]
    fn idle_applications_are_told_of_until_their_data_are_delivered() {
        let mut watch = watch();
        watch.on_sent(at(0), 1, 1001, 0);
        watch.on_idle(1000);
        watch.on_sent(at(10), 1001, 2001, 1000);
        assert!(!watch.on_ack(at(20), &ack(1001), 2001).unwrap().app_limited);
        assert!(watch.on_ack(at(30), &ack(2001), 2001).unwrap().app_limited);
        watch.on_sent(at(40), 2001, 3001, 0);
        assert!(!watch.on_ack(at(60), &ack(3001), 3001).unwrap().app_limited);
    }

    #[test]
    fn a_round_is_what_was_sent_when_the_last_one_ended() {
        let mut watch = *Watch::new(Attention::Acknowledgments).unwrap();
        assert!(watch.round_end(1001, 10_001));
        assert_eq!([2001, 10_001].map(|una| watch.round_end(una, 20_001)), [false, false]);
        assert!(watch.round_end(11_001, 20_001));
        assert!(Watch::new(Attention::Growth).is_none());
    }
}
