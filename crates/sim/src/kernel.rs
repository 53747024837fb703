//! `kernel`: a queue discipline of Linux, for labs in virtual time.
//!
//! A scenario with one is read, checked and explained like any other, and `forebay lab` passes the table to
//! tc. A simulation has no kernel, so its run ends with an error.

use forebay_core::{
    Backlog, ConfigError, Context, Discipline, DropReason, Named, Packet, Setting, Time, Verdict,
    Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue discipline of Linux.
pub struct Kernel;

/// Parameters of [`Kernel`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelParams {
    /// Name of the discipline in Linux.
    pub qdisc: Qdisc,
    /// Its parameters as tc takes them, such as "bandwidth 10mbit besteffort"; the others have
    /// Linux's defaults.
    #[serde(default)]
    pub options: String,
    /// Further tc commands for it, in this order and without `dev`: for its classes, disciplines
    /// below it and filters, such as "class add parent 1: classid 1:1 htb rate 4mbit". Its handle
    /// is 1:.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// Disciplines of Linux 6.1 that the kernel of a virtual lab has.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// One queue with a limit in bytes.
    Bfifo,
    /// CAKE.
    Cake,
    /// CHOKe.
    Choke,
    /// CoDel.
    Codel,
    /// Deficit round robin among classes.
    Drr,
    /// Enhanced transmission selection (802.1Qaz).
    Ets,
    /// A queue for each flow.
    Fq,
    /// FQ-CoDel.
    FqCodel,
    /// FQ-PIE.
    FqPie,
    /// Heavy-hitter filter.
    Hhf,
    /// Hierarchical token bucket.
    Htb,
    /// One queue with a limit in packets.
    Pfifo,
    /// Three bands by priority.
    PfifoFast,
    /// One queue that drops at its head.
    PfifoHeadDrop,
    /// PIE.
    Pie,
    /// Bands of strict priority.
    Prio,
    /// RED.
    Red,
    /// Stochastic fair BLUE.
    Sfb,
    /// Stochastic fairness queueing.
    Sfq,
    /// Token bucket.
    Tbf,
}

impl Named for Kernel {
    type Family = dyn Discipline;
    const NAME: &'static str = "kernel";
    const SUMMARY: &'static str =
        "a queue discipline of Linux, set up by tc; only in `forebay lab --virtual`";
    const SOURCE: &'static str = "Linux 6.1, net/sched";
    type Params = KernelParams;

    fn build(_: &KernelParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Elsewhere))
    }
}

/// Placeholder for a discipline of a kernel, in a simulation.
struct Elsewhere;

impl Discipline for Elsewhere {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        cx.drop(packet, DropReason::Overflow);
        Verdict::Dropped
    }

    fn dequeue(&mut self, _: &mut Context) -> Option<Packet> {
        None
    }

    fn wake(&self, _: Time) -> Wake {
        Wake::Idle
    }

    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    fn fault(&self) -> Option<String> {
        let told = "queue.kind: \"kernel\" is a discipline of Linux, which a simulation has not; \
            run it with `forebay lab SCENARIO --virtual`, or take one of forebay's own \
            (`forebay kinds`)";
        Some(told.into())
    }
}
