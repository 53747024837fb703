//! `prio`: a queue for each class, tail drop in each, strict priority.
//!
//! CQ-AQM with all thresholds at the buffer size is the same.

use super::choice::ClassesParams;
use crate::admit::{TailDrop, TailDropParams};
use crate::{OneOrEach, schedule};
use forebay_core::{ConfigError, Discipline, Named, Setting, compose};

/// Queues by class under strict priority.
pub struct Prio;

compose! {
    /// Parameters of `prio`.
    pub struct PrioParams {
        classes: ClassesParams = ClassesParams::default(),
        buffer: TailDropParams = TailDropParams::default(),
    }
}

impl Named for Prio {
    type Family = dyn Discipline;
    const NAME: &'static str = "prio";
    const SUMMARY: &'static str = "queues by class, tail drop, strict priority";
    const SOURCE: &'static str = "Cobham 1954 (non-preemptive priority)";
    type Params = PrioParams;

    fn resolve(params: &mut PrioParams, _: &Setting) {
        params.classes.resolve(match &params.buffer.limit {
            OneOrEach::One(_) => 2,
            OneOrEach::Each(limits) => limits.len(),
        });
    }

    fn build(params: &PrioParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let admit = |queues| TailDrop::new(&params.buffer, queues);
        params.classes.compose(|queues| Ok((admit(queues)?, schedule::StrictPriority)))
    }
}
