//! Weighted round robin by packets.
//!
//! Queues are visited in turn, in ascending order. A visit serves up to as many packets as the
//! queue's weight. If the queue becomes empty before, the rest is lost.
//!
//! Source: Katevenis, Sidiropoulos and Courcoubetis, "Weighted round-robin cell multiplexing in a
//! general-purpose ATM switch chip", IEEE JSAC 9 (1991).
//!
//! Deviations
//! - D1: a queue's packets of one round leave together and are not interleaved with the other
//!   queues', as in the plain form that routers have; the shares are the same, the bursts longer.
//!
//! Cost: one look at each empty queue passed over.

use super::weights::{WeightsParams, check_weights};
use crate::Schedule;
use forebay_core::{Bank, ConfigError, Named, QueueId, Setting, Time};
use std::any::Any;

/// Serves up to a weight of packets from each queue in turn.
pub struct Wrr {
    weights: Vec<u32>,
    current: QueueId,
    left: u32,
}

impl Wrr {
    /// The scheduler of `queues` queues with these (resolved) parameters.
    ///
    /// # Errors
    /// Weights that are out of range, or not one for each queue.
    pub fn new(params: &WeightsParams, queues: usize) -> Result<Self, ConfigError> {
        check_weights(&params.weights, queues)?;
        // Queue 0 has the first turn.
        Ok(Wrr { weights: params.weights.clone(), current: queues - 1, left: 0 })
    }
}

impl Named for Wrr {
    type Family = dyn Schedule;
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "weighted round robin by packets";
    const SOURCE: &'static str = "Katevenis et al., IEEE JSAC 9 (1991)";
    type Params = WeightsParams;

    fn resolve(params: &mut WeightsParams, setting: &Setting) {
        params.resolve(setting.queues);
    }

    fn build(params: &WeightsParams, setting: &Setting) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(Wrr::new(params, setting.queues)?))
    }
}

impl Schedule for Wrr {
    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        if self.left > 0 && bank.packets(self.current) > 0 {
            return Some(self.current);
        }
        if bank.total().packets == 0 {
            return None;
        }
        loop {
            self.current += 1;
            if self.current == self.weights.len() {
                self.current = 0;
            }
            if bank.packets(self.current) > 0 {
                self.left = self.weights[self.current];
                return Some(self.current);
            }
        }
    }

    #[inline]
    fn served(&mut self, _: QueueId, _: u32, _: &Bank) {
        self.left -= 1;
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            std::mem::swap(&mut self.weights, &mut fresh.weights);
            true
        })
    }
}
