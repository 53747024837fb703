//! SACK blocks of the standards' receiver, and D-SACK.

use super::{RECENT, Receiver};
use crate::{SackBlock, Segment};

impl Receiver {
    /// `block` has just grown by the data that arrived.
    pub(super) fn remember(&mut self, block: (u64, u64)) {
        let within = |offset: u64| block.0 <= offset && offset < block.1;
        let [newest, ref others @ ..] = self.recent;
        if within(newest) && !others.iter().any(|offset| within(*offset)) {
            self.recent[0] = block.0;
            return;
        }
        self.forget(within);
        self.recent.copy_within(..RECENT - 1, 1);
        self.recent[0] = block.0;
    }

    /// Removes the blocks that begin at offsets for which `gone` returns true.
    pub(super) fn forget(&mut self, gone: impl Fn(u64) -> bool) {
        let mut kept = [0; RECENT];
        let mut count = 0;
        for offset in self.recent {
            if offset != 0 && !gone(offset) {
                kept[count] = offset;
                count += 1;
            }
        }
        self.recent = kept;
    }

    /// Data that arrived twice (RFC 2883, section 4), then the block with the newest segment and
    /// the blocks before it (RFC 2018, section 4).
    pub(super) fn report(&self, segment: &mut Segment, duplicate: Option<(u64, u64)>) {
        let Segment { ack, ref mut sack, ref mut sack_count, .. } = *segment;
        let mut tell = |(start, end): (u64, u64)| {
            let relative = |offset: u64| offset.wrapping_sub(ack) as u32;
            let slot = sack.get_mut(usize::from(*sack_count))?;
            *slot = SackBlock { start: relative(start), end: relative(end) };
            *sack_count += 1;
            Some(())
        };
        duplicate.map(&mut tell);
        match if self.plain { None } else { self.linux() } {
            Some(linux) => {
                let _ = linux.reported.blocks.iter().try_for_each(|block| tell(*block));
            }
            None => {
                let recent = self.recent.iter().take_while(|offset| **offset != 0);
                let mut blocks = recent.filter_map(|offset| self.early.containing(*offset));
                let _ = blocks.try_for_each(tell);
            }
        }
    }
}
