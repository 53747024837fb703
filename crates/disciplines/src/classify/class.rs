//! One queue for each QoS class.
//!
//! Cost: one comparison per packet.

use crate::Classify;
use crate::retune::unchanged;
use forebay_core::config::within;
use forebay_core::{Bank, ConfigError, Context, Named, Packet, QueueId, Setting, Time, params};
use std::any::Any;

/// Queue q for class q; classes above the highest queue join the highest.
#[derive(PartialEq)]
pub struct Class {
    queues: usize,
}

params! {
    /// Parameters of `class` and `precedence`.
    pub struct ClassParams {
        /// Number of queues, 1 to 256; class (or precedence) q joins queue q, and those beyond join
        /// the highest.
        pub queues: usize = 2,
    }
}

/// Most queues that a table or a field of eight bits can tell apart.
pub(crate) const MOST_QUEUES: usize = 256;

/// Checks a number of queues.
///
/// # Errors
/// Names `queues`, if it is not from 1 to [`MOST_QUEUES`].
pub(crate) fn check_queues(queues: usize) -> Result<(), ConfigError> {
    within("queues", queues, 1..=MOST_QUEUES)
}

impl Class {
    /// The classifier with these parameters.
    ///
    /// # Errors
    /// A number of queues that is not from 1 to 256.
    pub fn new(params: &ClassParams) -> Result<Self, ConfigError> {
        check_queues(params.queues)?;
        Ok(Class { queues: params.queues })
    }
}

impl Named for Class {
    type Family = dyn Classify;
    const NAME: &'static str = "class";
    const SUMMARY: &'static str = "one queue for each QoS class";
    const SOURCE: &'static str = "RFC 2474, section 4.2.2";
    type Params = ClassParams;

    fn build(params: &ClassParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(Class::new(params)?))
    }
}

impl Classify for Class {
    #[inline]
    fn queues(&self) -> usize {
        self.queues
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        usize::from(packet.class).min(self.queues - 1)
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
    }
}
