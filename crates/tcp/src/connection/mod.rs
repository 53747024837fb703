//! The connection of a sender, whatever its stack: the stream, the receiver's window, the timer, the
//! handshake, window probes, and the segments themselves.

mod handshake;

use crate::accecn::DataSender;
use crate::congestion::CongestionControl;
use crate::segment::{micros, millis};
use crate::{ConnectionParams, Flags, Segment, SenderStats, State};
use forebay_core::{Duration, Ecn, Time};

pub(crate) use handshake::Opened;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Timer {
    #[default]
    Off,
    Retransmission,
    /// Window probes (RFC 9293, section 3.8.6.1).
    Persist,
}

/// Length of a stream without end. There is as much room again above it, so sums cannot overflow.
pub(crate) const FOREVER: u64 = u64::MAX >> 2;

/// State that every stack's sender has. The fields are in the order of use, so that those which every
/// acknowledgment needs are on adjacent cache lines.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Connection {
    // These fields complete a cache line that begins with the simulator's fields before the sender.
    pub(crate) timer: Timer,
    pub(crate) state: State,
    pub(crate) closed: bool,
    /// Whether the rules are the standards', without pacing, accurate ECN or a controller with
    /// attention. Then a segment needs no check for these.
    pub(crate) plain: bool,
    pub(crate) timestamps: bool,
    /// Marks are echoed and echoes answered (RFC 3168). Until the handshake is over: ECN is wanted.
    pub(crate) ecn: bool,
    /// The codepoint of new data, and that of all packets, including retransmissions and SYNs.
    pub(crate) ect: Flags,
    // The second one.
    /// SND.UNA: the first offset not acknowledged.
    pub(crate) una: u64,
    /// SND.NXT: the first offset not sent.
    pub(crate) next: u64,
    /// Offset after the last byte written, which is that of the FIN.
    pub(crate) end: u64,
    /// SND.UNA + SND.WND: the first offset for which the receiver has no room.
    pub(crate) edge: u64,
    pub(crate) deadline: Time,
    /// Largest window ever offered, in bytes (RFC 9293, Max(SND.WND)).
    pub(crate) largest_window: u32,
    /// Expiries of the timer without progress.
    pub(crate) retries: u32,
    pub(crate) ts_recent: u32,
    pub(crate) always_ect: Flags,
    /// Payload of a full segment in bytes.
    pub(crate) mss: u16,
    /// The window, not the application or the receiver, limited the last poll.
    pub(crate) limited: bool,
    /// A SYN, or the ACK that ends the handshake, must be sent.
    pub(crate) handshake_due: bool,
    /// A window probe must be sent.
    pub(crate) probe_due: bool,
    /// The octet at `next` was sent as a window probe.
    pub(crate) probed: bool,
    /// CWR is set on the next new data (RFC 3168, section 6.1.2).
    pub(crate) cwr_due: bool,
    pub(crate) persist_backoff: u8,
    // The third.
    pub(crate) segments_sent: u64,
    pub(crate) last_sent: Time,
    pub(crate) stats: SenderStats,
    /// Set in AccECN mode, and while it is requested.
    pub(crate) accurate: Option<Box<DataSender>>,
    // The first word of the fourth, whose rest is the window.
    retries_allowed: u32,
    habits: Habits,
}

/// Differences of Linux's senders in the handshake and its clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habits {
    /// The timestamp clock counts milliseconds.
    pub(crate) millis: bool,
    /// An ACK of its own ends the handshake.
    pub(crate) separate_ack: bool,
    /// A SYN that is sent again requests no ECN (`tcp_ecn_clear_syn`).
    pub(crate) plain_syn_again: bool,
}

/// The parts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) connection: &'a ConnectionParams,
    pub(crate) congestion: &'a CongestionControl,
    pub(crate) now: Time,
}

impl Connection {
    /// A connection that is opened now. `first_window` is the receiver's if there is no handshake.
    pub(crate) fn new(site: &Site<'_>, first_window: u64, habits: Habits) -> Self {
        let Site { connection: params, congestion, now } = *site;
        let always = if params.ecn { congestion.always_ect() } else { Flags::NONE };
        let accurate = params.accurate_ecn.then(|| Box::new(DataSender::new()));
        Connection {
            una: u64::from(!params.handshake),
            next: u64::from(!params.handshake),
            end: 1,
            edge: if params.handshake { 1 } else { 1 + first_window },
            largest_window: first_window as u32,
            mss: params.mss() as u16,
            deadline: Time::MAX,
            state: if params.handshake { State::SynSent } else { State::Established },
            timestamps: params.timestamps,
            ecn: params.ecn && (params.handshake || accurate.is_none()),
            ect: Flags::NONE.with_if(params.ecn && always == Flags::NONE, Flags::ECT).with(always),
            always_ect: always,
            handshake_due: params.handshake,
            habits,
            retries_allowed: params.max_retransmissions.unwrap_or(u32::MAX),
            last_sent: now,
            accurate,
            ..Connection::default()
        }
    }

    /// Payload of a full segment in bytes.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// Reads what concerns the connection of an arriving segment, whose packet had the codepoint
    /// `ecn`. Returns None if the stack need not see it, otherwise whether the window that it offers
    /// is wider than before, and whether it repeats the last one.
    #[inline]
    pub(crate) fn admit(&mut self, segment: &Segment, ecn: Ecn) -> Option<Offered> {
        if segment.flags.has(Flags::RST.with(Flags::SYN)) {
            if segment.flags.has(Flags::RST) {
                self.finish(State::Aborted);
            } else {
                self.on_syn_ack_again(ecn);
            }
            return None;
        }
        // RFC 9293, section 3.10.7.4: neither old nor of anything not sent.
        let sent = self.next + u64::from(self.probed);
        if !segment.flags.has(Flags::ACK) || segment.ack < self.una || segment.ack > sent {
            return None;
        }
        if segment.has_timestamp {
            self.ts_recent = segment.tsval;
        }
        if !self.plain
            && let Some(accurate) = &mut self.accurate
        {
            self.handshake_due |= accurate.on_packet(ecn);
        }
        if segment.ack > self.next {
            // The window probe's octet was taken.
            self.next = segment.ack;
            self.probed = false;
        }
        let edge = segment.ack + u64::from(segment.window);
        let offered =
            Offered { repeated: segment.len == 0 && edge == self.edge, widened: edge > self.edge };
        self.edge = edge;
        self.largest_window = self.largest_window.max(segment.window);
        if self.timer == Timer::Persist {
            // RFC 9293, section 3.8.6.1: as long as probes are answered, the connection stays.
            self.retries = 0;
        }
        Some(offered)
    }

    /// `ack` advances SND.UNA.
    #[inline]
    pub(crate) fn advance(&mut self, ack: u64) {
        self.una = ack;
        self.retries = 0;
        self.persist_backoff = 0;
    }

    /// The timer has expired. Returns false if the connection is given up.
    pub(crate) fn try_again(&mut self) -> bool {
        self.retries += 1;
        let again = self.retries <= self.retries_allowed;
        if !again {
            self.finish(State::Aborted);
        }
        again
    }

    pub(crate) fn finish(&mut self, state: State) {
        self.state = state;
        self.handshake_due = false;
        self.probe_due = false;
        self.set_timer(Timer::Off, Time::MAX);
    }

    #[inline]
    pub(crate) fn set_timer(&mut self, timer: Timer, deadline: Time) {
        self.timer = timer;
        self.deadline = deadline;
    }

    /// Bytes sent and not acknowledged cumulatively (RFC 5681, FlightSize).
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// The round-trip time that the timestamp of `segment` shows.
    #[inline]
    pub(crate) fn echoed(&self, now: Time, segment: &Segment) -> Option<Duration> {
        // RFC 7323, section 4.1; the echo is exact even of retransmissions.
        let ago = u64::from(self.clock(now).wrapping_sub(segment.tsecr));
        let unit = Duration::from_micros(if !self.plain && self.habits.millis { 1000 } else { 1 });
        segment.has_timestamp.then(|| unit * ago)
    }

    /// Length of the next segment of new data, if the receiver has room for it: everything that is
    /// left, or a full segment, or half the largest window (RFC 9293, section 3.8.6.2.1). None if
    /// there is nothing to send; 0 for a FIN alone. `anyhow` sends what fits, after the persist
    /// timer.
    #[inline]
    pub(crate) fn new_len(&self, anyhow: bool) -> Option<u64> {
        let left = self.end.saturating_sub(self.next);
        if left == 0 {
            return (self.closed && self.next == self.end).then_some(0);
        }
        let room = self.edge.saturating_sub(self.next);
        let whole = left.min(self.mss());
        if whole <= room {
            Some(whole)
        } else if room > 0 && (anyhow || 2 * room >= u64::from(self.largest_window)) {
            Some(room)
        } else {
            None
        }
    }

    pub(crate) fn has_more(&self) -> bool {
        self.new_len(false).is_some()
    }

    /// The next `len` bytes, with the FIN if they are the last.
    #[inline(always)]
    pub(crate) fn send_new(&mut self, now: Time, len: u64, segment: &mut Segment) {
        self.probe_due = false;
        self.probed = false;
        let start = self.next;
        let fin = self.closed && start + len == self.end;
        let cwr = len > 0 && std::mem::take(&mut self.cwr_due);
        let flags = Flags::ACK.with_if(fin, Flags::FIN).with_if(cwr, Flags::CWR).with(if len > 0 {
            self.ect
        } else {
            Flags::NONE
        });
        self.next = start + len + u64::from(fin);
        self.emit(now, start, len as u32, flags, segment);
    }

    /// A window probe, if it is due: one octet beyond the window, not ECN-capable (RFC 9293,
    /// section 3.8.6.1; RFC 3168, section 6.1.6). It counts as sent only when it is acknowledged.
    /// Otherwise the ACK that ends the handshake.
    #[cold]
    pub(crate) fn send_bare(&mut self, now: Time, segment: &mut Segment) {
        let probes = std::mem::take(&mut self.probe_due);
        if probes {
            self.probed = true;
            self.stats.probes += 1;
        }
        self.emit(now, self.next, u32::from(probes), Flags::ACK, segment);
    }

    #[inline]
    fn clock(&self, now: Time) -> u32 {
        if !self.plain && self.habits.millis { millis(now) } else { micros(now) }
    }

    #[inline(always)]
    pub(crate) fn emit(
        &mut self,
        now: Time,
        seq: u64,
        len: u32,
        mut flags: Flags,
        segment: &mut Segment,
    ) {
        if !self.plain {
            flags = self.counted(flags, len);
        }
        self.last_sent = now;
        self.handshake_due = false;
        self.segments_sent += 1;
        *segment = Segment {
            seq,
            ack: 1,
            len,
            window: 65_535,
            tsval: if self.timestamps { self.clock(now) } else { 0 },
            tsecr: self.ts_recent,
            flags: flags.with(self.always_ect),
            has_timestamp: self.timestamps,
            ..Segment::default()
        };
    }

    /// `flags` of a segment with `len` bytes of payload, with the reports of AccECN.
    fn counted(&mut self, flags: Flags, len: u32) -> Flags {
        match &mut self.accurate {
            Some(accurate) if !flags.has(Flags::SYN) => {
                flags.with_ace(accurate.ace(len == 0 && !flags.has(Flags::FIN)))
            }
            _ => flags,
        }
    }
}

/// The window that an acknowledgment offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    /// It is equal to the last one, and the segment has no data.
    pub(crate) repeated: bool,
    /// It is wider than the last one.
    pub(crate) widened: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn what_every_acknowledgment_touches_is_on_whole_cache_lines() {
        // The first word is the end of a line.
        assert_eq!(offset_of!(Connection, una), 8);
        assert_eq!(offset_of!(Connection, segments_sent), 8 + 64);
        assert_eq!(size_of::<Connection>(), 8 + 64 + 64 + 8);
    }
}
