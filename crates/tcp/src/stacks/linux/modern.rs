//! Acknowledgments and timeouts in 6.1 (`tcp_ack`, `tcp_fastretrans_alert`, `tcp_cwnd_reduction`,
//! `tcp_xmit_retransmit_queue`, `tcp_retransmit_timer`).

use super::congestion::{Congestion, Measured};
use super::rack::RECOVERIES;
use super::{Ack, EVER, Machine, Pending, RETRANS, Report, Resend, SACKED, State};
use crate::Segment;
use crate::congestion::CongestionKind;
use crate::segment::millis;
use forebay_core::{Duration, Time};

impl Machine {
    pub(super) fn on_ack_6_1(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: &mut Ack,
        marks: Report<'_>,
        more: bool,
    ) {
        let prior = self.una;
        let lost_before = self.lost;
        let in_flight_before = self.queue.in_flight();
        let fack_before = if self.queue.sacked > 0 { self.fack } else { self.una };
        let sacked_before = self.queue.sacked;
        if ack.advanced {
            self.retransmits = 0;
        }
        self.una = segment.ack;
        if segment.sack_count > 0 {
            self.read_sacks(now, segment, prior, ack);
            ack.delivered += ack.sack_delivered;
        }
        if self.queue.is_empty() {
            self.tell_delivered();
            if ack.duplicate_sack {
                self.alert_6_1(now, segment, ack, more);
            }
            if self.probe_seq > 0 {
                self.on_probe_ack(ack);
            }
            return;
        }
        let delivered_before = self.delivered;
        self.clean_6_1(now, segment, ack, fack_before, sacked_before);
        self.delivered += ack.delivered;
        self.read_marks(segment, prior, ack, marks);
        self.rack.adapt(delivered_before, self.delivered);
        self.tell_delivered();
        if self.probe_seq > 0 {
            self.on_probe_ack(ack);
        }
        let news = ack.news() || ack.acked > 0;
        if !news || ack.sacked || ack.echo || self.state != State::Open {
            self.alert_6_1(now, segment, ack, more);
        }
        if ack.set_timer && !self.schedule_probe(now, true) {
            self.rearm(now);
        }
        let lost = self.lost - lost_before;
        if self.rates.is_some() {
            self.control(now, ack, in_flight_before, lost);
        } else if self.congestion.foreign().is_some() {
            self.tell_foreign(now, segment, prior, ack);
        } else if self.congestion.prague().is_some() {
            self.tell_prague(ack);
        }
        if self.congestion.governs() {
            return;
        }
        if self.in_reduction() {
            self.reduce(ack.delivered, lost > 0, ack.advanced);
        } else if ack.acked > 0 || (self.reordering > 3 && ack.sacked) {
            if self.is_limited_6_1() {
                self.congestion.avoid(self.version, &mut self.window, now, ack.delivered);
            }
            self.used_at = now;
        }
        self.update_pacing_rate();
    }

    /// Removes what was acknowledged from the queue (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).
    fn clean_6_1(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: &mut Ack,
        fack_before: u64,
        sacked_before: u32,
    ) {
        let (mut first, mut last, mut low) = (None, None, None);
        while let Some(head) = self.queue.front() {
            let head = *head;
            let whole = head.end() <= self.una;
            // Of a buffer that arrived in part, the segments that did.
            let segments =
                if whole { self.queue.segments(&head) } else { self.queue.trim(self.una) };
            if segments == 0 {
                break;
            }
            if head.has(RETRANS | EVER) {
                ack.retrans_acked = true;
            } else if !head.has(SACKED) {
                last = Some(head.at);
                first.get_or_insert(head.at);
                low.get_or_insert(head.seq);
                ack.original |= head.end() <= self.high_seq;
            }
            if !head.has(SACKED) {
                ack.delivered += segments;
                let early = segment.has_timestamp
                    && segment.tsecr != 0
                    && (segment.tsecr.wrapping_sub(millis(head.at)) as i32) < 0;
                if !(head.has(RETRANS | EVER) && early) {
                    self.rack_advance(now, &head);
                }
            }
            self.rate_acknowledged(&head, whole);
            ack.acked += segments;
            if !whole {
                break;
            }
            self.queue.pop();
        }
        self.fack = self.fack.max(self.una);
        ack.reneging = self.queue.front().is_some_and(|head| head.has(SACKED));
        let ago = |from: Time| now.since(from);
        let karn = |at: Option<Time>| at.filter(|_| !ack.retrans_acked).map(ago);
        let (mut sample, mut latest) = (karn(first), karn(last));
        let sacked = ack.first_sacked.map(ago);
        if sacked.is_some() {
            latest = ack.last_sacked.map(ago);
        }
        sample = sample.or(sacked);
        if sample.is_none() && segment.has_timestamp && segment.tsecr != 0 && ack.acked > 0 {
            let millis = millis(now).wrapping_sub(segment.tsecr).max(1);
            sample = Some(Duration::from_millis(u64::from(millis)));
            latest = sample;
        }
        if let Some(rtt) = sample {
            if let Some(latest) = latest {
                self.rack.least(latest);
            }
            self.estimator.sample(rtt, self.una, self.next);
        }
        ack.rtt = latest;
        if ack.acked > 0 {
            ack.set_timer = true;
            if let Some(low) = low
                && low < fack_before
                && sacked_before > 0
            {
                let fack = std::mem::replace(&mut self.fack, fack_before);
                self.saw_reordering(low, true);
                self.fack = fack;
            }
        } else if let (Some(sacked), Some(head)) = (sacked, self.queue.front()) {
            // A round trip of what was sent after the first segment was, does not set its timer.
            ack.set_timer = sacked > ago(head.at);
        }
        self.measure(now, ack, latest);
    }

    /// Shows the congestion control a round-trip time (`pkts_acked`).
    pub(super) fn measure(&mut self, now: Time, ack: &Ack, rtt: Option<Duration>) {
        let measured = Measured {
            now,
            acked: ack.acked,
            rtt,
            open: self.state == State::Open,
            una: self.una,
            next: self.next,
            pacing_rate: self.pacing_rate as f64,
            paced: self.paced,
        };
        if let Congestion::Cubic(cubic) = &mut self.congestion {
            cubic.measure(&mut self.window, &measured);
        }
    }

    /// `tcp_update_pacing_rate`, in bytes per second.
    pub(super) fn update_pacing_rate(&mut self) {
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let segments = u64::from(self.window.cwnd.max(self.queue.out()));
        let rate = self.mss * 80_000 * percent * segments;
        self.pacing_rate = rate / self.estimator.eight_srtt_us().max(1);
    }

    /// `tcp_is_cwnd_limited`.
    pub(super) fn is_limited_6_1(&self) -> bool {
        let slow = self.window.in_slow_start(self.version);
        self.limited || (slow && self.window.cwnd < 2 * self.most_out)
    }

    /// `tcp_cwnd_validate`.
    pub(super) fn validate_6_1(&mut self, now: Time, limited: bool, more: bool) {
        let out = self.queue.out();
        if self.una >= self.usage_seq || limited || (!self.limited && out > self.most_out) {
            (self.limited, self.most_out, self.usage_seq) = (limited, out, self.next);
        }
        if self.is_limited_6_1() {
            (self.used, self.used_at) = (0, now);
        } else {
            // An application that sleeps would send more.
            let sleeps = self.buffer.as_ref().is_some_and(|buffer| buffer.sleeps);
            self.unused(now, more || sleeps);
        }
    }

    fn alert_6_1(&mut self, now: Time, segment: &Segment, ack: &mut Ack, more: bool) {
        if ack.echo {
            self.prior_ssthresh = 0;
        }
        if ack.reneging && ack.advanced {
            // The receiver took back what it SACKed; it may still change its mind.
            let half = self.estimator.srtt().unwrap_or(Duration::ZERO) / 2;
            self.set_timer(now, Pending::Timeout, half.max(Duration::from_millis(10)));
            ack.set_timer = false;
            return;
        }
        if self.state == State::Open {
            self.retrans_stamp = None;
        } else if self.una >= self.high_seq {
            match self.state {
                State::Cwr if self.una != self.high_seq => {
                    self.end_reduction();
                    self.set_state(State::Open);
                }
                State::Recovery => {
                    self.undo_recovery_6_1(segment);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.state {
            State::Recovery => {
                if ack.advanced && self.on_partial_6_1(segment) {
                    return;
                }
                if self.undo_by_duplicates_6_1() {
                    self.try_to_open_6_1(ack);
                }
                self.find_losses(now, ack);
                if self.state != State::Recovery {
                    if self.queue.lost == 0 {
                        return;
                    }
                    self.enter_recovery_6_1(ack.echo);
                }
            }
            State::Loss => {
                self.on_loss_ack(segment, ack, more);
                self.find_losses(now, ack);
                if self.state != State::Open && !ack.lost_retrans {
                    return;
                }
                if !self.recover(now, ack) {
                    return;
                }
            }
            _ => {
                if !self.recover(now, ack) {
                    return;
                }
            }
        }
        self.resend = Resend::Lost;
    }

    /// Outside recovery: begins one if there are losses.
    fn recover(&mut self, now: Time, ack: &mut Ack) -> bool {
        if self.state <= State::Disorder {
            self.undo_by_duplicates_6_1();
        }
        self.find_losses(now, ack);
        if self.queue.lost == 0 {
            self.try_to_open_6_1(ack);
            return false;
        }
        self.enter_recovery_6_1(ack.echo);
        true
    }

    /// `tcp_enter_recovery`.
    pub(super) fn enter_recovery_6_1(&mut self, echo: bool) {
        if !self.any_resent() {
            self.retrans_stamp = None;
        }
        self.prior_ssthresh = 0;
        self.begin_undo();
        if !self.in_reduction() {
            if !echo {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction();
        }
        if self.state != State::Recovery
            && let Some(dctcp) = self.congestion.dctcp()
        {
            dctcp.on_loss(&mut self.window);
        }
        self.set_state(State::Recovery);
    }

    /// `tcp_init_undo`.
    fn begin_undo(&mut self) {
        self.undo_marker = self.una;
        let probe = i32::from(self.probe_seq > 0 && self.probe_retrans);
        self.undo_retrans = self.queue.retrans as i32 + probe;
        if self.undo_retrans == 0 {
            self.undo_retrans = -1;
        }
    }

    /// `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self) {
        self.high_seq = self.next;
        self.probe_seq = 0;
        self.window.count = 0;
        self.prior_cwnd = self.window.cwnd;
        (self.prr_delivered, self.prr_out) = (0, 0);
        self.window.ssthresh = self.congestion.ssthresh(&self.window);
        self.reduced = true;
    }

    /// Proportional rate reduction (RFC 6937 with Linux's choice between its two bounds;
    /// `tcp_cwnd_reduction`).
    pub(super) fn reduce(&mut self, delivered: u32, lost: bool, advanced: bool) {
        if delivered == 0 || self.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_flight = self.queue.in_flight();
        let below = i64::from(self.window.ssthresh) - i64::from(in_flight);
        let (arrived, out) = (i64::from(self.prr_delivered), i64::from(self.prr_out));
        let send = if below < 0 {
            let share = u64::from(self.window.ssthresh) * u64::from(self.prr_delivered);
            share.div_ceil(u64::from(self.prior_cwnd)) as i64 - out
        } else {
            let safe = i64::from(advanced && !lost);
            ((arrived - out).max(i64::from(delivered)) + safe).min(below)
        };
        let send = send.max(i64::from(self.prr_out == 0));
        self.window.cwnd = (i64::from(in_flight) + send).max(0) as u32;
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self) {
        if !self.congestion.governs() && (self.state == State::Cwr || self.undo_marker > 0) {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Congestion, without loss (`tcp_enter_cwr`).
    pub(super) fn enter_cwr(&mut self) {
        self.prior_ssthresh = 0;
        if self.state < State::Cwr {
            self.undo_marker = 0;
            self.because(CongestionKind::Ecn);
            self.begin_reduction();
            if self.version.is_2_6() {
                self.window.cwnd = self.window.cwnd.min(self.queue.in_flight() + 1);
            }
            self.set_state(State::Cwr);
        }
    }

    /// A tail loss probe was answered (`tcp_process_tlp_ack`). If what it sent was needed, it
    /// repaired a loss, and the window is reduced.
    fn on_probe_ack(&mut self, ack: &Ack) {
        if self.una < self.probe_seq {
            return;
        }
        if !self.probe_retrans || ack.probe_duplicate {
            self.probe_seq = 0;
        } else if self.una > self.probe_seq {
            self.begin_reduction();
            self.set_state(State::Cwr);
            self.end_reduction();
            self.keep_open(self.in_disorder());
        } else if !(ack.advanced || ack.news() || ack.acked > 0 || ack.sacked) {
            self.probe_seq = 0;
        }
    }

    /// The window is not being reduced: the state is Disorder or Open (`tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self, disorder: bool) {
        let state = if disorder { State::Disorder } else { State::Open };
        if self.state != state {
            self.set_state(state);
            self.high_seq = self.next;
        }
    }

    fn try_to_open_6_1(&mut self, ack: &Ack) {
        if !self.any_resent() {
            self.retrans_stamp = None;
        }
        if ack.echo {
            self.enter_cwr();
        }
        if self.state != State::Cwr {
            self.keep_open(self.in_disorder());
        }
    }

    fn in_disorder(&self) -> bool {
        self.queue.left() > 0 || self.any_resent()
    }

    /// Whether retransmissions are in flight, or the first segment was sent again
    /// (`tcp_any_retrans_done`).
    fn any_resent(&self) -> bool {
        self.queue.retrans > 0 || self.queue.front().is_some_and(|head| head.has(EVER))
    }

    /// `tcp_undo_cwnd_reduction`.
    fn undo_6_1(&mut self, unmark: bool) {
        if unmark {
            self.queue.recover_lost();
        }
        if self.prior_ssthresh > 0 {
            self.window.cwnd = self.congestion.undone(self.version, &self.window, self.prior_cwnd);
            self.window.ssthresh = self.window.ssthresh.max(self.prior_ssthresh);
        }
        self.undo_marker = 0;
        self.rack.advanced = true;
    }

    fn undo_recovery_6_1(&mut self, segment: &Segment) {
        if self.may_undo(segment) {
            self.undo_6_1(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_state(State::Open);
    }

    fn undo_by_duplicates_6_1(&mut self) -> bool {
        let undo = self.undo_marker > 0 && self.undo_retrans == 0;
        if undo {
            self.rack.persist = (self.rack.persist + 1).min(RECOVERIES);
            self.undo_6_1(false);
        }
        undo
    }

    /// Whether a partial acknowledgment shows that nothing more is lost for now
    /// (`tcp_try_undo_partial`).
    fn on_partial_6_1(&mut self, segment: &Segment) -> bool {
        if self.undo_marker == 0 || !self.is_delayed(segment) {
            return false;
        }
        self.saw_reordering(self.una, true);
        if self.queue.retrans > 0 {
            return true;
        }
        if !self.any_resent() {
            self.retrans_stamp = None;
        }
        self.undo_6_1(true);
        self.keep_open(self.in_disorder());
        false
    }

    fn undo_loss_6_1(&mut self, segment: &Segment, spurious: bool) -> bool {
        if !spurious && !self.may_undo(segment) {
            return false;
        }
        self.undo_6_1(true);
        if let Some(foreign) = self.congestion.foreign_mut() {
            foreign.with(&mut self.window, |controller, window| controller.on_spurious(window));
        }
        self.retransmits = 0;
        self.set_state(State::Open);
        true
    }

    /// An acknowledgment after a timeout, with F-RTO (RFC 5682, section 3.1; `tcp_process_loss`).
    fn on_loss_ack(&mut self, segment: &Segment, ack: &Ack, more: bool) {
        let recovered = self.una >= self.high_seq;
        if ack.advanced && self.undo_loss_6_1(segment, false) {
            return;
        }
        if self.frto {
            if ack.original && self.undo_loss_6_1(segment, true) {
                return;
            }
            let duplicate = !(ack.news() || ack.acked > 0 || ack.duplicate_sack);
            if self.next > self.high_seq {
                if ack.sacked || duplicate {
                    self.frto = false;
                }
            } else if ack.advanced && !recovered {
                self.high_seq = self.next;
                if more {
                    self.resend = Resend::NewFirst;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery_6_1(segment);
            return;
        }
        self.resend = Resend::Lost;
    }

    /// `tcp_enter_loss`, and the retransmission.
    pub(super) fn on_timeout_6_1(&mut self, now: Time) {
        let new_recovery = self.state < State::Recovery;
        let head_sacked = self.queue.get(0).has(SACKED);
        for at in 0..self.queue.len() {
            if head_sacked {
                // The receiver has taken back what it SACKed.
                self.queue.mark(at, 0, SACKED);
            } else if at > 0 && !self.rack.is_overdue(now, self.queue.get(at), Duration::ZERO) {
                continue;
            }
            self.lose(at);
        }
        self.because(CongestionKind::Timeout);
        if self.begins_reduction() {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.congestion.ssthresh(&self.window);
            match &mut self.congestion {
                Congestion::Dctcp(dctcp) => dctcp.on_loss(&mut self.window),
                Congestion::Prague(prague) => prague.on_loss(&self.window),
                _ => {}
            }
            self.begin_undo();
        } else if let Some(foreign) = self.congestion.foreign_mut() {
            foreign.with(&mut self.window, |controller, window| {
                controller.on_repeated_timeout(window)
            });
        }
        self.window.cwnd = match self.congestion.foreign() {
            Some(foreign) if foreign.role.governs => (foreign.window.cwnd / self.mss).max(1) as u32,
            _ => self.queue.in_flight() + 1,
        };
        self.window.count = 0;
        if self.state <= State::Disorder && self.queue.sacked >= 3 {
            self.reordering = self.reordering.min(3);
        }
        let reordering = self.reordering;
        self.frto = new_recovery || self.retransmits > 0;
        self.enter_loss_state(now);
        self.reordering = reordering;
        self.probe_seq = 0;
    }
}
