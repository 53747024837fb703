//! The three mechanisms by name.

use super::params::check;
use super::{Differentiated, Measure, Mechanism, RioParams, WredParams, WrtParams};
use crate::Admit;
use forebay_core::config::{above_zero, require};
use forebay_core::{ConfigError, Named, Setting};

/// Weighted RED: every level is judged by the average of the whole queue.
pub struct Wred;

/// RED with in and out: level 0 is judged by the average of level-0 packets alone.
pub struct Rio;

/// WRED with thresholds: level 0 is treated as level 1 once its own average is too high.
pub struct Wrt;

impl Named for Wred {
    type Family = dyn Admit;
    const NAME: &'static str = "wred";
    const SUMMARY: &'static str = "RED with a curve for each drop precedence";
    const SOURCE: &'static str = "Bodin and Schelén, section 2";
    type Params = WredParams;

    fn build(params: &WredParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let checked = check(params)?;
        Ok(Box::new(Differentiated::new(Mechanism::Wred, checked, params, setting)))
    }
}

impl Named for Rio {
    type Family = dyn Admit;
    const NAME: &'static str = "rio";
    const SUMMARY: &'static str = "WRED that judges in-profile packets by their own average";
    const SOURCE: &'static str = "Clark and Fang 1998; Bodin and Schelén, section 2.1";
    type Params = RioParams;

    fn build(params: &RioParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let checked = check(&params.wred)?;
        Ok(Box::new(Differentiated::new(Mechanism::Rio, checked, &params.wred, setting)))
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
