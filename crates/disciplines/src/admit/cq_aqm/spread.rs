//! The thresholds of every precedence from those of the lowest.

/// The thresholds of every precedence from those of p = 0, in packets, which need not be whole.
pub(super) struct Spread {
    pub(super) limit: u32,
    pub(super) local: f64,
    /// Distance from `local` up to the plea's threshold; None is off.
    pub(super) plea: Option<f64>,
    /// Distance from `local` down to the lower threshold.
    pub(super) gap: f64,
}

impl Spread {
    /// `local_lower`, `local` and `non_local` of each of `levels` precedences below the highest.
    /// Rounding down keeps their order.
    pub(super) fn thresholds(&self, levels: usize) -> Vec<[u32; 3]> {
        (0..levels).map(|p| self.level(p, levels)).collect()
    }

    /// The thresholds of precedence `p`.
    pub(super) fn level(&self, p: usize, levels: usize) -> [u32; 3] {
        let whole = |packets: f64| ((packets + 1e-6).floor() as u32).clamp(1, self.limit);
        let local = self.local + p as f64 * (f64::from(self.limit) - self.local) / levels as f64;
        let non_local = self.plea.map_or(self.limit, |plea| whole(local + plea));
        [whole(local - self.gap), whole(local), non_local]
    }
}
