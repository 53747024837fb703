//! Everything in one queue.

use crate::Classify;
use forebay_core::{Bank, ConfigError, Context, Named, NoParams, Packet, QueueId, Setting};

/// One queue for all packets.
pub struct One;

impl Named for One {
    type Family = dyn Classify;
    const NAME: &'static str = "one";
    const SUMMARY: &'static str = "one queue for all packets";
    const SOURCE: &'static str = "";
    type Params = NoParams;

    fn build(_: &NoParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(One))
    }
}

impl Classify for One {
    #[inline]
    fn queues(&self) -> usize {
        1
    }

    #[inline]
    fn classify(&mut self, _: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        0
    }

    #[inline]
    fn passes(&self, _: &Packet) -> bool {
        true
    }
}
