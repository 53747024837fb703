//! What a page asks for.
//!
//! A message is a JSON object whose field `type` says what it asks for. Times are whole nanoseconds
//! (`*_ns`). Numbers of lanes, traffic entries and changes are places in the lists of `stage`, or
//! their `id`.

use crate::host::{Stop, refuse};
use crate::vocabulary::Vocabulary;
use forebay_core::ConfigError;
use forebay_core::config::{self, require, within};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A kind ("codel"), or a table of a queue, which may have a `label`.
pub type Queue = Value;

/// A number of something, or nanoseconds: below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct Number(pub u64);

impl TryFrom<u64> for Number {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<Self, Self::Error> {
        const LIMIT: u64 = 1 << 63;
        if number < LIMIT { Ok(Number(number)) } else { Err("must be below 2^63") }
    }
}

fn hundred() -> u32 {
    100
}

fn mtu() -> u32 {
    1500
}

fn ten() -> u32 {
    10
}

/// What a page asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Go on.
    Play {},
    /// Stop.
    Pause {},
    /// Go on until a packet joins or leaves a watched queue, and pause.
    Step {},
    /// Jump to the beginning and forget every change.
    Reset {},
    /// Keep the scenario of every lane with its changes. A server writes it beside the scenario's
    /// file, or, if there is none, to the folder in which the command was started, and replaces no
    /// file.
    Save {},
    /// Write the report of the last `compare`, or of one with the usual replications.
    Report {},
    /// Set the speed.
    Speed {
        /// Simulated seconds a second, 0.001 to 1e6; null: as fast as it goes.
        #[serde(deserialize_with = "Option::deserialize")]
        factor: Option<f64>,
    },
    /// Jump to an instant; whether it plays stays as it is.
    Seek {
        /// The instant, at most the end.
        at_ns: Number,
    },
    /// Put other disciplines side by side; changes for single lanes are forgotten. The run goes
    /// through again to this instant.
    Lanes {
        /// 1 to 6 of them.
        queues: Vec<Queue>,
    },
    /// Show the queue of another link; the run goes through again to this instant.
    Watch {
        /// Its name.
        link: String,
    },
    /// Change a field from now on.
    Change {
        /// That of one of the fields in `stage`.
        path: String,
        /// As a scenario writes it: "5Mbit". Tables and lists as JSON.
        #[serde(deserialize_with = "Value::deserialize")]
        value: Value,
        /// For this lane alone; null: for all.
        #[serde(default)]
        lane: Option<Number>,
    },
    /// Put another discipline on the watched link of a lane from now on, as a recorded change.
    Queue {
        /// The discipline.
        queue: Queue,
        /// The lane.
        lane: Number,
    },
    /// A traffic entry takes part from now on.
    Join {
        /// As [[traffic]]; a name that is missing or taken is made.
        traffic: Map<String, Value>,
    },
    /// A traffic entry sends no more from now on.
    Leave {
        /// Its place in `stage.traffic`.
        traffic: Number,
    },
    /// Datagrams at once, as a traffic entry that joins.
    Burst {
        /// 1 to 100 000.
        #[serde(default = "hundred")]
        packets: u32,
        /// Bytes of each, 64 to 65 535.
        #[serde(default = "mtu")]
        size: u32,
        /// Traffic entry whose way and marks they have; null: the first one whose way crosses the
        /// watched link.
        #[serde(default)]
        like: Option<Number>,
    },
    /// Take a recorded change back; the run goes through again to this instant.
    Forget {
        /// Its `id` in `stage.changes`.
        change: Number,
    },
    /// Ask for a packet's story.
    Ask {
        /// The lane.
        lane: Number,
        /// Number of the packet in the run.
        id: Number,
    },
    /// Run all lanes with their changes, with replications.
    Compare {
        /// 2 to 100 replications of each.
        #[serde(default = "ten")]
        runs: u32,
    },
    /// Say why packets waited in the watched queue, or were dropped there.
    Why {
        /// The lane.
        lane: Number,
        /// The instant.
        at_ns: Number,
        /// Whether it is the drops that are asked about.
        #[serde(default)]
        loss: bool,
    },
    /// Go to a step of a story: its scenario, lanes, recorded changes, watched link, instant and
    /// speed. It plays from there to the step's end, and pauses.
    Story {
        /// The story.
        name: String,
        /// Its step, from 0.
        step: Number,
    },
    /// A frame has been drawn.
    Ack {
        /// Its number.
        number: Number,
    },
}

impl Command {
    /// Reads a message, which names no file and asks for nothing that a simulation does not have.
    ///
    /// # Errors
    /// It is not understood: the path of the field, and what is wrong.
    pub fn read(message: &str, vocabulary: &Vocabulary) -> Result<Self, Stop> {
        let tree: Value = match serde_json::from_str(message) {
            Ok(tree) => tree,
            Err(error) => return refuse(format!("the message is not JSON: {error}")),
        };
        let Value::Object(mut fields) = tree else {
            return refuse("the message must be a JSON object with a field `type`");
        };
        let Some(Value::String(kind)) = fields.remove("type") else {
            return refuse("type: is missing; it says what is asked for");
        };
        let command: Command = config::read(&json!({ kind.as_str(): fields }))?;
        command.check(vocabulary).map_err(|error| error.within(&kind))?;
        Ok(command)
    }

    /// Checks ranges, and that nothing names a file.
    fn check(&self, vocabulary: &Vocabulary) -> Result<(), ConfigError> {
        match self {
            Command::Speed { factor: Some(factor) } => within("factor", *factor, 0.001..=1e6),
            Command::Lanes { queues } => {
                within("queues", queues.len(), 1..=6)?;
                queues.iter().enumerate().try_for_each(|(place, queue)| {
                    let harmless = harmless_queue(queue, vocabulary);
                    harmless.map_err(|error| error.within(&format!("queues[{place}]")))
                })
            }
            Command::Queue { queue, .. } => {
                harmless_queue(queue, vocabulary).map_err(|error| error.within("queue"))
            }
            Command::Change { value, .. } => {
                harmless(value, vocabulary).map_err(|error| error.within("value"))
            }
            Command::Join { traffic } => {
                let traffic = Value::Object(traffic.clone());
                harmless(&traffic, vocabulary).map_err(|error| error.within("traffic"))
            }
            Command::Burst { packets, size, .. } => {
                within("packets", *packets, 1..=100_000)?;
                within("size", *size, 64..=65_535)
            }
            Command::Compare { runs } => within("runs", *runs, 2..=100),
            _ => Ok(()),
        }
    }
}

fn harmless_queue(queue: &Queue, vocabulary: &Vocabulary) -> Result<(), ConfigError> {
    let kind = queue.as_str().and_then(|text| text.split(':').next());
    let kind = kind.map(|kind| json!({ "kind": kind }));
    require(kind.is_some() || queue.is_object(), "", || {
        format!("must be a kind or a table of a queue, got {queue}")
    })?;
    harmless(kind.as_ref().unwrap_or(queue), vocabulary)
}

/// Refuses what names a file that the engine would open, and what a simulation does not have.
fn harmless(value: &Value, vocabulary: &Vocabulary) -> Result<(), ConfigError> {
    let file = vocabulary.names_file(value);
    require(file.is_none(), file.unwrap_or_default(), || {
        "the page cannot name files; write it in the scenario".into()
    })?;
    require(!is_of_kernel(value), "kind", || {
        "the page cannot run Linux' own; choose one of forebay's".into()
    })
}

fn is_of_kernel(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("kind").is_some_and(|kind| kind == "kernel")
                || fields.values().any(is_of_kernel)
        }
        Value::Array(values) => values.iter().any(is_of_kernel),
        _ => false,
    }
}
