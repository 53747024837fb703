//! `drr`: a queue for each class, tail drop in each, deficit round robin by bytes.

use super::choice::ClassesParams;
use crate::admit::{TailDrop, TailDropParams};
use crate::schedule;
use forebay_core::{ConfigError, Discipline, Named, Setting, compose};

/// Queues by class under deficit round robin.
pub struct Drr;

compose! {
    /// Parameters of `drr`.
    pub struct DrrParams {
        classes: ClassesParams = ClassesParams::default(),
        round: schedule::DrrParams = schedule::DrrParams::default(),
        buffer: TailDropParams = TailDropParams::default(),
    }
}

impl Named for Drr {
    type Family = dyn Discipline;
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "queues by class, tail drop, deficit round robin";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995, section 3";
    type Params = DrrParams;

    fn resolve(params: &mut DrrParams, setting: &Setting) {
        let queues = params.classes.resolve(if params.round.weights.is_empty() {
            2
        } else {
            params.round.weights.len()
        });
        params.round.resolve(queues, setting.mtu);
    }

    fn build(params: &DrrParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        params.classes.compose(|queues| {
            let server = schedule::Drr::new(&params.round, queues)?;
            Ok((TailDrop::new(&params.buffer, queues)?, server))
        })
    }
}
