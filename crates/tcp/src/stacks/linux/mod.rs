//! Linux's TCP sender and receiver of four versions, by their own rules (`net/ipv4`). They count
//! segments, not bytes. Each segment has marks, and a machine with five states reads
//! acknowledgments.
//!
//! | here | there |
//! |---|---|
//! | [`Machine`] | `struct tcp_sock`, `struct inet_connection_sock` |
//! | `queue` | the retransmission queue: `tcp_skb_cb.sacked`, `packets_out`, `sacked_out`, `lost_out`, `retrans_out` |
//! | `sacks` | `tcp_sacktag_write_queue` |
//! | `old` | `tcp_ack` and `tcp_fastretrans_alert` of 2.6: rate halving, forward acknowledgment |
//! | `frto` | F-RTO of 2.6.26 |
//! | `modern` | the same of 6.1 and later: proportional rate reduction |
//! | `idle` | `tcp_cwnd_restart`, `tcp_cwnd_application_limited` |
//! | `rate` | `tcp_rate.c`: samples of the delivery rate, for BBR |
//! | `rack` | `tcp_recovery.c`, tail loss probes |
//! | `rtt`, `congestion`, `cube_root` | `tcp_rtt_estimator`; `tcp_cong.c`, `tcp_cubic.c`, `tcp_dctcp.c`, `tcp_bbr.c`; L4STeam's `tcp_prague.c` |
//! | `congestion/foreign` | a module with another control |
//! | `control` | what the control is told: `tcp_set_ca_state`, `tcp_cong_control` of 6.1 |
//! | `receiver` | delayed and immediate acknowledgments |
//! | `reported` | SACK blocks: `tcp_sack_new_ofo_skb` |
//! | `sender` | `tcp_write_xmit`, as the connection asks for it |
//! | `send_buffer` | the memory of 6.1's sender: `tcp_sendmsg_locked`, `tcp_check_space` |
//! | `segmentation` | segmentation offload of 6.1: `tcp_tso_segs`, `tcp_tso_should_defer` |
//! | `receive_buffer` | the window of 6.1: `tcp_grow_window`, `tcp_rcv_space_adjust` |
//!
//! Accurate ECN and Prague are those of L4STeam's Linux 5.15, because 6.1 has neither.
//!
//! Left out: pressure on the host's memory, MTU probing, urgent data, Fast Open, and connections
//! without SACK. The smallest round-trip time of the last five minutes is that of the whole
//! connection.

mod ack;
mod clock;
mod congestion;
mod control;
mod cube_root;
mod frto;
mod idle;
mod modern;
mod old;
mod params;
mod queue;
mod rack;
mod rate;
mod receive_buffer;
mod receiver;
mod reported;
mod rtt;
mod sacks;
mod segmentation;
mod send_buffer;
mod sender;
mod version;

use crate::Segment;
use crate::connection::{Connection, Site};
use crate::pace::Pace;
use crate::segment::millis;
use ack::{Ack, Report};
use clock::Clock;
use congestion::{Congestion, Cubic, Cwnd};
use forebay_core::{Duration, Time};
pub use params::{Linux26Params, LinuxParams};
use queue::{EVER, FIN, LOST, PUSH, Queue, RETRANS, SACKED, Sent};
use rack::Rack;
use rate::Rates;
pub(crate) use receive_buffer::ReceiveBuffer;
pub(super) use receive_buffer::first_window;
pub(crate) use receiver::Acknowledging;
use rtt::Estimator;
use segmentation::Leaving;
use send_buffer::SendBuffer;
pub use version::Version;

/// `icsk_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum State {
    #[default]
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Pending {
    #[default]
    Nothing,
    Timeout,
    /// A tail loss probe.
    Probe,
    /// Segments that may have been reordered count as lost then (RACK).
    Reordering,
}

/// The limit of what may leave before the application writes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Push {
    /// Everything (`__tcp_push_pending_frames`).
    #[default]
    All,
    /// One buffer, which does not wait for more (`tcp_push_one`).
    One,
    /// Nothing.
    Done,
}

/// The buffers to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Resend {
    #[default]
    Nothing,
    /// The first segment of this buffer, whatever the window allows.
    Forced(usize),
    /// This buffer, but it does not count as in flight again (a tail loss probe).
    Probe(usize),
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data, and lost segments only if there are none (F-RTO of 6.1).
    NewFirst,
}

/// The sender's half. All offsets are those of the stream.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    version: Version,
    clock: Clock,
    una: u64,
    next: u64,
    mss: u64,
    window: Cwnd,
    initial: u32,
    state: State,
    queue: Queue,
    congestion: Congestion,
    estimator: Estimator,
    /// The state lasts until this offset is acknowledged.
    high_seq: u64,
    /// Threshold and window before the last reduction; 0 if it must not be undone.
    prior_ssthresh: u32,
    prior_cwnd: u32,
    reduced: bool,
    /// Start of the reduction; 0 if it cannot be undone.
    undo_marker: u64,
    /// Retransmissions since then that no D-SACK has answered.
    undo_retrans: i32,
    /// The timestamp of the first retransmission.
    retrans_stamp: Option<u32>,
    retransmits: u32,
    total_retrans: u32,
    /// Number of reordered segments that does not yet mean loss.
    reordering: u32,
    reordering_seen: bool,
    /// Forward acknowledgment is used until reordering is seen.
    forward: bool,
    /// The end of the highest SACKed segment, and the number of segments up to there.
    fack: u64,
    fack_count: u32,
    blocks: [(u64, u64); 3],
    /// The place at which 2.6.18's walk over the queue stopped.
    hint: Option<u64>,
    resend: Resend,
    /// A timer has expired, and new data wait for the next acknowledgment.
    holds_new: bool,
    pending: Pending,
    deadline: Time,
    /// When the kernel's timer fires. It stays queued even if it is no longer needed.
    queued: Time,
    /// When the window was last full, and how much of it was used since then.
    used_at: Time,
    used: u32,
    last_sent: Time,
    // F-RTO of 2.6.26: ACKs since the timeout, and what was sent before it.
    frto_counter: u8,
    frto_highmark: u64,
    // 6.1.
    frto: bool,
    prr_delivered: u32,
    prr_out: u32,
    /// Losses found in total, and at the last check.
    lost: u32,
    duplicates: u32,
    delivered: u32,
    /// Segments of these with an echo (`delivered_ce`).
    delivered_marked: u32,
    rack: Rack,
    /// The last offset sent when a tail loss probe was sent; 0 if there is none.
    probe_seq: u64,
    probe_retrans: bool,
    limited: bool,
    most_out: u32,
    usage_seq: u64,
    sent_now: u32,
    buffer: Option<SendBuffer>,
    /// Most segments in a buffer that leaves (`sk_gso_max_segs`).
    gso_max_segs: u32,
    /// In bytes per second (`sk_pacing_rate`).
    pacing_rate: u64,
    leaving: Leaving,
    /// The end of the last buffer with a segment that is not full (`snd_sml`).
    small: u64,
    push: Push,
    /// A buffer waits until the window has room for more of it (`is_cwnd_limited`).
    deferred: bool,
    /// State for BBR.
    rates: Option<Box<Rates>>,
    paced: bool,
    slow_start_after_idle: bool,
    pace: Pace,
    /// A new segment must be sent as a tail loss probe.
    loss_probe_due: bool,
}

impl Machine {
    pub(super) fn new(version: Version, params: &LinuxParams, site: &Site<'_>) -> Self {
        let (connection, now) = (site.connection, site.now);
        let clock = Clock { tick: params.tick };
        let congestion = Congestion::new(version, clock, site);
        let cubic = matches!(congestion, Congestion::Cubic(_));
        let rates = matches!(congestion, Congestion::Bbr(_)).then(|| Box::new(Rates::new(now)));
        let most = connection.max_window.unwrap_or(u32::MAX >> 1);
        let first = match connection.initial_ssthresh {
            Some(segments) => segments,
            None if cubic && version == Version::Linux2_6_18 => Cubic::INITIAL_SSTHRESH,
            None => Cwnd::INFINITE,
        };
        let unit = if version.is_2_6() { clock.tick } else { Duration::from_micros(1) };
        let start = u64::from(!connection.handshake);
        let source = congestion.pace(connection.pacing);
        let governs = congestion.governs();
        let mut machine = Machine {
            version,
            clock,
            una: start,
            next: start,
            mss: connection.mss(),
            window: Cwnd {
                cwnd: connection.initial_window.min(most),
                ssthresh: first,
                count: 0,
                most,
            },
            initial: connection.initial_window,
            congestion,
            estimator: Estimator::new(connection, clock, unit),
            reordering: 3,
            forward: true,
            fack: start,
            deadline: Time::MAX,
            used_at: now,
            last_sent: now,
            queue: Queue::new(connection.mss()),
            buffer: (!version.is_2_6()).then(|| SendBuffer::new(version, site, params)),
            gso_max_segs: params.gso_max_segs,
            pacing_rate: u64::MAX,
            paced: connection.pacing,
            slow_start_after_idle: connection.slow_start_after_idle && !governs,
            rates,
            pace: Pace::new(source, now),
            ..Machine::default()
        };
        if !connection.handshake {
            machine.begin_rates(now, None);
            machine.begin_prague(now);
        }
        machine
    }

    fn cwnd(&self) -> u64 {
        u64::from(self.window.cwnd) * self.mss
    }

    fn ssthresh(&self) -> u64 {
        match self.window.ssthresh {
            Cwnd::INFINITE => u64::MAX,
            segments => u64::from(segments) * self.mss,
        }
    }

    /// An acknowledgment or an expiry of the timer comes.
    fn begin(&mut self, now: Time) {
        let (in_flight, out) = (self.queue.in_flight(), self.queue.out());
        match &mut self.congestion {
            Congestion::Foreign(foreign) => foreign.begin(now, in_flight, out),
            Congestion::Prague(prague) => prague.begin(now),
            _ => {}
        }
    }

    /// A buffer is sent, for the first time or again.
    fn tell_sent(&mut self, now: Time, start: u64, len: u32) {
        let (in_flight, mss) = (self.queue.in_flight(), self.mss);
        let Some(foreign) = self.congestion.foreign_mut() else { return };
        let end = start + u64::from(len);
        for (before, at) in (start..end.max(start + 1)).step_by(mss as usize).enumerate() {
            foreign.on_sent(now, at, end.min(at + mss), in_flight + before as u32);
        }
    }

    /// The next buffer to send again now. `more` is as in [`Machine::on_ack`]; `held` says that
    /// pacing holds back everything that is not forced.
    fn next_resend(&mut self, now: Time, more: bool, held: bool) -> Option<Leaving> {
        match self.resend {
            Resend::Nothing => None,
            Resend::Lost if held => None,
            // Acknowledged before it could go.
            Resend::Forced(at) | Resend::Probe(at) if at >= self.queue.len() => {
                self.resend = Resend::Nothing;
                None
            }
            Resend::Forced(at) => {
                self.resend = Resend::Nothing;
                self.split(at, 1);
                Some(self.send_again(now, at))
            }
            Resend::Probe(at) => {
                self.resend = Resend::Nothing;
                let again = *self.queue.get(at);
                self.tell_sent(now, again.seq, u32::from(again.len));
                let sent = self.queue.resend(at, now, self.next, 0);
                self.rate_resent(at);
                self.total_retrans += 1;
                self.last_sent = now;
                Some(Leaving::again(&sent, 1))
            }
            Resend::Lost => self.resend_lost(now, more),
            Resend::NewFirst => None,
        }
    }

    /// Lost segments, as far as the window allows. In 2.6's Recovery then those that may be lost, if
    /// there is nothing new to send (`tcp_xmit_retransmit_queue`).
    fn resend_lost(&mut self, now: Time, more: bool) -> Option<Leaving> {
        let room = self.window.cwnd.saturating_sub(self.queue.in_flight());
        let old = self.version.is_2_6();
        let unsent = self.queue.lost > if old { 0 } else { self.queue.retrans };
        let lost = |sent: &Sent| sent.marks & (LOST | SACKED | RETRANS) == LOST;
        let mut at = (room > 0 && unsent).then(|| self.queue.iter().position(lost)).flatten();
        if old && at.is_none() && room > 0 && self.state == State::Recovery && !more {
            at = self.may_be_lost();
        }
        let Some(at) = at else {
            self.resend = Resend::Nothing;
            return None;
        };
        self.split(at, room.min(self.at_once()));
        let resent = self.send_again(now, at);
        if self.in_reduction() {
            self.prr_out += self.queue.segments(self.queue.get(at));
        }
        Some(resent)
    }

    /// The buffer at `seq` has left again. The timer restarts if that is the first one.
    fn on_resent(&mut self, now: Time, seq: u64) {
        if self.resend == Resend::Lost && seq == self.una && self.pending != Pending::Reordering {
            self.set_paced_timer(now, Pending::Timeout, self.estimator.rto);
        }
    }

    /// Whether the window allows a new segment. Before 6.12 the last one goes with its FIN whatever
    /// the window is (`tcp_cwnd_test`).
    fn lets_new(&self, connection: &Connection) -> bool {
        !self.holds_new
            && (self.queue.in_flight() < self.window.cwnd
                || (connection.closed
                    && self.version < Version::Linux6_12
                    && connection.end.saturating_sub(self.next) <= self.mss))
    }

    /// A buffer of new data was sent: `len` bytes from `next` on, with `marks`.
    fn on_new(&mut self, now: Time, len: u32, marks: u8) {
        let first = self.queue.is_empty();
        if first {
            self.on_restart(now);
        }
        self.tell_sent(now, self.next, len);
        let sent = Sent { seq: self.next, at: now, ahead: 0, len: len as u16, marks };
        self.rate_sent(now);
        self.queue.push(sent);
        self.next = sent.end();
        let segments = self.queue.segments(&sent);
        self.sent_now += segments;
        if u64::from(len) < u64::from(segments) * self.mss {
            self.small = self.next;
        }
        self.last_sent = now;
        if first || self.pending == Pending::Probe {
            self.rearm(now);
        }
        self.check_space();
    }

    /// Nothing more is sent until the next event. `more` is as in [`Machine::on_ack`]. Returns true
    /// if something may be sent now after all.
    fn settled(&mut self, now: Time, more: bool) -> bool {
        if self.resend == Resend::NewFirst {
            if self.next > self.high_seq {
                self.resend = Resend::Nothing;
            } else {
                self.frto = false;
                self.resend = Resend::Lost;
                return true;
            }
        }
        self.check_space();
        let sent = std::mem::take(&mut self.sent_now);
        if self.version.is_2_6() {
            if sent > 0 {
                self.validate_2_6(now, more);
            }
            return false;
        }
        let in_flight = self.queue.in_flight();
        let deferred = std::mem::take(&mut self.deferred);
        let limited = !self.holds_new && (deferred || in_flight >= self.window.cwnd);
        let sleeps = self.buffer.as_ref().is_some_and(|buffer| buffer.sleeps);
        if let Some(foreign) = self.congestion.foreign_mut()
            && !(more || limited || sleeps)
        {
            foreign.on_idle(in_flight);
        }
        if sent > 0 || (limited && more) {
            self.validate_6_1(now, limited, more);
        }
        if sent > 0 {
            if self.in_reduction() {
                self.prr_out += sent;
            }
            self.schedule_probe(now, false);
        }
        false
    }

    /// Whether the window is being reduced to its threshold.
    fn in_reduction(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    fn set_timer(&mut self, now: Time, pending: Pending, after: Duration) {
        self.pending = pending;
        self.queued = self.clock.expiry(self.version, now, after, self.queued);
        self.deadline = self.queued;
    }

    /// The same; 6.1 adds the whole ticks for which the pace holds back (`tcp_pacing_delay`).
    fn set_paced_timer(&mut self, now: Time, pending: Pending, mut after: Duration) {
        if !self.version.is_2_6() {
            let held = self.pace.until.since(now).as_nanos() / self.clock.tick.as_nanos();
            after += self.clock.tick.saturating_mul(held);
        }
        self.set_timer(now, pending, after);
    }

    fn stop_timer(&mut self) {
        self.pending = Pending::Nothing;
        self.deadline = Time::MAX;
    }

    /// Restarts the retransmission timer (`tcp_rearm_rto`). In 6.1 it counts from when the first
    /// segment was sent, if another timer ran in its place.
    fn rearm(&mut self, now: Time) {
        let Some(head) = self.queue.front() else { return self.stop_timer() };
        let rto = self.estimator.rto;
        let after = match self.pending {
            Pending::Probe | Pending::Reordering => {
                (head.at + rto).since(now).max(Duration::from_micros(1))
            }
            _ => rto,
        };
        self.set_paced_timer(now, Pending::Timeout, after);
    }

    /// `tcp_retransmit_skb`.
    fn send_again(&mut self, now: Time, at: usize) -> Leaving {
        let again = *self.queue.get(at);
        self.tell_sent(now, again.seq, u32::from(again.len));
        let sent = self.queue.resend(at, now, self.next, RETRANS);
        self.rate_resent(at);
        let segments = self.queue.segments(&sent);
        self.total_retrans += segments;
        self.retrans_stamp.get_or_insert(millis(now));
        self.undo_retrans = self.undo_retrans.max(0) + segments as i32;
        self.last_sent = now;
        Leaving::again(&sent, segments)
    }

    /// Whether retransmissions were unnecessary: all of them were answered by D-SACKs, or the
    /// acknowledged data were sent before the first of them (`tcp_may_undo`).
    fn may_undo(&self, segment: &Segment) -> bool {
        self.undo_marker > 0 && (self.undo_retrans == 0 || self.is_delayed(segment))
    }

    /// `tcp_packet_delayed`.
    fn is_delayed(&self, segment: &Segment) -> bool {
        let before = |first: u32| {
            segment.has_timestamp
                && segment.tsecr != 0
                && (segment.tsecr.wrapping_sub(first) as i32) < 0
        };
        self.retrans_stamp.is_none_or(before)
    }
}
