//! The times at which the state of classes changes: a heap from which any class can be removed.

/// Classes by the time at which each must be looked at. Equal times are in the order of entry.
pub struct Agenda {
    /// Time, order of entry, class.
    heap: Vec<(i64, u32, u32)>,
    entries: u32,
}

/// The place of a class that is not on an agenda.
pub const NOWHERE: u32 = u32::MAX;

impl Agenda {
    /// An agenda with room for `classes`.
    pub fn new(classes: usize) -> Self {
        Agenda { heap: Vec::with_capacity(classes), entries: 0 }
    }

    /// The first time and its class.
    #[inline]
    pub fn first(&self) -> Option<(i64, u32)> {
        self.heap.first().map(|(at, _, class)| (*at, *class))
    }

    /// Adds `class`. `places` has the place of each class; [`NOWHERE`] for those that are not here.
    pub fn enter(&mut self, class: u32, at: i64, places: &mut [u32]) {
        self.entries = self.entries.wrapping_add(1);
        self.heap.push((at, self.entries, class));
        self.rise(self.heap.len() - 1, places);
    }

    /// Removes `class`.
    pub fn strike(&mut self, class: u32, places: &mut [u32]) {
        let at = std::mem::replace(&mut places[class as usize], NOWHERE) as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            places[self.heap[at].2 as usize] = at as u32;
            self.sink(at, places);
            self.rise(at, places);
        }
    }

    fn rise(&mut self, mut at: usize, places: &mut [u32]) {
        let one = self.heap[at];
        while at > 0 && one < self.heap[(at - 1) / 4] {
            self.put(at, self.heap[(at - 1) / 4], places);
            at = (at - 1) / 4;
        }
        self.put(at, one, places);
    }

    fn sink(&mut self, mut at: usize, places: &mut [u32]) {
        let one = self.heap[at];
        loop {
            let children = 4 * at + 1..(4 * at + 5).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if one <= self.heap[least] {
                break;
            }
            self.put(at, self.heap[least], places);
            at = least;
        }
        self.put(at, one, places);
    }

    #[inline]
    fn put(&mut self, at: usize, one: (i64, u32, u32), places: &mut [u32]) {
        self.heap[at] = one;
        places[one.2 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;

    #[test]
    fn the_first_is_the_earliest_after_any_change() {
        let mut rng = Rng::named(1, "agenda");
        let mut places = vec![NOWHERE; 50];
        let mut agenda = Agenda::new(50);
        let mut known: Vec<(i64, usize, u32)> = Vec::new();
        for step in 0..20_000 {
            let class = rng.below(50) as u32;
            if places[class as usize] == NOWHERE {
                let at = rng.below(20) as i64;
                agenda.enter(class, at, &mut places);
                known.push((at, step, class));
            } else {
                agenda.strike(class, &mut places);
                known.retain(|(_, _, other)| *other != class);
            }
            let first = known.iter().min().map(|(at, _, class)| (*at, *class));
            assert_eq!(agenda.first(), first);
        }
    }
}
