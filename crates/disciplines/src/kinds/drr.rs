//! `drr`: a queue for each class, tail drop in each, deficit round robin by bytes.

use super::choice::{Sorter, SorterParams};
use crate::admit::{TailDrop, TailDropParams};
use crate::{Classify, Composed, OneOrEach, schedule};
use forebay_core::{Bytes, ConfigError, Discipline, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues by class under deficit round robin.
pub struct Drr;

/// Parameters of `drr`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrParams {
    /// How packets are sorted: `{ kind = "class", queues = 2 }` or `{ kind = "dscp" }`. Default:
    /// by class, with as many queues as there are weights, or 2.
    pub classify: Option<SorterParams>,
    /// Quanta in a round, one entry for each queue, lowest queue first; 1 to 65535 each. Default: 1
    /// for each.
    pub weights: Vec<u32>,
    /// Bytes that a weight of 1 may send in a round (Q, Shreedhar and Varghese, section 3), above
    /// 0 to 4 GiB. Default: the link's largest packet.
    pub quantum: Option<Bytes>,
    /// Room in each queue, in packets or bytes, or a list with one entry for each queue, lowest
    /// first. Above 0.
    pub limit: OneOrEach<Limit>,
}

impl Default for DrrParams {
    fn default() -> Self {
        let limit = TailDropParams::default().limit;
        DrrParams { classify: None, weights: Vec::new(), quantum: None, limit }
    }
}

impl DrrParams {
    fn server(&self) -> schedule::DrrParams {
        schedule::DrrParams { weights: self.weights.clone(), quantum: self.quantum }
    }
}

impl Named for Drr {
    type Family = dyn Discipline;
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "queues by class, tail drop, deficit round robin";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995, section 3";
    type Params = DrrParams;

    fn resolve(params: &mut DrrParams, setting: &Setting) {
        let queues = if params.weights.is_empty() { 2 } else { params.weights.len() };
        let queues = params.classify.get_or_insert(SorterParams::by_class(queues)).queues();
        let mut server = params.server();
        server.resolve(queues, setting.mtu);
        (params.weights, params.quantum) = (server.weights, server.quantum);
    }

    fn build(params: &DrrParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = Sorter::new(&params.classify)?;
        let queues = classify.queues();
        let limit = TailDropParams { limit: params.limit.clone() };
        let server = schedule::Drr::new(&params.server(), queues)?;
        Ok(Box::new(Composed::new(classify, TailDrop::new(&limit, queues)?, server)))
    }
}
