//! What may change in a scenario while it runs: rates, delays, losses and queues of links.

use super::Scenario;
use super::link::DirectedLink;
use crate::engine::{LinkChange, World};
use forebay_core::ConfigError;
use forebay_core::config::require;
use serde_json::Value;

/// Fields of a link's table that may change.
const CHANGEABLE: [&str; 4] = ["rate", "delay", "loss", "queue"];
/// Fields of a scenario that speak of links, or of nothing that runs.
const LINKS: [&str; 8] =
    ["dumbbell", "parking_lot", "link", "plugins", "title", "compare", "tune", "agent"];

impl Scenario {
    /// Makes `world`, which runs this scenario, go on as `to` says. Nothing has changed if that is
    /// refused. A queue that changes begins anew; what waits in the old one leaves first.
    ///
    /// # Errors
    /// Something differs that cannot change while it runs; or anything in `to` that could not run.
    pub fn change(&self, to: &Scenario, world: &mut World) -> Result<(), ConfigError> {
        let (old, new) = (self.effective()?, to.effective()?);
        let fields = |tree: &'_ Value| tree.as_object().map(|tree| tree.keys().cloned().collect());
        let fields: Vec<Vec<String>> = [&old, &new].into_iter().filter_map(fields).collect();
        for field in fields.iter().flatten().filter(|field| !LINKS.contains(&field.as_str())) {
            require(old.get(field) == new.get(field), field, cannot)?;
        }
        let row = |scenario: &Scenario| {
            scenario.row.as_ref().map(|row| (row.path, row.hops, super::to_object(&row.access)))
        };
        require(row(self) == row(to) && self.links.len() == to.links.len(), "link", cannot)?;
        let changes = self.links.iter().zip(&to.links).map(|(old, new)| to.of_link(old, new));
        let changes: Vec<_> = changes.collect::<Result<_, _>>()?;
        for (index, change) in changes.into_iter().enumerate() {
            world.change(index, change);
        }
        Ok(())
    }

    /// What is `new`, a link of this scenario, beside `old`.
    fn of_link(&self, old: &DirectedLink, new: &DirectedLink) -> Result<LinkChange, ConfigError> {
        let fixed = |link: &DirectedLink| {
            let mut table = super::to_object(&link.table);
            table.retain(|field, _| !CHANGEABLE.contains(&field.as_str()));
            table
        };
        let (was, is) = (&old.table, &new.table);
        let drawn = is.draw.as_ref().is_some_and(|draw| !draw.delays.is_empty());
        let by_schedule = [
            was.rate.is_some() != is.rate.is_some(),
            was.delay != is.delay && (drawn || is.delays.is_some()),
            was.loss != is.loss && is.losses.is_some(),
        ];
        require(fixed(old) == fixed(new) && !by_schedule.contains(&true), &new.path, cannot)?;
        let queue = (was.queue != is.queue)
            .then(|| new.discipline(&self.base, &self.registry.disciplines))
            .transpose()?;
        Ok(LinkChange {
            queue,
            rate: is.rate.filter(|_| was.rate != is.rate),
            delay: (was.delay != is.delay).then_some(is.delay),
            loss: (was.loss != is.loss).then_some(is.loss),
        })
    }
}

fn cannot() -> String {
    "cannot change while it runs; constant rate, delay and loss of a link, and its queue, can"
        .into()
}
