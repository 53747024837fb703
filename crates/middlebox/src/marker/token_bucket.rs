//! Token bucket marker.
//!
//! Tokens arrive at the rate, up to a burst. A packet that finds as many tokens as it
//! has bytes takes them and is in profile. With an excess burst, tokens for which the first bucket
//! has no room go to a second one. Packets that find tokens only there get level 1, the others
//! level 2.
//!
//! Source: J. Heinanen and R. Guerin, "A Single Rate Three Color Marker", RFC 2697, section 3, in
//! colour-blind mode. Without an excess burst it is a plain token bucket, as in U. Bodin and O.
//! Schelén, "Drop Strategies and Loss-rate Differentiation", footnote 6.
//!
//! | symbol | parameter |
//! |---|---|
//! | CIR | `rate` |
//! | CBS | `burst` |
//! | EBS | `excess_burst` |
//!
//! Deviations: D1. Tokens arrive continuously; the RFC adds one byte's worth at a time. D2. With an
//! excess burst of zero, packets out of profile get level 1, where red would be 2: there is nothing
//! between. Cost: a multiplication per packet.

use super::Marker;
use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the token bucket marker.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketParams {
    /// Rate at which tokens come in, in bits of IP packets (CIR); "0bit" puts all out once the
    /// burst is used up.
    pub rate: Rate,
    /// Size of the bucket, full at the beginning (CBS); above 0, and of use from the largest
    /// packet on. Default: 100 ms at `rate`, or 3KB if that is more; nothing at "0bit".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// Size of the second bucket (EBS). Default 0: two levels.
    #[serde(default)]
    pub excess_burst: Bytes,
}

impl TokenBucketParams {
    fn resolved(self) -> Self {
        let tenth = self.rate.bytes_in(Duration::from_millis(100)) as u64;
        let burst = if self.rate.bps() == 0 { 1 } else { tenth.max(3000) };
        TokenBucketParams { burst: self.burst.or(Some(Bytes(burst))), ..self }
    }
}

/// The token bucket marker.
pub struct TokenBucket {
    rate: Rate,
    burst: f64,
    excess_burst: f64,
    /// Tokens in bytes, and when they were counted.
    tokens: f64,
    excess: f64,
    counted: Time,
}

impl TokenBucket {
    /// A marker with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &TokenBucketParams) -> Result<Self, ConfigError> {
        let params = params.clone().resolved();
        let burst = params.burst.unwrap_or_default().0 as f64;
        require(burst > 0.0, "burst", || "must be above 0".into())?;
        let excess_burst = params.excess_burst.0 as f64;
        Ok(TokenBucket {
            rate: params.rate,
            burst,
            excess_burst,
            tokens: burst,
            excess: excess_burst,
            counted: Time::ZERO,
        })
    }
}

impl Named for TokenBucket {
    type Family = dyn Marker;
    const NAME: &'static str = "token-bucket";
    const SUMMARY: &'static str =
        "in profile while there are tokens; with an excess burst, three levels";
    const SOURCE: &'static str = "RFC 2697, colour-blind";
    type Params = TokenBucketParams;

    fn resolve(params: &mut TokenBucketParams, _: &()) {
        *params = params.clone().resolved();
    }

    fn build(params: &TokenBucketParams, _: &()) -> Result<Box<dyn Marker>, ConfigError> {
        Ok(Box::new(TokenBucket::new(params)?))
    }
}

impl Marker for TokenBucket {
    #[inline]
    fn mark(&mut self, now: Time, len: u32, _: &mut Rng) -> u8 {
        let len = f64::from(len);
        let tokens = self.tokens + self.rate.bytes_in(now.since(self.counted));
        self.counted = now;
        self.tokens = tokens.min(self.burst);
        self.excess = (self.excess + (tokens - self.tokens)).min(self.excess_burst);
        if self.tokens >= len {
            self.tokens -= len;
            0
        } else if self.excess >= len {
            self.excess -= len;
            1
        } else {
            1 + u8::from(self.excess_burst > 0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(burst: u64, excess: u64, arrivals: &[(u64, u32)]) -> Vec<u8> {
        // 1000 B/s.
        let params = TokenBucketParams {
            rate: Rate::from_bps(8_000),
            burst: Some(Bytes(burst)),
            excess_burst: Bytes(excess),
        };
        let mut bucket = TokenBucket::new(&params).unwrap();
        let mut rng = Rng::named(1, "bucket");
        let mut mark =
            |&(millis, len)| bucket.mark(Time::from_nanos(millis * 1_000_000), len, &mut rng);
        arrivals.iter().map(&mut mark).collect()
    }

    #[test]
    fn a_packet_takes_its_tokens_or_none() {
        let arrivals = [(0, 1500), (0, 600), (0, 500), (100, 200), (100, 100), (2100, 2000)];
        assert_eq!(levels(2000, 0, &arrivals), [0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn what_the_first_bucket_cannot_hold_goes_to_the_second() {
        // The first is full again at 2 s, the second has 1000 more at 3 s.
        let arrivals = [(0, 2000), (0, 1000), (0, 600), (3000, 2000), (3000, 1000), (3000, 1)];
        assert_eq!(levels(2000, 1000, &arrivals), [0, 1, 2, 0, 1, 2]);
    }
}
