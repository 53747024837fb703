//! The controller's state of a flow: its level, the last report of its receiver, and whether it is
//! frozen.

use crate::{Ack, FiveTuple, SackBlocks, Tcp, flags};
use forebay_core::Time;

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
    /// Right edge of the last window that a trickle offered.
    pub(super) edge: Option<u32>,
    /// When it began.
    pub(super) since: Time,
    /// Whether the flow may send, because higher levels do not fill the link.
    pub(super) may_send: bool,
    /// Whether the flow itself held lower levels back when it was frozen.
    pub(super) was_active: bool,
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

    /// Records a segment from the sender.
    pub(super) fn on_sent(&mut self, tcp: &Tcp) {
        let end = tcp.end();
        if self.sent.is_none_or(|sent| after(end, sent)) {
            self.sent = Some(end);
        }
        if tcp.has(flags::FIN) {
            self.fin = Some(end);
        }
        self.segment = self.segment.max(tcp.payload_len);
    }

    /// Records a segment from the receiver. Returns whether it acknowledges the sender's FIN.
    pub(super) fn on_said(&mut self, tcp: &Tcp) -> bool {
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

    /// The window field with which the sender may send up to `edge`, relative to `ack`.
    pub(super) fn window_to(&self, edge: u32, ack: u32) -> u16 {
        let room = if after(edge, ack) { edge.wrapping_sub(ack) } else { 0 };
        (room >> self.scale().unwrap_or(0)).min(u32::from(u16::MAX)) as u16
    }
}
