//! The sender by the standards' rules: recovery, congestion control, and what they send.

use super::{Sender, Timer};
use crate::congestion::{AckSample, CongestionController, CongestionEvent, CongestionKind};
use crate::recovery::{Phase, Progress, Repair};
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

impl Sender {
    #[inline]
    pub(super) fn on_own_ack(&mut self, now: Time, segment: &Segment, repeats: bool) {
        let una = self.una;
        let progress = self.recovery.read(segment, una, self.next, self.window.mss, repeats);
        let rtt = if progress.acked > 0 { self.on_progress(now, segment) } else { None };
        self.on_ack(now, segment, &progress, rtt);
    }

    /// `segment` moves SND.UNA.
    #[inline]
    fn on_progress(&mut self, now: Time, segment: &Segment) -> Option<Duration> {
        let outstanding = self.next - self.una;
        let rtt = self.measure(now, segment);
        if let Some(rtt) = rtt {
            // One acknowledgment for two segments is what delayed ACKs give (RFC 7323, app. G);
            // without timestamps at most eight segments a window are timed.
            let per_round = outstanding as f64 / (2 * self.window.mss) as f64;
            self.rtt.sample(rtt, if self.timestamps { per_round } else { per_round.min(8.0) });
        }
        self.una = segment.ack;
        self.retries = 0;
        self.persist_backoff = 0;
        rtt
    }

    fn on_ack(&mut self, now: Time, segment: &Segment, progress: &Progress, rtt: Option<Duration>) {
        let (una, next) = (self.una, self.next);
        let echo = self.ecn && segment.flags.has(Flags::ECE);
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
        self.reduced_at = self.next;
    }

    fn on_loss(&mut self, now: Time, delivered: u64) {
        self.stats.fast_recoveries += 1;
        self.reduce(now, CongestionKind::Loss, self.outstanding());
        let floor = self.controller.floor(&self.window);
        self.recovery.begin_fast(&mut self.window, floor, self.una, self.next, delivered);
        self.timed.restart(u64::MAX);
        // As BSD, Linux and ns-2 do; RFC 6298 is silent. A timer that still counts from the last
        // new acknowledgment would often expire before the one for the retransmission comes.
        self.set_timer(Timer::Retransmission, now + self.rtt.rto());
    }

    fn on_echo(&mut self, now: Time, acked: u64) {
        self.stats.ecn_reductions += 1;
        self.reduce(now, CongestionKind::Ecn, self.outstanding() + acked);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    #[cold]
    pub(super) fn poll_repair(&mut self, now: Time) -> Option<Segment> {
        if self.held_by_pacing(now) {
            return None;
        }
        let new_data = self.new_len(false).is_some();
        let (una, next) = (self.una, self.next);
        let (start, end) =
            match self.recovery.next_retransmission(&self.window, una, next, new_data) {
                Repair::Send(start, end) => (start, end),
                Repair::Held => {
                    self.limited = true;
                    return None;
                }
                Repair::Nothing => return self.poll_new(now),
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
        Some(self.emit(now, start, len as u32, flags))
    }

    #[inline]
    pub(super) fn poll_new(&mut self, now: Time) -> Option<Segment> {
        let outstanding = self.next - self.una;
        let Some(len) = self.new_len(self.probe_due) else {
            self.limited = false;
            return None;
        };
        if outstanding == 0 && self.next > 1 {
            self.restart(now);
        }
        let in_flight = self.recovery.in_flight(outstanding, self.window.mss);
        if in_flight + len > self.window.cwnd {
            self.limited = true;
            return None;
        }
        if self.held_by_pacing(now) {
            return None;
        }
        let segment = self.send_new(now, len);
        if !self.timestamps {
            self.timed.sent(now, self.next, self.window.cwnd);
        }
        self.arm(now);
        Some(segment)
    }

    /// Something is sent after everything was acknowledged.
    fn restart(&mut self, now: Time) {
        self.controller.on_restart(now);
        if self.slow_start_after_idle && now.since(self.last_sent) > self.rtt.rto() {
            // RFC 5681, section 4.1.
            self.window.cwnd = self.window.cwnd.min(self.window.initial);
        }
    }
}

/// The delay of the data that `segment` acknowledges, by both clocks.
#[inline]
fn one_way_delay(segment: &Segment) -> Option<Duration> {
    let micros = segment.tsval.wrapping_sub(segment.tsecr);
    segment.has_timestamp.then(|| Duration::from_micros(u64::from(micros)))
}
