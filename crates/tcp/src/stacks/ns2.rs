//! ns-2.35's one-way TCP: `Agent/TCP/Reno`, `Agent/TCP/Newreno` and `Agent/TCP/Sack1` with the
//! defaults of its `tcl/lib/ns-default.tcl`. Functions named here are those of `tcp/tcp.cc`,
//! `tcp-reno.cc`, `tcp-newreno.cc`, `tcp-sack1.cc` and `scoreboard-rq.cc`.
//!
//! ns-2 counts segments, this module octets: `t_seqno_` is [`Ns2::point`], `highest_ack_ + 1` the
//! connection's SND.UNA, `maxseq_ + 1` its SND.NXT.

mod clock;

use super::{Abilities, Ack, Flow, Host, Rules, Stack};
use crate::ranges::RangeSet;
use crate::{ConnectionParams, LossRecovery, SenderStats};
use clock::Clock;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Named, Time, params};
use std::sync::Arc;

/// Duplicate acknowledgments that start fast retransmission (`numdupacks_`).
const DUP_ACKS: u32 = 3;

/// `last_cwnd_action_`: what last reduced the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Action {
    #[default]
    None,
    DupAck,
    /// Fast recovery, which has ended.
    Exited,
    Ecn,
    Timeout,
}

/// The change of the window by `slowdown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Half,
    One,
}

/// A segment that is sent whatever the window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Forced {
    #[default]
    Nothing,
    /// The first one that is not acknowledged.
    Head,
    /// The one at `point`.
    Next,
}

/// The segment being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sending {
    /// The first one, wherever `point` is.
    Head,
    /// Missing segments below a SACKed one.
    Hole,
    /// The one at `point`.
    #[default]
    Next,
}

params! {
    // The defaults are those of its `ns-default.tcl`.
    /// Parameters of `ns-2`.
    #[derive(Copy, PartialEq)]
    pub struct Ns2Params {
        /// Tick of its clock (`tcpTick_`), from 1us to 1s.
        pub tick: Duration = Duration::from_millis(10),
        /// New data on the first two duplicate acknowledgments (`singledup_`; RFC 3042).
        pub limited_transmit: bool = true,
    }
}

impl Named for Ns2 {
    type Family = Stack;
    const NAME: &'static str = "ns-2";
    const SUMMARY: &'static str =
        "the sender of ns-2: Agent/TCP/Reno, Newreno or Sack1, by `recovery`";
    const SOURCE: &'static str = "ns-2.35, tcp/tcp.cc, tcp-reno.cc, tcp-newreno.cc, tcp-sack1.cc";
    const FACTS: Abilities = Abilities {
        congestion: Some(&["new-reno"]),
        lacks: &["accurate_ecn", "hystart", "pacing"],
        ..Abilities::ALL
    };
    type Params = Ns2Params;

    fn build(params: &Ns2Params, _: &()) -> Result<Host, ConfigError> {
        let params = *params;
        let ticks = Duration::from_micros(1)..=Duration::from_secs(1);
        require(ticks.contains(&params.tick), "tick", || {
            format!("must be from 1us to 1s, got \"{}\"", params.tick)
        })?;
        Ok(Host::Rules(Arc::new(move |connection| Box::new(Ns2::new(connection, &params)))))
    }
}

/// State of one sender.
#[derive(Debug, Default)]
pub struct Ns2 {
    kind: LossRecovery,
    /// Whether new data are sent on the first two duplicates (`singledup_`).
    limited_transmit: bool,
    /// Whether slow start begins again after an idle time (`slow_start_restart_`).
    restart: bool,
    ecn: bool,
    mss: u64,
    /// The window in segments, which may have fractions.
    cwnd: f64,
    ssthresh: f64,
    /// `wnd_`, the largest window.
    largest: f64,
    initial: f64,
    point: u64,
    /// `last_ack_ + 1`, which Sack1 does not change during recovery.
    acked: u64,
    recover: u64,
    duplicates: u32,
    /// `dupwnd_`: the number of segments by which duplicates inflate the window.
    inflation: u64,
    action: Action,
    /// Whether a partial acknowledgment was seen in this recovery (`firstpartial_`).
    partial_seen: bool,
    /// `ecn_backoff_`
    ecn_backoff: bool,
    reduced: bool,
    forced: Forced,
    sending: Sending,
    /// Number of segments that `send_much` may still send.
    burst: u32,
    clock: Clock,
    /// When the timer of a connection with nothing outstanding would expire.
    idle_until: Time,
    // The fields from here on belong to Sack1.
    /// `fastrecov_`
    fast: bool,
    /// `timeout_`: whether nothing new was acknowledged since a timeout.
    timed_out: bool,
    pipe: i64,
    sacked: RangeSet,
    /// `h_seqno_`: everything missing below was sent again.
    high_rxt: u64,
    /// `sack_min`
    board_from: u64,
}

impl Ns2 {
    fn new(connection: &ConnectionParams, params: &Ns2Params) -> Self {
        let mss = connection.mss();
        let largest = f64::from(connection.max_window.unwrap_or(u32::MAX))
            .min((connection.receive_window.largest() / mss) as f64);
        Ns2 {
            kind: connection.recovery,
            limited_transmit: params.limited_transmit,
            restart: connection.slow_start_after_idle,
            ecn: connection.ecn,
            mss,
            // set_initial_window: syn_ and delay_growth_.
            cwnd: if connection.handshake { 1.0 } else { f64::from(connection.initial_window) },
            // reset
            ssthresh: connection.initial_ssthresh.map_or(largest, f64::from),
            largest,
            initial: f64::from(connection.initial_window),
            point: 1,
            acked: 1,
            burst: u32::MAX,
            clock: Clock::new(connection, params.tick),
            idle_until: Time::MAX,
            ..Ns2::default()
        }
    }

    /// `RenoTcpAgent::recv`, `NewRenoTcpAgent::recv`.
    fn reno(
        &mut self,
        flow: &Flow,
        ack: &Ack<'_>,
        echo: bool,
        stats: &mut SenderStats,
    ) -> Option<Duration> {
        let newreno = self.kind == LossRecovery::NewReno;
        let mut timer = None;
        let number = ack.segment.ack;
        if number > flow.una {
            if newreno && number < self.recover && self.action == Action::DupAck {
                timer = self.partial(flow, number);
            } else {
                // With partial acknowledgments that left no inflation, New Reno stays in
                // CWND_ACTION_DUPACK.
                if self.action == Action::DupAck && (!newreno || self.inflation > 0) {
                    self.action = Action::Exited;
                }
                self.inflation = 0;
                self.partial_seen = false;
                timer = Some(self.new_ack(flow, ack, echo));
                self.open_unless(echo);
            }
        } else {
            self.duplicates += 1;
            if self.duplicates == DUP_ACKS {
                timer = self.on_third_duplicate(flow, stats);
            } else if self.duplicates > DUP_ACKS {
                // exitFastRetrans_
                self.inflation += u64::from(self.action == Action::DupAck);
            } else {
                self.send_one(flow);
            }
        }
        self.burst = match self.duplicates {
            0 => u32::MAX,
            1 | 2 => 0,
            _ if newreno => 2,
            _ => u32::MAX,
        };
        timer
    }

    /// `NewRenoTcpAgent::partialnewack_helper`, `partialnewack` with newreno_changes1_ and
    /// partial_window_deflation_.
    fn partial(&mut self, flow: &Flow, number: u64) -> Option<Duration> {
        let first = !std::mem::replace(&mut self.partial_seen, true);
        let timer = first.then(|| self.clock.rto());
        let deflate = (number - flow.una).div_ceil(self.mss);
        if self.inflation > deflate {
            self.inflation -= deflate - 1;
        } else {
            self.cwnd = (self.cwnd - (deflate - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
        self.acked = number;
        self.point = self.point.max(number);
        self.clock.end_backoff(number);
        self.forced = Forced::Head;
        timer
    }

    /// `Sack1TcpAgent::recv` outside fast recovery.
    fn sack_open(
        &mut self,
        flow: &Flow,
        ack: &Ack<'_>,
        echo: bool,
        stats: &mut SenderStats,
    ) -> Option<Duration> {
        let mut timer = None;
        if ack.segment.ack > flow.una {
            timer = Some(self.new_ack(flow, ack, echo));
            self.open_unless(echo);
            self.timed_out = false;
            self.clear_board();
        } else if !self.timed_out && self.update_board(ack, flow.una) {
            self.duplicates += 1;
            if self.duplicates == DUP_ACKS {
                timer = self.on_third_duplicate(flow, stats);
            } else if self.duplicates < DUP_ACKS {
                self.send_one(flow);
            }
        }
        if self.duplicates == 0 {
            self.burst = u32::MAX;
        }
        timer
    }

    /// `Sack1TcpAgent::recv` in fast recovery, without partial_ack_.
    fn sack_recovery(&mut self, flow: &Flow, ack: &Ack<'_>) -> Option<Duration> {
        let mut timer = None;
        let number = ack.segment.ack;
        self.pipe -= 1;
        if number >= self.recover {
            self.recover = 0;
            self.fast = false;
            // This does not open the window.
            timer = Some(self.new_ack(flow, ack, false));
            self.timed_out = false;
            self.clear_board();
        } else if number > flow.una {
            self.update_board(ack, number);
            self.pipe -= 1;
            timer = Some(self.clock.rto());
            self.clock.backoff = 1;
        } else if !self.timed_out && self.update_board(ack, number) && self.duplicates > 0 {
            self.duplicates += 1;
        }
        self.burst = u32::MAX;
        timer
    }

    /// `newack`. Returns the timeout.
    fn new_ack(&mut self, flow: &Flow, ack: &Ack<'_>, echo: bool) -> Duration {
        let number = ack.segment.ack;
        self.duplicates = 0;
        self.acked = number;
        self.point = self.point.max(number);
        let hold = self.ecn_backoff && echo;
        self.ecn_backoff &= hold;
        self.clock.on_new_ack(flow.now, number, ack.rtt, hold);
        let timeout = self.clock.rto();
        self.idle_until = flow.now + timeout;
        timeout
    }

    /// `recv_newack_helper`
    fn open_unless(&mut self, echo: bool) {
        if !echo {
            self.ecn_backoff = false;
            // opencwnd, windowOption_ 1
            self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        }
    }

    /// `dupack_action`
    fn on_third_duplicate(&mut self, flow: &Flow, stats: &mut SenderStats) -> Option<Duration> {
        // With bugfix_ss_, the first segment after the SYN counts as recovered.
        let recovered = flow.una > self.recover || flow.una == 1;
        let after_echo = !recovered && self.ecn && self.action == Action::Ecn;
        if !recovered && !after_echo {
            // bugFix_
            return None;
        }
        stats.fast_recoveries += 1;
        self.action = Action::DupAck;
        if !after_echo {
            self.recover = flow.next;
        }
        if self.kind == LossRecovery::Sack {
            self.pipe = self.segments(flow.next - flow.una) as i64 - i64::from(DUP_ACKS);
            self.fast = true;
            self.mark(flow.una + self.mss);
        }
        if !after_echo {
            self.slowdown(Cut::Half, true);
        }
        self.inflation = if self.kind == LossRecovery::Sack { 0 } else { u64::from(DUP_ACKS) };
        self.forced = Forced::Head;
        // reset_rtx_timer(1, 0)
        self.clock.stop_timing();
        Some(self.clock.rto())
    }

    /// `send_one`
    fn send_one(&mut self, flow: &Flow) {
        let before = self.ahead(flow) as f64;
        let allowed = (self.cwnd + f64::from(self.duplicates)).min(self.largest);
        if self.limited_transmit && before + 1.0 <= allowed && flow.len(self.point).is_some() {
            self.forced = Forced::Next;
        }
    }

    /// `ecn`
    fn on_echo(&mut self, flow: &Flow, number: u64, stats: &mut SenderStats) {
        if number > self.recover || self.action == Action::Timeout {
            stats.ecn_reductions += 1;
            self.recover = flow.next;
            self.action = Action::Ecn;
            if self.cwnd <= 1.0 && self.ecn_backoff {
                self.clock.back_off();
            }
            self.ecn_backoff = self.cwnd <= 1.0;
            self.slowdown(Cut::Half, true);
        }
    }

    /// `slowdown` with precisionReduce_ and decrease_num_ 0.5: the window keeps its fraction, the
    /// threshold is whole.
    fn slowdown(&mut self, cut: Cut, threshold: bool) {
        let half = (self.cwnd + self.inflation as f64).min(self.largest) / 2.0;
        if threshold {
            self.ssthresh = half.floor();
        }
        self.cwnd = if cut == Cut::Half { half } else { 1.0 };
        self.ssthresh = self.ssthresh.max(2.0);
        self.reduced = true;
    }

    /// Number of segments from the first unacknowledged one up to `point`; none if `point` is
    /// before it, because SACK's partial acknowledgments do not raise it.
    fn ahead(&self, flow: &Flow) -> u64 {
        self.segments(self.point.saturating_sub(flow.una))
    }

    /// `send_much`
    fn next_within_window(&self, flow: &Flow) -> Option<u64> {
        (self.ahead(flow) < self.window()).then_some(self.point)
    }

    /// `Sack1TcpAgent::send_much`
    fn poll_sack(&mut self, flow: &Flow) -> Option<u64> {
        let ahead = self.ahead(flow);
        let open = if self.fast {
            self.pipe < self.cwnd.floor() as i64
        } else {
            self.segments(self.point.saturating_sub(self.acked)) < self.window()
        };
        if !open {
            return None;
        }
        match self.next_hole(flow.una) {
            Some(hole) => {
                self.sending = Sending::Hole;
                let near = self.segments(hole - flow.una) < self.largest as u64;
                (self.recover > 0 && near).then_some(hole)
            }
            None => {
                let most = if self.fast { self.largest as u64 } else { self.window() };
                (ahead < most).then_some(self.point)
            }
        }
    }

    /// `ScoreBoardRQ::GetNextRetran`: the next missing segment below a SACKed one.
    fn next_hole(&mut self, una: u64) -> Option<u64> {
        self.high_rxt = self.high_rxt.max(una);
        let (hole, above) = self.sacked.gap_from(self.high_rxt);
        above?;
        self.high_rxt = hole;
        Some(hole)
    }

    /// `ScoreBoardRQ::MarkRetran`
    fn mark(&mut self, end: u64) {
        self.high_rxt = self.high_rxt.max(end);
    }

    /// `ScoreBoardRQ::UpdateScoreBoard`. Returns whether anything changed.
    fn update_board(&mut self, ack: &Ack<'_>, una: u64) -> bool {
        let mut changed = false;
        if self.board_from <= una {
            self.board_from = una + 1;
            changed = !self.sacked.is_empty();
            self.sacked.remove_below(una);
        }
        for (start, end) in ack.segment.sack_blocks() {
            if start > una && start < end {
                self.sacked.insert(start, end, |_, _| changed = true);
            }
        }
        changed
    }

    fn clear_board(&mut self) {
        self.sacked.clear();
        self.high_rxt = 0;
    }

    /// `window`, with Reno's inflation.
    fn window(&self) -> u64 {
        (self.cwnd.floor() + self.inflation as f64).min(self.largest.floor()) as u64
    }

    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }
}

impl Rules for Ns2 {
    /// `newack` of the SYN. A lost SYN costs more (`timeout`).
    fn on_established(&mut self, now: Time, rtt: Option<Duration>) {
        match rtt {
            Some(rtt) => self.clock.measure(now, rtt),
            None => {
                self.initial = 1.0;
                self.ssthresh = 2.0;
            }
        }
        self.cwnd = self.initial;
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack<'_>, stats: &mut SenderStats) -> Option<Duration> {
        let echo = self.ecn && ack.echo;
        if echo {
            self.on_echo(flow, ack.segment.ack, stats);
        }
        self.burst = 0;
        match self.kind {
            LossRecovery::Sack if self.fast => self.sack_recovery(flow, ack),
            LossRecovery::Sack => self.sack_open(flow, ack, echo, stats),
            LossRecovery::Reno | LossRecovery::NewReno => self.reno(flow, ack, echo, stats),
        }
    }

    /// `timeout`, and what `RenoTcpAgent::timeout` and `Sack1TcpAgent::timeout` do before it.
    fn on_timeout(&mut self, flow: &Flow) -> Duration {
        if flow.una == flow.next {
            // Reductions by echoes left less than a segment, and nothing is outstanding.
            self.slowdown(Cut::One, false);
            self.burst = u32::MAX;
            return self.clock.rto();
        }
        self.inflation = 0;
        self.duplicates = 0;
        self.fast = false;
        self.timed_out = true;
        self.acked = flow.una;
        self.clear_board();
        self.cwnd = self.cwnd.max(1.0);
        self.recover = flow.next;
        // At every timeout, however often the same segment is sent.
        self.slowdown(Cut::One, self.action != Action::Ecn);
        self.action = Action::Timeout;
        // reset_rtx_timer(0, 1)
        self.clock.back_off();
        self.clock.stop_timing();
        self.point = flow.una;
        self.forced = Forced::Nothing;
        self.burst = u32::MAX;
        self.clock.rto()
    }

    fn poll(&mut self, flow: &Flow) -> Option<u64> {
        if flow.una == flow.next && flow.now >= self.idle_until && flow.new.is_some() {
            // `timeout` with nothing outstanding and restart_bugfix_.
            self.idle_until = Time::MAX;
            if self.restart {
                self.slowdown(Cut::One, false);
            }
        }
        self.sending = Sending::Next;
        match std::mem::replace(&mut self.forced, Forced::Nothing) {
            Forced::Head => {
                // output(last_ack_ + 1)
                self.sending = Sending::Head;
                return flow.len(self.acked).map(|_| self.acked);
            }
            Forced::Next => return flow.len(self.point).map(|_| self.point),
            Forced::Nothing => {}
        }
        let start = match self.kind {
            // While nothing is outstanding, what the application writes is sent at once (`sendmsg`).
            _ if flow.una == flow.next => self.next_within_window(flow)?,
            _ if self.burst == 0 => return None,
            LossRecovery::Sack => self.poll_sack(flow)?,
            LossRecovery::Reno | LossRecovery::NewReno => self.next_within_window(flow)?,
        };
        flow.len(start)?;
        self.burst = self.burst.saturating_sub(1);
        Some(start)
    }

    fn sent(&mut self, flow: &Flow, _start: u64, end: u64) {
        if self.sending == Sending::Hole {
            self.mark(end);
        }
        if self.sending != Sending::Head {
            self.pipe += 1;
            self.point = self.point.max(end);
        }
        if end > flow.next {
            self.clock.on_new_data(flow.now, end);
        }
    }

    fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// Whether the window is below one segment (`newtimer`, `timeout`).
    fn shut(&self) -> bool {
        self.cwnd() == 0
    }

    /// The window in bytes; 0 if it is below a segment.
    fn cwnd(&self) -> u64 {
        if self.window() == 0 { 0 } else { (self.cwnd * self.mss as f64) as u64 }
    }

    fn ssthresh(&self) -> u64 {
        (self.ssthresh * self.mss as f64) as u64
    }

    fn srtt(&self) -> Option<Duration> {
        self.clock.srtt()
    }

    fn rto(&self) -> Duration {
        self.clock.rto()
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.sacked.heap()
    }
}
