//! Requests: JSON in, JSON out.

use crate::meaning::Question;
use crate::runs::{self, Begun};
use forebay_core::{config, file};
use forebay_sim::{Registry, Scenario};
use forebay_stage::{Alone, Command, Host, Stage, Stop, Story, Vocabulary, Written};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The only tab of a stage.
const TAB: u32 = 0;

/// What a page asks the module for.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// The summary of a whole run.
    Run { scenario: Value, seed: Option<u64> },
    /// A run, in place of one that there is, of whose tables those of these names are wanted.
    Begin { scenario: Value, tables: Vec<String> },
    /// Goes on with the run for some milliseconds: the share of the simulated time that has passed,
    /// as `{"share": 0.5}`; at the end, `{"summary": {...}, "tables": [...]}`.
    Advance {},
    /// What a scenario means.
    Means(Question),
    /// A discipline of the page, in place of an earlier one.
    #[cfg(feature = "playground")]
    Plug(crate::plug::Plug),
    /// What a discipline did against the contract: null if nothing was found.
    #[cfg(feature = "playground")]
    Conforms { kind: String },
    /// A file for scenarios that read it.
    Lend { name: PathBuf, bytes: Vec<u8> },
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
    /// The label and the scenario of each lane of the stage with its changes, and the link whose
    /// queue is shown.
    Lanes {},
}

/// What is open: a run, and a stage.
#[derive(Default)]
pub struct Open {
    parts: Option<(Arc<Registry>, Arc<Vocabulary>)>,
    run: Option<Begun>,
    stage: Option<Stage<Alone>>,
}

/// The answer that something failed.
pub(crate) fn failed(words: &str) -> String {
    json!({ "error": words }).to_string()
}

/// The answer to a request, as JSON: `{"ok": ...}` or `{"error": "..."}`.
pub fn answered(request: &[u8], open: &mut Open) -> String {
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

    /// The scenario in `tree`, which has no plug-ins.
    fn scenario(&mut self, tree: &Value) -> Result<Scenario, Stop> {
        let base = Path::new("");
        let registry = Alone(Arc::clone(&self.parts().0)).registry(tree, base)?;
        Ok(Scenario::read(tree, base, &registry)?)
    }

    fn stage(&mut self) -> Result<&mut Stage<Alone>, Stop> {
        self.stage.as_mut().ok_or_else(|| wrong("there is no stage"))
    }

    /// The answer as JSON.
    fn act(&mut self, request: Request) -> Result<String, Stop> {
        Ok(match request {
            Request::Run { scenario, seed } => {
                runs::whole(&self.scenario(&scenario)?, seed)?.to_string()
            }
            Request::Begin { scenario, tables } => {
                self.run = None;
                self.run = Some(Begun::of(self.scenario(&scenario)?, tables)?);
                Value::Null.to_string()
            }
            Request::Advance {} => {
                let mut run = self.run.take().ok_or_else(|| wrong("there is no run"))?;
                if let Some(found) = run.advance()? {
                    return Ok(found);
                }
                let share = json!({ "share": run.share() }).to_string();
                self.run = Some(run);
                share
            }
            Request::Means(question) => {
                question.answer(&self.parts().0.clone(), |tree| self.scenario(tree))?.to_string()
            }
            #[cfg(feature = "playground")]
            Request::Plug(plug) => {
                let mut registry = Registry::builtin();
                plug.join(&mut registry)?;
                let vocabulary = Vocabulary::of(&registry);
                self.parts = Some((Arc::new(registry), Arc::new(vocabulary)));
                Value::Null.to_string()
            }
            #[cfg(feature = "playground")]
            Request::Conforms { kind } => {
                let registry = &self.parts().0;
                let every = registry.disciplines.every_kind();
                let found = every.iter().find(|entry| entry.name == kind);
                let entry = found.ok_or_else(|| wrong("there is no such discipline"))?;
                json!(forebay_conformance::check(entry, &json!({})).err()).to_string()
            }
            Request::Lend { name, bytes } => {
                file::lend(name, bytes);
                Value::Null.to_string()
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
            Request::Lanes {} => {
                let stage = self.stage()?;
                let lane = |(label, written): (&str, &Written)| json!([label, written.tree]);
                let lanes: Vec<_> = stage.lanes().map(lane).collect();
                json!({ "lanes": lanes, "watched": stage.watched() }).to_string()
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
        let answer = answered(request.to_string().as_bytes(), open);
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
        while !world.advance(1_000_000).unwrap().complete {}
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
    fn a_run_goes_on_in_slices_and_gives_the_wanted_tables() {
        let open = &mut Open::default();
        let begin = json!({ "begin": { "scenario": small(), "tables": ["queue"] } });
        assert_eq!(ask(open, &begin), json!({ "ok": null }));
        let found = loop {
            let found = ask(open, &json!({ "advance": {} }))["ok"].clone();
            if found.get("summary").is_some() {
                break found;
            }
            assert!((0.0..1.0).contains(&found["share"].as_f64().unwrap()));
        };
        let whole = ask(open, &json!({ "run": { "scenario": small() } }));
        assert_eq!(found["summary"], whole["ok"]);
        let tables = found["tables"].as_array().unwrap();
        assert!(tables.iter().all(|table| table[0] == "queue") && !tables.is_empty());
        assert!(tables[0][2]["time_s"].as_array().unwrap().len() > 10);
        assert_eq!(ask(open, &json!({ "advance": {} }))["error"], "there is no run");
    }

    #[test]
    fn a_lent_file_is_read() {
        let open = &mut Open::default();
        let mut scenario = small();
        scenario["dumbbell"]["rate"] = json!({ "trace": "lent.trace" });
        let run = json!({ "run": { "scenario": scenario } });
        let missing = ask(open, &run);
        assert!(missing["error"].as_str().unwrap().contains("no such file"), "{missing}");
        let bytes: Vec<u8> = (1..=50).flat_map(|ms| format!("{}\n", 2 * ms).into_bytes()).collect();
        ask(open, &json!({ "lend": { "name": "lent.trace", "bytes": bytes } }));
        assert!(ask(open, &run)["ok"]["fingerprint"].is_string());
    }

    /// Cut or changed requests are answered, always with JSON.
    #[test]
    fn broken_requests_are_refused() {
        let requests = [
            json!({ "begin": { "scenario": small(), "tables": ["queue"] } }),
            json!({ "means": { "with_queue": {
                "scenario": small(), "link": null, "queue": { "kind": "codel" } } } }),
            json!({ "means": { "load": { "text": "duration = \"2s\"", "json": false } } }),
            json!({ "means": { "student": { "freedom": 3, "share": 0.9 } } }),
            json!({ "lend": { "name": "x", "bytes": [1, 2] } }),
        ];
        for request in &requests {
            let text = request.to_string().into_bytes();
            for at in 0..text.len() {
                let mut changed = text.clone();
                changed[at] = b"\"{[9\xff"[at % 5];
                for broken in [&text[..at], &changed] {
                    let found = answered(broken, &mut Open::default());
                    let found: Value = serde_json::from_str(&found).expect("it is JSON");
                    assert!(found.get("ok").is_some() != found.get("error").is_some());
                }
            }
        }
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
        assert!(answered(b"{", open).contains("not JSON"));
    }
}
