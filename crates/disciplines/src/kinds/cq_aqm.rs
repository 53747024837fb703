//! `cq-aqm`: a queue for each class, precedence thresholds across queues, any scheduler.
//!
//! [`crate::admit::CqAqm`] explains the rule, its generalisation and what it guarantees.

use super::choice::{ClassesParams, ServerParams, ServiceParams};
use crate::Schedule;
use crate::admit::{self, CqQueueParams};
use crate::classify::check_queues;
use crate::schedule::{Drr, StrictPriority, Wfq, Wrr};
use forebay_core::{ConfigError, Discipline, Named, Setting, compose};

/// Queues by class with cross-queue precedence.
pub struct CqAqm;

compose! {
    /// Parameters of `cq-aqm`. By default the queues are those of the paper's mixed experiment
    /// (section IV): low { limit = "750p", local = 500, non_local = 650 } and high { limit = "10p",
    /// local = 7 }. The 10 is ours, because the paper does not give B_high.
    pub struct CqAqmParams {
        classes: ClassesParams = ClassesParams::default(),
        rule: admit::CqAqmParams = admit::CqAqmParams {
            queues: vec![
                CqQueueParams::new(750, Some(500), Some(650)),
                CqQueueParams::new(10, Some(7), None),
            ],
            ..admit::CqAqmParams::default()
        },
        service: ServiceParams = ServiceParams::default(),
    }
}

impl Named for CqAqm {
    type Family = dyn Discipline;
    const NAME: &'static str = "cq-aqm";
    const SUMMARY: &'static str = "queues by class, precedence thresholds across queues";
    const SOURCE: &'static str = "CQ-AQM paper, section II";
    type Params = CqAqmParams;

    fn resolve(params: &mut CqAqmParams, setting: &Setting) {
        let queues = params.rule.queues.len();
        params.rule.resolve(queues);
        params.classes.resolve(queues);
        params.service.schedule.resolve(queues, setting);
    }

    fn build(params: &CqAqmParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        check_queues(params.rule.queues.len())?;
        match &params.service.schedule {
            ServerParams::StrictPriority(_) => served(params, |_| Ok(StrictPriority)),
            ServerParams::Wrr(server) => served(params, |queues| Wrr::new(server, queues)),
            ServerParams::Drr(server) => served(params, |queues| Drr::new(server, queues)),
            ServerParams::Wfq(server) => served(params, |queues| Wfq::new(server, queues)),
        }
    }
}

/// The discipline with the scheduler that `server` builds for a number of queues.
fn served<S: Schedule>(
    params: &CqAqmParams,
    server: impl FnOnce(usize) -> Result<S, ConfigError>,
) -> Result<Box<dyn Discipline>, ConfigError> {
    params.classes.compose(|queues| {
        let admit = admit::CqAqm::new(&params.rule, queues)?;
        let server = server(queues).map_err(|error| error.within("schedule"))?;
        Ok((admit, server))
    })
}
