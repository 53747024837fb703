//! Turns: an ordered set of numbers, and a position in it.

/// Numbers below a bound, as bits in words, with words above them that tell which are not empty.
struct Numbers {
    /// A bit for each number, then a bit for each word that is not empty, and so on.
    levels: Vec<Box<[u64]>>,
}

impl Numbers {
    fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = bound;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words].into_boxed_slice());
            if words == 1 {
                return Numbers { levels };
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.levels[self.levels.len() - 1][0] == 0
    }

    fn insert(&mut self, number: u32) {
        let mut at = number as usize;
        for words in &mut self.levels {
            let before = words[at / 64];
            words[at / 64] = before | 1 << (at % 64);
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    fn remove(&mut self, number: u32) {
        let mut at = number as usize;
        for words in &mut self.levels {
            words[at / 64] &= !(1 << (at % 64));
            if words[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The smallest number from `number` on.
    fn from(&self, number: u32) -> Option<u32> {
        let mut at = number as usize;
        for (level, words) in self.levels.iter().enumerate() {
            let rest = words.get(at / 64)? & (u64::MAX << (at % 64));
            if rest != 0 {
                at = at / 64 * 64 + rest.trailing_zeros() as usize;
                for words in self.levels[..level].iter().rev() {
                    at = at * 64 + words[at].trailing_zeros() as usize;
                }
                return Some(at as u32);
            }
            at = at / 64 + 1;
        }
        None
    }
}

/// The classes that take turns at one place, and whose turn it is.
pub struct Feed {
    members: Numbers,
    /// The member whose turn it is. If it has left, those that follow it; [`END`] after the last
    /// one.
    turn: u32,
}

/// After the last member.
const END: u32 = u32::MAX;

impl Feed {
    /// An empty feed for numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Feed { members: Numbers::new(bound), turn: END }
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds `member`.
    #[inline]
    pub fn insert(&mut self, member: u32) {
        self.members.insert(member);
    }

    /// Removes `member`. If it is its turn, it gets the turn again if it comes back in time.
    #[inline]
    pub fn remove(&mut self, member: u32) {
        self.members.remove(member);
    }

    /// Removes `member`. Its turn goes to the next one at once.
    #[inline]
    pub fn remove_and_pass(&mut self, member: u32) {
        if self.turn == member {
            self.advance();
        }
        self.members.remove(member);
    }

    /// Whose turn it is. None after the last one.
    #[inline]
    pub fn turn(&mut self) -> Option<u32> {
        let found = self.members.from(self.turn);
        self.turn = found.unwrap_or(END);
        found
    }

    /// Gives the turn to the first one.
    #[inline]
    pub fn rewind(&mut self) {
        self.turn = self.members.from(0).unwrap_or(END);
    }

    /// Gives the turn to the next one, or reaches the end.
    #[inline]
    pub fn advance(&mut self) {
        let next = self.turn.checked_add(1).and_then(|next| self.members.from(next));
        self.turn = next.unwrap_or(END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_found_in_order() {
        let mut rng = Rng::named(1, "numbers");
        for bound in [1, 63, 64, 65, 4096, 4097, 10_000] {
            let (mut ours, mut known) = (Numbers::new(bound), BTreeSet::new());
            for _ in 0..4000 {
                let number = rng.below(bound as u64) as u32;
                if rng.chance(0.5) {
                    ours.insert(number);
                    known.insert(number);
                } else {
                    ours.remove(number);
                    known.remove(&number);
                }
                let from = rng.below(bound as u64 + 2) as u32;
                assert_eq!(ours.from(from), known.range(from..).next().copied());
                assert_eq!((ours.is_empty(), ours.from(END)), (known.is_empty(), None));
            }
        }
    }

    #[test]
    fn turns_go_round_and_survive_an_absence() {
        let mut feed = Feed::new(100);
        [3, 70, 9].into_iter().for_each(|member| feed.insert(member));
        assert_eq!(feed.turn(), None);
        feed.rewind();
        assert_eq!(feed.turn(), Some(3));
        feed.advance();
        assert_eq!(feed.turn(), Some(9));
        feed.remove(9);
        feed.insert(9);
        assert_eq!(feed.turn(), Some(9));
        feed.remove(9);
        assert_eq!(feed.turn(), Some(70));
        feed.insert(9);
        assert_eq!(feed.turn(), Some(70));
        feed.remove_and_pass(70);
        assert_eq!(feed.turn(), None);
        feed.rewind();
        assert_eq!(feed.turn(), Some(3));
    }
}
