//! Agents: whatever they set in whatever scenario, they are refused with a message, or what they see and
//! what they are paid is numbers, the same each time.

use crate::generate;
use crate::grow;
use crate::run::{FILES, registry};
use crate::scenario::{runnable, schema};
use arbitrary::{Result, Unstructured};
use forebay_sim::agent::{Agent, Episode, Seen};
use forebay_sim::scenario::with_queue;
use forebay_sim::{RunError, Scenario};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Events in the time of all steps, more or less.
const EVENTS: u64 = 2_000;
/// Steps of an episode.
const STEPS: u64 = 16;
/// Parameters that a control may have, and one that none has.
const CONTROLS: [&str; 6] = ["window", "rate", "beta", "target", "alpha", "unknown"];

/// A scenario, an agent in it and what it does, from the input.
pub fn agent(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(Unstructured::new(data));
}

fn exercise(mut rest: Unstructured) -> Result<()> {
    let u = &mut rest;
    let tree = grow::small(u)?;
    let at_queue = u.arbitrary()?;
    let mut tree = if at_queue { with_any_queue(&tree, u)? } else { with_any_control(tree, u)? };
    let Some((scenario, effective)) = runnable(&mut tree) else { return Ok(()) };
    let Some(step) = step(&scenario) else { return Ok(()) };
    let place = if at_queue { link(&scenario) } else { effective["traffic"][0]["name"].clone() };
    let given = table(&scenario, at_queue, &place, step, u)?;
    let Ok(agent) = Agent::read(&given) else { return Ok(()) };
    let agent = Arc::new(agent);
    let acts = rest.take_rest();
    let run = || {
        let Ok(mut episode) = Episode::new(scenario.clone(), &agent) else { return Vec::new() };
        act(&mut episode, &agent, &mut Unstructured::new(acts)).unwrap_or_default()
    };
    assert_eq!(run(), run(), "{tree:#} {given:#}");
    Ok(())
}

/// A queue of any kind that the schema has, on the link that a comparison would take.
fn with_any_queue(tree: &Value, u: &mut Unstructured) -> Result<Value> {
    let queue = generate::value(&json!({ "$ref": "#/$defs/queue" }), schema(), u)?;
    let changed = with_queue(tree, Path::new(FILES), None, &queue, registry());
    Ok(changed.unwrap_or_else(|_| tree.clone()))
}

/// A congestion control of any kind.
fn with_any_control(mut tree: Value, u: &mut Unstructured) -> Result<Value> {
    let controls = registry().controls.names();
    let form = &schema()["properties"]["tcp"];
    if u.arbitrary()? {
        tree["tcp"] = generate::value(form, schema(), u)?;
    }
    tree["tcp"]["congestion"] = json!(u.choose(&controls)?);
    Ok(tree)
}

/// The compared link's name, or any if none is.
fn link(scenario: &Scenario) -> Value {
    scenario.compared_link(None).map_or_else(|_| json!("ab"), Value::from)
}

/// The longest step, in ns, so that there is an end of it.
fn step(scenario: &Scenario) -> Option<u64> {
    let mut world = scenario.world(1).expect("what is effective can be built");
    world.advance(EVENTS).ok()?;
    Some(world.now().as_nanos() / STEPS).filter(|step| *step > 0)
}

/// An agent as the engine is told of it.
fn table(
    scenario: &Scenario,
    at_queue: bool,
    place: &Value,
    step: u64,
    u: &mut Unstructured,
) -> Result<Value> {
    let links = scenario.resolve().expect("it can run")["links"].take();
    let queue = links.as_array().into_iter().flatten().find(|link| &link["name"] == place);
    let mut known = Vec::new();
    match queue.filter(|_| at_queue) {
        Some(link) => numbers(&link["queue"], String::new(), &mut known),
        None => known.extend(CONTROLS.map(|name| (name.to_owned(), 1.0, String::new()))),
    }
    known.push(("drop_probability".into(), 0.5, String::new()));
    let mut actions = Vec::new();
    for _ in 0..u.int_in_range(1..=3)? {
        let (path, value, unit) = u.choose(&known)?;
        let share =
            |u: &mut Unstructured| -> Result<f64> { Ok(f64::from(u.arbitrary::<i16>()?) / 4096.0) };
        let (low, high) = (value * share(u)?, value * share(u)?);
        let log: bool = u.arbitrary()?;
        actions.push(json!({ "path": path, "low": low, "high": high, "unit": unit, "log": log }));
    }
    let seen: &[Seen] = if at_queue { &Seen::LINK } else { &Seen::SENDER };
    let kind = if at_queue { "link" } else { "traffic" };
    Ok(json!({
        "place": { kind: place },
        "step": format!("{step}ns"),
        "actions": actions,
        "observations": seen,
        "reward": seen.iter().map(|seen| json!([seen, 1.0])).collect::<Vec<_>>(),
    }))
}

/// Numbers in a table: their paths, and their units if they have one.
fn numbers(at: &Value, path: String, found: &mut Vec<(String, f64, String)>) {
    match at {
        Value::Object(table) => {
            for (name, inner) in table {
                let dot = if path.is_empty() { "" } else { "." };
                numbers(inner, format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                numbers(inner, format!("{path}[{index}]"), found);
            }
        }
        Value::Number(number) => found.extend(number.as_f64().map(|n| (path, n, String::new()))),
        Value::String(text) => {
            let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let number = text[..text.len() - unit.len()].parse();
            found.extend(number.map(|number| (path, number, unit.to_owned())));
        }
        _ => {}
    }
}

/// The agents' observations and rewards, bit by bit, and the progress of the run.
fn act(
    episode: &mut Episode,
    agent: &Agent,
    u: &mut Unstructured,
) -> std::result::Result<Vec<u64>, RunError> {
    let agents = episode.agents();
    let mut seen = vec![0.0; agents * agent.observations.len()];
    let (mut paid, mut all) = (vec![0.0; agents], Vec::new());
    let mut actions = vec![0.0_f32; agents * agent.actions.len()];
    episode.begin(&mut seen);
    for _ in 0..STEPS {
        for action in &mut actions {
            *action = match u.arbitrary::<u8>() {
                Ok(0) => f32::NAN,
                Ok(1) => u.arbitrary().unwrap_or_default(),
                Ok(byte) => f32::from(byte) / 100.0 - 1.28,
                Err(_) => *action,
            };
        }
        episode.step(&actions, &mut seen, &mut paid)?;
        assert!(seen.iter().all(|each| each.is_finite()), "{seen:?}");
        assert!(paid.iter().all(|each| each.is_finite()), "{paid:?}");
        all.extend(seen.iter().map(|each| u64::from(each.to_bits())));
        all.extend(paid.iter().map(|each| each.to_bits()));
        if episode.is_complete() {
            break;
        }
    }
    let (fingerprint, events, packets) = episode.world().counts();
    all.extend([fingerprint, events, packets]);
    Ok(all)
}
