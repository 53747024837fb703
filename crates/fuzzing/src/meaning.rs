//! Conditions on every scenario that can run.

use crate::run::{FILES, begin, read, registry};
use forebay_sim::Scenario;
use forebay_sim::scenario::with_queue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Most links that are tried one by one.
const MOST_LINKS: usize = 8;

/// The effective form of a scenario is a scenario that runs as the first one, and is its own
/// effective form; also when it has been written to a file.
pub fn says_the_same(scenario: &Scenario, effective: &Value) {
    let text = serde_json::from_str(&effective.to_string()).expect("what is written is read");
    for tree in [effective, &text] {
        let again = read(tree).unwrap_or_else(|error| panic!("{error}\n{tree:#}"));
        let twice = again.effective().unwrap_or_else(|error| panic!("{error}\n{tree:#}"));
        assert_eq!(&twice, effective);
        let counts = |scenario| begin(scenario).map(|(counts, _)| counts);
        assert_eq!(counts(&again), counts(scenario), "{effective:#}");
    }
}

/// Every link of a summary is among the resolved ones, in the same order, and takes a queue; that is
/// then on this link, and no other link's changes.
pub fn every_link_takes_a_queue(tree: &Value, scenario: &Scenario) {
    let links = resolved(scenario);
    let Some((_, summary)) = begin(scenario) else { return };
    let reported: Vec<_> = summary["links"].as_object().expect("a table").keys().collect();
    assert_eq!(links.iter().map(|link| &link["name"]).collect::<Vec<_>>(), reported);
    let queue = json!({ "kind": "gsp", "limit": "1234p" });
    for (index, name) in reported.iter().enumerate().take(MOST_LINKS) {
        let changed = with_queue(tree, Path::new(FILES), Some(name), &queue, registry());
        let changed = changed.unwrap_or_else(|error| panic!("{error}\n{tree:#}"));
        let changed = read(&changed).unwrap_or_else(|error| panic!("{error}\n{changed:#}"));
        for (other, (after, before)) in resolved(&changed).iter().zip(&links).enumerate() {
            if other == index {
                assert_eq!(after["queue"]["kind"], queue["kind"]);
                assert_eq!(after["queue"]["limit"], queue["limit"]);
            } else {
                assert_eq!(after["queue"], before["queue"], "{name} and {}", after["name"]);
            }
        }
        if let Some((_, summary)) = begin(&changed) {
            assert_eq!(summary["queues"][name]["kind"], queue["kind"], "{name}");
        }
    }
    if let Ok(compared) = scenario.compared_link(None) {
        let changed =
            with_queue(tree, Path::new(FILES), None, &queue, registry()).expect("it has a place");
        let links = resolved(&read(&changed).expect("a queue changes nothing else"));
        let shown = links.iter().find(|link| link["name"] == compared.as_str());
        assert_eq!(shown.expect("it is a link")["queue"]["limit"], queue["limit"]);
    }
}

/// Scenarios that run differently share no identity, and each has that of its effective form.
pub fn identities_tell_apart<'a>(scenarios: impl Iterator<Item = &'a (Scenario, Value)>) {
    let identity = |scenario: &Scenario| scenario.identity().expect("it can run");
    let mut known = HashMap::new();
    for (scenario, effective) in scenarios {
        let own = identity(scenario);
        assert_eq!(identity(&read(effective).expect("it is a scenario")), own, "{effective:#}");
        let counts = begin(scenario).map(|(counts, _)| counts);
        let (first, earlier) = known.entry(own).or_insert_with(|| (effective, counts.clone()));
        assert_eq!(counts, *earlier, "{effective:#} and {first:#}");
    }
}

fn resolved(scenario: &Scenario) -> Vec<Value> {
    let links = scenario.resolve().expect("it can run")["links"].take();
    links.as_array().expect("a list").clone()
}
