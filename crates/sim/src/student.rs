//! Student's t distribution, for confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value below which a share (above 0, below 1) of Student's t distribution with so many degrees
/// of freedom (above 0) lies; not a number for other arguments.
pub fn student_quantile(freedom: f64, share: f64) -> f64 {
    if !(share > 0.0 && share < 1.0) {
        return f64::NAN;
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |law| law.inverse_cdf(share))
}

#[cfg(test)]
mod tests {
    use super::student_quantile;

    /// Abramowitz and Stegun, table 26.10, and by hand: of one degree of freedom it is
    /// tan(pi (share - 1/2)).
    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, share, quantile) in [
            (1.0, 0.975, 12.706_204_736_174_698),
            (2.0, 0.975, 4.302_652_729_749_463),
            (9.0, 0.975, 2.262_157_162_798_205),
            (9.0, 0.025, -2.262_157_162_798_205),
            (120.0, 0.995, 2.617_421_145_107),
        ] {
            let found = student_quantile(freedom, share);
            assert!((found / quantile - 1.0).abs() < 1e-11, "{freedom} {share}: {found}");
        }
        assert_eq!(student_quantile(4.0, 0.5), 0.0);
        for (freedom, share) in
            [(0.0, 0.9), (-1.0, 0.9), (f64::NAN, 0.9), (3.0, 1.0), (3.0, f64::NAN)]
        {
            assert!(student_quantile(freedom, share).is_nan());
        }
    }
}
