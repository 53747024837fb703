//! The parts that a configuration can name, as a value. A registry has the parts of one family,
//! each with its own name.
//!
//! A part describes itself by implementing [`Named`], and [`Registry::with`] registers it in one
//! line. Parsing, defaults, JSON Schema, lists and reference pages come from the registry that a
//! program holds. So other programs can add parts without a change here.

use crate::{ConfigError, Discipline, Params, Setting, config};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// A family of parts, such as disciplines.
pub trait Family: 'static {
    /// The word for a part in messages: "kind", "source of traffic".
    const WHAT: &'static str;
    /// Facts about a part, beside its name.
    type Facts: Copy + Send + Sync;
    /// Facts that hold for most parts.
    const USUAL: Self::Facts;
    /// The place for which a part is built, such as a port.
    type Site<'a>;
    /// The type of a built part.
    type Built;
}

/// A part that a configuration can name.
pub trait Named: 'static {
    /// The family: `dyn Discipline`, a part of a discipline, or another.
    type Family: Family + ?Sized;
    /// The name: `kind = "..."` in a configuration.
    const NAME: &'static str;
    /// One line for lists.
    const SUMMARY: &'static str;
    /// The paper, section, standard, RFC or data on which it is based.
    const SOURCE: &'static str;
    /// Facts about it, beside its name.
    const FACTS: <Self::Family as Family>::Facts = <Self::Family as Family>::USUAL;
    /// Its parameters. Their defaults are defined only here. The doc comment of every field gives
    /// meaning, unit, range, symbol and source.
    type Params: Params;

    /// Fills in the defaults that depend on other parameters or on the place.
    fn resolve(_params: &mut Self::Params, _site: &<Self::Family as Family>::Site<'_>) {}

    /// The file that the part reads, if there is one.
    fn reads(_params: &Self::Params) -> Option<&str> {
        None
    }

    /// Checks the resolved parameters and builds the part.
    ///
    /// # Errors
    /// A value out of range, with the field and the range; or a file that cannot be used, with the
    /// remedy.
    fn build(
        params: &Self::Params,
        site: &<Self::Family as Family>::Site<'_>,
    ) -> Result<<Self::Family as Family>::Built, ConfigError>;
}

/// Reads a table of parameters (an object without `kind`) and builds a part from it.
pub trait Recipe<F: Family + ?Sized>: Send + Sync {
    /// JSON Schema of the parameters.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;

    /// The parameters with every default filled in.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    fn effective(&self, block: &Value, site: &F::Site<'_>) -> Result<Value, ConfigError>;

    /// The file that the part reads, if there is one.
    ///
    /// # Errors
    /// As [`Recipe::effective`].
    fn reads(&self, _block: &Value, _site: &F::Site<'_>) -> Result<Option<String>, ConfigError> {
        Ok(None)
    }

    /// Builds the part.
    ///
    /// # Errors
    /// As [`Recipe::effective`], and values out of range.
    fn build(&self, block: &Value, site: &F::Site<'_>) -> Result<F::Built, ConfigError>;
}

/// The recipe of a [`Named`] part.
struct Of<N>(PhantomData<fn() -> N>);

fn resolved<N: Named>(
    block: &Value,
    site: &<N::Family as Family>::Site<'_>,
) -> Result<N::Params, ConfigError> {
    let mut params = N::Params::read(block)?;
    N::resolve(&mut params, site);
    Ok(params)
}

impl<F: Family + ?Sized, N: Named<Family = F>> Recipe<F> for Of<N> {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        N::Params::json_schema(generator)
    }

    fn effective(&self, block: &Value, site: &F::Site<'_>) -> Result<Value, ConfigError> {
        let params = resolved::<N>(block, site)?;
        Ok(serde_json::to_value(params).expect("parameters are plain data"))
    }

    fn reads(&self, block: &Value, site: &F::Site<'_>) -> Result<Option<String>, ConfigError> {
        Ok(N::reads(&resolved::<N>(block, site)?).map(str::to_owned))
    }

    fn build(&self, block: &Value, site: &F::Site<'_>) -> Result<F::Built, ConfigError> {
        N::build(&resolved::<N>(block, site)?, site)
    }
}

/// One registered part.
pub struct Entry<F: Family + ?Sized> {
    /// The name: `kind = "..."` in a configuration.
    pub name: Cow<'static, str>,
    /// One line for lists.
    pub summary: Cow<'static, str>,
    /// The paper, section, standard, RFC or data on which it is based.
    pub source: Cow<'static, str>,
    /// Facts about it, beside its name.
    pub facts: F::Facts,
    recipe: Arc<dyn Recipe<F>>,
}

impl<F: Family + ?Sized> Clone for Entry<F> {
    fn clone(&self) -> Self {
        let Entry { name, summary, source, facts, recipe } = self;
        Entry {
            name: name.clone(),
            summary: summary.clone(),
            source: source.clone(),
            facts: *facts,
            recipe: Arc::clone(recipe),
        }
    }
}

impl<F: Family + ?Sized> std::fmt::Debug for Entry<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({})", self.name)
    }
}

impl<F: Family + ?Sized> Entry<F> {
    /// The entry of `N`.
    pub fn of<N: Named<Family = F>>() -> Self {
        Entry {
            name: N::NAME.into(),
            summary: N::SUMMARY.into(),
            source: N::SOURCE.into(),
            facts: N::FACTS,
            recipe: Arc::new(Of::<N>(PhantomData)),
        }
    }

    /// An entry whose parts are built by `recipe`. `words` are its name, summary and source.
    pub fn new(
        words: [Cow<'static, str>; 3],
        facts: F::Facts,
        recipe: impl Recipe<F> + 'static,
    ) -> Self {
        let [name, summary, source] = words;
        Entry { name, summary, source, facts, recipe: Arc::new(recipe) }
    }

    /// JSON Schema of the parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.recipe.schema(generator)
    }

    /// The parameters in `block` (an object without `kind`) with every default filled in.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    pub fn effective(&self, block: &Value, site: &F::Site<'_>) -> Result<Value, ConfigError> {
        self.recipe.effective(block, site)
    }

    /// The file that the part reads with the parameters in `block`, if there is one.
    ///
    /// # Errors
    /// As [`Entry::effective`].
    pub fn reads(&self, block: &Value, site: &F::Site<'_>) -> Result<Option<String>, ConfigError> {
        self.recipe.reads(block, site)
    }

    /// Builds the part from `block` (an object without `kind`).
    ///
    /// # Errors
    /// As [`Entry::effective`], and values out of range.
    pub fn build(&self, block: &Value, site: &F::Site<'_>) -> Result<F::Built, ConfigError> {
        self.recipe.build(block, site)
    }

    /// Names of the parameters.
    pub fn fields(&self) -> Vec<String> {
        let schema = self.schema(&mut SchemaGenerator::default());
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    }
}

/// The parts of one family, sorted by name.
pub struct Registry<F: Family + ?Sized>(Vec<Entry<F>>);

impl<F: Family + ?Sized> Clone for Registry<F> {
    fn clone(&self) -> Self {
        Registry(self.0.clone())
    }
}

impl<F: Family + ?Sized> Default for Registry<F> {
    fn default() -> Self {
        Registry(Vec::new())
    }
}

impl<F: Family + ?Sized> std::fmt::Debug for Registry<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<F: Family + ?Sized> Registry<F> {
    /// Adds `N` to the registry.
    ///
    /// # Panics
    /// If the registry has a part of this name.
    #[must_use]
    pub fn with<N: Named<Family = F>>(mut self) -> Self {
        self.join(Entry::of::<N>()).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Adds `entry` to the registry.
    ///
    /// # Errors
    /// The registry has a part of this name.
    pub fn join(&mut self, entry: Entry<F>) -> Result<(), ConfigError> {
        match self.0.binary_search_by(|known| known.name.cmp(&entry.name)) {
            Err(place) => self.0.insert(place, entry),
            Ok(_) => {
                let message = format!("there is another {} \"{}\"", F::WHAT, entry.name);
                return Err(ConfigError::new("kind", message));
            }
        }
        Ok(())
    }

    /// Every part, sorted by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry<F>> {
        self.0.iter()
    }

    /// Names of all parts.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|entry| &*entry.name).collect()
    }

    /// The part called `name`.
    ///
    /// # Errors
    /// There is none. The message lists the names that exist.
    pub fn find(&self, name: &str) -> Result<&Entry<F>, ConfigError> {
        let found = self.0.binary_search_by(|known| (*known.name).cmp(name));
        found
            .map(|place| &self.0[place])
            .map_err(|_| ConfigError::new("kind", config::unknown(F::WHAT, name, &self.names())))
    }

    /// The part that `block.kind` names, and the rest of `block`.
    ///
    /// # Errors
    /// There is no such part, or `block` is not a table.
    pub fn choose(&self, block: &Value) -> Result<(&Entry<F>, Value), ConfigError> {
        let Value::Object(block) = block else {
            let example = self.0.first().map_or("...", |entry| &entry.name);
            let message =
                format!("expected a table such as {{ kind = \"{example}\" }}, got {block}");
            return Err(ConfigError::new("", message));
        };
        let mut params = block.clone();
        let kind = params.remove("kind").unwrap_or_default();
        let Some(name) = kind.as_str() else {
            let message = format!("expected one of {}", self.names().join(", "));
            return Err(ConfigError::new("kind", message));
        };
        Ok((self.find(name)?, Value::Object(params)))
    }

    /// Builds what `block` (`kind` and that kind's parameters) describes.
    ///
    /// # Errors
    /// An unknown kind or field, or a value out of range, with its path inside `block`.
    pub fn build(&self, block: &Value, site: &F::Site<'_>) -> Result<F::Built, ConfigError> {
        let (entry, params) = self.choose(block)?;
        entry.build(&params, site)
    }

    /// `block` (`kind` and that kind's parameters) with every default filled in.
    ///
    /// # Errors
    /// An unknown kind or field, or a value of the wrong form, with its path inside `block`.
    pub fn effective(&self, block: &Value, site: &F::Site<'_>) -> Result<Value, ConfigError> {
        let (entry, params) = self.choose(block)?;
        let mut whole = Map::from_iter([("kind".to_owned(), Value::from(&*entry.name))]);
        if let Value::Object(params) = entry.effective(&params, site)? {
            whole.extend(params);
        }
        Ok(Value::Object(whole))
    }
}

impl<'a, F: Family + ?Sized> IntoIterator for &'a Registry<F> {
    type Item = &'a Entry<F>;
    type IntoIter = std::slice::Iter<'a, Entry<F>>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Facts about a discipline, or about a part of one, beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conduct {
    /// Whether packets of one flow and class leave in the order in which they arrived. Codepoint
    /// and drop precedence must not choose their queue.
    pub keeps_order: bool,
    /// Whether it holds packets back and says itself when it will send the next one
    /// ([`crate::Wake::At`]). Other disciplines are ready whenever they hold packets.
    pub shapes: bool,
    /// For an admission rule: whether one queue with this rule is a kind of its own, with the same
    /// name.
    pub alone: bool,
}

impl Conduct {
    /// Keeps the order and does not shape. An admission rule becomes a kind.
    pub const USUAL: Conduct = Conduct { keeps_order: true, shapes: false, alone: true };
    /// Does not keep the order.
    pub const REORDERS: Conduct = Conduct { keeps_order: false, ..Conduct::USUAL };
    /// An admission rule that does not become a kind.
    pub const PART: Conduct = Conduct { alone: false, ..Conduct::USUAL };

    /// The same, keeping the order or not.
    #[must_use]
    pub const fn with_order(self, keeps_order: bool) -> Self {
        Conduct { keeps_order, ..self }
    }

    /// The same, shaping or not.
    #[must_use]
    pub const fn with_shaping(self, shapes: bool) -> Self {
        Conduct { shapes, ..self }
    }
}

impl Family for dyn Discipline {
    const WHAT: &'static str = "kind";
    type Facts = Conduct;
    const USUAL: Conduct = Conduct::USUAL;
    type Site<'a> = Setting;
    type Built = Box<dyn Discipline>;
}
