//! Signals: the packets that are hit, if each is to be hit with a given likelihood.

use forebay_core::Rng;

/// Hits at random, or spaced evenly (recur() of RFC 9332, appendix A.1).
#[derive(Debug, Clone, Copy)]
pub struct Recur {
    even: bool,
    count: f64,
}

impl Recur {
    /// Hits that are spaced evenly, or else drawn at random.
    pub fn new(even: bool) -> Self {
        Recur { even, count: 0.0 }
    }

    /// Whether this packet is hit. A `likelihood` above 1 counts as 1.
    #[inline]
    pub fn hits(&mut self, likelihood: f64, rng: &mut Rng) -> bool {
        if likelihood == 0.0 {
            return false;
        }
        if !self.even {
            return rng.chance(likelihood);
        }
        self.count += likelihood.min(1.0);
        let hit = self.count > 1.0;
        if hit {
            self.count -= 1.0;
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_hits_are_those_of_the_pseudo_code() {
        let mut rng = Rng::named(1, "recur");
        let hits = |likelihood: f64, rng: &mut Rng| -> Vec<u32> {
            let mut recur = Recur::new(true);
            (1..=12).filter(|_| recur.hits(likelihood, rng)).collect()
        };
        // count: 0.25, 0.5, 0.75, 1 (not above 1), 1.25: hit.
        assert_eq!(hits(0.25, &mut rng), [5, 9]);
        assert_eq!(hits(0.5, &mut rng), [3, 5, 7, 9, 11]);
        assert_eq!(hits(1.0, &mut rng), (2..=12).collect::<Vec<_>>());
        assert_eq!(hits(7.0, &mut rng), (2..=12).collect::<Vec<_>>());
        assert_eq!(hits(0.0, &mut rng), [0_u32; 0]);
        let mut random = Recur::new(false);
        let share = (0..10_000).filter(|_| random.hits(0.25, &mut rng)).count();
        assert!((2_300..2_700).contains(&share), "{share}");
    }
}
