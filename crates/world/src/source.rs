//! Hosts of a test as a source of traffic that a scenario can name.

use crate::Ends;
use forebay_core::{ConfigError, Entry, Recipe, Rng};
use forebay_sim::traffic::{BuildSite, Facts, Generator, JudgedBy};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Makes the ends of a flow.
struct Hosts<F>(F);

/// The source called `kind`, whose flows' ends `make` makes.
pub fn entry(
    kind: String,
    make: impl Fn(Rng) -> Ends + Clone + Send + Sync + 'static,
) -> Entry<Generator> {
    let words = [kind.into(), "hosts of a test".into(), "this program".into()];
    Entry::new(words, Facts::endpoints(JudgedBy::Goodput), Hosts(make))
}

impl<F: Fn(Rng) -> Ends + Clone + Send + Sync + 'static> Recipe<Generator> for Hosts<F> {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": {} })
    }

    fn effective(&self, block: &Value, _: &BuildSite<'_>) -> Result<Value, ConfigError> {
        match block.as_object().and_then(|fields| fields.keys().next()) {
            Some(field) => Err(ConfigError::new(field, "is not a field of a host; leave it out")),
            None => Ok(json!({})),
        }
    }

    fn build(&self, block: &Value, site: &BuildSite<'_>) -> Result<Generator, ConfigError> {
        self.effective(block, site)?;
        let make = self.0.clone();
        Ok(Generator::Endpoints(Box::new(make)))
    }
}
