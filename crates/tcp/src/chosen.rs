//! A part that was chosen from a registry.

use forebay_core::{ConfigError, Entry, Family, Named, Registry};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// A part of a registry with its parameters. Two are equal if their names and parameters are.
#[derive(Clone)]
pub struct Chosen<Facts, Built> {
    name: Cow<'static, str>,
    facts: Facts,
    params: Map<String, Value>,
    pub(crate) built: Built,
}

impl<Facts: Copy, Built> Chosen<Facts, Built> {
    /// `N` with its default parameters. It need not be in a registry.
    ///
    /// # Panics
    /// If the defaults of `N` are out of range.
    pub fn of<N: Named>() -> Self
    where
        N::Family: for<'a> Family<Facts = Facts, Built = Built, Site<'a> = ()>,
    {
        let made = Self::from_entry(&Entry::of::<N>(), &Map::new());
        made.unwrap_or_else(|error| panic!("{}: {error}", N::NAME))
    }

    /// The part called `name` in `registry`, with `given` parameters over its defaults.
    ///
    /// # Errors
    /// No part has this name (at `kind`), or a parameter is unknown or out of range.
    pub fn choose<F>(
        registry: &Registry<F>,
        name: &str,
        given: &Map<String, Value>,
    ) -> Result<Self, ConfigError>
    where
        F: for<'a> Family<Facts = Facts, Built = Built, Site<'a> = ()> + ?Sized,
    {
        Self::from_entry(registry.find(name)?, given)
    }

    fn from_entry<F>(entry: &Entry<F>, given: &Map<String, Value>) -> Result<Self, ConfigError>
    where
        F: for<'a> Family<Facts = Facts, Built = Built, Site<'a> = ()> + ?Sized,
    {
        let params = entry.effective(&Value::Object(given.clone()), &())?;
        let built = entry.build(&params, &())?;
        let Value::Object(params) = params else { unreachable!("parameters are a table") };
        Ok(Chosen { name: entry.name.clone(), facts: entry.facts, params, built })
    }

    /// Its name in a configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its properties.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// Its parameters, with all defaults filled in.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }
}

impl<Facts, Built> PartialEq for Chosen<Facts, Built> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.params == other.params
    }
}

impl<Facts, Built> fmt::Debug for Chosen<Facts, Built> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if self.params.is_empty() { Ok(()) } else { write!(f, "{:?}", self.params) }
    }
}
