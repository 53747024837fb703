//! Checks that a discipline keeps the contracts written on [`forebay_core::Discipline`], with
//! random and difficult arrivals, and that it reads its configuration strictly.
//!
//! [`check`] is the whole suite for one registered kind. It may be your own.

#![warn(missing_debug_implementations)]

mod harness;

pub use harness::{
    Arrival, Fate, Manner, SETTING, adversarial, arrivals, conforms, run, steady_state,
};

use forebay_core::{Discipline, Entry, Family};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use schemars::SchemaGenerator;
use serde_json::{Value, json};
use std::cell::Cell;

/// Most attempts to find fewer arrivals that show a fault.
const SHRINKING: u32 = 2000;

/// A runner of property tests that draws the same cases each time.
pub fn runner(cases: u32) -> TestRunner {
    drawn(cases, SHRINKING)
}

/// As [`runner`], with this limit of the runner's own on attempts to find a smaller case.
fn drawn(cases: u32, max_shrink_iters: u32) -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { failure_persistence: None, max_shrink_iters, ..Config::default() };
    TestRunner::new_with_rng(Config { cases, ..config }, rng)
}

/// The whole suite for `entry`, with the parameters in `block`.
///
/// # Errors
/// The contract that was broken, what the discipline did, and with which arrivals.
pub fn check(entry: &Entry<dyn Discipline>, block: &Value) -> Result<(), String> {
    configuration(entry, &SETTING)?;
    random(entry, block)?;
    adverse(entry, block)
}

/// Random arrivals. The error names the fewest that show a fault.
///
/// # Errors
/// The contract that was broken.
pub fn random(entry: &Entry<dyn Discipline>, block: &Value) -> Result<(), String> {
    let build = || entry.build(block, &SETTING).unwrap_or_else(|error| panic!("{error}"));
    entry.build(block, &SETTING).map_err(|error| error.to_string())?;
    // After the first fault, fewer arrivals are tried so often; others count as faultless. At a limit
    // of its own, the runner would print a line for programmers.
    let (failed, tries) = (Cell::new(false), Cell::new(0));
    let test = |arrivals: Vec<Arrival>| {
        if failed.get() && tries.replace(tries.get() + 1) > SHRINKING {
            return Ok(());
        }
        let found = conforms(&build, &arrivals, entry.facts);
        found.map(|_| ()).map_err(|what| {
            failed.set(true);
            TestCaseError::fail(what)
        })
    };
    drawn(24, u32::MAX - 1).run(&arrivals(600), test).map_err(|error| match error {
        TestError::Fail(reason, arrivals) => {
            format!("{reason} (random arrivals, {} packets suffice)", arrivals.len())
        }
        TestError::Abort(reason) => reason.to_string(),
    })
}

/// Arrivals that are meant to be difficult.
///
/// # Errors
/// The contract that was broken.
pub fn adverse(entry: &Entry<dyn Discipline>, block: &Value) -> Result<(), String> {
    let build = || entry.build(block, &SETTING).unwrap_or_else(|error| panic!("{error}"));
    for (name, arrivals) in adversarial() {
        conforms(&build, &arrivals, entry.facts)
            .map_err(|failure| format!("{failure} ({name})"))?;
    }
    Ok(())
}

/// Checks the defaults and the schema of `entry`, and its reaction to unknown and ill-formed
/// fields.
///
/// # Errors
/// The rule that it breaks.
pub fn configuration<F: Family + ?Sized>(
    entry: &Entry<F>,
    site: &F::Site<'_>,
) -> Result<(), String> {
    let fails = |what: &str| Err(format!("configuration: {what}"));
    let effective = entry.effective(&json!({}), site).map_err(|error| error.to_string())?;
    if entry.effective(&effective, site).ok().as_ref() != Some(&effective) {
        return fails("its own effective parameters are not read as they stand");
    }
    entry.build(&effective, site).map_err(|error| error.to_string())?;
    let Some(fields) = effective.as_object() else { return fails("parameters are a table") };
    let schema = entry.schema(&mut SchemaGenerator::default());
    let described = schema.get("properties").and_then(Value::as_object);
    if fields.keys().any(|field| described.is_none_or(|known| !known.contains_key(field))) {
        return fails("the schema does not describe every field");
    }
    for (field, form) in described.into_iter().flatten() {
        if !fields.contains_key(field) && !may_be_unset(form) {
            return fails(&format!("the effective parameters lack {field}"));
        }
        if form.get("description").is_none_or(Value::is_null) {
            return fails(&format!("the schema has no description of {field}"));
        }
    }
    match entry.build(&json!({ "no_such_field": 1 }), site) {
        Err(error) if error.to_string().contains("no_such_field") => {}
        _ => return fails("an unknown field is not refused by its name"),
    }
    for field in fields.keys() {
        match entry.build(&json!({ field: { "ill": "formed" } }), site) {
            Err(error) if error.path.starts_with(field.as_str()) => {}
            Err(error) => return fails(&format!("{error}, without the path {field}")),
            Ok(_) => return fails(&format!("an ill-formed {field} is accepted")),
        }
    }
    Ok(())
}

/// Whether a field with this schema may be absent: null is one of its values.
fn may_be_unset(form: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    form["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_null))
        || form["anyOf"].as_array().is_some_and(|each| each.iter().any(|it| is_null(&it["type"])))
}
