//! What a reload needs and leaves, so that the loop only exchanges it.
//!
//! To build a tree of ten thousand circuits, or to drop one, takes tenths of a second, in which the
//! loop would send nothing.

use crate::config::{At, Config};
use crate::cores::Rates;
use forebay_core::{ConfigError, Port};
use forebay_disciplines::kinds::share;
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
    /// `config` with its queues, for a gate on one core.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn of(config: Config) -> Result<Self, ConfigError> {
        Fresh::on(config, 0, &Rates::new(1))
    }

    /// `config` with the queues of one core of a gate that shares `rates`.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn on(config: Config, core: usize, rates: &Rates) -> Result<Self, ConfigError> {
        let build = |side| built(&config, side, core, rates);
        let queues = [build(At::Inside)?, build(At::Outside)?];
        Ok(Fresh { config, queues })
    }
}

/// The queue of `config` on a core, for packets that arrive on `side`. None if they pass unqueued.
///
/// # Errors
/// The queue is wrong.
pub fn built(
    config: &Config,
    side: At,
    core: usize,
    rates: &Rates,
) -> Result<Option<Built>, ConfigError> {
    let Some(plan) = config.plan(side, core)? else { return Ok(None) };
    let mut built = plan.build(&config.parts.disciplines)?;
    let places = config.known.as_ref().map(|known| known.shared(side, core)).unwrap_or_default();
    let shared: Vec<_> =
        places.iter().map(|(place, path)| (path.clone(), rates.account(side, place))).collect();
    if !shared.is_empty() {
        let has_all = share(built.discipline(), core, &shared);
        debug_assert!(has_all, "the tree has the classes that it says are shared");
    }
    Ok(Some(built))
}

/// What a loop answers to a configuration that it is to use.
#[derive(Debug)]
pub struct Considered {
    /// The configuration.
    pub fresh: Box<Fresh>,
    /// Whether the queues of earlier ones leave room for its own.
    pub has_room: bool,
}

/// The queues of earlier configurations in a loop.
#[derive(Debug)]
pub struct Earlier {
    /// Number of those that hold packets.
    pub waiting: usize,
    /// Those that have become empty, for the asker to drop.
    pub empty: Vec<Port>,
}

/// What a change of one queue has left over.
pub type Spare = Option<Box<dyn Any + Send>>;

/// What a reload has left over: the configuration before, and parts of its queues.
pub type Used = Box<(Config, [Spare; 2])>;
