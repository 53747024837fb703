//! Finds the queue with the most bytes without looking at all of them.

/// Queues in a heap, by their bytes. It is built at an overflow, and maintained while overflows are
/// recent.
pub struct Longest {
    heap: Vec<u32>,
    /// The place of each queue in the heap.
    places: Vec<u32>,
    /// Number of queues. Before the first overflow the heap is empty.
    queues: usize,
    /// Packets to send without an overflow until the heap is given up. 0: it is not maintained.
    patience: u32,
}

/// Packets after an overflow for which the heap is maintained.
const PATIENCE: u32 = 65_535;

impl Longest {
    /// For `queues` queues.
    pub fn new(queues: usize) -> Self {
        Longest { heap: Vec::new(), places: Vec::new(), queues, patience: 0 }
    }

    /// The longest queue. `bytes` says how long each one is.
    pub fn get(&mut self, bytes: impl Fn(usize) -> u64) -> usize {
        if self.heap.is_empty() {
            self.heap = (0..self.queues as u32).collect();
            self.places = self.heap.clone();
        }
        if self.patience == 0 {
            for at in (0..self.heap.len() / 2).rev() {
                self.sink(at, &bytes);
            }
        }
        self.patience = PATIENCE;
        self.heap[0] as usize
    }

    /// `queue` has more bytes than before.
    #[inline]
    pub fn grown(&mut self, queue: usize, bytes: impl Fn(usize) -> u64) {
        if self.patience > 0 {
            self.rise(self.places[queue] as usize, &bytes);
        }
    }

    /// `queue` has fewer bytes than before.
    #[inline]
    pub fn shrunk(&mut self, queue: usize, bytes: impl Fn(usize) -> u64) {
        if self.patience > 0 {
            self.sink(self.places[queue] as usize, &bytes);
        }
    }

    /// A packet was sent.
    #[inline]
    pub fn sent(&mut self) {
        self.patience = self.patience.saturating_sub(1);
    }

    fn rise(&mut self, mut at: usize, bytes: &impl Fn(usize) -> u64) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if bytes(self.heap[at] as usize) <= bytes(self.heap[parent] as usize) {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sink(&mut self, mut at: usize, bytes: &impl Fn(usize) -> u64) {
        loop {
            let children =
                [2 * at + 1, 2 * at + 2].into_iter().filter(|child| *child < self.heap.len());
            let most = |at: &usize| bytes(self.heap[*at] as usize);
            let Some(longer) = children.rev().max_by_key(most) else { return };
            if most(&longer) <= most(&at) {
                return;
            }
            self.swap(at, longer);
            at = longer;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for at in [one, other] {
            self.places[self.heap[at] as usize] = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rng;

    #[test]
    fn it_is_the_longest_after_any_change() {
        let mut rng = Rng::named(1, "longest");
        let mut bytes = vec![0_u64; 37];
        let mut longest = Longest::new(bytes.len());
        for step in 0..20_000 {
            let queue = rng.below(37) as usize;
            let before = std::mem::replace(&mut bytes[queue], rng.below(5000));
            if bytes[queue] > before {
                longest.grown(queue, |queue| bytes[queue]);
            } else {
                longest.shrunk(queue, |queue| bytes[queue]);
            }
            // For a while nobody asks, so that the heap is given up.
            if step % 100 < 50 {
                let found = longest.get(|queue| bytes[queue]);
                assert_eq!(Some(&bytes[found]), bytes.iter().max());
            } else if step % 1000 == 999 {
                (0..PATIENCE).for_each(|_| longest.sent());
            }
        }
    }
}
