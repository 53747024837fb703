//! `cp-aqm`: one queue behind a congestion policer.
//!
//! The policer: [`crate::admit::CpAqm`].

use crate::admit::{self, CpAqmParams};
use crate::classify::One;
use crate::registry::Named;
use crate::{Composed, schedule};
use forebay_core::{ConfigError, Discipline, Setting};

/// One queue with a congestion policer.
pub struct CpAqm;

impl Named<dyn Discipline> for CpAqm {
    const NAME: &'static str = "cp-aqm";
    const SUMMARY: &'static str = "one queue behind a token bucket that meters congestion";
    const SOURCE: &'static str = "CP-AQM paper, section 3";
    type Params = CpAqmParams;

    fn resolve(params: &mut CpAqmParams, setting: &Setting) {
        params.resolve(setting);
    }

    fn build(params: &CpAqmParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Composed::new(One, admit::CpAqm::new(params, setting)?, schedule::Fifo)))
    }
}
