//! Agents that learn: a scenario that runs step by step. Agents set parameters and observe numbers.
//!
//! An [`Episode`] is a world with one agent at a link's queue, or one at each flow of a traffic
//! entry. In a step every agent sets parameters ([`Knobs`]), the world advances, and each agent
//! observes the result ([`Seen`]). Observations are differences of counts that the world keeps
//! anyway, so a run without agents has no extra cost.

mod knob;
mod post;
mod seen;

pub use knob::{Knobs, Range};

use crate::engine::{RunError, World};
use crate::scenario::Scenario;
pub use crate::scenario::{AgentTable, Seen};
use forebay_core::config::{read, require};
use forebay_core::{ConfigError, Duration, Time};
use post::Post;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// An agent, with all defaults filled in.
#[derive(Debug, Clone, Deserialize)]
pub struct Agent {
    /// The queue or the flows that it controls.
    pub place: Place,
    /// Time from one action to the next.
    pub step: Duration,
    /// The parameters that it sets.
    pub actions: Vec<Range>,
    /// Its observations, in order.
    pub observations: Vec<Seen>,
    /// Its reward: a sum of observations, each times a weight.
    pub reward: Vec<(Seen, f64)>,
}

/// The place of an agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The queue of the link with this name.
    Link(String),
    /// Every flow of the traffic entry with this name.
    Traffic(String),
}

impl Agent {
    /// Reads an agent from plain values.
    ///
    /// # Errors
    /// The first fault, with its place and the remedy.
    pub fn read(tree: &Value) -> Result<Self, ConfigError> {
        let agent: Agent = read(tree)?;
        require(agent.step > Duration::ZERO, "step", || {
            "must be above 0, such as \"10ms\"".into()
        })?;
        knob::check(&agent.actions).map_err(|error| error.within("actions"))?;
        let (known, whose): (&[Seen], _) = match agent.place {
            Place::Link(_) => (&Seen::LINK, "at a link"),
            Place::Traffic(_) => (&Seen::SENDER, "at a sender"),
        };
        let seen = agent.observations.iter().map(|seen| ("observations", seen));
        let paid = agent.reward.iter().map(|(seen, _)| ("reward", seen));
        for (field, seen) in seen.chain(paid) {
            require(known.contains(seen), field, || {
                let names: Vec<_> = known.iter().map(|seen| name(*seen)).collect();
                format!("{} cannot be observed {whose}; one of {}", name(*seen), names.join(", "))
            })?;
        }
        for (field, is_empty) in
            [("observations", agent.observations.is_empty()), ("reward", agent.reward.is_empty())]
        {
            require(!is_empty, field, || "is empty; name at least one observation".into())?;
        }
        Ok(agent)
    }
}

fn name(seen: Seen) -> String {
    serde_json::to_value(seen)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// A run with agents.
pub struct Episode {
    scenario: Scenario,
    agent: Arc<Agent>,
    world: World,
    post: Post,
    /// The last actions of every agent. An action that has not changed is not set again.
    actions: Vec<f32>,
    complete: bool,
}

impl Episode {
    /// `scenario` at its beginning, with `agent`.
    ///
    /// # Errors
    /// The scenario cannot run, or the agent cannot set its parameters there.
    pub fn new(scenario: Scenario, agent: &Arc<Agent>) -> Result<Self, ConfigError> {
        let world = scenario.world(scenario.table().seed)?;
        let post = match &agent.place {
            Place::Link(name) => Post::at_link(&scenario, name, &agent.actions),
            Place::Traffic(name) => Post::at_flows(&scenario, name, &agent.actions),
        };
        let post = post.map_err(|error| error.within("agent"))?;
        let agents = post.agents();
        Ok(Episode {
            actions: vec![f32::NAN; agents * agent.actions.len()],
            agent: Arc::clone(agent),
            scenario,
            world,
            post,
            complete: false,
        })
    }

    /// Number of agents.
    pub fn agents(&self) -> usize {
        self.post.agents()
    }

    /// Whether the scenario's end is reached.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The present world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world and the scenario, for a summary of the complete run.
    pub fn ended(&mut self) -> (&Scenario, &mut World) {
        (&self.scenario, &mut self.world)
    }

    /// Every agent acts, with a row of `actions` each, and the world advances by a step. Each agent
    /// gets a row of `observations` and one of `rewards`. Nothing happens when the scenario has
    /// ended.
    ///
    /// # Errors
    /// The run cannot go on.
    pub fn step(
        &mut self,
        actions: &[f32],
        observations: &mut [f32],
        rewards: &mut [f64],
    ) -> Result<(), RunError> {
        if self.complete {
            return Ok(());
        }
        self.act(actions)?;
        let from = self.world.now();
        let until = from + self.agent.step;
        // The world's counts begin again when the warm-up ends.
        let (warm, _) = self.world.measured();
        if from < warm && until >= warm {
            self.advance(Time::from_nanos(warm.as_nanos() - 1))?;
            self.post.pause(&self.world);
            self.advance(warm)?;
        }
        self.advance(until)?;
        self.observe(self.world.now() - from, observations, rewards);
        Ok(())
    }

    /// The observations before anything has happened.
    pub fn begin(&mut self, observations: &mut [f32]) {
        let mut unpaid = vec![0.0; self.agents()];
        self.observe(self.agent.step, observations, &mut unpaid);
    }

    fn advance(&mut self, until: Time) -> Result<(), RunError> {
        while !self.world.advance_to(until, SLICE)?.arrived {}
        self.complete = self.world.now() >= self.world.measured().1;
        Ok(())
    }

    fn act(&mut self, actions: &[f32]) -> Result<(), RunError> {
        let width = self.agent.actions.len();
        for (number, (wanted, last)) in
            actions.chunks(width).zip(self.actions.chunks_mut(width)).enumerate()
        {
            if wanted != last {
                last.copy_from_slice(wanted);
                self.post.set(number, wanted, &self.scenario, &mut self.world)?;
            }
        }
        Ok(())
    }

    fn observe(&mut self, span: Duration, observations: &mut [f32], rewards: &mut [f64]) {
        let Agent { observations: wanted, reward, .. } = &*self.agent;
        self.post.see(&self.world, span, |number, see| {
            let row = &mut observations[number * wanted.len()..][..wanted.len()];
            for (what, place) in wanted.iter().zip(row) {
                *place = see(*what) as f32;
            }
            rewards[number] = reward.iter().map(|(what, weight)| weight * see(*what)).sum();
        });
    }
}

/// Events that are handled before the time is checked again: all.
const SLICE: u64 = 1 << 40;
