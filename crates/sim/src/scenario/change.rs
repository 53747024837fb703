//! Changes of a scenario while it runs: links and their queues, and who sends.

use super::grammar::ChangeTable;
use super::link::{DirectedLink, unlimited};
use super::{Scenario, path};
use crate::course::{Course, Varies};
use crate::engine::{self, Join, LinkChange, World};
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Rate, Time};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The tables of links, as the first step of a path.
const LINK_TABLES: [&str; 3] = ["dumbbell", "parking_lot", "link"];
/// Fields of a link's table that may change.
const CHANGEABLE: [&str; 4] = ["rate", "delay", "loss", "queue"];
/// Fields of a scenario that are compared one by one.
const APART: [&str; 5] = ["dumbbell", "parking_lot", "link", "traffic", "change"];

/// Most changes in a scenario.
const MOST: usize = 2000;

/// A change, and the scenario after it.
#[derive(Clone)]
pub(crate) struct Dated {
    pub(crate) table: ChangeTable,
    pub(crate) after: Arc<Scenario>,
    index: usize,
    /// Index of the traffic entry that joins.
    joins: Option<usize>,
}

/// The new values of a link; None for what does not change. Its fields are those of a link's table.
#[derive(Serialize)]
struct Altered {
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    /// With every default filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<Value>,
}

/// The last queue that a change has put on each link, by index, with every default filled in.
type Replaced = HashMap<usize, Value>;

impl Dated {
    /// An error in the scenario after a change, with the path in the change that caused it.
    fn blame(&self, error: ConfigError) -> ConfigError {
        blame(self.index, self.joins, error)
    }
}

fn blame(index: usize, joins: Option<usize>, error: ConfigError) -> ConfigError {
    let joined = joins.map(|entry| format!("traffic[{entry}]"));
    match joined.and_then(|entry| error.path.strip_prefix(&entry).map(str::to_owned)) {
        Some(path) => {
            let path = path.trim_start_matches('.').to_owned();
            ConfigError::new(path, error.message).within(&format!("change[{index}].join"))
        }
        None => error.within(&format!("change[{index}].set")),
    }
}

impl Scenario {
    /// Reads the changes of the table. Those that are equal in `known`, which has been read before,
    /// are copied from there.
    pub(super) fn read_changes(&self, known: Option<&Scenario>) -> Result<Vec<Dated>, ConfigError> {
        require(self.table.change.len() <= MOST, "change", || {
            format!("there are {} changes; at most {MOST} are allowed", self.table.change.len())
        })?;
        let known = known.filter(|known| {
            let is_same = (&known.tree, &known.base) == (&self.tree, &self.base);
            is_same && Arc::ptr_eq(&known.registry, &self.registry)
        });
        let known = known.iter().flat_map(|known| &known.changes);
        let same =
            known.zip(&self.table.change).take_while(|(known, table)| known.table == **table);
        let mut dated: Vec<Dated> = same.map(|(known, _)| known.clone()).collect();
        for (index, table) in self.table.change.iter().enumerate().skip(dated.len()) {
            let within = |error: ConfigError| error.within(&format!("change[{index}]"));
            let before = dated.last().map_or(Duration::ZERO, |last| last.table.at);
            self.check_change(table, before).map_err(within)?;
            let last = dated.last().map_or(self, |last| &*last.after);
            let (tree, joins) = last.changed(table).map_err(within)?;
            let after = Scenario::read(&tree, &self.base, &self.registry);
            let after = after.map_err(|error| blame(index, joins, error))?;
            dated.push(Dated { table: table.clone(), after: Arc::new(after), index, joins });
        }
        Ok(dated)
    }

    fn check_change(&self, table: &ChangeTable, before: Duration) -> Result<(), ConfigError> {
        require(table.at < self.table.duration, "at", || {
            format!("must be below the duration of {}, got \"{}\"", self.table.duration, table.at)
        })?;
        require(table.at >= before, "at", || {
            format!("\"{}\" is before the change above it; put changes in order of time", table.at)
        })?;
        let given = [!table.set.is_empty(), table.join.is_some(), table.leave.is_some()];
        require(given.iter().filter(|given| **given).count() == 1, "", || {
            "must have one of `set`, `join` and `leave`".into()
        })
    }

    /// The tree of the scenario after `table`, and the index of the traffic entry that joins.
    fn changed(&self, table: &ChangeTable) -> Result<(Value, Option<usize>), ConfigError> {
        let mut tree = self.tree.clone();
        for (field, value) in &table.set {
            let set = path::set(&mut tree, field, value.clone());
            set.map_err(|error| error.within("set"))?;
        }
        if let Some(name) = &table.leave {
            let names = self.traffic_names();
            let place = names.iter().position(|known| known == name).ok_or_else(|| {
                let known: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
                let known = known.join(", ");
                let message = format!("no traffic entry is called \"{name}\"; one of {known}");
                ConfigError::new("leave", message)
            })?;
            tree["traffic"][place]["stop"] = json!(table.at);
        }
        let entries = tree["traffic"].as_array_mut().expect("it has been read as a list");
        let joins = table.join.as_ref().map(|_| entries.len());
        entries.extend(table.join.iter().cloned().map(Value::Object));
        Ok((tree, joins))
    }

    /// The scenario after all its changes.
    pub fn last(&self) -> &Scenario {
        self.changes.last().map_or(self, |dated| &*dated.after)
    }

    /// The tree of the scenario after `count` of its changes.
    pub fn tree_after(&self, count: usize) -> &Value {
        &self.after(count).tree
    }

    /// Number of changes that have been made in `world`, which runs this scenario.
    pub fn changes_made(&self, world: &World) -> usize {
        self.changes.len() - world.planned_changes()
    }

    /// The changes from index `first` on, for a world with `seed`.
    pub(super) fn later(
        &self,
        first: usize,
        seed: u64,
    ) -> Result<VecDeque<(Time, engine::Change)>, ConfigError> {
        let changes = self.altered()?.into_iter().zip(&self.changes).enumerate().skip(first);
        let changes = changes.map(|(index, (links, dated))| {
            let before = self.after(index);
            let change = before.difference(&dated.after, links, dated.table.at, seed);
            Ok((Time::ZERO + dated.table.at, change.map_err(|error| dated.blame(error))?))
        });
        changes.collect()
    }

    /// The scenario after `count` of its changes.
    pub fn after(&self, count: usize) -> &Scenario {
        count.checked_sub(1).map_or(self, |last| &*self.changes[last].after)
    }

    /// The new properties of links of each change, by the links' index.
    fn altered(&self) -> Result<Vec<Vec<(usize, Altered)>>, ConfigError> {
        let mut replaced = Replaced::new();
        let changes = self.changes.iter().enumerate().map(|(index, dated)| {
            let altered = self.after(index).altered_links(&dated.after, &mut replaced);
            altered.map_err(|error| dated.blame(error))
        });
        changes.collect()
    }

    /// The table of each change in the effective scenario. An entry that joins has every default filled
    /// in. Changes of links have the path of each single link: in the effective scenario every link has
    /// all fields, so a change of a shared field would have no effect.
    pub(super) fn effective_changes(&self) -> Result<Vec<Value>, ConfigError> {
        let changes = self.altered()?.into_iter().zip(&self.changes);
        let changes = changes.map(|(links, dated)| {
            let mut table = dated.table.clone();
            if !links.is_empty() {
                table.set.retain(|field, _| {
                    let first = field.trim_start_matches('"').split(['.', '[', '"']).next();
                    first.is_none_or(|first| !LINK_TABLES.contains(&first))
                });
            }
            for (link, altered) in links {
                let place = &dated.after.links[link].place;
                let fields = super::to_object(&altered).into_iter();
                table.set.extend(fields.map(|(field, value)| (format!("{place}.{field}"), value)));
            }
            let mut table = json!(table);
            if let Some(entry) = dated.joins {
                table["join"] = dated.after.traffic[entry].effective();
            }
            table
        });
        Ok(changes.collect())
    }

    /// Makes `world`, which runs this scenario, continue with `to`: the same scenario with other changes
    /// from the present time on. After an error, the world is as before.
    ///
    /// # Errors
    /// Something differs that cannot change during a run, or `to` cannot run.
    pub fn go_on(&self, to: &Scenario, world: &mut World) -> Result<(), ConfigError> {
        let made = self.changes_made(world);
        let past = |scenario: &Scenario| -> Vec<Value> {
            scenario.table.change.iter().take(made).map(|change| json!(change)).collect()
        };
        require(past(self) == past(to), "change", || {
            "changes in the past cannot be edited".into()
        })?;
        let now = Duration::from_nanos(world.now().as_nanos());
        if let Some(next) = to.table.change.get(made) {
            require(next.at >= now, &format!("change[{made}].at"), || {
                format!("must be at {now} or later, got \"{}\"", next.at)
            })?;
        }
        require(self.fixed() == to.fixed(), "", cannot)?;
        world.plan_anew(to.later(made, self.table.seed)?);
        world.change_as_planned();
        Ok(())
    }

    /// The scenario as written, without the fields that may change during a run.
    fn fixed(&self) -> Value {
        let mut tree = self.tree.clone();
        for field in ["plugins", "title", "compare", "tune"] {
            tree.as_object_mut().expect("it has been read as a table").remove(field);
        }
        tree
    }

    /// The change at `at` that makes this scenario `to`; `links` are the new properties of its links.
    fn difference(
        &self,
        to: &Scenario,
        links: Vec<(usize, Altered)>,
        at: Duration,
        seed: u64,
    ) -> Result<engine::Change, ConfigError> {
        let (old, new) = (super::to_object(&self.table), super::to_object(&to.table));
        for field in old.keys().chain(new.keys()).filter(|field| !APART.contains(&field.as_str())) {
            require(old.get(field) == new.get(field), field, cannot)?;
        }
        let row = |scenario: &Scenario| {
            scenario.row.as_ref().map(|row| (row.path, row.hops, super::to_object(&row.access)))
        };
        require(row(self) == row(to), "link", cannot)?;
        let links = links.into_iter().map(|(index, Altered { rate, delay, loss, queue })| {
            let discipline = || to.links[index].discipline(&to.base, &to.registry.disciplines);
            let queue = queue.map(|_| discipline()).transpose()?;
            Ok((index, LinkChange { queue, rate, delay, loss }))
        });
        Ok(engine::Change {
            links: links.collect::<Result<_, ConfigError>>()?,
            leave: self.leavers(to, at)?,
            join: self.joiners(to, seed)?,
        })
    }

    /// The users of the traffic entries that end at `at` in `to`.
    fn leavers(&self, to: &Scenario, at: Duration) -> Result<Vec<u32>, ConfigError> {
        let mut leavers = Vec::new();
        let mut first = 0;
        require(self.traffic.len() <= to.traffic.len(), "traffic", cannot)?;
        for (old, new) in self.traffic.iter().zip(&to.traffic) {
            let leaves = old.table.stop != new.table.stop && new.table.stop == Some(at);
            let rest = |entry: &super::Traffic| {
                let mut table = entry.effective();
                if leaves {
                    table.as_object_mut().expect("a table").remove("stop");
                }
                table
            };
            require(rest(old) == rest(new), "traffic", cannot)?;
            if leaves {
                leavers.extend(first..first + old.table.flows);
            }
            first += old.table.flows;
        }
        Ok(leavers)
    }

    /// The users of the additional traffic entries of `to`. The whole is built, so that new parts
    /// are numbered after the existing ones.
    fn joiners(&self, to: &Scenario, seed: u64) -> Result<Option<Join>, ConfigError> {
        if self.traffic.len() == to.traffic.len() {
            return Ok(None);
        }
        let cast = |scenario: &Scenario| scenario.cast(&scenario.graph()?, seed);
        let (old, mut new) = (cast(self)?, cast(to)?);
        Ok(Some(Join {
            users: new.users.split_off(old.users.len()),
            classes: new.classes.split_off(old.classes.len()),
            conditioners: new.conditioners.split_off(old.conditioners.len()),
            pipes: new.layout.pipes.split_off(old.layout.pipes.len()),
            stops: new.layout.stops.split_off(old.layout.stops.len()),
            crossings: new.layout.crossings.split_off(old.layout.crossings.len()),
        }))
    }

    /// The new properties of links that make this scenario `to`.
    fn altered_links(
        &self,
        to: &Scenario,
        replaced: &mut Replaced,
    ) -> Result<Vec<(usize, Altered)>, ConfigError> {
        require(self.links.len() == to.links.len(), "link", cannot)?;
        let mut altered = Vec::new();
        for (index, (old, new)) in self.links.iter().zip(&to.links).enumerate() {
            let mut fields = constants(old, new)?;
            if old.table.queue != new.table.queue {
                let is = to.queue_of(new)?;
                let was = replaced.get(&index).cloned();
                let was = was.map_or_else(|| self.queue_of(old), Ok)?;
                if was != is {
                    replaced.insert(index, is.clone());
                    fields.queue = Some(is);
                }
            }
            let Altered { rate, delay, loss, queue } = &fields;
            if rate.is_some() || delay.is_some() || loss.is_some() || queue.is_some() {
                altered.push((index, fields));
            }
        }
        Ok(altered)
    }

    /// The queue of `link` with every default filled in. A link without one has unlimited room.
    fn queue_of(&self, link: &DirectedLink) -> Result<Value, ConfigError> {
        let queue = link.queue(&self.base, &self.registry.disciplines)?;
        Ok(queue.unwrap_or_else(unlimited))
    }
}

/// The differences of `new` from `old`, except for its queue.
fn constants(old: &DirectedLink, new: &DirectedLink) -> Result<Altered, ConfigError> {
    let fixed = |link: &DirectedLink| -> Map<String, Value> {
        let mut table = super::to_object(&link.table);
        table.retain(|field, _| !CHANGEABLE.contains(&field.as_str()));
        table
    };
    let (was, is) = (&old.table, &new.table);
    require(fixed(old) == fixed(new), &new.path, cannot)?;
    Ok(Altered {
        rate: altered(old.rate(), new.rate(), &new.path)?,
        delay: altered(&was.delay, &is.delay, &new.path)?,
        loss: altered(&was.loss, &is.loss, &new.path)?,
        queue: None,
    })
}

/// The new constant, if `is` differs from `was`.
fn altered<T: Varies>(
    was: &Course<T>,
    is: &Course<T>,
    path: &str,
) -> Result<Option<T>, ConfigError> {
    if was == is {
        return Ok(None);
    }
    require(was.constant().is_some() && is.constant().is_some(), path, cannot)?;
    Ok(is.constant())
}

fn cannot() -> String {
    "cannot change during a run; a link's constant rate, delay, loss and queue can".into()
}
