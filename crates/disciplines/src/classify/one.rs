//! Everything in one queue.

use crate::Classify;
use forebay_core::{Bank, ConfigError, Context, Named, Packet, QueueId, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One queue for all packets.
pub struct One;

/// `one` has no parameters.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneParams {}

impl Named for One {
    type Family = dyn Classify;
    const NAME: &'static str = "one";
    const SUMMARY: &'static str = "one queue for all packets";
    const SOURCE: &'static str = "";
    type Params = OneParams;

    fn build(_: &OneParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
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
