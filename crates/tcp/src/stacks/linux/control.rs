//! What the congestion control is told in 6.1: marks, states, and each acknowledgment
//! (`tcp_accecn_process`, `tcp_in_ack_event`, `tcp_set_ca_state`, `tcp_cong_control`).

use super::congestion::{Congestion, Seen};
use super::{Ack, Machine, Report, State};
use crate::Segment;
use crate::congestion::{AckSample, CongestionKind, Delivery};
use forebay_core::{Duration, Time};

impl Machine {
    /// Tells a control that Linux does not have of an acknowledgment; SND.UNA was `una` before.
    pub(super) fn tell_foreign(&mut self, now: Time, segment: &Segment, una: u64, ack: &Ack) {
        let sample = AckSample {
            now,
            acked: segment.ack - una,
            ack: segment.ack,
            sent: self.next,
            rtt: ack.rtt,
            srtt: self.estimator.srtt(),
            one_way: segment.one_way_delay(Duration::from_millis(1)),
            limited: self.is_limited_6_1(),
            after_timeout: self.state == State::Loss,
        };
        let delivery = Delivery {
            now,
            acked: sample.acked,
            delivered: u64::from(ack.delivered) * self.mss,
            marked: ack.marked_bytes,
            echo: ack.echo,
            in_flight: u64::from(self.queue.in_flight()) * self.mss,
            srtt: sample.srtt,
            limited: sample.limited,
            repairing: matches!(self.state, State::Recovery | State::Loss),
            next_send: self.pace.until,
            ..Delivery::default()
        };
        let grows = sample.acked > 0 && !ack.echo && !self.in_reduction();
        if let Congestion::Foreign(foreign) = &mut self.congestion {
            foreign.on_ack(&mut self.window, segment, &sample, delivery, grows);
        }
    }

    /// `tcp_accecn_process`, or what an echo counts for; SND.UNA was `una` before.
    pub(super) fn read_marks(
        &mut self,
        segment: &Segment,
        una: u64,
        ack: &mut Ack,
        marks: Report<'_>,
    ) {
        match marks {
            Report::Echo(true) => {
                (ack.marked, ack.marked_bytes) = (ack.delivered, segment.ack - una)
            }
            Report::Echo(false) => {}
            Report::Counts(counts) => {
                let news = counts.read(segment, u64::from(ack.delivered) * self.mss, self.mss);
                (ack.echo, ack.mangled) = (news.marks, news.mangled);
                (ack.marked, ack.marked_bytes) = (news.packets, news.marked);
            }
        }
        self.delivered_marked += ack.marked;
    }

    /// The connection is open: Prague begins (`prague_init`).
    pub(super) fn begin_prague(&mut self, now: Time) {
        let seen = self.seen(&Ack::default());
        if let Some(prague) = self.congestion.prague() {
            prague.open(now, &self.window, &seen);
        }
    }

    /// Tells Prague of an acknowledgment (`tcp_cong_control`).
    pub(super) fn tell_prague(&mut self, ack: &Ack) {
        let seen = self.seen(ack);
        if let Some(prague) = self.congestion.prague() {
            prague.on_ack(&mut self.window, &seen);
        }
    }

    fn seen(&self, ack: &Ack) -> Seen {
        Seen {
            delivered: ack.delivered,
            marked: ack.marked,
            total_delivered: self.delivered,
            total_marked: self.delivered_marked,
            limited: self.is_limited_6_1(),
            una: self.una,
            next: self.next,
            in_flight: self.queue.in_flight(),
            eight_srtt_us: self.estimator.eight_srtt_us(),
        }
    }

    /// `tcp_set_ca_state`.
    pub(super) fn set_state(&mut self, state: State) {
        if state != self.state
            && let Some(prague) = self.congestion.prague()
        {
            prague.on_state(&self.window, state);
        }
        self.state = state;
    }

    /// Tells a control that Linux does not have what the next reduction is for, if not for a loss.
    pub(super) fn because(&mut self, kind: CongestionKind) {
        if let Some(foreign) = self.congestion.foreign_mut() {
            foreign.event.kind = kind;
        }
    }

    /// `tcp_in_ack_event`.
    pub(super) fn tell_delivered(&mut self) {
        let Machine { una, next, delivered, delivered_marked, .. } = *self;
        if let Some(dctcp) = self.congestion.dctcp() {
            dctcp.on_ack(una, next, delivered, delivered_marked);
        }
    }
}
