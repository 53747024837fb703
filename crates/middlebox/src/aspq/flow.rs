//! The controller's state of a flow: its level, the last report of its receiver, and whether it is
//! frozen.

use crate::{Ack, FiveTuple, SackBlocks, Tcp, flags};
use forebay_core::{Duration, Time};

/// Whether `a` comes after `b` (RFC 9293, section 3.4, modulo 2^32).
#[inline]
pub(super) fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The last report of the receiver of a flow's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// Sequence number of the segment that contained it (SND.WL1 of RFC 9293, section 3.10.7.4).
    pub(super) seq: u32,
    /// Next sequence number of the receiver's own data.
    pub(super) next: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) timestamps: Option<(u32, u32)>,
    pub(super) sack: SackBlocks,
}

/// The phase of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its segments pass unchanged.
    Open,
    /// Its sender is told that there is no window.
    Frozen(Frozen),
    /// Its window is opened in steps: the sender may send up to `edge`, and more at `next`.
    Releasing { start: u32, flight: u32, step: u32, next: Time },
    /// Its window is open, but no data have yet shown that its sender knows this.
    Waiting { left: u8, next: Time },
}

/// A flow's freeze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frozen {
    /// When the freeze limit ends it.
    pub(super) until: Time,
    /// Data sent and not acknowledged when it began, in bytes.
    pub(super) flight: u32,
    /// When the sender may next send a segment.
    pub(super) trickle: Time,
    /// Right edge of the last window offered, by a trickle or while it is partial.
    pub(super) edge: Option<u32>,
    /// When it began.
    pub(super) since: Time,
    /// Whether the flow may use what higher levels leave.
    pub(super) is_partial: bool,
    /// Whether the flow itself held lower levels back when it was frozen.
    pub(super) was_active: bool,
}

/// The round trip of a flow, as seen from a place between its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Path {
    /// When the receiver's SYN passed.
    syn: Option<Time>,
    /// From that to the sender's answer.
    to_sender: Option<Duration>,
    /// A segment that is being timed: the sequence number after it, and when it passed.
    timed: Option<(u32, Time)>,
    /// The least time from a segment to its acknowledgment.
    to_receiver: Option<Duration>,
}

impl Path {
    /// The receiver's SYN passes.
    pub(super) fn on_syn(&mut self, now: Time) {
        self.syn = self.syn.or(Some(now));
    }

    /// A segment passes from the sender, which makes `end` the highest number sent.
    fn on_sent(&mut self, end: Option<u32>, now: Time) {
        if let (Some(syn), None) = (self.syn, self.to_sender) {
            self.to_sender = Some(now.since(syn));
        }
        self.timed = self.timed.or(end.map(|end| (end, now)));
    }

    /// The receiver acknowledges what comes before `ack`.
    fn on_said(&mut self, ack: u32, now: Time) {
        if let Some((_, then)) = self.timed.filter(|(end, _)| !after(*end, ack)) {
            let taken = now.since(then);
            self.to_receiver = Some(self.to_receiver.map_or(taken, |least| least.min(taken)));
            self.timed = None;
        }
    }
}

/// A flow. Data go forward, to the congested link; acknowledgments come back.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// Addresses, ports and protocol, as in its forward packets.
    pub(super) key: FiveTuple,
    pub(super) level: u8,
    /// Whether it counts among the flows for which lower levels are frozen.
    pub(super) active: bool,
    /// When the last packet passed that counts as activity.
    pub(super) last_active: Time,
    pub(super) phase: Phase,
    /// The flow is not frozen until the highest active level has fallen more often than this.
    pub(super) exempt: Option<u64>,
    /// The time of its entry among the timers; [`Time::MAX`] if there is none.
    pub(super) timer: Time,
    pub(super) said: Option<Said>,
    /// End of the interval in which it last counted as one that shares the link.
    pub(super) counted: Time,
    pub(super) path: Path,
    /// Sequence number after the last that the sender sent.
    pub(super) sent: Option<u32>,
    /// Largest payload sent, in bytes.
    pub(super) segment: u32,
    /// Sequence number after the sender's FIN, once it was seen.
    pub(super) fin: Option<u32>,
    /// Window scales in the SYNs of the sender and of the receiver.
    pub(super) scales: [Option<Option<u8>>; 2],
}

impl Flow {
    pub(super) fn new(key: FiveTuple, level: u8, now: Time) -> Self {
        Flow {
            key,
            level,
            active: false,
            last_active: now,
            phase: Phase::Open,
            exempt: None,
            timer: Time::MAX,
            said: None,
            counted: Time::ZERO,
            path: Path::default(),
            sent: None,
            segment: 0,
            fin: None,
            scales: [None, None],
        }
    }

    /// Bytes of one unit of the receiver's window field, as a shift count. None if the handshake
    /// was not seen (RFC 7323, section 2.2: both SYNs must have the option).
    pub(super) fn scale(&self) -> Option<u8> {
        match self.scales {
            [Some(Some(_)), Some(Some(receiver))] => Some(receiver.min(14)),
            [Some(_), Some(_)] => Some(0),
            _ => None,
        }
    }

    /// The least round trip seen. None if the handshake was not seen.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        Some(self.path.to_sender? + self.path.to_receiver?)
    }

    /// Records a segment from the sender.
    pub(super) fn on_sent(&mut self, tcp: &Tcp, now: Time) {
        let end = tcp.end();
        let is_new = self.sent.is_none_or(|sent| after(end, sent));
        if is_new {
            self.sent = Some(end);
        }
        self.path.on_sent(is_new.then_some(end), now);
        if tcp.has(flags::FIN) {
            self.fin = Some(end);
        }
        self.segment = self.segment.max(tcp.payload_len);
    }

    /// Records a segment from the receiver. Returns whether it acknowledges the sender's FIN.
    pub(super) fn on_said(&mut self, tcp: &Tcp, now: Time) -> bool {
        self.path.on_said(tcp.ack, now);
        // The rule by which the sender takes a window (RFC 9293, section 3.10.7.4).
        let newer = self.said.is_none_or(|said| {
            after(tcp.ack, said.ack) || (tcp.ack == said.ack && !after(said.seq, tcp.seq))
        });
        if newer {
            self.said = Some(Said {
                seq: tcp.seq,
                next: tcp.end(),
                ack: tcp.ack,
                window: tcp.window,
                timestamps: tcp.timestamps,
                sack: tcp.sack,
            });
        }
        self.fin.is_some_and(|fin| !after(fin, tcp.ack))
    }

    /// Whether all data seen are acknowledged.
    pub(super) fn is_drained(&self) -> bool {
        matches!((self.sent, self.said), (Some(sent), Some(said)) if !after(sent, said.ack))
    }

    /// Data seen and not acknowledged, in bytes.
    pub(super) fn flight(&self) -> u32 {
        match (self.sent, self.said) {
            (Some(sent), Some(said)) if after(sent, said.ack) => sent.wrapping_sub(said.ack),
            _ => 0,
        }
    }

    /// Whether a segment of a frozen sender asks if its window is open again: no or one octet
    /// before the next one (as Linux and BSD do), or one octet from the next one on (RFC 9293,
    /// section 3.8.6.1) while nothing else is in transit.
    pub(super) fn is_probe(&self, tcp: &Tcp) -> bool {
        let Some(said) = self.said else { return false };
        if tcp.has(flags::SYN | flags::FIN | flags::RST) || tcp.payload_len > 1 {
            return false;
        }
        tcp.seq == said.ack.wrapping_sub(1)
            || (tcp.seq == said.ack && tcp.payload_len == 1 && self.is_drained())
    }

    /// Whether a RST from the sender's side is valid: it has the number that the sender sends next,
    /// or that the receiver expects (RFC 5961, section 3).
    pub(super) fn is_ended_by_sender(&self, rst: &Tcp) -> bool {
        self.sent.is_none_or(|sent| rst.seq == sent)
            || self.said.is_some_and(|said| rst.seq == said.ack)
    }

    /// Whether a RST from the receiver's side is valid.
    pub(super) fn is_ended_by_receiver(&self, rst: &Tcp) -> bool {
        self.said.is_none_or(|said| rst.seq == said.next)
    }

    /// An acknowledgment on behalf of the receiver. It repeats the receiver's last report, with
    /// `window`, which is no larger than the receiver's own.
    pub(super) fn speak(&self, said: &Said, window: u16) -> Ack {
        Ack {
            flow: self.key.reversed(),
            seq: said.next,
            ack: said.ack,
            window: window.min(said.window),
            timestamps: said.timestamps,
            sack: said.sack,
        }
    }

    /// The receiver's SYN passes.
    pub(super) fn on_receivers_syn(&mut self, syn: &Tcp, now: Time) {
        if syn.has(flags::ACK) {
            self.path.on_said(syn.ack, now);
        } else {
            self.path = Path::default();
        }
        self.path.on_syn(now);
    }

    /// The window field, relative to `ack`, with which a sender that is partly held back may have
    /// `bytes` in flight. Its right edge is never before one that was offered so far in this way,
    /// or before what was sent, so only room that the sender has not used is withdrawn.
    pub(super) fn offer(&mut self, bytes: u32, ack: u32) -> u16 {
        let Some(said) = self.said else { return 0 };
        let mut edge = said.ack.wrapping_add(bytes);
        let Phase::Frozen(frozen) = &mut self.phase else { return 0 };
        for least in frozen.edge.into_iter().chain(self.sent) {
            edge = if after(least, edge) { least } else { edge };
        }
        frozen.edge = Some(edge);
        self.window_to(edge, ack)
    }

    /// The window field with which the sender may send up to `edge`, relative to `ack`.
    pub(super) fn window_to(&self, edge: u32, ack: u32) -> u16 {
        let room = if after(edge, ack) { edge.wrapping_sub(ack) } else { 0 };
        (room >> self.scale().unwrap_or(0)).min(u32::from(u16::MAX)) as u16
    }
}
