//! RIO: RED with in and out of profile.

use super::params::check;
use super::{Differentiated, Level, Mechanism, WredParams};
use crate::Admit;
use forebay_core::{ConfigError, Named, Setting, compose};

/// RED with in and out: level 0 is judged by the average of level-0 packets alone.
pub struct Rio;

compose! {
    /// Parameters of RIO.
    pub struct RioParams {
        wred: WredParams = WredParams {
            levels: vec![Level::packets(40, 70, 0.02), Level::packets(15, 45, 0.1)],
            ..WredParams::default()
        },
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
