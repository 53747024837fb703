//! What a page asks the engine in it for: requests in JSON, one a line.

use crate::scenario::runnable;
use forebay_core::{Dimension, Quantity};
use forebay_web::{Open, answered};
use serde_json::Value;

/// Requests after which the rest is left out: time is short here.
const MOST: usize = 12;
/// Seconds that a scenario may last, for the same reason.
const LONGEST: f64 = 0.3;

/// Every request is answered with JSON that has `ok` or `error`, and the module can be asked on.
pub fn page(data: &[u8]) {
    let mut open = Open::default();
    for request in data.split(|byte| *byte == b'\n').take(MOST) {
        if serde_json::from_slice(request).is_ok_and(|tree| !is_short(&tree)) {
            continue;
        }
        checked(request, &mut open);
    }
    let version = checked(br#"{"means":{"version":{}}}"#, &mut open);
    assert!(version["ok"].is_string(), "{version}");
}

/// The answer, which is as it must be.
fn checked(request: &[u8], open: &mut Open) -> Value {
    let text = answered(request, open);
    let answer: Value = serde_json::from_str(&text).expect("an answer is JSON");
    let known = answer.as_object().is_some_and(|fields| {
        fields.len() == 1 && (fields.contains_key("ok") || fields.contains_key("error"))
    });
    assert!(known, "{text}");
    answer
}

/// Whether every scenario in the request is refused, or small and soon over. None writes a file: a
/// page has none.
fn is_short(tree: &Value) -> bool {
    match tree {
        Value::Object(fields) => fields.iter().all(|(name, value)| match name.as_str() {
            "scenario" => is_soon_over(value),
            _ => is_short(value),
        }),
        Value::Array(values) => values.iter().all(is_short),
        _ => true,
    }
}

fn is_soon_over(scenario: &Value) -> bool {
    let mut kept = scenario.clone();
    let Some((_, effective)) = runnable(&mut kept) else {
        // What is refused here for its size or its files could run in a page.
        return forebay_sim::Scenario::read(scenario, "".as_ref(), crate::run::registry()).is_err();
    };
    let duration = effective["duration"].as_str().unwrap_or_default();
    kept == *scenario
        && Quantity::parse(duration, Some(Dimension::Time))
            .is_ok_and(|found| found.value <= LONGEST)
}
