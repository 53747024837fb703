//! The connection of a sender by Linux's rules: [`Machine`] decides what is sent, [`Pace`] when.

use super::{Ack, Leaving, Machine, Pending, Push, Report, Resend, State};
use crate::connection::{Connection, Offered, Opened, Timer};
use crate::pace::{Pace, Source};
use crate::stacks::Law;
use crate::state::Info;
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

impl Machine {
    /// A buffer leaves; its first segment is written into `place`.
    fn set_off(
        &mut self,
        connection: &mut Connection,
        now: Time,
        buffer: Leaving,
        place: &mut Segment,
    ) {
        if self.pace.source == Source::Machine && buffer.len() > 0 {
            let (segments, rate) = (buffer.segments(self.mss), self.congestion.rate());
            self.pace.sent_by_machine(now, buffer.len(), segments, rate);
        }
        self.leaving = buffer;
        self.leave(connection, now, place);
    }

    /// The next segment of a buffer leaves.
    fn leave(&mut self, connection: &mut Connection, now: Time, place: &mut Segment) {
        self.leaving.send(connection, now, place);
        self.on_sent(connection, now, place);
    }

    /// Copies the timer to the connection, and that the window was reduced (`tcp_ecn_queue_cwr`).
    fn follow(&mut self, connection: &mut Connection) {
        connection.cwr_due |= std::mem::take(&mut self.reduced) && connection.ecn;
        if self.deadline != Time::MAX {
            connection.set_timer(Timer::Retransmission, self.deadline);
        } else if connection.timer == Timer::Retransmission {
            connection.set_timer(Timer::Off, Time::MAX);
        }
    }

    /// Reads an acknowledgment that is not below the last one, and returns what it reports.
    /// `widened`: the receiver's window grew. `marks`: how it reports marks. `more`: there are new
    /// data for which the receiver has room.
    pub(super) fn read(
        &mut self,
        now: Time,
        segment: &Segment,
        widened: bool,
        marks: Report<'_>,
        more: bool,
    ) -> Ack {
        self.holds_new = false;
        self.begin(now);
        if let Some(buffer) = &mut self.buffer {
            buffer.on_window(u64::from(segment.window));
        }
        let mut ack = Ack {
            advanced: segment.ack > self.una,
            window: widened,
            echo: matches!(marks, Report::Echo(true)),
            frto_highmark_passed: self.frto_highmark == 0 || segment.ack > self.frto_highmark,
            ..Ack::default()
        };
        // The octet of a window probe may be among it.
        self.next = self.next.max(segment.ack);
        if self.version.is_2_6() {
            self.on_ack_2_6(now, segment, &mut ack, more);
        } else {
            self.on_ack_6_1(now, segment, &mut ack, marks, more);
        }
        ack
    }
}

impl Law for Machine {
    fn on_write(&mut self, unsent: u64) {
        self.check_app_limited(unsent);
    }

    fn syn_deadline(&self, now: Time, times: u8) -> Time {
        let span = self.estimator.backed_off(times.saturating_sub(self.version.linear_timeouts()));
        self.clock.expiry(self.version, now, span, Time::ZERO)
    }

    fn open(&mut self, _: &mut Connection, opened: &Opened) {
        let (now, sent) = (self.version.instant(opened.now), self.version.instant(opened.sent));
        self.congestion.open(opened.feedback);
        self.pace.source = self.congestion.pace(self.paced);
        // Since 3.15 a segment that was sent once is timed without timestamps.
        let timed = !self.version.is_2_6() && opened.timeouts == 0;
        let rtt = if timed { Some(now.since(sent)) } else { opened.rtt };
        (self.una, self.next, self.fack) = (1, 1, 1);
        if let Some(rtt) = rtt {
            self.estimator.sample(rtt, 1, 1);
            self.rack.least(rtt);
        } else if !self.version.is_2_6() {
            self.estimator.forget_lost_syn();
        }
        // tcp_init_transfer; in the Cradle's 2.6 tcp_init_cwnd, which without a loss is not called.
        match opened.timeouts {
            0 => {}
            _ if self.version.is_2_6() => self.window.cwnd = 3.min(self.window.most),
            1 => {}
            _ => self.window.cwnd = 1,
        }
        if !self.version.is_2_6() {
            self.update_pacing_rate();
        }
        self.used_at = now;
        self.congestion.on_loss_state(now, self.next);
        self.begin_rates(now, rtt);
        self.begin_prague(now);
    }

    fn on_ack(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
        offered: Offered,
    ) {
        if segment.ack > connection.una {
            connection.advance(segment.ack);
        }
        let now = self.version.instant(now);
        let more = self.more(connection);
        let before = self.state;
        let marks = match &mut connection.accurate {
            Some(accurate) => Report::Counts(accurate),
            None => Report::Echo(connection.ecn && segment.flags.has(Flags::ECE)),
        };
        let Ack { echo, mangled, .. } = self.read(now, segment, offered.widened, marks, more);
        if mangled {
            (connection.ect, connection.always_ect) = (Flags::NONE, Flags::NONE);
        }
        let recovers = self.state == State::Recovery && before != State::Recovery;
        let echoed = self.state == State::Cwr && self.reduced && echo;
        connection.stats.fast_recoveries += u64::from(recovers);
        connection.stats.ecn_reductions += u64::from(echoed);
        if connection.timer == Timer::Persist && connection.una < connection.next {
            connection.timer = Timer::Off;
        }
        self.follow(connection);
    }

    fn on_deadline(&mut self, connection: &mut Connection, now: Time) {
        // Only expiries of the retransmission timer count towards the limit.
        if self.pending == Pending::Timeout && !connection.try_again() {
            return;
        }
        let now = self.version.instant(now);
        self.begin(now);
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Timeout => {
                self.holds_new = true;
                if self.version.is_2_6() {
                    self.on_timeout_2_6(now);
                } else {
                    self.on_timeout_6_1(now);
                }
                self.resend = Resend::Forced(0);
                self.retransmits += 1;
                self.estimator.back_off();
                self.set_timer(now, Pending::Timeout, self.estimator.rto);
                connection.stats.timeouts += 1;
                connection.cwr_due = connection.ecn;
                self.pace.excuse(self.mss);
            }
            Pending::Probe => self.send_probe(now, self.more(connection)),
            Pending::Reordering => {
                self.holds_new = true;
                self.on_reordering_timeout(now);
            }
        }
        self.follow(connection);
    }

    fn poll(&mut self, connection: &mut Connection, now: Time, segment: &mut Segment) -> bool {
        if !self.leaving.is_over() {
            self.leave(connection, now, segment);
            return true;
        }
        let at = self.version.instant(now);
        let Machine { pace, congestion, mss, .. } = self;
        let held = pace.held(
            now,
            || congestion.foreign().map_or(0, |own| own.controller.send_quantum(&own.window)),
            *mss,
        );
        if held && std::mem::take(&mut self.loss_probe_due) {
            self.probe_held(at);
            self.follow(connection);
        }
        if held && self.pace.source == Source::Window {
            return false;
        }
        self.write_first(connection.end);
        loop {
            let more = self.more(connection);
            if let Some(again) = self.next_resend(at, more, held) {
                connection.stats.retransmissions += u64::from(again.segments(self.mss));
                self.set_off(connection, now, again, segment);
                self.on_resent(at, again.next);
                self.follow(connection);
                return true;
            }
            let probe = std::mem::take(&mut self.loss_probe_due);
            if !held
                && (probe || self.lets_new(connection))
                && self.push != Push::Done
                && let Some((new, marks)) = self.next_new(connection, now, probe)
            {
                self.set_off(connection, now, new, segment);
                self.on_new(at, new.len(), marks);
                if probe {
                    self.probe_sent(at);
                }
                self.follow(connection);
                return true;
            }
            if !self.settled(at, more) && !self.write_on(connection.end) {
                self.follow(connection);
                return false;
            }
        }
    }

    fn on_sent(&mut self, _connection: &Connection, now: Time, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        let srtt = self.estimator.srtt();
        let rate = match (self.pace.source, &self.congestion) {
            // A buffer is paced as a whole.
            (Source::None | Source::Machine, _) => return,
            (Source::Controller, congestion) => {
                congestion.foreign().and_then(|own| own.controller.pacing_rate(&own.window, srtt))
            }
            (Source::Window, _) => Pace::of_window(self.cwnd(), self.ssthresh(), srtt),
        };
        self.pace.sent(now, segment, rate);
    }

    /// Pacing allows a segment now (`tcp_pace_kick`). Lost segments go before new data
    /// (`tcp_tsq_write`).
    fn on_pace(&mut self) {
        if self.pace.source == Source::Machine {
            self.holds_new = false;
            if self.resend == Resend::Nothing {
                self.resend = Resend::Lost;
            }
        }
    }

    fn pace_deadline(&self) -> Time {
        self.pace.deadline()
    }

    fn backed_off(&self, times: u8) -> Duration {
        self.estimator.backed_off(times)
    }

    fn info(&self, _connection: &Connection) -> Info {
        Info {
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            srtt: self.estimator.srtt(),
            rto: self.estimator.rto,
            in_flight: u64::from(self.queue.in_flight()) * self.mss,
            // The names of `ss` and of the kernel's own traces.
            phase: match self.state {
                State::Open => "Open",
                State::Disorder => "Disorder",
                State::Cwr => "CWR",
                State::Recovery => "Recovery",
                State::Loss => "Loss",
            },
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(foreign) = self.congestion.foreign() {
            foreign.controller.probe(out);
        }
    }

    fn heap(&self) -> usize {
        let buffer = self.buffer.as_ref().map_or(0, |buffer| buffer.heap());
        let rates = self.rates.as_ref().map_or(0, |rates| rates.heap());
        self.queue.heap() + self.congestion.heap() + buffer + rates
    }
}
