//! The SACK blocks that a Linux receiver reports (`tcp_sack_new_ofo_skb`,
//! `tcp_sack_maybe_coalesce`, `tcp_sack_remove`). It remembers only four blocks. Of a block that it
//! has forgotten, it reports only what arrives next to it.

/// `TCP_NUM_SACKS`.
const MOST: usize = 4;
/// Blocks among which 6.1 expects new data. Anything else makes it send what it holds back
/// (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// Blocks, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    pub(crate) blocks: Vec<(u64, u64)>,
}

fn touch(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

fn joined(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl Reported {
    fn find(&self, new: (u64, u64)) -> Option<usize> {
        self.blocks.iter().position(|block| touch(*block, new))
    }

    /// Whether 6.1 expects `start..end`.
    pub(crate) fn expects(&self, start: u64, end: u64) -> bool {
        self.find((start, end)).unwrap_or(self.blocks.len()) < EXPECTED
    }

    /// `start..end` arrived above a hole.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let mut first = (start, end);
        match self.find(first) {
            Some(at) => first = joined(self.blocks.remove(at), first),
            None => self.blocks.truncate(MOST - 1),
        }
        self.blocks.retain(|block| {
            let apart = !touch(*block, first);
            if !apart {
                first = joined(*block, first);
            }
            apart
        });
        self.blocks.insert(0, first);
    }

    /// Everything below `next` is in order, and if `whole`, everything else as well.
    pub(crate) fn advance(&mut self, next: u64, whole: bool) {
        self.blocks.retain(|block| !whole && block.0 > next);
    }

    pub(crate) fn heap(&self) -> usize {
        self.blocks.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_to_a_forgotten_block_stands_alone() {
        let mut reported = Reported::default();
        for start in [10, 30, 50, 70, 90] {
            reported.add(start, start + 10);
        }
        assert_eq!(reported.blocks, [(90, 100), (70, 80), (50, 60), (30, 40)]);
        // 10..20 is forgotten.
        reported.add(20, 25);
        assert_eq!(reported.blocks, [(20, 25), (90, 100), (70, 80), (50, 60)]);
        // What joins two of them makes one.
        reported.add(80, 90);
        assert_eq!(reported.blocks, [(70, 100), (20, 25), (50, 60)]);
        assert!(reported.expects(25, 30) && !reported.expects(60, 65) && !reported.expects(1, 2));
        reported.advance(25, false);
        assert_eq!(reported.blocks, [(70, 100), (50, 60)]);
        reported.advance(60, true);
        assert!(reported.blocks.is_empty() && reported.expects(70, 80));
    }
}
