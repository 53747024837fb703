//! Segmentation offload of 6.1: data leave as buffers of several segments, which the interface
//! divides (`tcp_gso_segment`). All segments of a buffer leave together and count as sent at one
//! instant; the last of them has PSH.
//!
//! | here | there |
//! |---|---|
//! | `at_once` | `tcp_tso_segs`, `tcp_tso_autosize`, `bbr_min_tso_segs`, `prague_tso_segs` |
//! | `defers` | `tcp_tso_should_defer` |
//! | `next_new`, `quota` | `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_mss_split_point` |
//! | `Leaving` | `__tcp_transmit_skb` |
//!
//! Left out: `tcp_small_queue_check`, because the host's own link is idle when a flow has sent what
//! it lets pass.

use super::congestion::Congestion;
use super::{FIN, Machine, PUSH, Push, Sent, State, Version};
use crate::connection::Connection;
use crate::{Flags, Segment};
use forebay_core::{Duration, Time};

/// Most bytes in a buffer (`sk_gso_max_size`): `GSO_LEGACY_MAX_SIZE` less `MAX_TCP_HEADER` and 1.
pub(super) const LARGEST: u64 = 65_536 - 192 - 1;
/// Fewest segments (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// A buffer has what the pacing rate sends in 2 to the power of -10 s (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Each time that the round trip has 2 to the power of 9 us more, what is added to a buffer halves
/// (`tcp_tso_rtt_log`).
const ROUND_TRIP_SHIFT: u32 = 9;
/// This part of a window is not worth waiting for more (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Longest wait for an acknowledgment that would let a larger buffer go.
const WAIT: Duration = Duration::from_millis(1);

/// A buffer that leaves, segment by segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leaving {
    /// The next segment begins here.
    pub(super) next: u64,
    end: u64,
    /// It leaves for the first time.
    new: bool,
    /// A FIN follows the payload.
    fin: bool,
    /// The last segment has PSH.
    push: bool,
}

impl Leaving {
    /// Something that is sent again, of `segments` segments.
    pub(super) fn again(sent: &Sent, segments: u32) -> Self {
        let (next, end) = (sent.seq, sent.seq + u64::from(sent.len));
        let (fin, push) = (sent.has(FIN), sent.has(PUSH) || segments > 1);
        Leaving { next, end, new: false, fin, push }
    }

    pub(super) fn segments(&self, mss: u64) -> u32 {
        u64::from(self.len()).div_ceil(mss).max(1) as u32
    }

    pub(super) fn len(&self) -> u32 {
        (self.end - self.next) as u32
    }

    pub(super) fn is_over(&self) -> bool {
        self.next == self.end
    }

    /// Writes the next segment into `place`.
    pub(super) fn send(&mut self, connection: &mut Connection, now: Time, place: &mut Segment) {
        let len = u64::from(self.len()).min(connection.mss());
        let start = self.next;
        self.next += len;
        let last = self.is_over();
        if self.new {
            connection.send_new(now, len, place);
        } else {
            let flags = Flags::ACK.with_if(last && self.fin, Flags::FIN);
            connection.emit(now, start, len as u32, flags, place);
        }
        place.flags = place.flags.with_if(last && self.push, Flags::PSH);
    }
}

impl Machine {
    /// Whether unsent data wait for which the receiver has room (`tcp_send_head`,
    /// `tcp_snd_wnd_test`).
    pub(super) fn more(&self, connection: &Connection) -> bool {
        let written = self
            .buffer
            .as_ref()
            .is_none_or(|buffer| self.next < buffer.written() || connection.end <= self.next);
        written && connection.has_more()
    }

    /// Most segments in a buffer that leaves now.
    pub(super) fn at_once(&self) -> u32 {
        if self.gso_max_segs == 1 {
            return 1;
        }
        let (rate, least) = match &self.congestion {
            Congestion::Bbr(bbr) => (bbr.law.pacing_rate, u64::from(bbr.law.least_burst())),
            Congestion::Prague(prague) => {
                return prague.burst.max(LEAST as u32).min(self.gso_max_segs);
            }
            Congestion::Foreign(foreign) if foreign.role.paces => {
                let segments = foreign.controller.send_quantum(&foreign.window) / self.mss;
                return segments.clamp(1, u64::from(self.gso_max_segs)) as u32;
            }
            _ => (self.pacing_rate, LEAST),
        };
        let near = self
            .rack
            .shortest()
            .map_or(0, |rtt| LARGEST >> ((rtt.as_nanos() / 1000) >> ROUND_TRIP_SHIFT).min(63));
        let bytes = (rate >> PACING_SHIFT).saturating_add(near).min(LARGEST);
        (bytes / self.mss).max(least).min(u64::from(self.gso_max_segs)) as u32
    }

    /// The next buffer of new data and its marks, if the window has room for it. A tail loss probe
    /// goes whatever the window is.
    pub(super) fn next_new(
        &mut self,
        connection: &Connection,
        now: Time,
        probe: bool,
    ) -> Option<(Leaving, u8)> {
        let single = connection.new_len(connection.probe_due)?;
        let next = self.next;
        if self.version >= Version::Linux6_12 && single > 0 {
            let most = u64::from(self.quota(self.at_once())) * self.mss;
            if let Some(buffer) = &mut self.buffer {
                buffer.fill_first(next, most);
            }
        }
        let (unsent, push, tail) = match &mut self.buffer {
            Some(buffer) if single > 0 => buffer.head(next)?,
            _ => (single, false, true),
        };
        let mut len = single.min(unsent);
        if unsent > self.mss && len == self.mss {
            let window = connection.edge.saturating_sub(next);
            let most = self.at_once();
            if !probe && self.push == Push::All && self.defers(connection, now, unsent, tail, most)
            {
                return None;
            }
            len = self.split_point(unsent, window, self.quota(most), tail);
        }
        if self.push == Push::One {
            self.push = Push::Done;
        }
        let fin = connection.closed && next + len == connection.end;
        let whole = len == unsent;
        if let Some(buffer) = &mut self.buffer {
            buffer.leaves(next + len);
        }
        let push = push && whole;
        let marks = if fin { FIN } else { 0 } | if push { PUSH } else { 0 };
        let push = push || len > self.mss;
        Some((Leaving { next, end: next + len, new: true, fin, push }, marks))
    }

    /// Segments of the next buffer, `most` at most. Two buffers at least shall be in flight.
    fn quota(&self, most: u32) -> u32 {
        let (cwnd, in_flight) = (self.window.cwnd, self.queue.in_flight());
        (cwnd / 2).max(1).min(cwnd.saturating_sub(in_flight)).max(1).min(most)
    }

    fn split_point(&self, unsent: u64, window: u64, segments: u32, tail: bool) -> u64 {
        let most = self.mss * u64::from(segments);
        if most <= window && !tail {
            return most.min(unsent);
        }
        let needed = unsent.min(window);
        if most <= needed {
            return most;
        }
        // Nagle's rule: one small segment at a time (`tcp_minshall_check`).
        let small = self.small > self.una && self.small <= self.next && !self.queue.is_empty();
        needed - if small { needed % self.mss } else { 0 }
    }

    /// Whether the buffer of `unsent` bytes waits for an acknowledgment that lets more go.
    fn defers(
        &mut self,
        connection: &Connection,
        now: Time,
        unsent: u64,
        tail: bool,
        most: u32,
    ) -> bool {
        // After a millisecond without sending nothing waits.
        let idle = now.since(connection.last_sent.max(self.pace.until));
        if self.state >= State::Recovery || idle > WAIT {
            return false;
        }
        let room = self.window.cwnd.saturating_sub(self.queue.in_flight());
        let (offered, allowed) = (connection.edge - self.next, u64::from(room) * self.mss);
        let limit = offered.min(allowed);
        let window = (connection.edge - self.una).min(self.cwnd());
        if limit >= u64::from(most) * self.mss
            || (!tail && limit >= unsent)
            || limit >= window / WINDOW_DIVISOR
        {
            return false;
        }
        let (Some(head), Some(srtt)) = (self.queue.front(), self.estimator.srtt()) else {
            return false;
        };
        if head.at + srtt > now + WAIT.min(srtt / 2) {
            return false;
        }
        if limit <= unsent {
            self.deferred = allowed < offered;
            return true;
        }
        !(connection.closed && self.next + unsent == connection.end)
    }

    /// Divides a buffer, so that it has `segments` segments at most.
    pub(super) fn split(&mut self, at: usize, segments: u32) {
        let sent = self.queue.get(at);
        if self.queue.segments(sent) > segments {
            self.split_after(at, u64::from(segments) * self.mss);
        }
    }

    pub(super) fn split_after(&mut self, at: usize, len: u64) {
        self.queue.split(at, len);
        if let Some(rates) = &mut self.rates {
            rates.split(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinuxParams;
    use super::super::{Report, Resend};
    use super::*;
    use crate::connection::Site;
    use crate::{Config, SackBlock, Sender};
    use forebay_core::{Ecn, Time};

    fn machine(gso_max_segs: u32) -> Machine {
        let Config { connection, congestion, .. } = &Config::preset("linux").unwrap();
        let site = Site { connection, congestion, now: Time::ZERO };
        let params = LinuxParams { gso_max_segs, ..LinuxParams::default() };
        let mut machine = Machine::new(Version::Linux6_1, &params, &site);
        (machine.una, machine.next) = (1, 1);
        machine
    }

    #[test]
    fn a_buffer_has_a_millisecond_of_the_rate_and_more_if_the_round_trip_is_short() {
        // Rate in bytes per second, round trip in us, segments of 1448 bytes.
        for (rate, rtt, segments) in [
            (0, 50_000, 2),
            (1024 * 1448 * 5, 50_000, 5),
            (1024 * 1448 * 5 - 1024, 50_000, 4),
            // 65343 >> 3 = 8167 bytes more.
            (0, 2000, 5),
            (1024 * 1448 * 5, 2047, 10),
            (1024 * 1448 * 5, 2048, 7),
            (0, 511, 45),
            (u64::MAX, 50_000, 45),
        ] {
            let mut machine = machine(65_535);
            machine.pacing_rate = rate;
            machine.rack.least(Duration::from_micros(rtt));
            assert_eq!(machine.at_once(), segments, "{rate} {rtt}");
            machine.gso_max_segs = 3;
            assert_eq!(machine.at_once(), segments.min(3), "{rate} {rtt}");
        }
    }

    #[test]
    fn a_buffer_is_divided_where_a_part_of_it_is_reported_lost_or_acknowledged() {
        let mut machine = machine(65_535);
        let (mss, at) = (machine.mss, |ms| Time::ZERO + Duration::from_millis(ms));
        let edge = |segments: u64| 1 + segments * mss;
        for _ in 0..3 {
            machine.on_new(at(0), 4 * mss as u32, 0);
        }
        assert_eq!((machine.queue.out(), machine.queue.len()), (12, 3));
        // The first and half of the second, and one in the midst of the third.
        let (start, end) = (3 * mss as u32, 4 * mss as u32);
        let ack = Segment {
            ack: edge(6),
            flags: Flags::ACK,
            sack: [SackBlock { start, end }; 3],
            sack_count: 1,
            ..Segment::default()
        };
        machine.read(at(20), &ack, false, Report::Echo(false), true);
        let marks = |machine: &Machine| -> Vec<_> {
            machine.queue.iter().map(|sent| (sent.seq, sent.len, sent.marks)).collect()
        };
        let one = mss as u16;
        let want = [(edge(6), 2 * one, 0), (edge(8), one, 0), (edge(9), one, 1)];
        assert_eq!(marks(&machine)[..3], want);
        assert_eq!((machine.queue.out(), machine.queue.sacked, machine.delivered), (6, 1, 7));
        // A timeout sends one segment, and recovery as many as the window allows.
        machine.window.cwnd = 10;
        machine.resend = Resend::Forced(0);
        let again = machine.next_resend(at(300), true, false).unwrap();
        assert_eq!((again.len(), machine.queue.retrans), (mss as u32, 1));
        machine.lose(1);
        machine.lose(2);
        machine.resend = Resend::Lost;
        machine.window.cwnd = 1 + machine.queue.in_flight();
        let again = machine.next_resend(at(300), true, false).unwrap();
        assert_eq!((again.next, again.len()), (edge(7), mss as u32));
    }

    #[test]
    fn the_last_segment_of_a_buffer_has_psh_and_the_last_of_all_the_fin() {
        let given = serde_json::json!({"preset": "linux", "handshake": false});
        let config = serde_json::from_value::<Config>(given).unwrap();
        let mut sender = Sender::new(&config, Time::ZERO);
        sender.write(5 * config.mss() - 100);
        sender.close();
        let mut sent = Vec::new();
        while let Some(segment) = sender.poll(Time::ZERO) {
            let [psh, fin] = [Flags::PSH, Flags::FIN].map(|flag| segment.flags.has(flag));
            sent.push((segment.seq / config.mss(), segment.len, psh, fin));
        }
        let full = config.mss() as u32;
        let whole = (0..4).map(|at| (at, full, false, false));
        assert!(sent.iter().copied().eq(whole.chain([(4, full - 100, true, true)])), "{sent:?}");
        let ack = Segment { ack: 5 * config.mss() - 98, flags: Flags::ACK, ..Segment::default() };
        sender.on_segment(Time::ZERO + Duration::from_millis(10), &ack, Ecn::NotEct);
        assert_eq!(sender.state(), crate::State::Done);
    }

    #[test]
    fn the_last_segment_goes_with_its_fin_into_a_full_window_before_6_12() {
        for (preset, segments, fin) in [("linux-6.1", 11, true), ("linux-6.12", 10, false)] {
            let given = serde_json::json!({"preset": preset, "handshake": false});
            let config = serde_json::from_value::<Config>(given).unwrap();
            let mut sender = Sender::new(&config, Time::ZERO);
            sender.write(10 * config.mss() + 100);
            sender.close();
            let mut sent = Vec::new();
            while let Some(segment) = sender.poll(Time::ZERO) {
                sent.push((segment.len, segment.flags.has(Flags::FIN)));
            }
            assert_eq!((sent.len(), sent.last().unwrap().1), (segments, fin), "{preset}: {sent:?}");
        }
    }
}
