//! A row of values, most of which may never be used.

use std::ops::{Index, IndexMut};

/// A row of values that are equal at first. It is stored in parts. In a long row a part is
/// allocated when one of its values is first changed. So queues for a thousand flows of which ten
/// exist take little memory.
#[derive(Debug)]
pub struct Row<T> {
    /// A part that is not allocated yet has no values.
    parts: Vec<Box<[T]>>,
    blank: T,
    len: usize,
}

/// Values in a part.
const PART: usize = 8;
/// A row of at most this length is allocated at once.
const SHORT: usize = 64;

impl<T: Clone> Row<T> {
    /// `len` values equal to `blank`.
    pub fn new(blank: T, len: usize) -> Self {
        let parts = (0..len.div_ceil(PART)).map(|_| Box::default()).collect();
        let mut row = Row { parts, blank, len };
        if len <= SHORT {
            (0..row.parts.len()).for_each(|part| row.parts[part] = row.make());
        }
        row
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values that may have changed, and one of those that have not.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flatten().chain([&self.blank])
    }

    /// Allocates the part of value `index`, if it is not allocated yet.
    #[inline]
    pub fn touch(&mut self, index: usize) {
        if self.parts[index / PART].is_empty() {
            self.parts[index / PART] = self.make();
        }
    }

    #[cold]
    fn make(&self) -> Box<[T]> {
        vec![self.blank.clone(); PART.min(self.len)].into()
    }
}

impl<T> Index<usize> for Row<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        self.parts[index / PART].get(index % PART).unwrap_or(&self.blank)
    }
}

impl<T: Clone> IndexMut<usize> for Row<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.touch(index);
        &mut self.parts[index / PART][index % PART]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_vector_that_takes_less() {
        for len in [0, 1, 7, 8, 9, 64, 65, 100] {
            let (mut row, mut plain) = (Row::new(5, len), vec![5; len]);
            for at in (0..len).step_by(23) {
                row[at] += at;
                plain[at] += at;
            }
            assert_eq!((0..len).map(|at| row[at]).collect::<Vec<_>>(), plain);
            assert_eq!((row.len(), row.is_empty()), (len, len == 0));
            assert_eq!(row.iter().max(), plain.iter().max().or(Some(&5)));
        }
        let mut row = Row::new(0, 1000);
        row[999] = 1;
        assert_eq!(row.parts.iter().map(|part| part.len()).sum::<usize>(), PART);
    }
}
