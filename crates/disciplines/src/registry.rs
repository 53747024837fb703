//! Every discipline, and every part of one, by name.
//!
//! One registration line gives a kind its parsing, defaults, place in `forebay kinds`, JSON
//! Schema, reference page, conformance tests and benchmarks.

use crate::{Admit, Classify, Composed, Schedule, admit, classify, kinds, schedule};
use forebay_core::{ConfigError, Discipline, Setting, config};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Something that a scenario can name: a discipline (`T = dyn Discipline`) or one of its parts.
pub trait Named<T: ?Sized> {
    /// What a scenario writes as `kind = "..."`.
    const NAME: &'static str;
    /// One line for lists.
    const SUMMARY: &'static str;
    /// Paper, section or RFC that it follows.
    const SOURCE: &'static str;
    /// Whether packets of one flow and class leave in the order in which they came, as long as
    /// the codepoint and the drop precedence of a flow and class do not decide their queue.
    const KEEPS_ORDER: bool = true;
    /// Its parameters, the one home of their defaults; every field's doc comment gives meaning,
    /// unit, range, symbol and source.
    type Params: Serialize + DeserializeOwned + JsonSchema;

    /// Fills in the defaults that depend on the port.
    fn resolve(_params: &mut Self::Params, _setting: &Setting) {}

    /// Checks the (resolved) parameters and builds it.
    ///
    /// # Errors
    /// Names the field that is out of range, and the range.
    fn build(params: &Self::Params, setting: &Setting) -> Result<Box<T>, ConfigError>;
}

/// One registered name.
pub struct Entry<T: ?Sized> {
    /// What a scenario writes as `kind = "..."`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, section or RFC that it follows.
    pub source: &'static str,
    /// Whether packets of one flow and class leave in the order in which they came.
    pub keeps_order: bool,
    schema: fn(&mut SchemaGenerator) -> Schema,
    effective: fn(&Value, &Setting) -> Result<Value, ConfigError>,
    build: fn(&Value, &Setting) -> Result<Box<T>, ConfigError>,
}

/// The line that registers `N`.
const fn entry<N: Named<T>, T: ?Sized>() -> Entry<T> {
    Entry {
        name: N::NAME,
        summary: N::SUMMARY,
        source: N::SOURCE,
        keeps_order: N::KEEPS_ORDER,
        schema: |generator| N::Params::json_schema(generator),
        effective: |value, setting| {
            let params = resolved::<N, T>(value, setting)?;
            Ok(serde_json::to_value(params).expect("parameters are plain data"))
        },
        build: |value, setting| N::build(&resolved::<N, T>(value, setting)?, setting),
    }
}

fn resolved<N: Named<T>, T: ?Sized>(
    value: &Value,
    setting: &Setting,
) -> Result<N::Params, ConfigError> {
    let mut params = config::read(value)?;
    N::resolve(&mut params, setting);
    Ok(params)
}

impl<T: ?Sized> Entry<T> {
    /// JSON Schema of the parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// The parameters in `block` (an object without `kind`) with every default filled in.
    ///
    /// # Errors
    /// An unknown field or a value of the wrong form, with its path.
    pub fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
        (self.effective)(block, setting)
    }

    /// Builds it from `block` (an object without `kind`).
    ///
    /// # Errors
    /// As [`Entry::effective`], and values out of range.
    pub fn build(&self, block: &Value, setting: &Setting) -> Result<Box<T>, ConfigError> {
        (self.build)(block, setting)
    }
}

/// The named kinds.
pub static KINDS: &[Entry<dyn Discipline>] = &[
    entry::<kinds::Codel, _>(),
    entry::<kinds::CpAqm, _>(),
    entry::<kinds::CqAqm, _>(),
    entry::<kinds::Drr, _>(),
    entry::<kinds::Fifo, _>(),
    entry::<kinds::FqCodel, _>(),
    entry::<kinds::FqPie, _>(),
    entry::<kinds::Gsp, _>(),
    entry::<kinds::Ncq, _>(),
    entry::<kinds::Pie, _>(),
    entry::<kinds::Prio, _>(),
    entry::<kinds::Red, _>(),
    entry::<kinds::Rio, _>(),
    entry::<kinds::Wred, _>(),
    entry::<kinds::Wrr, _>(),
    entry::<kinds::Wrt, _>(),
];

/// Answers to *which queue does this packet join*.
pub static CLASSIFIERS: &[Entry<dyn Classify>] = &[
    entry::<classify::Class, _>(),
    entry::<classify::Dscp, _>(),
    entry::<classify::FlowHash, _>(),
    entry::<classify::Ncq, _>(),
    entry::<classify::One, _>(),
    entry::<classify::Precedence, _>(),
];

/// Answers to *may it stay, and if not who goes*.
pub static ADMISSIONS: &[Entry<dyn Admit>] = &[
    entry::<admit::Codel, _>(),
    entry::<admit::CpAqm, _>(),
    entry::<admit::CqAqm, _>(),
    entry::<admit::Gsp, _>(),
    entry::<admit::Pie, _>(),
    entry::<admit::Red, _>(),
    entry::<admit::Rio, _>(),
    entry::<admit::SharedTailDrop, _>(),
    entry::<admit::TailDrop, _>(),
    entry::<admit::Wred, _>(),
    entry::<admit::Wrt, _>(),
];

/// Answers to *who is served next*.
pub static SCHEDULERS: &[Entry<dyn Schedule>] = &[
    entry::<schedule::Drr, _>(),
    entry::<schedule::Fair, _>(),
    entry::<schedule::Fifo, _>(),
    entry::<schedule::StrictPriority, _>(),
    entry::<schedule::Wfq, _>(),
    entry::<schedule::Wrr, _>(),
];

/// Builds the discipline that `block` describes: a named kind (`kind = "codel"`, with that kind's
/// parameters), or any combination (`classify = {kind = ...}`, `admit = ...`, `schedule = ...`).
///
/// # Errors
/// An unknown kind or field, or a value out of range, with its path inside `block`.
pub fn build(block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
    let block = object(block)?;
    if block.contains_key("kind") {
        let (entry, params) = choose(KINDS, block)?;
        return entry.build(&params, setting);
    }
    let parts = Parts::of(block)?;
    let classify = build_part(CLASSIFIERS, parts.classify, "classify", setting)?;
    let inner = Setting { queues: classify.queues(), ..*setting };
    let admit = build_part(ADMISSIONS, parts.admit, "admit", &inner)?;
    let schedule = build_part(SCHEDULERS, parts.schedule, "schedule", &inner)?;
    Ok(Box::new(Composed::new(classify, admit, schedule)))
}

/// The effective configuration of `block`: every default filled in.
///
/// # Errors
/// As [`build`].
pub fn effective(block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
    let block = object(block)?;
    if block.contains_key("kind") {
        return effective_of(KINDS, block, setting);
    }
    let parts = Parts::of(block)?;
    let classify = build_part(CLASSIFIERS, parts.classify, "classify", setting)?;
    let inner = Setting { queues: classify.queues(), ..*setting };
    let part = |name: &str, value| (name.to_owned(), value);
    Ok(Value::Object(Map::from_iter([
        part("classify", effective_part(CLASSIFIERS, parts.classify, "classify", setting)?),
        part("admit", effective_part(ADMISSIONS, parts.admit, "admit", &inner)?),
        part("schedule", effective_part(SCHEDULERS, parts.schedule, "schedule", &inner)?),
    ])))
}

/// The three tables of a combination.
struct Parts<'a> {
    classify: &'a Value,
    admit: &'a Value,
    schedule: &'a Value,
}

impl<'a> Parts<'a> {
    fn of(block: &'a Map<String, Value>) -> Result<Self, ConfigError> {
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
                        names(KINDS).join(", ")
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

fn build_part<T: ?Sized>(
    table: &[Entry<T>],
    value: &Value,
    name: &str,
    setting: &Setting,
) -> Result<Box<T>, ConfigError> {
    object(value)
        .and_then(|block| choose(table, block))
        .and_then(|(entry, params)| entry.build(&params, setting))
        .map_err(|error| error.within(name))
}

fn effective_part<T: ?Sized>(
    table: &[Entry<T>],
    value: &Value,
    name: &str,
    setting: &Setting,
) -> Result<Value, ConfigError> {
    object(value)
        .and_then(|block| effective_of(table, block, setting))
        .map_err(|error| error.within(name))
}

fn effective_of<T: ?Sized>(
    table: &[Entry<T>],
    block: &Map<String, Value>,
    setting: &Setting,
) -> Result<Value, ConfigError> {
    let (entry, params) = choose(table, block)?;
    let mut whole = Map::from_iter([("kind".to_owned(), Value::from(entry.name))]);
    if let Value::Object(params) = entry.effective(&params, setting)? {
        whole.extend(params);
    }
    Ok(Value::Object(whole))
}

/// The entry that `block.kind` names, and the rest of the block.
fn choose<'t, T: ?Sized>(
    table: &'t [Entry<T>],
    block: &Map<String, Value>,
) -> Result<(&'t Entry<T>, Value), ConfigError> {
    let mut params = block.clone();
    let kind = params.remove("kind").unwrap_or_default();
    let Some(name) = kind.as_str() else {
        let message = format!("expected one of {}", names(table).join(", "));
        return Err(ConfigError::new("kind", message));
    };
    let entry = table
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| ConfigError::new("kind", config::unknown("kind", name, &names(table))))?;
    Ok((entry, Value::Object(params)))
}

fn names<T: ?Sized>(table: &[Entry<T>]) -> Vec<&'static str> {
    table.iter().map(|entry| entry.name).collect()
}

fn object(value: &Value) -> Result<&Map<String, Value>, ConfigError> {
    value.as_object().ok_or_else(|| {
        ConfigError::new("", format!("expected a table such as {{ kind = \"fifo\" }}, got {value}"))
    })
}
