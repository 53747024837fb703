//! Time sliding window marker.
//!
//! It estimates the rate of the traffic over a window that decays with time. It marks
//! packets at random, as many as the share of the traffic above the rate. Random marks are spread
//! over the flows and over time.
//!
//! Source: W. Fang, N. Seddigh and B. Nandy, RFC 2859: the estimator is section 3, the marker
//! section 4. With two levels it is the tagger of D. Clark and W. Fang, "Explicit Allocation of
//! Best-Effort Packet Delivery Service", IEEE/ACM ToN 6(4), 1998, and ns-2's TSW2CM.
//!
//! | symbol | parameter |
//! |---|---|
//! | CTR | `rate` |
//! | PTR | `peak_rate` |
//! | AVG_INTERVAL | `window` |
//!
//! Deviations: none. Cost: a division per packet, and a random number above the rate.

use super::Marker;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Named, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the time sliding window marker.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TswParams {
    /// Rate up to which packets are in profile, in bits of IP packets (committed target rate,
    /// CTR); "0bit" puts all out.
    pub rate: Rate,
    /// Rate from which packets get level 2 (peak target rate, PTR); at least `rate`. There are two
    /// levels if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<Rate>,
    /// Window of the rate estimate (AVG_INTERVAL); above 0. Default 1s (ns-2).
    #[serde(default = "second")]
    pub window: Duration,
}

fn second() -> Duration {
    Duration::from_secs(1)
}

/// The time sliding window marker.
pub struct Tsw {
    /// In bytes a second.
    committed: f64,
    peak: f64,
    /// In seconds.
    window: f64,
    /// Estimate in bytes a second, and when it was made.
    estimate: f64,
    front: Time,
}

impl Tsw {
    /// A marker with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &TswParams) -> Result<Self, ConfigError> {
        let TswParams { rate, peak_rate, window } = *params;
        require(window > Duration::ZERO, "window", || "must be above 0".into())?;
        require(peak_rate.is_none_or(|peak| peak >= rate), "peak_rate", || {
            format!("must be at least the rate of {rate}")
        })?;
        let committed = rate.bps() as f64 / 8.0;
        Ok(Tsw {
            committed,
            peak: peak_rate.map_or(f64::INFINITY, |peak| peak.bps() as f64 / 8.0),
            window: window.as_secs_f64(),
            estimate: committed,
            front: Time::ZERO,
        })
    }
}

impl Named for Tsw {
    type Family = dyn Marker;
    const NAME: &'static str = "tsw";
    const SUMMARY: &'static str =
        "estimates the rate over a sliding window, marks the excess share at random";
    const SOURCE: &'static str = "RFC 2859; Clark and Fang 1998";
    type Params = TswParams;

    fn build(params: &TswParams, _: &()) -> Result<Box<dyn Marker>, ConfigError> {
        Ok(Box::new(Tsw::new(params)?))
    }
}

impl Marker for Tsw {
    #[inline]
    fn mark(&mut self, now: Time, len: u32, rng: &mut Rng) -> u8 {
        let bytes = self.estimate * self.window + f64::from(len);
        self.estimate = bytes / (now.since(self.front).as_secs_f64() + self.window);
        self.front = now;
        if self.estimate <= self.committed {
            return 0;
        }
        // Each level's share is its slice of the rate: P1, P2 and 1 - P1 - P2 of section 4.
        let slice = rng.uniform() * self.estimate;
        u8::from(slice >= self.committed) + u8::from(slice >= self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_section_3() {
        let params = TswParams { rate: Rate::from_bps(80_000), peak_rate: None, window: second() };
        let mut tsw = Tsw::new(&params).unwrap();
        let mut rng = Rng::named(1, "tsw");
        // From 10 000 B/s: (10 000 + 2000) / 1.5, then (8000 + 1000) / 1.
        assert_eq!(tsw.mark(Time::from_nanos(500_000_000), 2000, &mut rng), 0);
        assert_eq!(tsw.estimate, 8000.0);
        assert_eq!(tsw.mark(Time::from_nanos(500_000_000), 1000, &mut rng), 0);
        assert_eq!(tsw.estimate, 9000.0);
    }
}
