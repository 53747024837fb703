//! Acknowledgments and timeouts in 2.6.18 and 2.6.26 (`tcp_ack`, `tcp_fastretrans_alert`,
//! `tcp_xmit_retransmit_queue`, `tcp_retransmit_timer`).

use super::{Ack, EVER, LOST, Machine, Pending, RETRANS, Resend, SACKED, State, Version};
use crate::Segment;
use crate::segment::millis;
use forebay_core::{Duration, Time};

impl Machine {
    fn is_2_6_18(&self) -> bool {
        self.version == Version::Linux2_6_18
    }

    pub(super) fn on_ack_2_6(&mut self, now: Time, segment: &Segment, ack: &mut Ack, more: bool) {
        let (prior, count_before) = (self.una, self.fack_count);
        let in_flight_before = self.queue.in_flight();
        self.una = segment.ack;
        // Until a block says otherwise, only what was sent before a timeout arrived.
        ack.original = false;
        if segment.sack_count > 0 {
            self.read_sacks(now, segment, prior, ack);
        }
        if self.queue.is_empty() {
            return;
        }
        // Before 2.6.24 what is newly SACKed does not count as in flight here.
        let in_flight = if self.is_2_6_18() { self.queue.in_flight() } else { in_flight_before };
        self.clean_2_6(now, segment, ack, count_before);
        let probing = self.frto_counter > 0 && self.on_frto_ack(now, ack, more);
        if self.frto_highmark < self.una {
            self.frto_highmark = 0;
        }
        let dubious = !(ack.news() || ack.acked > 0) || ack.sacked || ack.echo;
        let dubious = dubious || self.state != State::Open;
        let may_raise =
            (!ack.echo || self.window.cwnd < self.window.ssthresh) && !self.in_reduction();
        if ack.acked > 0 && !probing && (!dubious || may_raise) {
            if self.is_limited_2_6(in_flight) {
                self.congestion.avoid(self.version, &mut self.window, now, ack.acked);
            }
            self.used_at = now;
        }
        if dubious {
            self.alert_2_6(now, segment, ack, more);
        }
    }

    /// Removes what was acknowledged from the queue (`tcp_clean_rtx_queue`).
    fn clean_2_6(&mut self, now: Time, segment: &Segment, ack: &mut Ack, count_before: u32) {
        let mut last = None;
        let mut low = None;
        let seen = !self.is_2_6_18() || segment.sack_count > 0;
        while let Some(head) = self.queue.front()
            && head.end() <= self.una
        {
            let head = *head;
            if head.has(RETRANS | EVER) {
                ack.retrans_acked = true;
                ack.others_acked |= ack.acked > 0;
                last = None;
            } else {
                last = Some(head.at);
                if !head.has(SACKED) && seen && ack.acked < count_before {
                    low.get_or_insert(ack.acked);
                }
            }
            self.queue.pop();
            ack.acked += 1;
            self.hint = None;
        }
        let _ = self.queue.trim(self.una);
        ack.reneging = self.queue.front().is_some_and(|head| head.has(SACKED));
        if ack.acked == 0 {
            return;
        }
        // With timestamps every acknowledgment of new data is a sample; without, Karn's algorithm.
        let ticks = |from: Time| self.clock.ticks(now) - self.clock.ticks(from);
        let plain = last.filter(|_| !ack.retrans_acked).map(ticks);
        let measured = match segment.has_timestamp && segment.tsecr != 0 {
            true => Some(u64::from(millis(now).wrapping_sub(segment.tsecr)) * 1_000_000),
            false => plain.map(|ticks| self.clock.tick.saturating_mul(ticks).as_nanos()),
        };
        if let Some(rtt) = measured.map(Duration::from_nanos) {
            self.estimator.sample(rtt, self.una, self.next);
        }
        self.rearm(now);
        if let Some(low) = low {
            let distance = (self.fack_count - low) + u32::from(self.is_2_6_18());
            if self.state != State::Loss || !self.is_2_6_18() {
                self.raise_reordering(distance);
            }
        }
        self.fack_count = self.fack_count.saturating_sub(ack.acked);
        self.fack = self.fack.max(self.una);
        let rtt = match self.is_2_6_18() {
            // measure_delay: by timestamps, and only while nothing is dubious.
            true => measured.map(Duration::from_nanos).filter(|_| self.state == State::Open),
            false => {
                plain.filter(|ticks| *ticks > 0).map(|ticks| self.clock.tick.saturating_mul(ticks))
            }
        };
        self.measure(now, ack, rtt);
    }

    /// Whether the window limits the sender (`tcp_is_cwnd_limited`).
    fn is_limited_2_6(&self, in_flight: u32) -> bool {
        let left = self.window.cwnd.saturating_sub(in_flight);
        left == 0 || (!self.is_2_6_18() && left <= self.reordering)
    }

    pub(super) fn validate_2_6(&mut self, now: Time, more: bool) {
        if self.queue.out() >= self.window.cwnd {
            (self.used, self.used_at) = (0, now);
        } else {
            self.unused(now, more);
        }
    }

    fn alert_2_6(&mut self, now: Time, segment: &Segment, ack: &mut Ack, more: bool) {
        let duplicate = !(ack.news() || ack.acked > 0);
        let far = self.fack_count > self.reordering;
        let mut lost = duplicate || (!self.is_2_6_18() && ack.sacked && far);
        let mut begins = 0;
        if self.queue.sacked == 0 {
            self.fack_count = 0;
        }
        if ack.echo {
            self.prior_ssthresh = 0;
        }
        if ack.reneging {
            return self.renege(now);
        }
        let forward = self.is_2_6_18() || self.forward;
        if forward && ack.data_lost && self.una < self.high_seq && self.state != State::Open && far
        {
            self.lose_head(self.fack_count - self.reordering);
        }
        if self.state == State::Open {
            self.retrans_stamp = None;
        } else if self.una >= self.high_seq {
            self.leave_2_6(segment);
        }
        match self.state {
            State::Recovery => {
                if ack.advanced {
                    lost = self.on_partial_2_6(segment, ack.acked);
                }
            }
            State::Loss => {
                if ack.acked > 0 {
                    self.retransmits = 0;
                }
                if !self.undo_loss_2_6(segment) {
                    self.moderate();
                    self.resend = Resend::Lost;
                    return;
                }
                if !self.enter_recovery_2_6(now, ack, more) {
                    return;
                }
                begins = 1;
            }
            _ => {
                if !self.enter_recovery_2_6(now, ack, more) {
                    return;
                }
                begins = 1;
            }
        }
        if lost || (self.forward || self.is_2_6_18()) && self.head_timed_out(now) {
            self.update_scoreboard(now, begins);
        }
        self.cwnd_down(ack);
        self.resend = Resend::Lost;
    }

    /// `high_seq` is acknowledged, so the state ends.
    fn leave_2_6(&mut self, segment: &Segment) {
        match self.state {
            State::Loss => {
                self.retransmits = 0;
                self.undo_recovery_2_6(segment);
            }
            State::Cwr => {
                // CWR has to reach the receiver first.
                if self.una != self.high_seq {
                    self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
                    self.state = State::Open;
                }
            }
            State::Disorder => {
                self.undo_by_duplicates();
                if self.undo_marker == 0 || self.una != self.high_seq {
                    self.undo_marker = 0;
                    self.state = State::Open;
                }
            }
            State::Recovery => {
                self.undo_recovery_2_6(segment);
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            }
            State::Open => {}
        }
    }

    /// In the states Open, Disorder and CWR. Returns false if recovery does not begin.
    fn enter_recovery_2_6(&mut self, now: Time, ack: &Ack, more: bool) -> bool {
        if self.state == State::Disorder {
            self.undo_by_duplicates();
        }
        if !self.time_to_recover(now, more) {
            self.try_to_open(ack);
            return false;
        }
        self.high_seq = self.next;
        self.prior_ssthresh = 0;
        self.undo_marker = self.una;
        self.undo_retrans = self.queue.retrans as i32;
        if self.state < State::Cwr {
            if !ack.echo {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.window.ssthresh = self.congestion.ssthresh(&self.window);
            self.reduced = true;
        }
        self.window.count = 0;
        self.state = State::Recovery;
        true
    }

    fn time_to_recover(&self, now: Time, more: bool) -> bool {
        if self.frto_counter > 0 {
            return false;
        }
        let disorder = match self.forward || self.is_2_6_18() {
            true => self.fack_count,
            false => self.queue.sacked + 1,
        };
        let out = self.queue.out();
        let nothing_new = !(more && self.queue.in_flight() < self.window.cwnd);
        self.queue.lost > 0
            || disorder > self.reordering
            || ((self.forward || self.is_2_6_18()) && self.head_timed_out(now))
            || (out <= self.reordering && self.queue.sacked >= (out / 2).max(3) && nothing_new)
    }

    fn try_to_open(&mut self, ack: &Ack) {
        if self.frto_counter == 0 && self.queue.retrans == 0 {
            self.retrans_stamp = None;
        }
        if ack.echo {
            self.enter_cwr();
        }
        if self.state == State::Cwr {
            return self.cwnd_down(ack);
        }
        let disorder = self.queue.left() > 0 || self.queue.retrans > 0 || self.undo_marker > 0;
        self.keep_open(disorder);
        self.moderate();
    }

    fn timed_out(&self, now: Time, at: usize) -> bool {
        let ago = self.clock.ticks(now) - self.clock.ticks(self.queue.get(at).at);
        self.clock.tick.saturating_mul(ago) > self.estimator.rto
    }

    fn head_timed_out(&self, now: Time) -> bool {
        !self.queue.is_empty() && self.timed_out(now, 0)
    }

    /// Marks the first `count` segments as lost, if they were sent before the recovery began
    /// (`tcp_mark_head_lost`). Without forward acknowledgment, `count` counts SACKed segments.
    fn lose_head(&mut self, count: u32) {
        let all = self.forward || self.is_2_6_18();
        let spared = SACKED | LOST | if self.is_2_6_18() { RETRANS } else { 0 };
        let mut seen = 0;
        for at in 0..self.queue.len() {
            let sent = self.queue.get(at);
            if sent.end() > self.high_seq {
                break;
            }
            seen += u32::from(all || sent.has(SACKED));
            if seen > count {
                break;
            }
            if !sent.has(spared) {
                self.queue.mark(at, LOST, 0);
            }
        }
    }

    /// `tcp_update_scoreboard`. At least `least` segments are lost.
    fn update_scoreboard(&mut self, now: Time, least: u32) {
        let count = match (self.forward, self.is_2_6_18()) {
            (true, _) => self.fack_count.saturating_sub(self.reordering).max(1),
            (false, true) => 1,
            (false, false) => self.queue.sacked.saturating_sub(self.reordering).max(least),
        };
        self.lose_head(count);
        if (self.forward || self.is_2_6_18()) && self.head_timed_out(now) {
            let spared = SACKED | LOST | if self.is_2_6_18() { RETRANS } else { 0 };
            for at in 0..self.queue.len() {
                if !self.timed_out(now, at) {
                    break;
                }
                if !self.queue.get(at).has(spared) {
                    self.queue.mark(at, LOST, 0);
                }
            }
        }
    }

    /// Rate halving: one segment less for every second acknowledgment with news; 2.6.18 does not
    /// require news (`tcp_cwnd_down`; M. Mathis, J. Semke, J. Mahdavi, K. Lahey, "The Rate-Halving
    /// Algorithm for TCP Congestion Control", 1999).
    fn cwnd_down(&mut self, ack: &Ack) {
        let news = ack.advanced || ack.sacked || ack.duplicate_sack;
        if !(news || self.is_2_6_18()) {
            return;
        }
        let count = self.window.count + 1;
        self.window.count = count & 1;
        if count > 1 && self.window.cwnd > self.congestion.floor(self.window.ssthresh) {
            self.window.cwnd -= count >> 1;
        }
        self.window.cwnd = self.window.cwnd.min(self.queue.in_flight() + 1);
    }

    /// Prevents bursts of more than three segments (`tcp_moderate_cwnd`).
    pub(super) fn moderate(&mut self) {
        let burst = if self.is_2_6_18() { 3 } else { self.reordering };
        self.window.cwnd = self.window.cwnd.min(self.queue.in_flight() + burst);
    }

    /// Undoes a reduction of the window, and that of the threshold if `whole` (`tcp_undo_cwr`).
    fn undo_2_6(&mut self, whole: bool) {
        if self.prior_ssthresh > 0 {
            self.window.cwnd = self.congestion.undone(self.version, &self.window, 0);
            if whole && self.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.prior_ssthresh;
            }
        } else {
            self.window.cwnd = self.window.cwnd.max(self.window.ssthresh);
        }
        self.moderate();
        self.hint = None;
    }

    /// `tcp_try_undo_recovery`.
    fn undo_recovery_2_6(&mut self, segment: &Segment) {
        if self.may_undo(segment) {
            self.undo_2_6(true);
            self.undo_marker = 0;
        }
        self.state = State::Open;
    }

    /// `tcp_try_undo_dsack`.
    fn undo_by_duplicates(&mut self) {
        if self.undo_marker > 0 && self.undo_retrans == 0 {
            self.undo_2_6(true);
            self.undo_marker = 0;
        }
    }

    /// Whether a partial acknowledgment indicates another loss (`tcp_try_undo_partial`).
    fn on_partial_2_6(&mut self, segment: &Segment, acked: u32) -> bool {
        if self.may_undo(segment) {
            if self.queue.retrans == 0 {
                self.retrans_stamp = None;
            }
            self.raise_reordering(self.fack_count + acked);
            self.undo_2_6(false);
            return false;
        }
        self.fack_count > self.reordering
    }

    /// `tcp_try_undo_loss`.
    fn undo_loss_2_6(&mut self, segment: &Segment) -> bool {
        if !self.may_undo(segment) {
            return false;
        }
        self.queue.recover_lost();
        self.undo_2_6(true);
        self.retransmits = 0;
        self.undo_marker = 0;
        self.state = State::Open;
        true
    }

    /// The receiver has withdrawn what it SACKed (`tcp_check_sack_reneging`).
    fn renege(&mut self, now: Time) {
        self.enter_loss_2_6(now, true);
        self.retransmits += 1;
        self.resend = Resend::Forced(0);
        self.set_timer(now, Pending::Timeout, self.estimator.rto);
    }

    /// `tcp_enter_loss`. If `forget`, SACKs are forgotten as well.
    fn enter_loss_2_6(&mut self, now: Time, forget: bool) {
        if self.begins_reduction() {
            self.prior_ssthresh = self.current_ssthresh();
            self.window.ssthresh = self.congestion.ssthresh(&self.window);
        }
        (self.window.cwnd, self.window.count) = (1, 0);
        self.undo_retrans = 0;
        self.undo_marker = if forget { 0 } else { self.una };
        for at in 0..self.queue.len() {
            let sent = *self.queue.get(at);
            if sent.has(RETRANS | EVER) {
                self.undo_marker = 0;
            }
            let kept = sent.has(SACKED) && !forget;
            self.queue.mark(
                at,
                if kept { 0 } else { LOST },
                RETRANS | if forget { SACKED } else { 0 },
            );
            if kept {
                self.queue.mark(at, 0, LOST);
            }
        }
        if forget {
            self.fack_count = 0;
        }
        self.enter_loss_state(now);
        self.frto_counter = 0;
    }

    /// Whether a timeout reduces the window, which it does once per window of data.
    pub(super) fn begins_reduction(&self) -> bool {
        self.state <= State::Disorder
            || self.una == self.high_seq
            || (self.state == State::Loss && self.retransmits == 0)
    }

    pub(super) fn enter_loss_state(&mut self, now: Time) {
        self.reordering = self.reordering.min(3);
        self.state = State::Loss;
        self.high_seq = self.next;
        self.hint = None;
        self.congestion.on_loss_state(now, self.next);
    }

    pub(super) fn on_timeout_2_6(&mut self, now: Time) {
        match self.version {
            Version::Linux2_6_26 => self.enter_frto(),
            _ => self.enter_loss_2_6(now, false),
        }
    }

    /// The first segment below the highest SACKed one that was neither sent again nor SACKed.
    pub(super) fn may_be_lost(&self) -> Option<usize> {
        if self.queue.sacked == 0 {
            return None;
        }
        let below = match self.is_2_6_18() {
            true => self.fack_count as usize,
            false => self.queue.find(self.fack),
        };
        self.queue.iter().take(below).position(|sent| !sent.has(SACKED | RETRANS | LOST))
    }
}
