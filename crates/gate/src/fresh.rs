//! What a reload needs and leaves, so that the loop only exchanges it.
//!
//! To build a tree of ten thousand circuits, or to drop one, takes tenths of a second, in which the
//! loop would send nothing.

use crate::config::{At, Config};
use forebay_core::ConfigError;
use forebay_shaper::Built;
use std::any::Any;

/// A configuration, and the queues that it describes.
#[derive(Debug)]
pub struct Fresh {
    pub(crate) config: Config,
    /// Those of packets that arrive inside and outside.
    pub(crate) queues: [Option<Built>; 2],
}

impl Fresh {
    /// `config` with its queues.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn of(config: Config) -> Result<Self, ConfigError> {
        let build = |side| match config.plan(side)? {
            Some(plan) => plan.build(&config.parts.disciplines).map(Some),
            None => Ok(None),
        };
        let queues = [build(At::Inside)?, build(At::Outside)?];
        Ok(Fresh { config, queues })
    }
}

/// What a change of one queue has left over.
pub type Spare = Option<Box<dyn Any + Send>>;

/// What a reload has left over: the configuration before, and parts of its queues.
pub type Used = Box<(Config, [Spare; 2])>;
