//! Committed access rate (CAR).
//!
//! A token bucket in which a packet that lacks tokens may borrow them, up to an
//! extended burst. Every packet that borrows adds the present debt to a compounded debt. The packet
//! that would raise it above the extended burst exceeds the rate, and the compounded debt starts
//! again at zero. So packets exceed more often the higher the debt is, and not every packet of a
//! burst does.
//!
//! Source: Cisco, "Committed Access Rate" (IOS 11.1 CC), and its configuration guide, "Policing
//! and Shaping Overview", section "Extended Burst".
//!
//! | words of the source | parameter or variable |
//! |---|---|
//! | configured rate | `rate` |
//! | normal burst | `burst` |
//! | extended burst | `extended_burst` |
//! | actual debt | tokens below zero |
//! | compounded debt | sum of the actual debts after each packet that borrows, since the last exceeded |
//!
//! Deviations: D1. An extended burst equal to the normal one lends nothing, as the source says of
//! such a configuration. D2. Tokens flow in continuously. Cost: a multiplication per packet.

use super::Marker;
use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of committed access rate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarParams {
    /// Rate up to which packets are in profile, in bits of IP packets; "0bit" puts all out.
    pub rate: Rate,
    /// Normal burst: size of the bucket, full at the beginning. Default: 1.5 s at `rate`, as Cisco
    /// recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// Extended burst: most that the compounded debt may come to; at least `burst`, and equal to
    /// it to lend nothing. Default: twice `burst`, as Cisco recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_burst: Option<Bytes>,
}

impl CarParams {
    fn resolved(self) -> Self {
        let usual = self.rate.bytes_in(Duration::from_millis(1500)) as u64;
        let burst = self.burst.unwrap_or(Bytes(usual));
        let extended = self.extended_burst.unwrap_or(Bytes(burst.0.saturating_mul(2)));
        CarParams { burst: Some(burst), extended_burst: Some(extended), ..self }
    }
}

/// The committed access rate marker.
pub struct Car {
    rate: Rate,
    burst: f64,
    /// Limit of the compounded debt; 0: nothing is lent.
    lent: f64,
    /// Tokens in bytes, negative if owed, and when they were counted.
    tokens: f64,
    compounded: f64,
    counted: Time,
}

impl Car {
    /// A marker with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &CarParams) -> Result<Self, ConfigError> {
        let params = params.clone().resolved();
        let (burst, extended) =
            (params.burst.unwrap_or_default(), params.extended_burst.unwrap_or_default());
        require(extended >= burst, "extended_burst", || {
            format!("must be at least the burst of {burst}, got \"{extended}\"")
        })?;
        Ok(Car {
            rate: params.rate,
            burst: burst.0 as f64,
            lent: if extended > burst { extended.0 as f64 } else { 0.0 },
            tokens: burst.0 as f64,
            compounded: 0.0,
            counted: Time::ZERO,
        })
    }
}

impl Named for Car {
    type Family = dyn Marker;
    const NAME: &'static str = "car";
    const SUMMARY: &'static str =
        "committed access rate: a token bucket that lends, so that marks do not come in bursts";
    const SOURCE: &'static str = "Cisco, Committed Access Rate, extended burst";
    type Params = CarParams;

    fn resolve(params: &mut CarParams, _: &()) {
        *params = params.clone().resolved();
    }

    fn build(params: &CarParams, _: &()) -> Result<Box<dyn Marker>, ConfigError> {
        Ok(Box::new(Car::new(params)?))
    }
}

impl Marker for Car {
    #[inline]
    fn mark(&mut self, now: Time, len: u32, _: &mut Rng) -> u8 {
        let len = f64::from(len);
        let tokens = self.tokens + self.rate.bytes_in(now.since(self.counted));
        self.tokens = tokens.min(self.burst);
        self.counted = now;
        let left = self.tokens - len;
        if left < 0.0 {
            let compounded = self.compounded - left;
            if compounded > self.lent {
                self.compounded = 0.0;
                return 1;
            }
            self.compounded = compounded;
        }
        self.tokens = left;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of packets of 1000 B, two per second at a rate of 1000 B/s.
    fn levels(burst: u64, extended: u64, seconds: u64) -> String {
        let params = CarParams {
            rate: Rate::from_bps(8_000),
            burst: Some(Bytes(burst)),
            extended_burst: Some(Bytes(extended)),
        };
        let mut car = Car::new(&params).unwrap();
        let mut rng = Rng::named(1, "car");
        let mut mark = |packet: u64| {
            let now = Time::from_nanos((1 + packet / 2) * 1_000_000_000);
            char::from(b'0' + car.mark(now, 1000, &mut rng))
        };
        (0..2 * seconds).map(&mut mark).collect()
    }

    #[test]
    fn debts_compound_until_a_packet_exceeds() {
        // Debts after each packet, in thousands: 0 0, then 0 1, then 1 2 (a second pays 1 back).
        // The next one would owe 2 and bring the compounded debt from 4 to 6; it exceeds, that debt
        // is forgiven, and the one after it borrows again.
        assert_eq!(levels(2000, 4000, 4), "00000010");
        // From there on every other packet exceeds, as it must at twice the rate.
        let exceeded = levels(2000, 4000, 400).matches('1').count();
        assert!((395..=400).contains(&exceeded), "{exceeded}");
    }

    #[test]
    fn without_an_extended_burst_it_is_a_token_bucket() {
        assert_eq!(levels(2000, 2000, 4), "00010101");
    }
}
