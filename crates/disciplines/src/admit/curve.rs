//! The drop rule of RED: from an average queue length to a probability, and from probabilities to
//! evenly spaced drops.
//!
//! Source: Floyd and Jacobson 1993, figure 2 and section 7; the gentle variant: S. Floyd,
//! "Recommendation on using the gentle_ variant of RED", 2000; the adaptive one: S. Floyd, R.
//! Gummadi and S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's
//! Active Queue Management", 2001, figure 1. This module has no queue.
//!
//! | symbol | here |
//! |---|---|
//! | min_th, max_th, max_p | fields of [`Curve`] |
//! | p_b | [`Curve::probability`] |
//! | p_a = p_b / (1 - count p_b) | [`Spacing::step`] |
//! | count | field of [`Spacing`]: packets since the last drop, -1 below min_th |
//! | alpha, beta, target of adaptive RED | [`Curve::adapt`] |
//! | `wait_`, `old` of ns-2 | `wait`, `spare_first` of [`Curve`] |
//! | `qcount` of Linux | `count`, with [`Gaps::Linux`] |
//!
//! Deviations: D1. count advances before it is used, as in figure 2 and in ns-2. So with a constant
//! p_b the n-th packet after a drop is dropped with the same probability for every n in 1..1/p_b -
//! 1; section 7 derives a range up to 1/p_b, which counts one packet less. D2. With `wait`, as in
//! ns-2's RED by default (its scripts can change it: `Queue/RED set wait_ true`), nothing is
//! dropped until count reaches 1/p_b, then p_a = p_b / (2 - count p_b). Gaps are then uniform on
//! 1/p_b to 2/p_b, and the loss is 2/3 p_b, not 2 p_b. This is not in the paper. D3. With
//! `spare_first`, as in ns-2 and ns-3 (`REDQueue::enque`, `edv_.old`), the arrival with which the
//! average reaches min_th passes, and counts as one. D4. With [`Gaps::Linux`] (`red_action`,
//! `red_mark_probability`) the first arrival above min_th passes. The n-th one after it, or after a
//! drop, is dropped if n p_b is at least a number that was drawn from 0 to 1 once for this gap. With
//! a constant p_b, gaps are uniform on 1 to 1/p_b, the range of section 7. While p_b falls faster
//! than n grows, nothing is dropped; a number drawn at each arrival would drop more. A drop for
//! another reason, such as a full queue, does not end the gap.
//!
//! Cost: two comparisons below min_th; above, one division and one random number, which with
//! [`Gaps::Linux`] is drawn once a gap.

use forebay_core::config::{positive_share, require};
use forebay_core::{ConfigError, Limit, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distance between drops while the average is constant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// 1 to 1/p_b - 1 arrivals (Floyd and Jacobson 1993, figure 2).
    #[default]
    Paper,
    /// 1 to 1/p_b arrivals, and the first arrival above `min_th` passes (Linux 6.1,
    /// `include/net/red.h`).
    Linux,
}

/// Whether lengths and thresholds count packets or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Packets.
    Packets,
    /// Bytes of IP packets.
    Bytes,
}

impl Measure {
    /// The unit of `threshold`, and its number.
    pub fn of(threshold: Limit) -> (Measure, f64) {
        match threshold {
            Limit::Packets(packets) => (Measure::Packets, f64::from(packets)),
            Limit::Bytes(bytes) => (Measure::Bytes, bytes as f64),
        }
    }

    /// The length of a queue of `packets` and `bytes`.
    #[inline]
    pub fn length(self, packets: usize, bytes: u64) -> f64 {
        match self {
            Measure::Packets => packets as f64,
            Measure::Bytes => bytes as f64,
        }
    }
}

/// Drop probability as a function of the average queue length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    gentle: bool,
    wait: bool,
    spare_first: bool,
    gaps: Gaps,
}

impl Curve {
    /// The curve that drops nothing at any length.
    pub const NEVER: Curve = Curve {
        min_th: f64::INFINITY,
        max_th: f64::INFINITY,
        max_p: 0.0,
        gentle: false,
        wait: false,
        spare_first: false,
        gaps: Gaps::Paper,
    };

    /// A curve from its parameters, and what its thresholds count.
    ///
    /// # Errors
    /// Thresholds in different units or not 0 < `min_th` < `max_th`; `max_p` outside (0, 1].
    pub fn new(
        min_th: Limit,
        max_th: Limit,
        max_p: f64,
        gentle: bool,
    ) -> Result<(Curve, Measure), ConfigError> {
        let (measure, low) = Measure::of(min_th);
        let (other, high) = Measure::of(max_th);
        require(measure == other, "max_th", || {
            format!("must be in the unit of min_th (\"{min_th}\"), got \"{max_th}\"")
        })?;
        require(low > 0.0, "min_th", || format!("must be above 0, got \"{min_th}\""))?;
        require(low < high, "max_th", || {
            format!("must be above min_th (\"{min_th}\"), got \"{max_th}\"")
        })?;
        positive_share("max_p", max_p)?;
        let curve = Curve { min_th: low, max_th: high, max_p, gentle, ..Curve::NEVER };
        Ok((curve, measure))
    }

    /// This curve with ns-2's rules: at least 1/p_b packets pass between two drops (D2), and
    /// the first arrival above min_th passes (D3).
    pub fn with_rules(self, wait: bool, spare_first: bool) -> Curve {
        Curve { wait, spare_first, ..self }
    }

    /// This curve with these gaps between drops (D4).
    pub fn with_gaps(self, gaps: Gaps) -> Curve {
        Curve { gaps, ..self }
    }

    /// Changes max_p so that the average moves to its target, the middle between the thresholds. It
    /// rises by alpha, which is a quarter of it or 0.01, or falls to beta = 0.9 of it, and stays
    /// between 0.01 and 0.5.
    pub fn adapt(&mut self, average: f64) {
        let share = (average - self.min_th) / (self.max_th - self.min_th);
        if share > 0.6 && self.max_p <= 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if share < 0.4 && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }

    /// Takes over the adapted max_p of `other`.
    pub fn adapted_as(&mut self, other: &Curve) {
        self.max_p = other.max_p;
    }

    /// The probability at max_th.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// p_b: 0 below min_th, then linear up to max_p at max_th; from there 1, or with `gentle`
    /// linear up to 1 at twice max_th.
    #[inline]
    pub fn probability(&self, average: f64) -> f64 {
        if average < self.min_th {
            0.0
        } else if average < self.max_th {
            self.max_p * (average - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle && average < 2.0 * self.max_th {
            self.max_p + (1.0 - self.max_p) * (average - self.max_th) / self.max_th
        } else {
            1.0
        }
    }
}

/// The decision about an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Keep it.
    Pass,
    /// Drop it. The average is between the thresholds, so it may be marked instead.
    Early,
    /// Drop it. The average is above max_th, so a mark is not enough (RFC 3168, section 7).
    Forced,
}

/// The count that spaces drops evenly.
#[derive(Debug, Clone, Copy)]
pub struct Spacing {
    count: i64,
    /// The number drawn for this gap, with [`Gaps::Linux`].
    drawn: f64,
}

impl Default for Spacing {
    fn default() -> Self {
        Spacing { count: -1, drawn: 0.0 }
    }
}

impl Spacing {
    /// Decides about an arrival at `average`. `share` scales p_b: in byte mode it is the packet's
    /// size as a share of the largest, otherwise 1.
    #[inline]
    pub fn step(&mut self, curve: &Curve, average: f64, share: f64, rng: &mut Rng) -> Signal {
        if average < curve.min_th {
            self.count = -1;
            return Signal::Pass;
        }
        let p_b = curve.probability(average);
        let linux = curve.gaps == Gaps::Linux;
        if p_b >= 1.0 {
            self.count = if linux { -1 } else { 0 };
            return Signal::Forced;
        }
        if (curve.spare_first || linux) && self.count < 0 {
            self.begin(curve, rng);
            self.count = i64::from(!linux);
            return Signal::Pass;
        }
        let p_b = p_b * share;
        self.count += 1;
        let used = self.count as f64 * p_b;
        let least = f64::from(u8::from(curve.wait));
        let drops = if linux {
            used >= self.drawn
        } else if used < least {
            false
        } else {
            // p_a = p_b / (1 + least - used), without the division; below 0 the range is used up.
            rng.uniform() * (1.0 + least - used) < p_b
        };
        if !drops {
            return Signal::Pass;
        }
        self.begin(curve, rng);
        if average < curve.max_th { Signal::Early } else { Signal::Forced }
    }

    /// A gap begins.
    fn begin(&mut self, curve: &Curve, rng: &mut Rng) {
        self.count = 0;
        if curve.gaps == Gaps::Linux {
            self.drawn = rng.uniform();
        }
    }

    /// A packet was dropped for another reason.
    #[inline]
    pub fn restart(&mut self, curve: &Curve) {
        if curve.gaps == Gaps::Paper {
            self.count = 0;
        }
    }

    /// Packets since the last drop; -1 if the average was below min_th.
    pub fn count(&self) -> i64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(gentle: bool) -> Curve {
        Curve::new(Limit::Packets(15), Limit::Packets(45), 0.1, gentle).unwrap().0
    }

    #[test]
    fn the_curve_is_the_papers() {
        for (average, standard, gentle) in [
            (14.9, 0.0, 0.0),
            (15.0, 0.0, 0.0),
            (30.0, 0.05, 0.05),
            (44.0, 0.1 * 29.0 / 30.0, 0.1 * 29.0 / 30.0),
            (45.0, 1.0, 0.1),
            (67.5, 1.0, 0.55),
            (90.0, 1.0, 1.0),
            (200.0, 1.0, 1.0),
        ] {
            assert!((curve(false).probability(average) - standard).abs() < 1e-12, "{average}");
            assert!((curve(true).probability(average) - gentle).abs() < 1e-12, "{average}");
        }
        assert_eq!(Curve::NEVER.probability(1e12), 0.0);
    }

    #[test]
    fn max_p_goes_up_by_a_quarter_or_a_hundredth_and_down_by_a_tenth() {
        // The target is 27 to 33 packets.
        let moved = |max_p: f64, average: f64| {
            let (mut curve, _) =
                Curve::new(Limit::Packets(15), Limit::Packets(45), max_p, true).unwrap();
            curve.adapt(average);
            curve.max_p()
        };
        let near = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(near(moved(0.02, 33.1), 0.025) && near(moved(0.1, 60.0), 0.11));
        assert!(near(moved(0.1, 26.9), 0.09) && near(moved(0.1, 0.0), 0.09));
        for kept in [(0.1, 27.1), (0.1, 32.9), (0.51, 60.0), (0.009, 10.0)] {
            assert!(near(moved(kept.0, kept.1), kept.0), "{kept:?}");
        }
    }

    #[test]
    fn drops_are_uniformly_spaced() {
        // p_b = 0.05 at the middle: the gap after a drop is uniform on 1..=19 (D1).
        let mut rng = Rng::named(5, "spacing");
        let mut spacing = Spacing::default();
        let mut gaps = [0_u32; 21];
        let mut gap = 0;
        let mut drops = 0;
        spacing.restart(&curve(false));
        while drops < 38_000 {
            gap += 1;
            if spacing.step(&curve(false), 30.0, 1.0, &mut rng) == Signal::Early {
                gaps[gap] += 1;
                drops += 1;
                gap = 0;
            }
        }
        // 2000 expected in each; the standard deviation is sqrt(38000/19 * 18/19) = 43.5.
        assert_eq!((gaps[0], gaps[20]), (0, 0));
        for count in &gaps[1..20] {
            assert!((2000 - 175..=2000 + 175).contains(count), "{gaps:?}");
        }
    }

    #[test]
    fn drops_that_wait_are_spaced_from_one_to_two_over_p() {
        // p_b = 0.05: gaps uniform on 20..=39, each 1/20 (D2).
        let mut rng = Rng::named(9, "waiting");
        let law = curve(false).with_rules(true, false);
        let mut gaps = [0_u32; 41];
        let mut spacing = Spacing::default();
        spacing.restart(&curve(false));
        for _ in 0..40_000 {
            let gap =
                (1..).find(|_| spacing.step(&law, 30.0, 1.0, &mut rng) != Signal::Pass).unwrap();
            gaps[gap] += 1;
        }
        // 2000 expected in each; 4 standard deviations of sqrt(40000/20 * 19/20) = 43.6.
        assert_eq!(gaps[..20].iter().sum::<u32>() + gaps[40], 0);
        for count in &gaps[20..40] {
            assert!((2000 - 175..=2000 + 175).contains(count), "{gaps:?}");
        }
        assert_eq!(spacing.step(&law, 45.0, 1.0, &mut rng), Signal::Forced);
    }

    #[test]
    fn the_first_gap_after_a_calm_is_uniform_up_to_one_over_p() {
        let mut rng = Rng::named(6, "first");
        let mut gaps = [0_u32; 22];
        for _ in 0..20_000 {
            let mut spacing = Spacing::default();
            let gap = (1..)
                .find(|_| spacing.step(&curve(false), 30.0, 1.0, &mut rng) != Signal::Pass)
                .unwrap();
            gaps[gap] += 1;
        }
        // Section 7, method 2: Prob[X = n] = 0.05 for n in 1..=20; 4 deviations of 31.
        for count in &gaps[1..=20] {
            assert!((1000 - 125..=1000 + 125).contains(count), "{gaps:?}");
        }
        assert_eq!(gaps[21], 0);
    }

    #[test]
    fn the_first_arrival_of_a_congestion_may_be_spared() {
        // ns-2: it counts for one, so that the gaps are uniform on 2..=20, each 1/19.
        let mut rng = Rng::named(10, "spared");
        let law = curve(false).with_rules(false, true);
        let mut gaps = [0_u32; 22];
        for _ in 0..19_000 {
            let mut spacing = Spacing::default();
            let gap =
                (1..).find(|_| spacing.step(&law, 30.0, 1.0, &mut rng) != Signal::Pass).unwrap();
            gaps[gap] += 1;
        }
        // 1000 expected in each; 4 deviations of 31.
        assert_eq!(gaps[1] + gaps[21], 0, "{gaps:?}");
        for count in &gaps[2..20] {
            assert!((1000 - 125..=1000 + 125).contains(count), "{gaps:?}");
        }
    }

    #[test]
    fn linux_spares_the_first_and_draws_gaps_up_to_one_over_p() {
        // p_b = 0.05: gaps uniform on 1..=20, each 1/20, and on 2..=21 after a calm or a forced drop.
        let mut rng = Rng::named(11, "linux");
        let law = curve(false).with_gaps(Gaps::Linux);
        for (at_first, from) in [(14.0, 2), (45.0, 2), (30.0, 1)] {
            let mut gaps = [0_u32; 23];
            let mut spacing = Spacing::default();
            while spacing.step(&law, 30.0, 1.0, &mut rng) == Signal::Pass {}
            for _ in 0..20_000 {
                if at_first != 30.0 {
                    spacing.step(&law, at_first, 1.0, &mut rng);
                }
                let gap = (1..)
                    .find(|_| spacing.step(&law, 30.0, 1.0, &mut rng) != Signal::Pass)
                    .unwrap();
                gaps[gap] += 1;
            }
            // 1000 expected in each; 4 deviations of 31.
            assert_eq!(gaps[..from].iter().sum::<u32>() + gaps[from + 20], 0, "{gaps:?}");
            for count in &gaps[from..from + 20] {
                assert!((1000 - 125..=1000 + 125).contains(count), "{gaps:?}");
            }
        }
    }

    #[test]
    fn linux_draws_once_a_gap() {
        // n p_b stays 0.1: a number above it is not reached at any arrival, and the first arrival
        // after a drop reaches one below it.
        let mut rng = Rng::named(12, "once");
        let law = curve(false).with_gaps(Gaps::Linux);
        let mut drops = [0_u32; 101];
        for _ in 0..10_000 {
            let mut spacing = Spacing::default();
            assert_eq!(spacing.step(&law, 30.0, 1.0, &mut rng), Signal::Pass);
            let falling = |n: &usize| 15.0 + 30.0 / *n as f64;
            let first = (1..=100)
                .find(|n| spacing.step(&law, falling(n) - 1e-9, 1.0, &mut rng) != Signal::Pass);
            drops[first.unwrap_or(0)] += 1;
        }
        // 1000 expected; 4 standard deviations of 30.
        assert!((880..=1120).contains(&drops[1]), "{drops:?}");
        assert_eq!(drops[0] + drops[1], 10_000, "{drops:?}");
    }

    #[test]
    fn a_full_queue_does_not_end_a_gap_of_linux() {
        let mut rng = Rng::named(13, "full");
        let law = curve(false).with_gaps(Gaps::Linux);
        let mut spacing = Spacing::default();
        for _ in 0..2 {
            spacing.step(&law, 16.0, 1.0, &mut rng);
            spacing.restart(&law);
        }
        assert_eq!(spacing.count(), 1);
        spacing.restart(&curve(false));
        assert_eq!(spacing.count(), 0);
    }

    #[test]
    fn byte_mode_scales_and_calm_resets() {
        let mut rng = Rng::named(7, "bytes");
        let mut spacing = Spacing::default();
        let mut drops = |share| {
            (0..60_000)
                .filter(|_| spacing.step(&curve(false), 30.0, share, &mut rng) != Signal::Pass)
                .count()
        };
        // The mean gap is (1/p_b) / 2, so the loss is 2 p_b: 10 %, and 1 % for a tenth of the size.
        assert!((5_800..6_200).contains(&drops(1.0)));
        assert!((540..660).contains(&drops(0.1)));
        spacing.step(&curve(false), 14.0, 1.0, &mut rng);
        assert_eq!(spacing.count(), -1);
    }

    #[test]
    fn above_max_th_every_packet_goes_unless_gentle() {
        let mut rng = Rng::named(8, "forced");
        let mut spacing = Spacing::default();
        for _ in 0..100 {
            assert_eq!(spacing.step(&curve(false), 45.0, 1.0, &mut rng), Signal::Forced);
        }
        let signals: Vec<_> =
            (0..100).map(|_| spacing.step(&curve(true), 46.0, 1.0, &mut rng)).collect();
        assert!(signals.contains(&Signal::Pass) && signals.contains(&Signal::Forced));
    }

    #[test]
    fn wrong_curves_are_refused() {
        let packets = Limit::Packets;
        let path = |result: Result<(Curve, Measure), ConfigError>| result.unwrap_err().path;
        assert_eq!(path(Curve::new(packets(0), packets(45), 0.1, false)), "min_th");
        assert_eq!(path(Curve::new(packets(15), packets(15), 0.1, false)), "max_th");
        assert_eq!(path(Curve::new(packets(15), Limit::Bytes(4500), 0.1, false)), "max_th");
        assert_eq!(path(Curve::new(packets(15), packets(45), 0.0, false)), "max_p");
        assert_eq!(path(Curve::new(packets(15), packets(45), 1.1, false)), "max_p");
        assert_eq!(path(Curve::new(packets(15), packets(45), f64::NAN, false)), "max_p");
    }
}
