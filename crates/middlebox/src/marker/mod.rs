//! Markers: traffic conditioners that compare traffic with a profile and give each packet a drop
//! precedence.
//!
//! A marker meters all the packets that it is handed as one stream, in profile (level 0) or out of
//! it (level 1, or 1 and 2 where the profile has three colours: green, yellow and red of RFC 2597).
//! It never delays or drops.

mod car;
mod token_bucket;
mod tsw;

pub use car::{Car, CarParams};
pub use token_bucket::{TokenBucket, TokenBucketParams};
pub use tsw::{Tsw, TswParams};

use forebay_core::{ConfigError, Rng, Time, config};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

/// A traffic conditioner that marks.
pub trait Marker: Send {
    /// Drop precedence of an IP packet of `len` bytes that passes at `now`: 0 in profile, higher
    /// out of it. `now` never decreases.
    fn mark(&mut self, now: Time, len: u32, rng: &mut Rng) -> u8;
}

/// A profile: which marker, and its parameters.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Profile {
    /// Time sliding window.
    Tsw(TswParams),
    /// Token bucket.
    TokenBucket(TokenBucketParams),
    /// Committed access rate.
    Car(CarParams),
}

/// A kind of profile, for lists.
pub struct Kind {
    /// What a scenario writes as `kind = "..."`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, RFC or document that it follows.
    pub source: &'static str,
    /// JSON Schema of the parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    read: fn(&Value) -> Result<Profile, ConfigError>,
}

/// The kinds of profiles.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "car",
        summary: "committed access rate: a token bucket that lends, so that marks do not bunch",
        source: "Cisco, Committed Access Rate, extended burst",
        schema: CarParams::json_schema,
        read: |block| config::read(block).map(|params: CarParams| Profile::Car(params.resolved())),
    },
    Kind {
        name: "token-bucket",
        summary: "in profile while there are tokens; with an excess burst, three levels",
        source: "RFC 2697, colour-blind",
        schema: TokenBucketParams::json_schema,
        read: |block| {
            let resolve = |params: TokenBucketParams| Profile::TokenBucket(params.resolved());
            config::read(block).map(resolve)
        },
    },
    Kind {
        name: "tsw",
        summary: "estimates the rate over a sliding window, marks the excess share at random",
        source: "RFC 2859; Clark and Fang 1998",
        schema: TswParams::json_schema,
        read: |block| config::read(block).map(Profile::Tsw),
    },
];

impl Profile {
    /// Reads `block` (`kind` and that kind's parameters) and fills in every default.
    ///
    /// # Errors
    /// An unknown kind or field, or a value of the wrong form, with its path inside `block`.
    pub fn read(block: &Map<String, Value>) -> Result<Self, ConfigError> {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let mut params = block.clone();
        let given = params.remove("kind").unwrap_or_default();
        let Some(name) = given.as_str() else {
            let message = format!("expected one of {}, got {given}", names.join(", "));
            return Err(ConfigError::new("kind", message));
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            ConfigError::new("kind", config::unknown("kind of profile", name, &names))
        })?;
        (kind.read)(&Value::Object(params))
    }

    /// A marker of this profile that has seen nothing yet.
    ///
    /// # Errors
    /// Names the field that is out of range, and the range.
    pub fn marker(&self) -> Result<Box<dyn Marker>, ConfigError> {
        Ok(match self {
            Profile::Tsw(params) => Box::new(Tsw::new(params)?),
            Profile::TokenBucket(params) => Box::new(TokenBucket::new(params)?),
            Profile::Car(params) => Box::new(Car::new(params)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Duration;
    use serde_json::json;

    fn read(block: Value) -> Result<Profile, ConfigError> {
        Profile::read(block.as_object().unwrap())
    }

    /// Share of packets of each level when 1000-byte packets come at `mbit` Mbit/s for 100 s, of
    /// which the first half is left out: bursts and loans are used up.
    fn shares(block: Value, mbit: f64) -> [f64; 3] {
        let mut marker = read(block).unwrap().marker().unwrap();
        let mut rng = Rng::named(1, "marker");
        let mut counts = [0_u32; 3];
        let gap = 8e3 / (mbit * 1e6);
        for packet in 0..(100.0 / gap) as u32 {
            let at = f64::from(packet) * gap;
            let level = marker.mark(Time::ZERO + Duration::from_secs_f64(at), 1000, &mut rng);
            if at >= 50.0 {
                counts[usize::from(level)] += 1;
            }
        }
        let total = f64::from(counts.iter().sum::<u32>());
        counts.map(|count| f64::from(count) / total)
    }

    #[test]
    fn every_kind_lets_its_rate_through_in_profile() {
        for kind in ["car", "token-bucket", "tsw"] {
            for (offered, share) in [(1.0, 1.0), (1.9, 1.0), (4.0, 0.5), (10.0, 0.2)] {
                let [green, ..] = shares(json!({ "kind": kind, "rate": "2Mbit" }), offered);
                assert!((green - share).abs() < 0.02, "{kind} {offered}: {green}");
            }
            let [green, ..] = shares(json!({ "kind": kind, "rate": "0bit" }), 1.0);
            assert_eq!(green, 0.0, "{kind}");
        }
    }

    #[test]
    fn a_peak_rate_or_an_excess_burst_makes_three_levels() {
        let tsw = shares(json!({"kind": "tsw", "rate": "2Mbit", "peak_rate": "3Mbit"}), 4.0);
        for (share, wanted) in tsw.into_iter().zip([0.5, 0.25, 0.25]) {
            assert!((share - wanted).abs() < 0.02, "{tsw:?}");
        }
        let bucket = json!({"kind": "token-bucket", "rate": "2Mbit", "excess_burst": "10KB"});
        let [green, yellow, red] = shares(bucket, 4.0);
        assert!((green - 0.5).abs() < 0.01 && yellow < 0.01 && red > 0.49);
    }

    #[test]
    fn what_is_effective_reads_the_same() {
        assert!(KINDS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for kind in KINDS {
            let whole = read(json!({ "kind": kind.name, "rate": "2Mbit" })).unwrap();
            let whole = serde_json::to_value(whole).unwrap();
            assert_eq!(serde_json::to_value(read(whole.clone()).unwrap()).unwrap(), whole);
            let schema = (kind.schema)(&mut SchemaGenerator::default());
            for (field, form) in schema.get("properties").and_then(Value::as_object).unwrap() {
                assert!(form.get("description").is_some(), "{}.{field}", kind.name);
            }
        }
    }

    #[test]
    fn wrong_profiles_are_refused_with_path_and_remedy() {
        for (block, path, says) in [
            (json!({}), "kind", "one of car, token-bucket, tsw"),
            (json!({"kind": "tws"}), "kind", "did you mean \"tsw\"?"),
            (json!({"kind": "tsw"}), "", "rate"),
            (json!({"kind": "tsw", "rate": "2"}), "rate", "has no unit"),
            (json!({"kind": "car", "rate": "1Mbit", "bust": "1KB"}), "bust", "unknown field"),
            (json!({"kind": "tsw", "rate": "2Mbit", "window": "0s"}), "window", "above 0"),
            (
                json!({"kind": "tsw", "rate": "2Mbit", "peak_rate": "1Mbit"}),
                "peak_rate",
                "at least the rate of 2Mbit",
            ),
            (json!({"kind": "token-bucket", "rate": "2Mbit", "burst": "0B"}), "burst", "above 0"),
            (
                json!({"kind": "car", "rate": "2Mbit", "burst": "9KB", "extended_burst": "8KB"}),
                "extended_burst",
                "at least the burst of 9KB",
            ),
        ] {
            let error = read(block.clone()).and_then(|profile| profile.marker()).err().unwrap();
            assert!(error.path == path && error.message.contains(says), "{block}: {error}");
        }
    }
}
