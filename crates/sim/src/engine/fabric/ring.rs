//! A ring that grows.

/// A queue of values. Every packet passes such rings, so the capacity is a power of two, and a place is
/// found by a mask. A `VecDeque` needs a comparison and a subtraction.
#[derive(Debug)]
pub struct Ring<T> {
    places: Box<[T]>,
    /// Number of values ever taken. Modulo the capacity, the place of the first value.
    head: usize,
    /// Number of values ever added. Modulo the capacity, the place of the next value.
    tail: usize,
}

/// First capacity.
const ROOM: usize = 4;

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { places: Box::default(), head: 0, tail: 0 }
    }
}

impl<T: Copy> Ring<T> {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The place of the value before which `count` others were added.
    #[inline(always)]
    fn place(&self, count: usize) -> usize {
        count & self.places.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.place(self.head)) }
    }

    /// The value after `count` others.
    #[inline]
    pub fn get(&self, count: usize) -> Option<&T> {
        if count < self.len() {
            self.places.get(self.place(self.head.wrapping_add(count)))
        } else {
            None
        }
    }

    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.tail);
        self.places[place] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    pub fn push_front(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        self.head = self.head.wrapping_sub(1);
        let place = self.place(self.head);
        self.places[place] = value;
    }

    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// Replaces the value after `count` others, which exists.
    pub fn set(&mut self, count: usize, value: T) {
        let place = self.place(self.head.wrapping_add(count));
        self.places[place] = value;
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|count| self.get(count))
    }

    /// Doubles the capacity, with `filler` in unused places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let room = (2 * self.places.len()).max(ROOM);
        let mut places = Vec::with_capacity(room);
        places.extend(self.iter());
        (self.head, self.tail) = (0, places.len());
        places.resize(room, filler);
        self.places = places.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn is_a_deque(
            start in prop::sample::select(vec![0, 5, usize::MAX - 3]),
            steps in proptest::collection::vec((0..6_u8, 0..50_usize), 1..200),
        ) {
            let mut ring = Ring { head: start, tail: start, ..Ring::default() };
            let mut model = VecDeque::new();
            for (number, (step, at)) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        ring.push_front(number);
                        model.push_front(number);
                    }
                    1 | 2 => prop_assert_eq!(ring.pop_front(), model.pop_front()),
                    3 if at < model.len() => {
                        ring.set(at, number);
                        model[at] = number;
                    }
                    _ => {
                        ring.push_back(number);
                        model.push_back(number);
                    }
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.get(at), model.get(at));
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
