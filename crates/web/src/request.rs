//! Requests: JSON in, JSON out.

use forebay_core::{ConfigError, config};
use forebay_sim::{Registry, RunError, Scenario, summary};
use forebay_stage::{Alone, Command, Stage, Stop, Story, Vocabulary, Written};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Events between two looks at whether a run is complete.
const SLICE: u64 = 1_000_000;
/// The only tab of a stage.
const TAB: u32 = 0;
/// What a page asks the module for.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// The summary of a whole run.
    Run { scenario: Value, seed: Option<u64> },
    /// A stage, in place of one that there is.
    Stage {
        scenario: Map<String, Value>,
        name: String,
        queues: Vec<Value>,
        link: Option<String>,
        stories: Vec<Story>,
        plays: bool,
    },
    /// What a page tells the stage: a message of its own. The answer is a list of messages.
    Tell { message: String },
    /// Goes on with the stage: real time in s until it is to be called again, or null.
    Turn { now: f64 },
    /// What there is to show, as a list of messages, after a turn.
    Show { now: f64 },
}

/// What is open.
#[derive(Default)]
pub(crate) struct Open {
    parts: Option<(Arc<Registry>, Arc<Vocabulary>)>,
    stage: Option<Stage<Alone>>,
}

/// The answer that something failed.
pub(crate) fn failed(words: &str) -> String {
    json!({ "error": words }).to_string()
}

/// The answer to a request.
pub(crate) fn answer(request: &[u8], open: &mut Open) -> String {
    match read(request).and_then(|request| open.act(request)) {
        Ok(text) => format!("{{\"ok\":{text}}}"),
        Err(Stop::Refused(words)) => failed(&words),
        Err(Stop::Ended) => failed("it has ended"),
    }
}

fn read(request: &[u8]) -> Result<Request, Stop> {
    let tree: Value = serde_json::from_slice(request)
        .map_err(|error| Stop::Refused(format!("the request is not JSON: {error}")))?;
    Ok(config::read(&tree)?)
}

fn wrong(words: &str) -> Stop {
    Stop::Refused(words.to_owned())
}

impl Open {
    /// The registry, and what is known of it; made when it is first needed.
    fn parts(&mut self) -> &(Arc<Registry>, Arc<Vocabulary>) {
        self.parts.get_or_insert_with(|| {
            let registry = Registry::builtin();
            let vocabulary = Vocabulary::of(&registry);
            (Arc::new(registry), Arc::new(vocabulary))
        })
    }

    fn registry(&mut self) -> Arc<Registry> {
        Arc::clone(&self.parts().0)
    }

    fn stage(&mut self) -> Result<&mut Stage<Alone>, Stop> {
        self.stage.as_mut().ok_or_else(|| wrong("there is no stage"))
    }

    /// The answer as JSON.
    fn act(&mut self, request: Request) -> Result<String, Stop> {
        Ok(match request {
            Request::Run { scenario, seed } => {
                let scenario = Scenario::read(&scenario, Path::new(""), &self.registry())?;
                let seed = seed.unwrap_or(scenario.table().seed);
                let mut world = scenario.world(seed)?;
                let broken = |error: RunError| ConfigError::new("", error.0);
                while !world.advance(SLICE).map_err(broken)?.complete {}
                summary(&scenario, seed, &mut world).whole().to_string()
            }
            Request::Stage { scenario, name, queues, link, stories, plays } => {
                let (registry, vocabulary) = self.parts().clone();
                let tree = Value::Object(scenario);
                let written = Written { tree, name, base: PathBuf::new() };
                let (host, stories, link) = (Alone(registry), Arc::new(stories), link.as_deref());
                let stage = Stage::new(host, vocabulary, stories, written, queues, link, plays);
                let mut stage = stage?;
                stage.connect(TAB)?;
                self.stage = Some(stage);
                self.messages()?
            }
            Request::Tell { message } => {
                let vocabulary = Arc::clone(&self.parts().1);
                let stage = self.stage()?;
                stage.obey(TAB, Command::read(&message, &vocabulary)?)?;
                self.messages()?
            }
            Request::Turn { now } => {
                let stage = self.stage()?;
                stage.turn(now)?;
                json!(stage.wait(now)).to_string()
            }
            Request::Show { now } => {
                self.stage()?.show(now)?;
                self.messages()?
            }
        })
    }

    /// The messages of the stage, each of which is JSON already.
    fn messages(&mut self) -> Result<String, Stop> {
        let messages = self.stage()?.messages();
        let texts: Vec<_> = messages.into_iter().map(|message| message.text).collect();
        Ok(format!("[{}]", texts.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(open: &mut Open, request: &Value) -> Value {
        let answer = answer(request.to_string().as_bytes(), open);
        serde_json::from_str(&answer).expect("it is JSON")
    }

    fn small() -> Value {
        json!({
            "duration": "2s",
            "dumbbell": { "rate": "4Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "40p" } },
            "traffic": [{ "name": "bulk", "kind": "bulk", "flows": 2 }],
        })
    }

    #[test]
    fn a_run_has_the_fingerprint_of_a_run() {
        let scenario =
            Scenario::read(&small(), Path::new(""), &Registry::builtin().into()).unwrap();
        let mut world = scenario.world(7).unwrap();
        while !world.advance(SLICE).unwrap().complete {}
        let found =
            ask(&mut Open::default(), &json!({ "run": { "scenario": small(), "seed": 7 } }));
        assert_eq!(found["ok"]["fingerprint"], format!("{:016x}", world.counts().0));
    }

    #[test]
    fn a_stage_is_opened_and_plays() {
        let open = &mut Open::default();
        assert_eq!(ask(open, &json!({ "turn": { "now": 0.0 } }))["error"], "there is no stage");
        let stage = json!({
            "scenario": small(), "name": "small.toml", "queues": ["today", "codel"], "link": null,
            "stories": [], "plays": true,
        });
        let shown = ask(open, &json!({ "stage": stage }));
        let lanes = shown["ok"][0]["lanes"].as_array().unwrap();
        let labels: Vec<_> = lanes.iter().map(|lane| lane["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["today", "codel"]);
        let (mut now, mut frames) = (0.0, Vec::new());
        for _ in 0..30 {
            ask(open, &json!({ "turn": { "now": now } }));
            let shown = ask(open, &json!({ "show": { "now": now + 1e-4 } }));
            for frame in shown["ok"].as_array().unwrap() {
                frames.push(frame["now_ns"].as_u64().unwrap());
                let drawn = json!({ "type": "ack", "number": frame["number"] }).to_string();
                ask(open, &json!({ "tell": { "message": drawn } }));
            }
            now += 1.0 / 60.0;
        }
        assert!(frames.is_sorted() && frames.last() > Some(&100_000_000), "{frames:?}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let open = &mut Open::default();
        for (request, part) in [
            (json!({ "jump": {} }), "unknown value \"jump\""),
            (json!({ "run": {} }), "`scenario` is missing"),
            (json!({ "run": { "scenario": {} } }), "is missing"),
        ] {
            let found = ask(open, &request);
            assert!(found["error"].as_str().unwrap().contains(part), "{found}");
        }
        assert!(answer(b"{", open).contains("not JSON"));
    }
}
