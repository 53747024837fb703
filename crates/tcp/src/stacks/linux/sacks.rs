//! Reading selective acknowledgments (`tcp_sacktag_write_queue`).

use super::queue::{EVER, LOST, RETRANS, SACKED};
use super::{Ack, Machine, State, Version};
use crate::Segment;
use forebay_core::Time;

type Block = (u64, u64);

impl Machine {
    /// Marks what `segment` selectively acknowledges. `prior` was acknowledged before.
    pub(super) fn read_sacks(&mut self, now: Time, segment: &Segment, prior: u64, ack: &mut Ack) {
        if self.queue.sacked == 0 {
            self.fack = self.una;
            self.fack_count = 0;
            self.blocks = [(0, 0); 3];
        }
        let mut blocks: [Block; 3] = [(0, 0); 3];
        let mut count = 0;
        for (slot, block) in blocks.iter_mut().zip(segment.sack_blocks()) {
            *slot = block;
            count += 1;
        }
        let given = &blocks[..count];
        let again = self.is_duplicate(given, prior, ack).then(|| given[0]);
        if self.queue.is_empty() {
            return;
        }
        let mut reordered = u64::MAX;
        if let Some(block) = again
            && self.undo_marker > 0
            && block.1 <= self.una
            && block.1 > self.undo_marker
        {
            self.tag_range(now, block, true, &mut reordered, ack);
        }
        let quick = self.extends_first(given);
        if !quick {
            self.hint = None;
        }
        let cached = self.blocks;
        let mut order: [Block; 3] = blocks;
        let used = if quick && self.version == Version::Linux2_6_18 { 1 } else { count };
        order[..used].sort_unstable();
        let mut lost_until = 0;
        for &block in &order[..used] {
            let duplicate = again == Some(block);
            let within = block.0 > self.una && block.1 <= self.next && block.0 < block.1;
            if !within {
                continue;
            }
            ack.data_lost |= block.1 > self.high_seq;
            if self.version == Version::Linux2_6_18 {
                lost_until = lost_until.max(self.visited_retransmissions(block.1));
            }
            if duplicate {
                self.tag_range(now, block, true, &mut reordered, ack);
            } else {
                // What was reported before needs no second look (`recv_sack_cache`).
                let mut from = block.0;
                while let Some(known) =
                    cached.iter().find(|known| known.0 <= from && from < known.1)
                {
                    from = known.1;
                }
                if from < block.1 {
                    self.tag_range(now, (from, block.1), false, &mut reordered, ack);
                }
            }
            if self.version == Version::Linux2_6_26 && block.1 > self.frto_highmark {
                ack.original = false;
            }
        }
        self.blocks = blocks;
        match self.version {
            Version::Linux2_6_18 => self.lose_retransmissions(lost_until, ack),
            Version::Linux2_6_26 => self.lose_retransmissions(self.fack, ack),
            Version::Linux6_1 | Version::Linux6_12 => {}
        }
        if reordered != u64::MAX {
            self.saw_reordering(reordered, ack.frto_highmark_passed);
        }
    }

    /// Whether the first block is a D-SACK (RFC 2883; `tcp_check_dsack`), and its effect on data
    /// that are already forgotten.
    fn is_duplicate(&mut self, blocks: &[Block], prior: u64, ack: &mut Ack) -> bool {
        let Some(&(start, end)) = blocks.first() else { return false };
        let within = blocks.get(1).is_some_and(|other| other.0 <= start && end <= other.1);
        if start >= self.una && !within || start >= end {
            return false;
        }
        let mut segments = 1;
        if !self.version.is_2_6() {
            let len = end - start;
            if len > self.mss {
                segments = len.div_ceil(self.mss) as u32;
            } else if self.probe_seq > 0 && self.probe_seq == end {
                ack.probe_duplicate = true;
            }
            self.duplicates += segments;
            if self.duplicates > self.total_retrans {
                return false;
            }
            if self.reordering_seen && !ack.probe_duplicate {
                self.rack.duplicate_seen = true;
            }
            ack.sack_delivered += segments;
        }
        ack.duplicate_sack = true;
        if end <= prior && end > self.undo_marker {
            self.count_undone(segments as i32);
        }
        true
    }

    /// One or more retransmissions were unnecessary.
    fn count_undone(&mut self, segments: i32) {
        match self.version {
            Version::Linux2_6_18 | Version::Linux2_6_26 => self.undo_retrans -= 1,
            _ if self.undo_marker == 0 || self.undo_retrans <= 0 => {}
            _ => self.undo_retrans = (self.undo_retrans - segments).max(0),
        }
    }

    /// Whether the blocks differ from the last ones only in the end of the first. 2.6.18 then
    /// continues only where it stopped.
    fn extends_first(&self, blocks: &[Block]) -> bool {
        let known = &self.blocks[..blocks.len()];
        blocks
            .iter()
            .zip(known)
            .enumerate()
            .all(|(at, (new, old))| new.0 == old.0 && (at == 0 || new.1 == old.1))
    }

    /// Marks what lies within `block`; a buffer of which only a part does is divided
    /// (`tcp_match_skb_to_sack`).
    fn tag_range(
        &mut self,
        now: Time,
        block: Block,
        duplicate: bool,
        reordered: &mut u64,
        ack: &mut Ack,
    ) {
        let mut at = self.queue.find(block.0);
        while at < self.queue.len() {
            let sent = self.queue.get(at);
            let (seq, end, many) = (sent.seq, sent.end(), u64::from(sent.len) > self.mss);
            if seq >= block.1 {
                break;
            }
            if seq < block.0 {
                let before = (block.0 - seq).next_multiple_of(self.mss);
                if many && before < u64::from(sent.len) {
                    self.split_after(at, before);
                }
            } else {
                if end > block.1 {
                    let within = (block.1 - seq) / self.mss * self.mss;
                    if !many || within == 0 {
                        break;
                    }
                    self.split_after(at, within);
                }
                self.tag(now, at, duplicate, reordered, ack);
            }
            at += 1;
        }
    }

    /// Marks one segment (`tcp_sacktag_one`).
    fn tag(&mut self, now: Time, at: usize, duplicate: bool, reordered: &mut u64, ack: &mut Ack) {
        let sent = *self.queue.get(at);
        let segments = self.queue.segments(&sent) as i32;
        if duplicate && sent.has(RETRANS | EVER) {
            if sent.end() > self.undo_marker {
                self.count_undone(segments);
            }
            if sent.has(SACKED) {
                *reordered = (*reordered).min(sent.seq);
            }
        }
        if sent.end() <= self.una {
            return;
        }
        if !sent.has(SACKED) {
            let modern = !self.version.is_2_6();
            if modern {
                self.rack_advance(now, &sent);
            }
            let mut remove = 0;
            if sent.has(RETRANS) {
                if sent.has(LOST) {
                    remove = LOST | RETRANS;
                }
            } else {
                remove = LOST;
                if !sent.has(EVER) {
                    if sent.seq < self.fack {
                        *reordered = (*reordered).min(sent.seq);
                    }
                    let limit = if modern { self.high_seq } else { self.frto_highmark };
                    ack.original |= sent.end() <= limit;
                    if modern {
                        ack.first_sacked.get_or_insert(sent.at);
                        ack.last_sacked = Some(sent.at);
                    }
                }
            }
            self.queue.mark(at, SACKED, remove);
            self.rate_sacked(at, &sent);
            ack.sacked = true;
            ack.sack_delivered += segments as u32;
            self.fack = self.fack.max(sent.end());
            self.fack_count = self.fack_count.max(at as u32 + 1);
        }
        if duplicate && self.queue.get(at).has(RETRANS) {
            self.queue.mark(at, 0, RETRANS);
        }
    }

    /// The SACKed edge that 2.6.18 compares with retransmissions: that of a block, if its walk up
    /// to `end` meets an older retransmission.
    fn visited_retransmissions(&mut self, end: u64) -> u64 {
        let from = self.hint.map_or(0, |hint| self.queue.find(hint));
        let mut older = false;
        for at in from..self.queue.len() {
            let sent = self.queue.get(at);
            self.hint = Some(sent.seq);
            if sent.seq >= end {
                break;
            }
            let resent_at = sent.seq + u64::from(sent.ahead);
            older |= sent.end() > self.una && sent.has(RETRANS) && end > resent_at;
        }
        if older { end } else { 0 }
    }

    /// Retransmissions are lost as well if new data that were sent after them, up to `edge`,
    /// arrived (`tcp_mark_lost_retrans`). Only until reordering is seen.
    fn lose_retransmissions(&mut self, edge: u64, ack: &mut Ack) {
        if self.queue.retrans == 0 || self.state != State::Recovery {
            return;
        }
        if self.version == Version::Linux2_6_26 && !self.forward {
            return;
        }
        for at in self.queue.find(self.una)..self.queue.len() {
            let sent = *self.queue.get(at);
            let resent_at = sent.seq + u64::from(sent.ahead);
            let distance = u64::from(self.reordering) * self.mss;
            let passed = edge > resent_at && (self.forward || edge >= resent_at + distance);
            if sent.has(RETRANS) && passed {
                let lost = if sent.has(LOST | SACKED) { 0 } else { LOST };
                self.queue.mark(at, lost, RETRANS);
                ack.sacked |= lost > 0 && self.version == Version::Linux2_6_18;
            }
        }
    }

    /// A segment at `low` arrived after later ones, and was not sent again
    /// (`tcp_update_reordering`, `tcp_check_sack_reordering`).
    pub(super) fn saw_reordering(&mut self, low: u64, past_frto: bool) {
        if low >= self.fack {
            return;
        }
        let distance = match self.version {
            Version::Linux6_1 | Version::Linux6_12 => {
                self.reordering_seen = true;
                (self.fack - low).div_ceil(self.mss) as u32
            }
            _ => {
                let loss = self.state == State::Loss;
                let undoing = self.version == Version::Linux2_6_26 && self.undo_marker > 0;
                if (loss && !undoing) || !past_frto {
                    return;
                }
                self.fack_count.saturating_sub(self.queue.find(low) as u32)
            }
        };
        self.raise_reordering(distance);
    }

    pub(super) fn raise_reordering(&mut self, distance: u32) {
        if distance > self.reordering {
            let most = if self.version.is_2_6() { 127 } else { 300 };
            self.reordering = distance.min(most);
            self.forward = false;
        }
    }
}
