//! Distributions of random sizes and times that sources share.

use forebay_core::{ConfigError, Rate, Rng, config::require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of values about their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Every value is the mean.
    #[default]
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto with the source's `shape`: a heavy tail.
    Pareto,
}

/// A random variable with a given distribution and mean.
#[derive(Debug, Clone, Copy)]
pub struct Variate {
    law: Law,
    mean: f64,
    shape: f64,
}

impl Variate {
    /// A variable with this `mean`. `shape` is used only for the Pareto distribution.
    pub fn new(law: Law, mean: f64, shape: f64) -> Result<Self, ConfigError> {
        if law == Law::Pareto {
            require(shape.is_finite() && shape >= LEAST_SHAPE, "shape", || {
                format!(
                    "must be at least {LEAST_SHAPE}, because below it the Pareto law hardly has a \
                     mean; got {shape}"
                )
            })?;
        }
        Ok(Variate { law, mean, shape })
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match self.law {
            Law::Fixed => self.mean,
            Law::Exponential => rng.exponential(self.mean),
            Law::Pareto => rng.pareto(self.mean, self.shape),
        }
    }

    /// The rest of a value at a random moment: exact for fixed and exponential values, a new value
    /// for Pareto, whose residual has no mean for shapes of 2 and below.
    pub fn residual(&self, rng: &mut Rng) -> f64 {
        match self.law {
            Law::Fixed => self.mean * rng.uniform(),
            Law::Exponential | Law::Pareto => self.draw(rng),
        }
    }

    /// One packet length: a value rounded to whole bytes, within 1 to 65 535.
    pub fn draw_length(&self, rng: &mut Rng) -> u32 {
        ((self.draw(rng) + 0.5) as u32).clamp(1, MAX_PACKET)
    }
}

/// Smallest shape of a Pareto distribution. Its smallest value is then a hundredth of its mean.
const LEAST_SHAPE: f64 = 1.01;

/// Largest IPv4 packet in bytes (RFC 791, section 3.1).
pub(crate) const MAX_PACKET: u32 = 65_535;

/// Checks that `size`, the field at `path`, can be a packet's length.
pub(crate) fn require_length(size: u64, path: &str) -> Result<u32, ConfigError> {
    require((1..=u64::from(MAX_PACKET)).contains(&size), path, || {
        format!("must be from 1B to {MAX_PACKET}B, the largest IP packet; got \"{size}B\"")
    })?;
    Ok(size as u32)
}

/// Checks that `rate`, the field at `path`, can be that of packets of `len` bytes: with time between
/// them, and above 0, but that a step of 0 is a pause.
pub(crate) fn require_rate(rate: Rate, len: u32, path: &str) -> Result<(), ConfigError> {
    let may_pause = path.ends_with(".steps");
    require(rate.bps() > 0 || may_pause, path, || "must be above 0, such as \"1Mbit\"".into())?;
    let most = Rate::from_bps(u64::from(len) * 8_000_000_000);
    require(rate <= most, path, || {
        format!("must be at most {most}, a packet of {len} B a nanosecond; got \"{rate}\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_has_the_stated_mean() {
        let mut rng = Rng::named(1, "law");
        for law in [Law::Fixed, Law::Exponential, Law::Pareto] {
            let variate = Variate::new(law, 8.0, 3.0).unwrap();
            let n = 200_000;
            let mean = (0..n).map(|_| variate.draw(&mut rng)).sum::<f64>() / f64::from(n);
            assert!((mean - 8.0).abs() < 0.1, "{law:?}: {mean}");
        }
        let residual = Variate::new(Law::Fixed, 8.0, 3.0).unwrap();
        let mean = (0..100_000).map(|_| residual.residual(&mut rng)).sum::<f64>() / 1e5;
        assert!((mean - 4.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn a_law_without_mean_is_refused() {
        for shape in [1.000001, 1.0, 0.5, f64::NAN] {
            let error = Variate::new(Law::Pareto, 1.0, shape).unwrap_err();
            assert_eq!(error.path, "shape");
        }
        assert!(Variate::new(Law::Exponential, 1.0, 0.5).is_ok());
    }
}
