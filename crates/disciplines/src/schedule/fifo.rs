//! First in, first out across all queues.

use crate::Schedule;
use forebay_core::{Bank, ConfigError, Named, NoParams, QueueId, Setting};

/// Serves the packet that has waited longest, in any queue. A tie goes to the lower queue.
pub struct Fifo;

impl Named for Fifo {
    type Family = dyn Schedule;
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "the packet that has waited longest";
    const SOURCE: &'static str = "";
    type Params = NoParams;

    fn build(_: &NoParams, _: &Setting) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(Fifo))
    }
}

/// The queue whose head has waited longest.
#[inline(never)]
fn oldest(bank: &Bank) -> Option<QueueId> {
    let heads = (0..bank.queues()).filter_map(|queue| Some((bank.head_since(queue)?, queue)));
    heads.min().map(|(_, queue)| queue)
}

impl Schedule for Fifo {
    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        if bank.queues() == 1 { (bank.packets(0) > 0).then_some(0) } else { oldest(bank) }
    }

    #[inline]
    fn passes(&self) -> bool {
        true
    }
}
