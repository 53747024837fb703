//! The sender by the standards' rules: recovery, congestion control, and what they send.

use super::{Sender, Timer};
use crate::accecn::News;
use crate::congestion::real;
use crate::congestion::{AckSample, CongestionEvent, CongestionKind, Delivery};
use crate::recovery::{Phase, Progress, Repair};
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

impl Sender {
    #[inline]
    pub(super) fn on_own_ack(&mut self, now: Time, segment: &Segment, repeats: bool) {
        let una = self.una;
        let before = if self.plain { None } else { self.watched_in_flight() };
        let progress = self.recovery.read(segment, una, self.next, self.window.mss, repeats);
        let rtt = if progress.acked > 0 { self.on_progress(now, segment) } else { None };
        let news = self.read_marks(segment, &progress);
        if let Some(before) = before {
            self.tell(now, segment, &progress, &news, rtt, before);
        }
        let cwnd = self.window.cwnd;
        self.on_ack(now, segment, &progress, news.marks, rtt);
        self.govern(cwnd);
    }

    /// What is in flight, if there is a watch.
    // Not inlined: compilers look at what is cheap to be looked at even before they know whether the
    // sender is plain, and then wait for a cache line that is not needed.
    #[inline(never)]
    fn watched_in_flight(&self) -> Option<u64> {
        self.watch.is_some().then(|| self.in_flight())
    }

    /// What `segment` says of marks.
    #[inline]
    fn read_marks(&mut self, segment: &Segment, progress: &Progress) -> News {
        let accurate = if self.plain { None } else { self.accurate.as_mut() };
        let Some(accurate) = accurate else {
            let marks = self.ecn && segment.flags.has(Flags::ECE);
            return News { marks, marked: if marks { progress.acked } else { 0 }, mangled: false };
        };
        let news = accurate.read(segment, progress.delivered, self.window.mss);
        if news.mangled {
            (self.ect, self.always_ect) = (Flags::NONE, Flags::NONE);
        }
        news
    }

    /// `segment` advances SND.UNA.
    #[inline]
    fn on_progress(&mut self, now: Time, segment: &Segment) -> Option<Duration> {
        let outstanding = self.next - self.una;
        let rtt = self.measure(now, segment);
        if let Some(rtt) = rtt {
            // One acknowledgment for two segments is what delayed ACKs give (RFC 7323, app. G);
            // without timestamps at most eight segments a window are timed.
            let per_round = real(outstanding) / real(2 * self.window.mss);
            self.rtt.sample(rtt, if self.timestamps { per_round } else { per_round.min(8.0) });
        }
        self.una = segment.ack;
        self.retries = 0;
        self.persist_backoff = 0;
        rtt
    }

    /// Tells a controller with attention of an acknowledgment. `before` is what was in flight
    /// before it.
    #[cold]
    fn tell(
        &mut self,
        now: Time,
        segment: &Segment,
        progress: &Progress,
        news: &News,
        rtt: Option<Duration>,
        before: u64,
    ) {
        let Some(mut watch) = self.watch.take() else { return };
        let (controller, window) = (&mut self.controller, &mut self.window);
        watch.on_board(now, &self.recovery.board, |lost| controller.on_lost(window, lost));
        let rate = watch.on_ack(now, segment, self.next);
        let delivery = Delivery {
            now,
            acked: progress.acked,
            delivered: progress.delivered,
            marked: news.marked,
            echo: news.marks,
            prior_in_flight: before,
            in_flight: self.recovery.in_flight(self.next - self.una, self.window.mss),
            round_end: watch.round_end(self.una, self.next),
            rtt,
            srtt: self.rtt.srtt(),
            limited: self.limited,
            repairing: self.recovery.phase != Phase::Open,
            next_send: self.pace.next_send(),
            rate,
        };
        self.controller.on_delivery(&mut self.window, &delivery);
        if self.controller.understates() {
            watch.on_idle(delivery.in_flight);
        }
        self.watch = Some(watch);
    }

    /// Restores `cwnd`, if only the controller sets it.
    #[inline]
    pub(super) fn govern(&mut self, cwnd: u64) {
        if self.governed {
            self.window.cwnd = cwnd;
        }
    }

    #[inline(always)]
    fn watch_sent(&mut self, now: Time, start: u64, end: u64) {
        if !self.plain {
            self.tell_sent(now, start, end);
        }
    }

    #[inline(never)]
    fn tell_sent(&mut self, now: Time, start: u64, end: u64) {
        if self.watch.is_some() {
            let in_flight = self.in_flight();
            self.watch.iter_mut().for_each(|watch| watch.on_sent(now, start, end, in_flight));
        }
    }

    /// The application has no more data, and the window has room.
    #[inline]
    fn watch_idle(&mut self) {
        if !self.plain
            && self.next >= self.end
            && let Some(in_flight) = self.watched_in_flight()
            && in_flight < self.window.cwnd
        {
            self.watch.iter_mut().for_each(|watch| watch.on_idle(in_flight));
        }
    }

    fn watch_head(&mut self, now: Time) {
        if !self.plain
            && let Some(watch) = &mut self.watch
        {
            let (controller, window) = (&mut self.controller, &mut self.window);
            watch.head_lost(now, |lost| controller.on_lost(window, lost));
        }
    }

    pub(super) fn watch_timeout(&mut self, now: Time) {
        if !self.plain
            && let Some(watch) = &mut self.watch
        {
            let (controller, window) = (&mut self.controller, &mut self.window);
            watch.all_lost(now, |lost| controller.on_lost(window, lost));
        }
    }

    fn on_ack(
        &mut self,
        now: Time,
        segment: &Segment,
        progress: &Progress,
        echo: bool,
        rtt: Option<Duration>,
    ) {
        let (una, next) = (self.una, self.next);
        let mut restart = progress.acked > 0;
        match self.recovery.phase {
            Phase::Fast => {
                restart &= self.recovery.on_fast(&mut self.window, progress, una, next);
                if self.recovery.phase == Phase::Open {
                    self.timed.restart(next);
                }
            }
            Phase::Probing => {
                let new_data = self.new_len(false).is_some();
                self.recovery.on_probing(&mut self.window, progress, una, next, new_data);
                if self.recovery.phase == Phase::Open {
                    self.controller.on_spurious(&mut self.window);
                }
            }
            phase => {
                if phase == Phase::Timeout && restart {
                    self.recovery.on_timeout_ack(una);
                }
                if echo && una > self.reduced_at {
                    self.on_echo(now, progress.acked);
                } else if restart && !echo {
                    let sample = AckSample {
                        now,
                        acked: progress.acked,
                        ack: una,
                        sent: next,
                        rtt,
                        srtt: self.rtt.srtt(),
                        one_way: one_way_delay(segment),
                        limited: self.limited,
                        after_timeout: phase == Phase::Timeout,
                    };
                    self.controller.on_ack(&mut self.window, &sample);
                }
                if self.recovery.phase == Phase::Open && self.recovery.finds_loss(progress, una) {
                    self.on_loss(now, progress.delivered);
                }
            }
        }
        if restart {
            // RFC 6298, sections 5.2 and 5.3.
            if una == next {
                self.set_timer(Timer::Off, Time::MAX);
            } else {
                self.set_timer(Timer::Retransmission, now + self.rtt.rto());
            }
        }
    }

    pub(super) fn reduce(&mut self, now: Time, kind: CongestionKind, outstanding: u64) {
        // FlightSize without what limited transmit added (RFC 5681, section 3.2, step 2).
        let flight = outstanding.min(self.window.cwnd);
        let event = CongestionEvent { now, kind, flight };
        self.controller.on_congestion(&mut self.window, &event);
        // RFC 3168, section 6.1.2: CWR tells of a reduction for whatever reason.
        self.cwr_due = self.ecn;
        if self.ecn || !self.plain {
            self.reduced_at = self.next;
        }
    }

    fn on_loss(&mut self, now: Time, delivered: u64) {
        self.stats.fast_recoveries += 1;
        self.reduce(now, CongestionKind::Loss, self.outstanding());
        self.watch_head(now);
        let floor = self.controller.floor(&self.window);
        self.recovery.begin_fast(&mut self.window, floor, self.una, self.next, delivered);
        self.timed.restart(u64::MAX);
        // As BSD, Linux and ns-2 do; RFC 6298 is silent. A timer that still counts from the last
        // new acknowledgment would often expire before the one for the retransmission comes.
        self.set_timer(Timer::Retransmission, now + self.rtt.rto());
    }

    pub(super) fn on_echo(&mut self, now: Time, acked: u64) {
        self.stats.ecn_reductions += 1;
        self.reduce(now, CongestionKind::Ecn, self.outstanding() + acked);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    #[cold]
    pub(super) fn poll_repair(&mut self, now: Time, segment: &mut Segment) -> bool {
        if !self.plain && self.pace.held(now, &*self.controller, &self.window) {
            return false;
        }
        let new_data = self.new_len(false).is_some();
        let (una, next) = (self.una, self.next);
        let (start, end) =
            match self.recovery.next_retransmission(&self.window, una, next, new_data) {
                Repair::Send(start, end) => (start, end),
                Repair::Held => {
                    self.limited = true;
                    return false;
                }
                Repair::Nothing => return self.poll_new(now, segment),
            };
        self.stats.retransmissions += 1;
        let fin = self.closed && end > self.end;
        let len = end.min(self.end).saturating_sub(start);
        let flags = Flags::ACK.with_if(fin, Flags::FIN);
        if start == una && self.recovery.uses_sack() {
            // RFC 6675, section 6, for what the cumulative acknowledgment waits for, as Linux does:
            // a hole found late in a recovery would otherwise time out before its repair.
            self.set_timer(Timer::Retransmission, now + self.rtt.rto());
        } else {
            self.arm(now);
        }
        self.watch_sent(now, start, start + len);
        self.emit(now, start, len as u32, flags, segment);
        true
    }

    #[inline]
    pub(super) fn poll_new(&mut self, now: Time, segment: &mut Segment) -> bool {
        let outstanding = self.next - self.una;
        let Some(len) = self.new_len(self.probe_due) else {
            self.limited = false;
            self.watch_idle();
            return false;
        };
        if outstanding == 0 && self.next > 1 {
            self.restart(now);
        }
        let in_flight = self.recovery.in_flight(outstanding, self.window.mss);
        if in_flight + len > self.window.cwnd {
            self.limited = true;
            return false;
        }
        if !self.plain && self.pace.held(now, &*self.controller, &self.window) {
            // A window of its own does not hold a controller back that paces.
            self.limited &= !self.governed;
            return false;
        }
        self.watch_sent(now, self.next, self.next + len);
        self.send_new(now, len, segment);
        if !self.timestamps {
            self.timed.sent(now, self.next, self.window.cwnd);
        }
        self.arm(now);
        true
    }

    /// Something is sent after everything was acknowledged.
    fn restart(&mut self, now: Time) {
        self.controller.on_restart(&mut self.window, now);
        if self.slow_start_after_idle && now.since(self.last_sent) > self.rtt.rto() {
            // RFC 5681, section 4.1.
            self.window.cwnd = self.window.cwnd.min(self.window.initial);
        }
    }
}

/// The delay of the data that `segment` acknowledges, by the clocks of both ends.
#[inline]
fn one_way_delay(segment: &Segment) -> Option<Duration> {
    let micros = segment.tsval.wrapping_sub(segment.tsecr);
    segment.has_timestamp.then(|| Duration::from_micros(u64::from(micros)))
}
