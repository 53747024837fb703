//! `wrr`: a queue for each class, tail drop in each, weighted round robin by packets.

use super::choice::ClassesParams;
use crate::admit::{TailDrop, TailDropParams};
use crate::schedule::{self, WeightsParams};
use forebay_core::{ConfigError, Discipline, Named, Setting, compose};

/// Queues by class under weighted round robin.
pub struct Wrr;

compose! {
    /// Parameters of `wrr`.
    pub struct WrrParams {
        classes: ClassesParams = ClassesParams::default(),
        weights: WeightsParams = WeightsParams::default(),
        buffer: TailDropParams = TailDropParams::default(),
    }
}

impl Named for Wrr {
    type Family = dyn Discipline;
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "queues by class, tail drop, weighted round robin";
    const SOURCE: &'static str = "Katevenis et al., IEEE JSAC 9 (1991)";
    type Params = WrrParams;

    fn resolve(params: &mut WrrParams, _: &Setting) {
        let queues = params.classes.resolve(if params.weights.weights.is_empty() {
            2
        } else {
            params.weights.weights.len()
        });
        params.weights.resolve(queues);
    }

    fn build(params: &WrrParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        params.classes.compose(|queues| {
            let server = schedule::Wrr::new(&params.weights, queues)?;
            Ok((TailDrop::new(&params.buffer, queues)?, server))
        })
    }
}
