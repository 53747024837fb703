//! Strict priority, non-preemptive: the highest queue that holds packets is served.
//!
//! Source: RFC 2475's priority queueing; Cobham, "Priority assignment in waiting line problems",
//! Operations Research 2 (1954), for its delays. Cost: one look at each queue above the served one.

use crate::Schedule;
use forebay_core::{Bank, ConfigError, Named, NoParams, QueueId, Setting};

/// Serves the highest queue that holds packets; a transmission is not interrupted.
pub struct StrictPriority;

impl Named for StrictPriority {
    type Family = dyn Schedule;
    const NAME: &'static str = "strict-priority";
    const SUMMARY: &'static str = "the highest queue that holds packets";
    const SOURCE: &'static str = "Cobham 1954 (non-preemptive priority)";
    type Params = NoParams;

    fn build(_: &NoParams, _: &Setting) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(StrictPriority))
    }
}

impl Schedule for StrictPriority {
    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        (0..bank.queues()).rev().find(|queue| bank.packets(*queue) > 0)
    }
}
