//! WRT: WRED with a threshold for in-profile traffic.

use super::params::check;
use super::{Differentiated, Measure, Mechanism, WredParams};
use crate::Admit;
use forebay_core::config::{above_zero, require};
use forebay_core::{ConfigError, Limit, Named, Setting, compose, params};

/// WRED with thresholds: level 0 is treated as level 1 once its own average is too high.
pub struct Wrt;

compose! {
    /// Parameters of WRT.
    pub struct WrtParams {
        wred: WredParams = WredParams::default(),
        in_profile: InProfileParams = InProfileParams::default(),
    }
}

params! {
    /// The threshold of WRT.
    pub struct InProfileParams {
        /// Average number (or bytes) of queued level-0 packets above which an arriving level-0
        /// packet is treated as level 1; in the unit of the levels, above 0. Default 15p.
        pub in_profile_th: Limit = Limit::Packets(15),
    }
}

impl Named for Wrt {
    type Family = dyn Admit;
    const NAME: &'static str = "wrt";
    const SUMMARY: &'static str = "WRED that treats too much in-profile traffic as out of profile";
    const SOURCE: &'static str = "Bodin, Schelén and Pink 2000; Bodin and Schelén, section 2.1";
    type Params = WrtParams;

    fn build(params: &WrtParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let limit = params.in_profile.in_profile_th;
        let (measure, threshold) = Measure::of(limit);
        let checked = check(&params.wred)?;
        require(checked.curves.len() >= 2, "levels", || "must be 2 to 8 levels, got 1".into())?;
        above_zero("in_profile_th", limit)?;
        require(measure == checked.measure, "in_profile_th", || {
            "must be in the unit of the levels: all in packets or all in bytes".into()
        })?;
        let mechanism = Mechanism::Wrt(threshold);
        Ok(Box::new(Differentiated::new(mechanism, checked, &params.wred, setting)))
    }
}
