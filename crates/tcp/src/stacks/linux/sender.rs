//! The sender by Linux's rules: sends what [`Machine`] decides.

use super::{Expired, Machine, Version};
use crate::connection::{Connection, Offered, Opened, Site, Timer};
use crate::pace::{Pace, Source};
use crate::stacks::Law;
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

/// The machine of one sender, and the pace of its segments.
#[derive(Debug)]
pub(crate) struct Linux {
    machine: Machine,
    pace: Pace,
    /// A new segment must be sent as a tail loss probe.
    loss_probe_due: bool,
}

impl Linux {
    pub(crate) fn new(version: Version, tick: Duration, site: &Site<'_>) -> Self {
        let machine = Machine::new(version, tick, site);
        let source = if machine.pacing().is_some() {
            Source::Machine
        } else if machine.foreign().is_some_and(|foreign| foreign.paces()) {
            Source::Controller
        } else if site.connection.pacing {
            Source::Window
        } else {
            Source::None
        };
        Linux { machine, pace: Pace::new(source, site.now), loss_probe_due: false }
    }

    /// Copies the machine's timer, and that it reduced the window.
    fn follow(&mut self, connection: &mut Connection) {
        connection.cwr_due |= connection.ecn && self.machine.take_reduced();
        let deadline = self.machine.deadline();
        if deadline != Time::MAX {
            connection.set_timer(Timer::Retransmission, deadline);
        } else if connection.timer == Timer::Retransmission {
            connection.set_timer(Timer::Off, Time::MAX);
        }
    }
}

impl Law for Linux {
    fn on_write(&mut self, unsent: u64) {
        self.machine.on_write(unsent);
    }

    fn syn_deadline(&self, now: Time, times: u8) -> Time {
        self.machine.expiry(now, self.machine.backed_off(times))
    }

    fn on_syn_timeout(&mut self) {
        self.pace.excuse(self.machine.mss);
    }

    fn open(&mut self, connection: &mut Connection, opened: &Opened) {
        let (now, sent) = (self.machine.instant(opened.now), self.machine.instant(opened.sent));
        self.machine.open(now, opened.rtt, sent, opened.timeouts, connection.ecn);
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
        let echo = connection.ecn && segment.flags.has(Flags::ECE);
        let more = connection.has_more();
        self.machine.set_next_send(self.pace.next_send());
        let now = self.machine.instant(now);
        let reduced = self.machine.on_ack(now, segment, offered.widened, echo, more);
        connection.stats.fast_recoveries += u64::from(reduced.recovery);
        connection.stats.ecn_reductions += u64::from(reduced.echo);
        if connection.timer == Timer::Persist && connection.una < connection.next {
            connection.timer = Timer::Off;
        }
        self.follow(connection);
    }

    fn on_deadline(&mut self, connection: &mut Connection, now: Time) {
        if self.machine.awaits_timeout() && !connection.try_again() {
            return;
        }
        let more = connection.has_more();
        let now = self.machine.instant(now);
        match self.machine.on_deadline(now, more) {
            Expired::Nothing => {}
            Expired::Timeout => {
                connection.stats.timeouts += 1;
                self.pace.excuse(self.machine.mss);
                connection.cwr_due = connection.ecn;
            }
            Expired::ProbeNew => self.loss_probe_due = true,
        }
        self.follow(connection);
    }

    fn poll(&mut self, connection: &mut Connection, now: Time, segment: &mut Segment) -> bool {
        let at = self.machine.instant(now);
        let quantum = || self.machine.foreign().map_or(0, |foreign| foreign.quantum());
        let held = self.pace.held(now, quantum, self.machine.mss);
        if held && std::mem::take(&mut self.loss_probe_due) {
            self.machine.probe_held(at);
            self.follow(connection);
        }
        if held && self.pace.source() == Source::Window {
            return false;
        }
        self.machine.supply(connection.end);
        loop {
            let more = connection.has_more();
            if let Some((seq, len, fin)) = self.machine.next_resend(at, more, held) {
                connection.stats.retransmissions += 1;
                let pushed = self.machine.pushes(seq, len);
                self.follow(connection);
                let flags = Flags::ACK.with_if(fin, Flags::FIN).with_if(pushed, Flags::PSH);
                connection.emit(now, seq, len, flags, segment);
                self.on_sent(connection, now, segment);
                return true;
            }
            let probe = std::mem::take(&mut self.loss_probe_due);
            if !held
                && (probe || self.machine.lets_new())
                && let Some(len) = connection.new_len(connection.probe_due)
            {
                connection.send_new(now, len, segment);
                self.on_sent(connection, now, segment);
                let pushed = self.machine.pushes(segment.seq, segment.len);
                segment.flags = segment.flags.with_if(pushed, Flags::PSH);
                let fin = segment.flags.has(Flags::FIN);
                self.machine.on_new(at, segment.len, fin);
                if probe {
                    self.machine.probe_sent(at);
                }
                self.follow(connection);
                return true;
            }
            if !self.machine.settled(at, more) {
                self.follow(connection);
                return false;
            }
        }
    }

    fn on_sent(&mut self, _connection: &Connection, now: Time, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        let (machine, srtt) = (&self.machine, self.machine.srtt());
        let rate = match self.pace.source() {
            Source::None => return,
            Source::Machine => {
                let rate = machine.pacing().unwrap_or_default();
                return self.pace.sent_by_machine(now, segment.len, rate);
            }
            Source::Controller => machine.foreign().and_then(|foreign| foreign.rate(srtt)),
            Source::Window => Pace::of_window(machine.cwnd(), machine.ssthresh(), srtt),
        };
        self.pace.sent(now, segment, rate);
    }

    fn on_pace(&mut self) {
        self.machine.on_pace();
    }

    fn pace_deadline(&self) -> Time {
        self.pace.deadline()
    }

    fn release(&mut self) {
        self.pace.release();
    }

    fn backed_off(&self, times: u8) -> Duration {
        self.machine.backed_off(times)
    }

    fn in_flight(&self, _connection: &Connection) -> u64 {
        self.machine.in_flight()
    }

    fn phase(&self) -> &'static str {
        self.machine.state()
    }

    fn cwnd(&self) -> u64 {
        self.machine.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.machine.ssthresh()
    }

    fn srtt(&self) -> Option<Duration> {
        self.machine.srtt()
    }

    fn rto(&self) -> Duration {
        self.machine.rto()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(foreign) = self.machine.foreign() {
            foreign.probe(out);
        }
    }

    fn heap(&self) -> usize {
        self.machine.heap()
    }
}
