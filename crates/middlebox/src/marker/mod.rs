//! Markers: traffic conditioners that compare traffic with a profile and give each packet a drop
//! precedence.
//!
//! A marker meters all packets that it gets as one stream. They are in profile (level 0) or out of
//! it (level 1, or 1 and 2 if the profile has three colours: green, yellow and red of RFC 2597). It
//! never delays or drops.

mod car;
mod token_bucket;
mod tsw;

pub use car::{Car, CarParams};
pub use token_bucket::{TokenBucket, TokenBucketParams};
pub use tsw::{Tsw, TswParams};

use forebay_core::{Family, Registry, Rng, Time};

/// A traffic conditioner that marks.
pub trait Marker: Send {
    /// Drop precedence of an IP packet of `len` bytes that passes at `now`: 0 in profile, higher
    /// out of it. `now` must not decrease.
    fn mark(&mut self, now: Time, len: u32, rng: &mut Rng) -> u8;
}

impl Family for dyn Marker {
    const WHAT: &'static str = "kind of profile";
    type Facts = ();
    const USUAL: () = ();
    type Site<'a> = ();
    type Built = Box<dyn Marker>;
}

/// The markers of this crate, by the names that profiles use, one line for each.
pub fn builtin() -> Registry<dyn Marker> {
    Registry::default().with::<Car>().with::<TokenBucket>().with::<Tsw>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Duration;
    use schemars::SchemaGenerator;
    use serde_json::{Value, json};

    /// Share of packets of each level when 1000-byte packets come at `mbit` Mbit/s for 100 s,
    /// without the first half, in which bursts and loans are used.
    fn shares(block: Value, mbit: f64) -> [f64; 3] {
        let mut marker = builtin().build(&block, &()).unwrap();
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
        let profiles = builtin();
        for kind in &profiles {
            let block = json!({ "kind": kind.name, "rate": "2Mbit" });
            let whole = profiles.effective(&block, &()).unwrap();
            assert_eq!(profiles.effective(&whole, &()).unwrap(), whole);
            let schema = kind.schema(&mut SchemaGenerator::default());
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
            let error = builtin().build(&block, &()).err().unwrap();
            assert!(error.path == path && error.message.contains(says), "{block}: {error}");
        }
    }
}
