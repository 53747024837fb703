//! One queue for each precedence: the importance of the content decides, not the QoS class.
//!
//! This is the simple alternative to CQ-AQM, which treats class and precedence separately. Cost:
//! one comparison per packet.

use super::class::{ClassParams, check_queues};
use crate::Classify;
use crate::retune::unchanged;
use forebay_core::{Bank, Conduct, ConfigError, Context, Named, Packet, QueueId, Setting, Time};
use std::any::Any;

/// Queue p for precedence p; precedences above the highest queue join the highest.
#[derive(PartialEq)]
pub struct Precedence {
    queues: usize,
}

impl Named for Precedence {
    type Family = dyn Classify;
    const NAME: &'static str = "precedence";
    const SUMMARY: &'static str = "one queue for each precedence";
    const SOURCE: &'static str = "RFC 791, section 3.1 (precedence)";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = ClassParams;

    fn build(params: &ClassParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        check_queues(params.queues)?;
        Ok(Box::new(Precedence { queues: params.queues }))
    }
}

impl Classify for Precedence {
    #[inline]
    fn queues(&self) -> usize {
        self.queues
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        usize::from(packet.precedence).min(self.queues - 1)
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
    }
}
