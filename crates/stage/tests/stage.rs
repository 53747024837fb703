//! A stage as its host sees it: messages in, messages out, and whole whatever fails.

use forebay_core::ConfigError;
use forebay_sim::{Registry, Scenario};
use forebay_stage::{Command, Host, Stage, Stop, Vocabulary, Written};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

static PARTS: LazyLock<(Arc<Registry>, Arc<Vocabulary>)> = LazyLock::new(|| {
    let registry = Registry::builtin();
    let vocabulary = Vocabulary::of(&registry);
    (Arc::new(registry), Arc::new(vocabulary))
});

/// A host whose next step of a run fails when it is told so.
#[derive(Clone, Default)]
struct Frail {
    breaks: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
}

impl Host for Frail {
    fn registry(&self, _: &Value, _: &Path) -> Result<Arc<Registry>, ConfigError> {
        Ok(Arc::clone(&PARTS.0))
    }

    fn guard<T: Send + 'static>(
        &self,
        _: &[String],
        act: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop> {
        act()
    }

    fn fault(&self) -> Option<String> {
        self.breaks.swap(false, Relaxed).then(|| "there is no memory".to_owned())
    }

    fn anew(&self) -> Self {
        self.clone()
    }

    fn has_ended(&self) -> bool {
        self.ends.load(Relaxed)
    }
}

fn scenario(duration: &str) -> Written {
    let tree = json!({
        "title": "Small",
        "duration": duration,
        "dumbbell": {
            "rate": "4Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "40p" },
        },
        "traffic": [
            { "name": "bulk", "kind": "bulk", "flows": 2 },
            { "name": "calls", "kind": "voice" },
        ],
        "compare": { "disciplines": ["fifo", "codel"] },
    });
    Written { tree, name: "small.toml".into(), base: PathBuf::new() }
}

fn stage(host: &Frail, scenario: Written, queues: &[&str]) -> Stage<Frail> {
    let queues = queues.iter().map(|name| json!(name)).collect();
    let (stories, vocabulary) = (Arc::default(), Arc::clone(&PARTS.1));
    let opened = Stage::new(host.clone(), vocabulary, stories, scenario, queues, None, false);
    let mut stage = opened.unwrap_or_else(|stop| panic!("{stop:?}"));
    stage.connect(1).unwrap();
    stage
}

/// What was said after a command, and the last description.
fn ask(stage: &mut Stage<Frail>, message: Value) -> (Vec<String>, Option<Value>) {
    let command = Command::read(&message.to_string(), &PARTS.1).unwrap();
    stage.obey(1, command).unwrap();
    let heard = stage.messages().into_iter();
    let heard: Vec<Value> =
        heard.map(|message| serde_json::from_str(&message.text).unwrap()).collect();
    let of = |kind: &'static str| heard.iter().filter(move |message| message["type"] == kind);
    let said = of("said").map(|said| said["text"].as_str().unwrap().to_owned()).collect();
    (said, of("stage").next_back().cloned())
}

fn done(stage: &mut Stage<Frail>, message: Value) -> Option<Value> {
    let (said, shown) = ask(stage, message);
    assert_eq!(said, Vec::<String>::new());
    shown
}

fn labels(stage: &Stage<Frail>) -> Vec<&str> {
    stage.lanes().map(|(label, _)| label).collect()
}

const MS: u64 = 1_000_000;

#[test]
fn a_run_that_cannot_go_on_leaves_the_lanes_as_they_were() {
    let host = Frail::default();
    let mut stage = stage(&host, scenario("2s"), &["today", "codel"]);
    done(&mut stage, json!({ "type": "seek", "at_ns": 900 * MS }));
    for command in [
        json!({ "type": "seek", "at_ns": 1500 * MS }),
        json!({ "type": "step" }),
        json!({ "type": "change", "path": "dumbbell.rate", "value": "1Mbit" }),
        json!({ "type": "lanes", "queues": ["fifo", "codel"] }),
        json!({ "type": "reset" }),
    ] {
        host.breaks.store(true, Relaxed);
        let (said, _) = ask(&mut stage, command);
        assert_eq!(said, ["small.toml: there is no memory"]);
        assert_eq!(stage.instants(), [900 * MS; 2]);
        assert_eq!(labels(&stage), ["today", "codel"]);
    }
    done(&mut stage, json!({ "type": "play" }));
    host.breaks.store(true, Relaxed);
    stage.turn(1.0).unwrap();
    stage.turn(1.1).unwrap();
    stage.show(1.1).unwrap();
    let said = stage.messages().into_iter().map(|message| message.text);
    let said: Vec<_> = said.filter(|text| text.contains("there is no memory")).collect();
    assert_eq!((said.len(), stage.instants()), (1, vec![900 * MS; 2]));
    done(&mut stage, json!({ "type": "lanes", "queues": ["pie"] }));
    done(&mut stage, json!({ "type": "seek", "at_ns": 1500 * MS }));
    done(&mut stage, json!({ "type": "reset" }));
    assert_eq!((labels(&stage), stage.instants()), (vec!["pie"], vec![0]));
}

#[test]
fn what_is_saved_is_the_run_that_was_seen() {
    let mut stage = stage(&Frail::default(), scenario("2s"), &["today", "codel"]);
    done(&mut stage, json!({ "type": "seek", "at_ns": 500 * MS }));
    done(&mut stage, json!({ "type": "change", "path": "dumbbell.rate", "value": "3Mbit" }));
    done(&mut stage, json!({ "type": "join", "traffic": { "kind": "bulk" } }));
    done(&mut stage, json!({ "type": "queue", "queue": "pie:limit=30p", "lane": 0 }));
    done(&mut stage, json!({ "type": "seek", "at_ns": 900 * MS }));
    done(&mut stage, json!({ "type": "burst", "packets": 20 }));
    let shown = done(&mut stage, json!({ "type": "leave", "traffic": 1 })).unwrap();
    let changes: Vec<_> = shown["changes"].as_array().unwrap().iter().collect();
    let texts: Vec<_> = changes.iter().map(|change| change["text"].as_str().unwrap()).collect();
    let expected = [
        "dumbbell.rate = 3Mbit",
        "bulk-2 joins",
        "pie limit=30p replaces today",
        "burst joins",
        "calls leaves",
    ];
    assert_eq!(texts, expected);
    assert_eq!(labels(&stage), ["pie limit=30p", "codel"]);
    done(&mut stage, json!({ "type": "seek", "at_ns": 5000 * MS }));
    let files = stage.files().unwrap();
    let stems: Vec<_> = files.iter().map(|file| file.stem.as_str()).collect();
    assert_eq!(stems, ["small-pie-limit-30p", "small-codel"]);
    for file in files {
        let tree = forebay_sim::scenario::parse(&file.text).unwrap();
        let again = Scenario::read(&tree, Path::new(""), &PARTS.0).unwrap();
        let mut world = again.world(again.table().seed).unwrap();
        while !world.advance(1_000_000).unwrap().complete {}
        assert_eq!(file.fingerprint, Some(format!("{:016x}", world.counts().0)));
    }
    // Taken back, one after the other, it is the scenario again.
    for change in changes {
        done(&mut stage, json!({ "type": "forget", "change": change["id"] }));
    }
    let (_, today) = stage.lanes().next().unwrap();
    assert!(today.tree.get("change").is_none());
}

#[test]
fn no_two_lanes_have_the_same_label() {
    let mut stage = stage(&Frail::default(), scenario("2s"), &["today", "codel", "today"]);
    assert_eq!(labels(&stage), ["today", "codel", "today (2)"]);
    // As a page adds them: tables with their labels, and the name of one more.
    for _ in 0..3 {
        let mut queues: Vec<Value> =
            stage.lanes().map(|(label, _)| json!({ "kind": "codel", "label": label })).collect();
        queues.push(json!("codel"));
        done(&mut stage, json!({ "type": "lanes", "queues": queues }));
    }
    let added = ["codel (2)", "codel (3)", "codel (4)"];
    assert_eq!(labels(&stage)[3..], added);
    done(&mut stage, json!({ "type": "lanes", "queues": ["today", "codel"] }));
    let shown = done(&mut stage, json!({ "type": "queue", "queue": "pie", "lane": 1 })).unwrap();
    done(&mut stage, json!({ "type": "queue", "queue": "codel", "lane": 0 }));
    assert_eq!(labels(&stage), ["codel", "pie"]);
    done(&mut stage, json!({ "type": "queue", "queue": "pie", "lane": 0 }));
    assert_eq!(labels(&stage), ["pie (2)", "pie"]);
    done(&mut stage, json!({ "type": "queue", "queue": "codel", "lane": 0 }));
    // What is taken back may bring a label again that another lane has by now.
    done(&mut stage, json!({ "type": "forget", "change": shown["changes"][0]["id"] }));
    assert_eq!(labels(&stage), ["codel", "codel (2)"]);
}

#[test]
fn a_lane_keeps_its_box_when_another_one_is_added() {
    let mut stage = stage(&Frail::default(), scenario("1s"), &["codel", "aspq"]);
    let shown = done(&mut stage, json!({ "type": "lanes", "queues": ["codel", "aspq"] })).unwrap();
    let mut queues: Vec<Value> = Vec::new();
    for lane in shown["lanes"].as_array().unwrap() {
        let mut queue = lane["queue"].clone();
        queue["label"] = lane["label"].clone();
        queues.push(queue);
    }
    queues.push(json!("pie"));
    done(&mut stage, json!({ "type": "lanes", "queues": queues }));
    let boxes: Vec<_> = stage.lanes().map(|(_, it)| &it.tree["dumbbell"]["box"]["kind"]).collect();
    assert_eq!(boxes, [&Value::Null, &json!("aspq"), &Value::Null]);
}

#[test]
fn what_is_offered_in_place_of_a_discipline_is_taken() {
    let mut stage = stage(&Frail::default(), scenario("1s"), &["today"]);
    let shown = done(&mut stage, json!({ "type": "lanes", "queues": ["codel"] })).unwrap();
    let kinds = shown["kinds"].as_array().unwrap();
    for kind in kinds {
        let name = kind["name"].as_str().unwrap();
        let asked = if kind["box"] == true {
            let (said, _) = ask(&mut stage, json!({ "type": "queue", "queue": name, "lane": 0 }));
            assert!(said[0].contains(&format!("add {name} as a lane")), "{said:?}");
            json!({ "type": "lanes", "queues": [name] })
        } else {
            json!({ "type": "queue", "queue": name, "lane": 0 })
        };
        let (said, _) = ask(&mut stage, asked);
        assert_eq!(said, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_takes_long_is_left_when_the_host_ends() {
    let host = Frail::default();
    let mut stage = stage(&host, scenario("100000s"), &["today"]);
    host.ends.store(true, Relaxed);
    let far = Command::read(r#"{"type":"seek","at_ns":90000000000000}"#, &PARTS.1).unwrap();
    assert_eq!(stage.obey(1, far), Err(Stop::Ended));
}

#[test]
fn a_frame_waits_for_the_one_before_and_brings_what_is_new() {
    let mut stage = stage(&Frail::default(), scenario("2s"), &["today", "codel"]);
    let frames = |stage: &mut Stage<Frail>, now: f64| -> Vec<Value> {
        stage.turn(now).unwrap();
        stage.show(now + 0.001).unwrap();
        let texts = stage.messages().into_iter().filter(|each| each.text.contains("\"frame\""));
        texts.map(|each| serde_json::from_str(&each.text).unwrap()).collect()
    };
    let first = frames(&mut stage, 0.0);
    assert_eq!(first.len(), 1);
    done(&mut stage, json!({ "type": "seek", "at_ns": 300 * MS }));
    assert_eq!(frames(&mut stage, 0.1).len(), 0, "the first one is not drawn yet");
    stage.acknowledge(1, 7);
    assert_eq!(frames(&mut stage, 0.2).len(), 0, "another one was drawn");
    stage.acknowledge(1, first[0]["number"].as_u64().unwrap());
    let second = &frames(&mut stage, 0.3)[0];
    assert_eq!(second["now_ns"], 300 * MS);
    for lane in second["lanes"].as_array().unwrap() {
        assert_eq!((&lane["first"], lane["points"].as_array().unwrap().len()), (&json!(0), 300));
    }
    stage.acknowledge(1, second["number"].as_u64().unwrap());
    assert_eq!(frames(&mut stage, 0.4).len(), 0, "nothing has moved");
    done(&mut stage, json!({ "type": "seek", "at_ns": 100 * MS }));
    let third = &frames(&mut stage, 0.5)[0];
    assert_eq!(third["lanes"][1]["first"], 100);
    assert_eq!(third["lanes"][1]["points"], json!([]));
}

#[test]
fn a_message_that_is_wrong_names_its_field() {
    for (message, expected) in [
        (r#"{"#, "the message is not JSON"),
        (r#"[]"#, "must be a JSON object"),
        (r#"{"at_ns":1}"#, "type: is missing"),
        (r#"{"type":"sek","at_ns":1}"#, "did you mean \"seek\"?"),
        (r#"{"type":"seek","at_ns":-1}"#, "seek.at_ns: must be a whole number, 0 or more, got -1"),
        (r#"{"type":"seek","at_ns":9223372036854775808}"#, "seek.at_ns: must be below 2^63"),
        (r#"{"type":"seek"}"#, "seek: `at_ns` is missing"),
        (r#"{"type":"seek","at_ns":1,"x":1}"#, "seek.x: unknown field \"x\""),
        (r#"{"type":"speed"}"#, "speed: `factor` is missing"),
        (r#"{"type":"speed","factor":0}"#, "speed.factor: must be 0.001 to 1000000, got 0"),
        (r#"{"type":"lanes","queues":[]}"#, "lanes.queues: must be 1 to 6, got 0"),
        (r#"{"type":"lanes","queues":["fifo",3]}"#, "lanes.queues[1]: must be a kind or a table"),
        (r#"{"type":"burst","packets":0}"#, "burst.packets: must be 1 to 100000, got 0"),
        (r#"{"type":"compare","runs":1}"#, "compare.runs: must be 2 to 100, got 1"),
        (
            r#"{"type":"join","traffic":{"kind":"pcap","file":"x.pcap"}}"#,
            "join.traffic.file: the page cannot name files",
        ),
        (
            r#"{"type":"queue","lane":0,"queue":"kernel:cake"}"#,
            "queue.queue.kind: the page cannot run Linux' own",
        ),
    ] {
        match Command::read(message, &PARTS.1) {
            Err(Stop::Refused(words)) => assert!(words.contains(expected), "{message}: {words}"),
            other => panic!("{message}: {other:?}"),
        }
    }
    let burst = Command::read(r#"{"type":"burst"}"#, &PARTS.1).unwrap();
    assert_eq!(burst, Command::Burst { packets: 100, size: 1500, like: None });
}
