//! `wrr`: a queue for each class, tail drop in each, weighted round robin by packets.

use super::choice::{Sorter, SorterParams};
use crate::admit::{TailDrop, TailDropParams};
use crate::{Classify, Composed, OneOrEach, schedule};
use forebay_core::{ConfigError, Discipline, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues by class under weighted round robin.
pub struct Wrr;

/// Parameters of `wrr`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WrrParams {
    /// How packets are sorted: `{ kind = "class", queues = 2 }` or `{ kind = "dscp" }`. Default:
    /// by class, with as many queues as there are weights, or 2.
    pub classify: Option<SorterParams>,
    /// Packets served in a round, one entry for each queue, lowest queue first; 1 to 65535 each.
    /// Default: 1 for each.
    pub weights: Vec<u32>,
    /// Room in each queue, in packets or bytes, or a list with one entry for each queue, lowest
    /// first. Above 0.
    pub limit: OneOrEach<Limit>,
}

impl Default for WrrParams {
    fn default() -> Self {
        let limit = TailDropParams::default().limit;
        WrrParams { classify: None, weights: Vec::new(), limit }
    }
}

impl Named for Wrr {
    type Family = dyn Discipline;
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "queues by class, tail drop, weighted round robin";
    const SOURCE: &'static str = "Katevenis et al., IEEE JSAC 9 (1991)";
    type Params = WrrParams;

    fn resolve(params: &mut WrrParams, _: &Setting) {
        let queues = if params.weights.is_empty() { 2 } else { params.weights.len() };
        let queues = params.classify.get_or_insert(SorterParams::by_class(queues)).queues();
        if params.weights.is_empty() {
            params.weights = vec![1; queues];
        }
    }

    fn build(params: &WrrParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = Sorter::new(&params.classify)?;
        let queues = classify.queues();
        let limit = TailDropParams { limit: params.limit.clone() };
        let weights = schedule::WrrParams { weights: params.weights.clone() };
        let server = schedule::Wrr::new(&weights, queues)?;
        Ok(Box::new(Composed::new(classify, TailDrop::new(&limit, queues)?, server)))
    }
}
