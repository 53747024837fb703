//! Every discipline, and every part of a discipline, by name.

use crate::{Admit, Classify, Composed, Schedule};
use forebay_core::{
    Conduct, ConfigError, Discipline, Entry, Family, Named, Recipe, Registry, Setting,
};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

macro_rules! family {
    ($part:ident) => {
        impl Family for dyn $part {
            const WHAT: &'static str = "kind";
            type Facts = Conduct;
            const USUAL: Conduct = Conduct::USUAL;
            type Site<'a> = Setting;
            type Built = Box<dyn $part>;
        }
    };
}

family!(Classify);
family!(Admit);
family!(Schedule);

/// Kinds whose queues are disciplines of any kind. Linux calls them classful.
#[derive(Debug)]
pub struct Classful;

/// The place for which a classful kind is built.
#[derive(Debug, Clone, Copy)]
pub struct ClassfulSite<'a> {
    /// Its port.
    pub setting: &'a Setting,
    /// The disciplines that its queues may be.
    pub disciplines: &'a Disciplines,
}

impl Family for Classful {
    const WHAT: &'static str = "kind";
    type Facts = Conduct;
    /// Its queues may reorder packets.
    const USUAL: Conduct = Conduct::REORDERS;
    type Site<'a> = ClassfulSite<'a>;
    type Built = Box<dyn Discipline>;
}

/// The disciplines, and the parts of disciplines, that a program knows.
#[derive(Debug, Clone, Default)]
pub struct Disciplines {
    /// The named kinds without the classful ones. [`Disciplines::every_kind`] has all.
    pub kinds: Registry<dyn Discipline>,
    /// The named kinds whose queues are disciplines.
    pub classful: Registry<Classful>,
    /// Answers to *which queue does this packet join*.
    pub classifiers: Registry<dyn Classify>,
    /// Answers to *may it stay, and if not, which packet is dropped*.
    pub admissions: Registry<dyn Admit>,
    /// Answers to *who is served next*.
    pub schedulers: Registry<dyn Schedule>,
}

/// A family that belongs to [`Disciplines`].
pub trait Part: Family {
    /// Adds `entry`.
    ///
    /// # Errors
    /// There is another part of this name.
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError>;
}

impl Part for dyn Discipline {
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError> {
        disciplines.kinds.join(entry)?;
        disciplines.with_classful().map(drop)
    }
}

impl Part for Classful {
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError> {
        disciplines.classful.join(entry)?;
        disciplines.with_classful().map(drop)
    }
}

impl Part for dyn Classify {
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError> {
        disciplines.classifiers.join(entry)
    }
}

impl Part for dyn Admit {
    /// One queue under the rule becomes a kind, too.
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError> {
        if entry.facts.alone {
            let words = [entry.name.clone(), entry.summary.clone(), entry.source.clone()];
            let kind = Entry::new(words, entry.facts, OneQueue(entry.clone()));
            <dyn Discipline as Part>::join(disciplines, kind)?;
        }
        disciplines.admissions.join(entry)
    }
}

impl Part for dyn Schedule {
    fn join(disciplines: &mut Disciplines, entry: Entry<Self>) -> Result<(), ConfigError> {
        disciplines.schedulers.join(entry)
    }
}

/// A classful kind whose queues are these disciplines.
struct Planted(Entry<Classful>, Arc<Disciplines>);

impl Recipe<dyn Discipline> for Planted {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.0.schema(generator)
    }

    fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
        self.0.effective(block, &ClassfulSite { setting, disciplines: &self.1 })
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        self.0.build(block, &ClassfulSite { setting, disciplines: &self.1 })
    }
}

/// One queue under an admission rule, with the rule's parameters.
struct OneQueue(Entry<dyn Admit>);

impl Recipe<dyn Discipline> for OneQueue {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.0.schema(generator)
    }

    fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
        self.0.effective(block, &setting.with_queues(1))
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(self.0.build(block, &setting.with_queues(1))?.alone())
    }
}

impl Disciplines {
    /// Adds `N`: a discipline, a classifier, an admission rule (which also becomes a kind with one
    /// queue) or a scheduler.
    ///
    /// # Panics
    /// If there is another of this name in its family.
    #[must_use]
    pub fn with<N: Named<Family: Part>>(mut self) -> Self {
        let joined = N::Family::join(&mut self, Entry::of::<N>());
        joined.unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Every named kind. The queues of classful ones are these disciplines.
    ///
    /// # Panics
    /// If a classful kind and another have the same name.
    pub fn every_kind(&self) -> Registry<dyn Discipline> {
        self.with_classful().unwrap_or_else(|error| panic!("{error}"))
    }

    fn with_classful(&self) -> Result<Registry<dyn Discipline>, ConfigError> {
        let mut kinds = self.kinds.clone();
        if self.classful.iter().len() == 0 {
            return Ok(kinds);
        }
        let these = Arc::new(self.clone());
        for entry in &self.classful {
            let words = [entry.name.clone(), entry.summary.clone(), entry.source.clone()];
            let planted = Planted(entry.clone(), Arc::clone(&these));
            kinds.join(Entry::new(words, entry.facts, planted))?;
        }
        Ok(kinds)
    }

    /// The registry in which the kind that `block` names is found, if there is such a kind.
    fn kinds_for(&self, block: &Value) -> Cow<'_, Registry<dyn Discipline>> {
        let plain = block["kind"].as_str().is_some_and(|name| self.kinds.find(name).is_ok());
        if plain { Cow::Borrowed(&self.kinds) } else { Cow::Owned(self.every_kind()) }
    }

    /// Builds the discipline that `block` describes: a named kind (`kind = "codel"`, with that
    /// kind's parameters), or any combination (`classify = {kind = ...}`, `admit = ...`,
    /// `schedule = ...`).
    ///
    /// # Errors
    /// An unknown kind or field, or a value out of range, with its path inside `block`.
    pub fn build(
        &self,
        block: &Value,
        setting: &Setting,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        if is_kind(block) {
            return self.kinds_for(block).build(block, setting);
        }
        let parts = self.parts(block)?;
        let (classify, inner) = self.classify(&parts, setting)?;
        let admit = self.admissions.build(parts.admit, &inner);
        let schedule = self.schedulers.build(parts.schedule, &inner);
        Ok(Box::new(Composed::new(
            classify,
            admit.map_err(|error| error.within("admit"))?,
            schedule.map_err(|error| error.within("schedule"))?,
        )))
    }

    /// The effective configuration of `block`: every default filled in.
    ///
    /// # Errors
    /// As [`Disciplines::build`].
    pub fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
        if is_kind(block) {
            return self.kinds_for(block).effective(block, setting);
        }
        let parts = self.parts(block)?;
        let (_, inner) = self.classify(&parts, setting)?;
        let part = |name: &str, value: Result<Value, ConfigError>| {
            Ok((name.to_owned(), value.map_err(|error| error.within(name))?))
        };
        Ok(Value::Object(Map::from_iter([
            part("classify", self.classifiers.effective(parts.classify, setting))?,
            part("admit", self.admissions.effective(parts.admit, &inner))?,
            part("schedule", self.schedulers.effective(parts.schedule, &inner))?,
        ])))
    }

    /// The classifier, and what the other two parts are told of the port.
    fn classify(
        &self,
        parts: &Parts,
        setting: &Setting,
    ) -> Result<(Box<dyn Classify>, Setting), ConfigError> {
        let classify = self.classifiers.build(parts.classify, setting);
        let classify = classify.map_err(|error| error.within("classify"))?;
        let inner = setting.with_queues(classify.queues());
        Ok((classify, inner))
    }

    fn parts<'a>(&self, block: &'a Value) -> Result<Parts<'a>, ConfigError> {
        let Value::Object(block) = block else {
            let message = format!("expected a table such as {{ kind = \"fifo\" }}, got {block}");
            return Err(ConfigError::new("", message));
        };
        const FIELDS: [&str; 3] = ["classify", "admit", "schedule"];
        if let Some(unknown) = block.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(ConfigError::new(
                unknown,
                "unknown field; a queue has either `kind = \"...\"` with that kind's parameters, \
                 or `classify`, `admit` and `schedule`",
            ));
        }
        let part = |name: &str| {
            block.get(name).ok_or_else(|| {
                ConfigError::new(
                    "",
                    format!(
                        "`{name}` is missing; name a kind (`kind = \"fifo\"`; one of {}) or give \
                         all of `classify`, `admit` and `schedule`",
                        self.every_kind().names().join(", ")
                    ),
                )
            })
        };
        Ok(Parts {
            classify: part("classify")?,
            admit: part("admit")?,
            schedule: part("schedule")?,
        })
    }
}

fn is_kind(block: &Value) -> bool {
    block.get("kind").is_some()
}

/// The three tables of a combination.
struct Parts<'a> {
    classify: &'a Value,
    admit: &'a Value,
    schedule: &'a Value,
}
