//! Posts of agents: where they set parameters, and from where they observe.

use super::seen::{Counts, FlowStep, LinkStep, Open};
use super::{Knobs, Range, Seen};
use crate::engine::{RunError, World};
use crate::scenario::{Flows, QueuePlace, Scenario};
use forebay_core::{ConfigError, Discipline, Duration, config};
use forebay_tcp::{Config as TcpConfig, CongestionControl};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One agent at a link's queue, or one at each flow of a traffic entry.
pub enum Post {
    Queue {
        place: Box<QueuePlace>,
        knobs: Knobs,
        /// Counts at the end of the last step.
        before: Counts,
        sojourn_ms: f64,
    },
    Senders {
        flows: Flows,
        senders: Vec<Sender>,
    },
}

/// The agent of a flow.
pub struct Sender {
    knobs: Knobs,
    /// Counts at the end of the last step.
    before: Counts,
    srtt_ms: f64,
}

impl Post {
    /// At the queue of link `name`.
    pub fn at_link(scenario: &Scenario, name: &str, ranges: &[Range]) -> Result<Self, ConfigError> {
        let place = scenario.queue_place(name).map_err(|error| error.within("link"))?;
        let build = |block: &Value| scenario.build_queue(&place, block);
        let knobs = Knobs::new(place.block.clone(), ranges, |block| build(block).map(drop));
        let knobs = knobs.map_err(|error| error.within("actions"))?;
        let mut turned = knobs.clone();
        let fresh = || build(&place.block);
        if !can_retune(&mut *fresh()?, &mut *build(turned.turn(&vec![0.5; ranges.len()]))?) {
            let kind = place.block["kind"].as_str().unwrap_or("combination");
            let message = format!(
                "the parameters of a \"{kind}\" queue cannot change while packets wait in it; \
                 those of {} can",
                scenario.kinds_that(&place.setting, can_retune).join(", ")
            );
            return Err(ConfigError::new("actions", message));
        }
        Ok(Post::Queue {
            place: Box::new(place),
            knobs,
            before: Counts::default(),
            sojourn_ms: 0.0,
        })
    }

    /// At the flows of the traffic entry `name`.
    pub fn at_flows(
        scenario: &Scenario,
        name: &str,
        ranges: &[Range],
    ) -> Result<Self, ConfigError> {
        let flows = scenario.flows_of(name).map_err(|error| error.within("traffic"))?;
        let control = &flows.tcp.congestion;
        let choose = |block: &Value| controlled(scenario, &flows.tcp, block).map(drop);
        let knobs = Knobs::new(Value::Object(control.params().clone()), ranges, choose);
        let knobs = knobs.map_err(|error| error.within("actions"))?;
        let mut turned = knobs.clone();
        let fresh = controlled(scenario, &flows.tcp, turned.turn(&vec![0.5; ranges.len()]))?;
        let mut sender = forebay_tcp::Sender::new(&flows.tcp, forebay_core::Time::ZERO);
        config::require(sender.retune(&fresh), "actions", || {
            format!(
                "the congestion control \"{}\" of this stack cannot change while a connection is \
                 open; agent can, with `tcp.congestion = \"agent\"` and no other `tcp.stack`",
                control.name()
            )
        })?;
        let before = Counts::default();
        let sender = |_| Sender { knobs: knobs.clone(), before, srtt_ms: 0.0 };
        let senders = flows.users.clone().map(sender).collect();
        Ok(Post::Senders { flows, senders })
    }

    pub fn agents(&self) -> usize {
        match self {
            Post::Queue { .. } => 1,
            Post::Senders { senders, .. } => senders.len(),
        }
    }

    /// Agent `number` acts.
    pub fn set(
        &mut self,
        number: usize,
        actions: &[f32],
        scenario: &Scenario,
        world: &mut World,
    ) -> Result<(), RunError> {
        let set = match self {
            Post::Queue { place, knobs, .. } => {
                let fresh = scenario.build_queue(place, knobs.turn(actions));
                fresh.map(|mut fresh| world.retune(place.link, &mut *fresh, place.setting.rate))
            }
            Post::Senders { flows, senders } => {
                let block = senders[number].knobs.turn(actions);
                let tcp = controlled(scenario, &flows.tcp, block);
                tcp.map(|tcp| world.control(flows.users.start + number as u32, &Arc::new(tcp)))
            }
        };
        match set {
            Ok(true) => Ok(()),
            Ok(false) => Err(RunError("what the agent sets cannot be changed here".into())),
            // Ranges were tried one by one; together they may not fit.
            Err(error) => Err(RunError(format!("agent.actions: {error}"))),
        }
    }

    /// The world's counts are about to start again at zero: keeps what was counted until now.
    pub fn pause(&mut self, world: &World) {
        match self {
            Post::Queue { place, before, .. } => {
                *before = before.since(&Counts::of_link(world.link(place.link)));
            }
            Post::Senders { flows, senders } => {
                for (sender, user) in senders.iter_mut().zip(flows.users.clone()) {
                    let now = Counts::of_flow(&world.measures().users[user as usize]);
                    sender.before = sender.before.since(&now);
                }
            }
        }
    }

    /// Shows every agent in turn its observations of the last `span`.
    pub fn see(
        &mut self,
        world: &World,
        span: Duration,
        mut show: impl FnMut(usize, &mut dyn FnMut(Seen) -> f64),
    ) {
        match self {
            Post::Queue { place, before, sojourn_ms, .. } => {
                let link = world.link(place.link);
                let now = Counts::of_link(link);
                let counts = now.since(before);
                *before = now;
                let mut step = LinkStep { counts, span, sojourn_ms };
                show(0, &mut |what| step.see(what, link, world.now()));
            }
            Post::Senders { flows, senders } => {
                let mut open = vec![Open::default(); senders.len()];
                for (user, sender) in world.senders().filter(|(user, _)| flows.users.contains(user))
                {
                    open[(user - flows.users.start) as usize].add(sender);
                }
                for (number, (sender, open)) in senders.iter_mut().zip(open).enumerate() {
                    let user = flows.users.start as usize + number;
                    let now = Counts::of_flow(&world.measures().users[user]);
                    let counts = now.since(&sender.before);
                    sender.before = now;
                    let srtt_ms = &mut sender.srtt_ms;
                    let mut step = FlowStep { counts, span, open, srtt_ms };
                    show(number, &mut |what| step.see(what));
                }
            }
        }
    }
}

fn can_retune(own: &mut dyn Discipline, fresh: &mut dyn Discipline) -> bool {
    own.retune(forebay_core::Time::ZERO, fresh)
}

/// `tcp` with the parameters of `block` for its congestion control.
fn controlled(
    scenario: &Scenario,
    tcp: &TcpConfig,
    block: &Value,
) -> Result<TcpConfig, ConfigError> {
    let params: &Map<String, Value> = block.as_object().unwrap_or_else(|| unreachable!("a table"));
    let name = tcp.congestion.name();
    let control = CongestionControl::choose(scenario.controls(), name, params);
    let mut own = tcp.clone();
    own.congestion = control.map_err(|error| error.within(name))?;
    Ok(own)
}
