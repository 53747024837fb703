//! Guided stories, as the host hands them.

use crate::host::{Stop, refuse};
use crate::written::Written;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// A guided story: a scenario, the disciplines that are seen side by side, and steps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    name: String,
    title: String,
    question: String,
    /// The link whose queue is seen.
    link: String,
    /// The disciplines side by side.
    lanes: Vec<Value>,
    scenario: Map<String, Value>,
    /// Folder from which file names in the scenario start.
    base: PathBuf,
    steps: Vec<Step>,
}

/// A text, and the state that is shown beside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    title: String,
    text: String,
    /// Where playing begins.
    at_ns: u64,
    /// Where it pauses by itself.
    until_ns: u64,
    /// Simulated seconds a second.
    speed: f64,
    /// Disciplines side by side instead of the story's; empty: those of the story.
    lanes: Vec<Value>,
    shows: Vec<String>,
    look: Vec<String>,
}

/// Where a step begins, and what is seen there.
pub(crate) struct Scene {
    pub(crate) scenario: Written,
    pub(crate) lanes: Vec<Value>,
    pub(crate) link: String,
    pub(crate) at_ns: u64,
    pub(crate) until_ns: u64,
    pub(crate) speed: f64,
}

impl Story {
    /// What a page shows of it.
    pub(crate) fn shown(&self) -> Value {
        let step = |step: &Step| {
            json!({
                "title": step.title,
                "text": step.text,
                "at_ns": step.at_ns,
                "until_ns": step.until_ns,
                "shows": step.shows,
                "look": step.look,
            })
        };
        json!({
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }

    /// A step of the story called `name`, counted from 0.
    ///
    /// # Errors
    /// There is no such story or step.
    pub(crate) fn scene(stories: &[Story], name: &str, number: u64) -> Result<Scene, Stop> {
        let Some(story) = stories.iter().find(|story| story.name == name) else {
            let known: Vec<_> = stories.iter().map(|story| story.name.as_str()).collect();
            return refuse(format!("there is no story \"{name}\"; one of {}", known.join(", ")));
        };
        let Some(step) = usize::try_from(number).ok().and_then(|place| story.steps.get(place))
        else {
            return refuse(format!("story \"{name}\" has {} steps", story.steps.len()));
        };
        let own = if step.lanes.is_empty() { &story.lanes } else { &step.lanes };
        Ok(Scene {
            scenario: Written {
                tree: Value::Object(story.scenario.clone()),
                name: format!("{name}.toml"),
                base: story.base.clone(),
            },
            lanes: own.clone(),
            link: story.link.clone(),
            at_ns: step.at_ns,
            until_ns: step.until_ns,
            speed: step.speed,
        })
    }
}
