//! `cq-aqm`: a queue for each class, precedence thresholds across queues, any scheduler.
//!
//! [`crate::admit::CqAqm`] explains the rule, its generalisation and what it guarantees.

use super::choice::{Server, ServerParams, Sorter, SorterParams};
use crate::admit::{self, AdaptiveParams, CqQueueParams, SharesParams};
use crate::classify::check_queues;
use crate::{Classify, Composed};
use forebay_core::{ConfigError, Discipline, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues by class with cross-queue precedence.
pub struct CqAqm;

/// Parameters of `cq-aqm`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CqAqmParams {
    /// Number of precedences (P), 2 to 8; packets with a higher one count as the highest.
    pub precedences: u8,
    /// How packets are sorted: `{ kind = "class", queues = 2 }`, or `{ kind = "dscp" }`, which
    /// reads the precedence too. Default: by class, class q joins queue q, those beyond the
    /// highest.
    pub classify: Option<SorterParams>,
    /// One entry for each queue, lowest first, 1 to 256.
    /// Default: the paper's mixed experiment (section IV), low { limit = "750p", local = 500,
    /// non_local = 650 } and high { limit = "10p", local = 7 }; 10 is ours, for the paper does not
    /// give B_high.
    pub queues: Vec<CqQueueParams>,
    /// Thresholds of the queues that give no `local`, from two or three numbers, as shares of
    /// each queue's room: `{ local = 0.6, non_local = 0.8 }`.
    pub thresholds: Option<SharesParams>,
    /// Thresholds that follow the traffic: `{ target = 0.001 }`. Those of p = 0 are the initial
    /// values.
    pub adaptive: Option<AdaptiveParams>,
    /// Who is served next: `{ kind = "strict-priority" }` (default), `{ kind = "wrr", weights =
    /// [...] }`, `{ kind = "drr", weights = [...] }` or `{ kind = "wfq", weights = [...] }`.
    pub schedule: ServerParams,
}

impl Default for CqAqmParams {
    fn default() -> Self {
        let low = CqQueueParams::new(750, Some(500), Some(650));
        let high = CqQueueParams::new(10, Some(7), None);
        let precedences = admit::CqAqmParams::default().precedences;
        CqAqmParams {
            precedences,
            classify: None,
            queues: vec![low, high],
            thresholds: None,
            adaptive: None,
            schedule: ServerParams::default(),
        }
    }
}

impl CqAqmParams {
    fn admit(&self) -> admit::CqAqmParams {
        admit::CqAqmParams {
            precedences: self.precedences,
            queues: self.queues.clone(),
            thresholds: self.thresholds.clone(),
            adaptive: self.adaptive.clone(),
        }
    }
}

impl Named for CqAqm {
    type Family = dyn Discipline;
    const NAME: &'static str = "cq-aqm";
    const SUMMARY: &'static str = "queues by class, precedence thresholds across queues";
    const SOURCE: &'static str = "CQ-AQM paper, section II";
    type Params = CqAqmParams;

    fn resolve(params: &mut CqAqmParams, setting: &Setting) {
        let queues = params.queues.len();
        let mut admit = params.admit();
        admit.resolve(queues);
        params.queues = admit.queues;
        params.classify.get_or_insert(SorterParams::by_class(queues));
        params.schedule.resolve(queues, setting);
    }

    fn build(params: &CqAqmParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        check_queues(params.queues.len())?;
        let classify = Sorter::new(&params.classify)?;
        let queues = classify.queues();
        let admit = admit::CqAqm::new(&params.admit(), queues)?;
        let server = Server::new(&params.schedule, queues)?;
        Ok(Box::new(Composed::new(classify, admit, server)))
    }
}
