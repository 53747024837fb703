//! The receiver of Linux 6.1. It counts memory, and the application, which runs right after each
//! segment, influences when the segment is acknowledged (`tcp_recvmsg`, `tcp_cleanup_rbuf`).

use super::Receiver;
use crate::stacks::{Acknowledging, ReceiveBuffer};
use crate::{Flags, Segment};
use forebay_core::Time;

impl Receiver {
    fn rules(&mut self) -> &mut Acknowledging {
        self.linux.as_mut().expect("the receiver is Linux's")
    }

    fn room(&self) -> &ReceiveBuffer {
        self.linux
            .as_ref()
            .and_then(|linux| linux.buffer.as_ref())
            .expect("the receiver is Linux 6.1's")
    }

    /// The window that could be offered now, from RCV.NXT on (`tcp_select_window`), and whether
    /// there is little room.
    pub(super) fn offered_6_1(&self) -> (u64, bool) {
        let room = self.room();
        let (window, short) = room.window();
        let current = self.advertised.saturating_sub(self.next);
        (if window < current { room.rounded(current) } else { window }, short)
    }

    /// Offers it. Returns the part that the header can express.
    pub(super) fn offer_6_1(&mut self) -> u64 {
        let (window, short) = self.offered_6_1();
        self.advertised = self.next + window;
        self.rules().offer(window, short);
        self.room().told(window)
    }

    /// The next bytes in order arrived, and there is no hole (`tcp_rcv_established`).
    pub(super) fn on_in_order_6_1(&mut self, now: Time, segment: &Segment) -> Option<Segment> {
        let len = u64::from(segment.len);
        self.pending = self.pending.saturating_add(1);
        let next = self.next;
        self.rules().on_data_6_1(now, next - len, next);
        self.on_alarm();
        // A small segment counts as pushed (`tcp_measure_rcv_mss`).
        let pushed = segment.flags.has(Flags::PSH) || len < u64::from(self.mss);
        let full = self.pending >= self.count;
        let mut ack = None;
        if (full && self.rules().keeps_window()) || self.rules().is_quick() || self.at_once {
            ack = Some(self.acknowledge(now));
        } else {
            // The timer runs on even if the application's read acknowledges.
            let before = self.deadline;
            self.deadline = self.rules().delayed_until(now, before);
        }
        self.on_read_6_1(now);
        if ack.is_none() && self.reading && (full || pushed || self.doubles()) {
            ack = Some(self.acknowledge(now));
        }
        ack
    }

    /// Whether the window could be twice as large (`tcp_cleanup_rbuf`).
    fn doubles(&self) -> bool {
        let (room, left) = (self.room(), self.advertised.saturating_sub(self.next));
        if 2 * left > room.clamp {
            return false;
        }
        let (window, _) = room.window();
        window > 0 && window >= 2 * left
    }

    /// The application reads everything in order.
    pub(super) fn on_read_6_1(&mut self, now: Time) {
        if self.reading {
            self.read = self.data_end().max(self.read);
            if let Some(buffer) = &mut self.rules().buffer {
                buffer.on_read(now);
            }
        }
    }
}
