//! `prio`: a queue for each class, tail drop in each, strict priority.
//!
//! CQ-AQM with all thresholds at the buffer size is the same.

use super::choice::{Sorter, SorterParams};
use crate::admit::{TailDrop, TailDropParams};
use crate::{Classify, Composed, OneOrEach, schedule};
use forebay_core::{ConfigError, Discipline, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues by class under strict priority.
pub struct Prio;

/// Parameters of `prio`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrioParams {
    /// How packets are sorted: `{ kind = "class", queues = 2 }` or `{ kind = "dscp" }`; higher
    /// queues are served first. Default: by class, with as many queues as `limit` lists, or 2.
    pub classify: Option<SorterParams>,
    /// Room in each queue, in packets or bytes, or a list with one entry for each queue, lowest
    /// first. Above 0.
    pub limit: OneOrEach<Limit>,
}

impl Default for PrioParams {
    fn default() -> Self {
        PrioParams { classify: None, limit: TailDropParams::default().limit }
    }
}

impl Named for Prio {
    type Family = dyn Discipline;
    const NAME: &'static str = "prio";
    const SUMMARY: &'static str = "queues by class, tail drop, strict priority";
    const SOURCE: &'static str = "Cobham 1954 (non-preemptive priority)";
    type Params = PrioParams;

    fn resolve(params: &mut PrioParams, _: &Setting) {
        let queues = match &params.limit {
            OneOrEach::One(_) => 2,
            OneOrEach::Each(limits) => limits.len(),
        };
        params.classify.get_or_insert(SorterParams::by_class(queues));
    }

    fn build(params: &PrioParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = Sorter::new(&params.classify)?;
        let limit = TailDropParams { limit: params.limit.clone() };
        let admit = TailDrop::new(&limit, classify.queues())?;
        Ok(Box::new(Composed::new(classify, admit, schedule::StrictPriority)))
    }
}
