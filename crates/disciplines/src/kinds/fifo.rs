//! `fifo`: one queue, tail drop.
//!
//! Source: RFC 7567, section 2. What every other kind is compared with.

use crate::admit::{TailDrop, TailDropParams};
use crate::classify::One;
use crate::{Composed, schedule};
use forebay_core::{ConfigError, Discipline, Named, Setting};

/// One queue with tail drop.
pub struct Fifo;

impl Named for Fifo {
    type Family = dyn Discipline;
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "one queue, tail drop";
    const SOURCE: &'static str = "RFC 7567, section 2";
    type Params = TailDropParams;

    fn build(params: &TailDropParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Composed::new(One, TailDrop::new(params, 1)?, schedule::Fifo)))
    }
}
