//! Courses: how a value of a scenario changes over time.
//!
//! A value that may vary is written as itself, `"10Mbit"`, or as a table with one of three fields:
//!
//! - `{ steps = [["0s", "10Mbit"], ["5s", "2Mbit"]], period = "10s" }`: values from given times on.
//! - `{ trace = "file" }`: the same from a file.
//! - `{ draw = ["2Mbit", "10Mbit"], every = "1s" }`: values drawn at random.

use crate::input;
use crate::trace::{self, QUANTUM};
pub use forebay_core::Schedule;
use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError, Duration, Rng, Time, file};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

/// A value that may vary.
pub trait Varies: Copy + PartialOrd + Serialize + DeserializeOwned + JsonSchema + 'static {}

impl<T: Copy + PartialOrd + Serialize + DeserializeOwned + JsonSchema + 'static> Varies for T {}

/// The course of a value over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Course<T> {
    Constant(T),
    Steps(Steps<T>),
    Trace(Trace),
    Draw(Draw<T>),
}

/// Values from given times on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Steps<T> {
    /// Times and the values that hold from then on, in order, the first at 0s.
    pub steps: Vec<(Duration, T)>,
    /// Time after which the steps start again. Without it, the last value holds until the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
}

/// Values from a file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Trace {
    /// File with a time and a value on each line, such as `5s 2Mbit`. For a link's rate also a file
    /// of recorded delivery opportunities, one time in ms a line (the format of mahimahi); it
    /// repeats. Plain, or packed by gzip. A relative name starts from the scenario's folder.
    #[schemars(extend("format" = "path"))]
    pub trace: String,
    /// Bytes that leave at each opportunity; above 0, at most 1GB. Default 1504B, as in mahimahi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Time after which times and values start again. Without it, the last value holds until the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
}

/// Values drawn at random.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Draw<T> {
    /// The possible values, all equally likely.
    pub draw: Vec<T>,
    /// Time between draws; above 0.
    pub every: Duration,
}

/// A line of `steps`.
#[derive(Deserialize)]
#[serde(expecting = "a time and a value")]
struct Step<T>(Duration, T);

/// All fields that the table of a course may have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table<T> {
    steps: Option<Vec<Step<T>>>,
    trace: Option<String>,
    draw: Option<Vec<T>>,
    period: Option<Duration>,
    quantum: Option<Bytes>,
    every: Option<Duration>,
}

impl<T> TryFrom<Table<T>> for Course<T> {
    type Error = &'static str;

    fn try_from(table: Table<T>) -> Result<Self, &'static str> {
        let Table { steps, trace, draw, period, quantum, every } = table;
        match (steps, trace, draw) {
            (Some(steps), None, None) if every.is_none() && quantum.is_none() => {
                let steps = steps.into_iter().map(|Step(at, value)| (at, value)).collect();
                Ok(Course::Steps(Steps { steps, period }))
            }
            (None, Some(trace), None) if every.is_none() => {
                Ok(Course::Trace(Trace { trace, quantum, period }))
            }
            (None, None, Some(draw)) if period.is_none() && quantum.is_none() => match every {
                Some(every) => Ok(Course::Draw(Draw { draw, every })),
                None => Err("give `every`, the time between draws, beside `draw`"),
            },
            (Some(_), None, None) => Err("beside `steps` there may be `period` only"),
            (None, Some(_), None) => Err("beside `trace` there may be `period` and `quantum` only"),
            (None, None, Some(_)) => Err("beside `draw` there may be `every` only"),
            _ => Err("give one of `steps`, `trace` and `draw`"),
        }
    }
}

impl<'de, T: Varies> Deserialize<'de> for Course<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CourseVisitor(PhantomData))
    }
}

struct CourseVisitor<T>(PhantomData<T>);

macro_rules! constants {
    ($($visit:ident: $type:ty),+) => {$(
        fn $visit<E: Error>(self, value: $type) -> Result<Course<T>, E> {
            T::deserialize(value.into_deserializer()).map(Course::Constant)
        }
    )+};
}

impl<'de, T: Varies> Visitor<'de> for CourseVisitor<T> {
    type Value = Course<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value, or a table with `steps`, `trace` or `draw`")
    }

    constants!(visit_str: &str, visit_u64: u64, visit_i64: i64, visit_f64: f64);

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Course<T>, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        Course::try_from(table).map_err(A::Error::custom)
    }
}

impl<T: Serialize> Serialize for Course<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Course::Constant(value) => value.serialize(serializer),
            Course::Steps(steps) => steps.serialize(serializer),
            Course::Trace(trace) => trace.serialize(serializer),
            Course::Draw(draw) => draw.serialize(serializer),
        }
    }
}

impl<T: Varies> JsonSchema for Course<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} or its course", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "anyOf": [
            generator.subschema_for::<T>(),
            generator.subschema_for::<Steps<T>>(),
            generator.subschema_for::<Trace>(),
            generator.subschema_for::<Draw<T>>(),
        ] })
    }
}

impl<T: Varies> Course<T> {
    /// The value, if it is constant.
    pub fn constant(&self) -> Option<T> {
        if let Course::Constant(value) = self { Some(*value) } else { None }
    }

    /// The file that it is read from.
    pub fn file(&self) -> Option<&str> {
        if let Course::Trace(Trace { trace, .. }) = self { Some(trace) } else { None }
    }

    /// Time between draws, if it is drawn.
    pub fn every(&self) -> Option<Duration> {
        if let Course::Draw(Draw { every, .. }) = self { Some(*every) } else { None }
    }

    /// The largest value, which may be in its file.
    pub fn largest(&self, base: &Path, field: &str) -> Result<T, ConfigError> {
        let all = match self {
            Course::Draw(Draw { draw, .. }) => draw.clone(),
            other => {
                let any = |_: T, _: &str| Ok(());
                other.schedule(&mut Rng::named(0, ""), Duration::ZERO, base, field, any)?.values()
            }
        };
        let larger = |one: T, other: T| if one < other { other } else { one };
        Ok(all.into_iter().reduce(larger).expect("a course has values"))
    }

    /// Checks the course at path `field`; `check` checks each value. Values in a file are checked when it is
    /// read.
    pub fn check(
        &self,
        field: &str,
        check: impl Fn(T, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        match self {
            Course::Constant(value) => check(*value, field),
            Course::Steps(Steps { steps, period }) => {
                check_steps(steps, *period).map_err(|error| error.within(field))?;
                steps.iter().try_for_each(|(_, value)| check(*value, &format!("{field}.steps")))
            }
            Course::Trace(Trace { quantum, .. }) => {
                let most = Bytes(1_000_000_000);
                let fits = quantum.is_none_or(|quantum| (1..=most.0).contains(&quantum.0));
                require(fits, &format!("{field}.quantum"), || {
                    let given = quantum.unwrap_or_default();
                    format!("must be greater than 0 and at most {most}, got \"{given}\"")
                })
            }
            Course::Draw(Draw { draw, every }) => {
                require(*every > Duration::ZERO, &format!("{field}.every"), || {
                    "must be greater than 0".into()
                })?;
                let path = format!("{field}.draw");
                require(!draw.is_empty(), &path, || "give values to draw from".into())?;
                draw.iter().try_for_each(|value| check(*value, &path))
            }
        }
    }

    /// The values for a run of length `span`, with draws from `rng`. File names are relative to `base`;
    /// `field` is the path of the course, and `check` checks each value of a file.
    pub fn schedule(
        &self,
        rng: &mut Rng,
        span: Duration,
        base: &Path,
        field: &str,
        check: impl Fn(T, &str) -> Result<(), ConfigError>,
    ) -> Result<Schedule<T>, ConfigError> {
        let from_zero = |(at, value): &(Duration, T)| (Time::ZERO + *at, *value);
        Ok(match self {
            Course::Constant(value) => Schedule::Constant(*value),
            Course::Steps(Steps { steps, period }) => {
                Schedule::Steps { steps: steps.iter().map(from_zero).collect(), period: *period }
            }
            Course::Trace(trace) => {
                require(trace.quantum.is_none(), &format!("{field}.quantum"), || {
                    "is for a file of opportunities to send; this one has times and values".into()
                })?;
                let text = trace.read(base, field)?;
                let steps = trace.in_file(base, field, trace::read_steps(&text))?;
                let course = Course::Steps(Steps { steps, period: trace.period });
                course.check("", &check).map_err(|error| match &*error.path {
                    "period" => error.within(field),
                    _ => trace.fault(base, field, &error.message),
                })?;
                return course.schedule(rng, span, base, field, check);
            }
            Course::Draw(Draw { draw, every }) => {
                let count = span.as_nanos() / every.as_nanos() + 1;
                let mut value = |index| {
                    (Time::ZERO + *every * index, draw[rng.below(draw.len() as u64) as usize])
                };
                Schedule::Steps { steps: (0..count).map(&mut value).collect(), period: None }
            }
        })
    }
}

impl Trace {
    /// The text of the file, which is relative to `base`; `field` is the path of the course.
    pub fn read(&self, base: &Path, field: &str) -> Result<String, ConfigError> {
        let path = base.join(&self.trace);
        let text = input::read(&path, trace::LARGEST).and_then(file::text);
        self.in_file(base, field, text.map_err(|error| error.to_string()))
    }

    /// `result`, with the file's name in the error.
    pub fn in_file<R>(
        &self,
        base: &Path,
        field: &str,
        result: Result<R, String>,
    ) -> Result<R, ConfigError> {
        result.map_err(|error| self.fault(base, field, &error))
    }

    /// An error of the file.
    fn fault(&self, base: &Path, field: &str, error: &str) -> ConfigError {
        let message = format!("{}: {error}", base.join(&self.trace).display());
        ConfigError::new(format!("{field}.trace"), message)
    }

    /// Bytes that leave at each opportunity.
    pub fn quantum(&self) -> u32 {
        self.quantum.map_or(QUANTUM, |quantum| quantum.0 as u32)
    }
}

fn check_steps<T>(steps: &[(Duration, T)], period: Option<Duration>) -> Result<(), ConfigError> {
    require(steps.first().is_some_and(|(at, _)| *at == Duration::ZERO), "steps", || {
        "must begin with a step at \"0s\"".into()
    })?;
    require(steps.is_sorted_by(|(a, _), (b, _)| a < b), "steps", || {
        "must be in order of time, no two at the same".into()
    })?;
    let last = steps.last().map_or(Duration::ZERO, |(at, _)| *at);
    require(period.is_none_or(|period| period > last), "period", || {
        format!("must be later than the last step, at {last}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Rate, config::read};
    use serde_json::{Value, json};

    fn refused<T: Varies>(value: Value) -> String {
        read::<Course<T>>(&value).err().expect("refused").to_string()
    }

    #[test]
    fn what_is_written_is_read_and_written_again() {
        for value in [
            json!("10Mbit"),
            json!({ "steps": [["0ns", "10Mbit"], ["5s", "2Mbit"]], "period": "10s" }),
            json!({ "steps": [["0ns", "10Mbit"]] }),
            json!({ "trace": "a.trace", "quantum": "1KB" }),
            json!({ "draw": ["1Mbit", "2Mbit"], "every": "1s" }),
        ] {
            let course: Course<Rate> = read(&value).unwrap();
            assert_eq!(serde_json::to_value(&course).unwrap(), value);
        }
        let course: Course<f64> = read(&json!({ "steps": [["0s", 0.5], ["1s", 0]] })).unwrap();
        assert_eq!(course.constant(), None);
        assert_eq!(read::<Course<f64>>(&json!(0)).unwrap(), Course::Constant(0.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (value, expected) in [
            (json!([1]), "must be a value, or a table with `steps`, `trace` or `draw`, got a list"),
            (json!({}), "give one of `steps`, `trace` and `draw`"),
            (json!({ "steps": [], "trace": "x" }), "give one of `steps`, `trace` and `draw`"),
            (json!({ "step": [] }), "step: unknown field \"step\" (did you mean \"steps\"?)"),
            (json!({ "draw": ["1Mbit"] }), "give `every`, the time between draws, beside `draw`"),
            (json!({ "draw": ["1Mbit"], "every": "1s", "period": "1s" }), "beside `draw`"),
            (json!({ "trace": "x", "every": "1s" }), "beside `trace`"),
            (json!({ "steps": [["0s", "1Mbit"]], "quantum": "1KB" }), "beside `steps`"),
            (json!({ "steps": [["0s", "fast"]] }), "steps[0][1]: "),
            (json!({ "steps": [["0s"]] }), "steps[0]: must be a time and a value, got a list of 1"),
            (json!({ "steps": ["0s"] }), "steps[0]: must be a time and a value, got \"0s\""),
        ] {
            let error = refused::<Rate>(value.clone());
            assert!(error.starts_with(expected), "{value}: {error}");
        }
        let check = |value: Value| {
            let course: Course<f64> = read(&value).unwrap();
            let share = |share: f64, path: &str| {
                require((0.0..=1.0).contains(&share), path, || "must be 0 to 1".into())
            };
            course.check("loss", share).err().map(|error| error.to_string())
        };
        for (value, expected) in [
            (json!(2), "loss: must be 0 to 1"),
            (json!({ "steps": [["1s", 0]] }), "loss.steps: must begin with a step at \"0s\""),
            (json!({ "steps": [["0s", 2]] }), "loss.steps: must be 0 to 1"),
            (json!({ "steps": [["0s", 0]], "period": "0s" }), "loss.period: must be later than"),
            (json!({ "draw": [], "every": "1s" }), "loss.draw: give values to draw from"),
            (json!({ "draw": [2], "every": "1s" }), "loss.draw: must be 0 to 1"),
            (json!({ "draw": [1], "every": "0s" }), "loss.every: must be greater than 0"),
            (json!({ "trace": "x", "quantum": "0B" }), "loss.quantum: must be greater than 0"),
        ] {
            let error = check(value.clone()).expect("refused");
            assert!(error.starts_with(expected), "{value}: {error}");
        }
        assert_eq!(check(json!({ "steps": [["0s", 0.5], ["1s", 1]], "period": "2s" })), None);
    }
}
