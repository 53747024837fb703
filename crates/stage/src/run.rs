//! A run that stops where the caller wants, to be looked at and changed.

use forebay_core::{ConfigError, Duration, Time};
use forebay_sim::{Progress, Registry, RunError, Scenario, World};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Number of events between two returns, which take about 10 ms.
const SLICE: u64 = 200_000;
/// The same in a run that is watched, which is slower and is waited for.
const WATCHED_SLICE: u64 = SLICE / 20;

/// A run in progress.
pub struct Run {
    /// The scenario with all its changes, those to come included.
    pub scenario: Scenario,
    /// Its world.
    pub world: World,
    /// Whether anything has happened since the last change. If so, the next change must be at a
    /// later time.
    has_moved: bool,
}

fn broken(error: RunError) -> ConfigError {
    ConfigError::new("", error.0)
}

impl Run {
    /// The run of the scenario in `tree` at its beginning.
    ///
    /// # Errors
    /// The scenario cannot run.
    pub fn open(tree: &Value, base: &Path, registry: &Arc<Registry>) -> Result<Self, ConfigError> {
        let scenario = Scenario::read(tree, base, registry)?;
        let world = scenario.world(scenario.table().seed)?;
        Ok(Run { scenario, world, has_moved: true })
    }

    /// Watches the queue of a link, with a point of the series every `grain`. Only at the beginning.
    ///
    /// # Errors
    /// There is no such link.
    pub fn watch(&mut self, link: Option<&str>, grain: Duration) -> Result<(), ConfigError> {
        let link = link.map(|name| self.scenario.link(name)).transpose()?;
        self.world.watch(link.map(|link| link as u32), grain);
        Ok(())
    }

    /// The current time and the end of the scenario, in ns.
    pub fn times(&self) -> (u64, u64) {
        (self.world.now().as_nanos(), self.world.measured().1.as_nanos())
    }

    /// Advances for some milliseconds, at most to `until`. `arrived` says whether that is reached.
    ///
    /// # Errors
    /// The run cannot go on.
    pub fn advance(&mut self, until: Time) -> Result<Progress, ConfigError> {
        self.has_moved = true;
        let slice = if self.world.is_watched() { WATCHED_SLICE } else { SLICE };
        self.world.advance_to(until, slice).map_err(broken)
    }

    /// Advances to the next time at which a packet joins or leaves the watched queue, or for some
    /// milliseconds. Returns whether that time is reached.
    ///
    /// # Errors
    /// The run cannot go on.
    pub fn advance_to_packet(&mut self) -> Result<bool, ConfigError> {
        self.has_moved = true;
        Ok(self.world.advance_to_packet(WATCHED_SLICE).map_err(broken)?.arrived)
    }

    /// The current time in ns, prepared for a change: everything that happens at this time has
    /// happened. It is the next nanosecond if something has happened after a change at this one.
    ///
    /// # Errors
    /// The run cannot go on.
    pub fn instant(&mut self) -> Result<u64, ConfigError> {
        let now = self.world.now();
        if self.has_moved {
            while !self.advance(now)?.arrived {}
            let made = self.scenario.changes_made(&self.world);
            let last = self.scenario.table().change[..made].last();
            if last.is_some_and(|last| Time::ZERO + last.at == now) {
                let next = Time::from_nanos(now.as_nanos() + 1);
                while !self.advance(next)?.arrived {}
            }
        }
        Ok(self.world.now().as_nanos())
    }

    /// The scenario as it now is.
    pub fn present(&self) -> &Scenario {
        self.scenario.after(self.scenario.changes_made(&self.world))
    }

    /// Continues as the scenario in `tree`: the same one with other changes from
    /// [`Run::instant`] on. After an error the run is as before.
    ///
    /// # Errors
    /// Something differs that cannot change, or the scenario cannot run.
    pub fn change(
        &mut self,
        tree: &Value,
        base: &Path,
        registry: &Arc<Registry>,
    ) -> Result<(), ConfigError> {
        let to = Scenario::read_after(Some(&self.scenario), tree, base, registry)?;
        self.scenario.go_on(&to, &mut self.world)?;
        (self.scenario, self.has_moved) = (to, false);
        Ok(())
    }
}
