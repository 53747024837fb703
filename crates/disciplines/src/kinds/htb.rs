//! `htb`: a tree of classes. Each has a rate of its own and lends what it does not use.
//!
//! A classifier sorts packets into the leaves of a tree. Each leaf has a discipline
//! of any kind ([`leaves`]). A class may send at its `rate`. Beyond that, up to its `ceil`, it may
//! borrow what an ancestor does not use ([`bucket`]). Classes that need not borrow come first, then
//! those that borrow from the nearest ancestors; among these the highest priority. Equals take
//! turns, by bytes ([`feed`]). Classes above their rate or ceil wait on an agenda ([`agenda`]).
//!
//! Source: Linux 6.1, `sch_htb.c`; M. Devera, "Hierarchical token bucket theory", 2002.
//!
//! | `tc-htb(8)` | here |
//! |---|---|
//! | class ... parent | tables within tables: `classes` |
//! | rate, ceil, burst, cburst, quantum | the same |
//! | prio | `priority`; 0 comes first |
//! | qdisc on a leaf | `queue` |
//! | filters | `classify`, whose queues are the leaves in the order in which they are written |
//! | r2q | 10 |
//!
//! Deviations: D1. No queue bypasses the tree: every packet has a leaf. D2. `tc` rounds bursts to
//! 64 ns; here they are exact. D3. If many classes change at one time, all are handled; Linux stops
//! after two ticks. D4. Rates that do not add up are refused. D5. Offload, `mpu`, `linklayer` and
//! estimators are not included.
//!
//! A tree takes over the rates of another one, with all its packets and debts, if it has the same
//! classes with the same disciplines ([`Discipline::retune`]).
//!
//! Trees on several cores can share rates ([`share`]).
//!
//! Cost: a step for each level of the tree; a few words of bits for each turn; the logarithm of the
//! number of classes when one of them reaches or leaves its rate.

mod account;
mod agenda;
mod bucket;
mod feed;
mod leaves;
mod plan;
mod tree;

use crate::{Classful, ClassfulSite};
use forebay_core::{Bytes, ConfigError, Discipline, Named, Rate, Setting, params};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::any::Any;
use std::sync::Arc;
use tree::Tree;

pub use account::Account;

/// Hierarchical token bucket.
pub struct Htb;

params! {
    /// Parameters of `htb`.
    pub struct HtbParams {
        /// The classifier that sorts packets into leaves, such as `{ kind = "dscp" }`, with a
        /// queue for each leaf; queue 0 is the leaf written first. Default: by class.
        #[schemars(schema_with = "classifier")]
        pub classify: Option<Value> = None,
        /// Classes that have no parent. A class has a `rate`, and optionally `ceil`, `burst` and
        /// `cburst`. It also has either `classes`, to which it lends, or, as a leaf, `queue`,
        /// `priority` (0 is first) and `quantum`. At most 65534 in all, 8 deep. Default: one at the
        /// link's rate, with two leaves that have half of it each.
        pub classes: Option<Vec<HtbClassParams>> = None,
        /// Discipline of leaves that have no `queue`. Default: `{ kind = "fifo", limit = "1000p" }`.
        #[schemars(schema_with = "queue")]
        pub leaf: Option<Value> = None,
        /// Bytes that count with every IP packet, 0 to 65535. Default: those that the link adds.
        pub overhead: Option<u32> = None,
    }
}

/// A class of `htb`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HtbClassParams {
    /// Rate that it has without borrowing, 8 bit/s or more; those of the classes in it may not add
    /// up to more.
    pub rate: Rate,
    /// Rate that it reaches by borrowing; `rate` or more. Default: `rate`, so that it does not
    /// borrow.
    #[serde(default)]
    pub ceil: Option<Rate>,
    /// Bytes that it sends at once after a pause, at any speed; 1B or more. Default: 1600B, and
    /// what `rate` gives in 1 ns.
    #[serde(default)]
    pub burst: Option<Bytes>,
    /// Bytes that it sends at once at `ceil`; 1B or more. Default: 1600B, and what `ceil` gives in
    /// 1 ns.
    #[serde(default)]
    pub cburst: Option<Bytes>,
    /// Priority of a leaf, 0 to 7; leaves of priority 0 come first. Default 0.
    #[serde(default)]
    pub priority: Option<u8>,
    /// Bytes that a leaf sends in its turn, 1B to 1GB. Default: what `rate` gives in 100 ms,
    /// 1000B to 200KB.
    #[serde(default)]
    pub quantum: Option<Bytes>,
    /// Discipline of a leaf, such as `{ kind = "fq-codel" }`. For it, the link has the rate `ceil`.
    /// Default: the tree's `leaf`.
    #[serde(default)]
    #[schemars(schema_with = "queue")]
    pub queue: Option<Value>,
    /// The classes that it lends to; a class without any is a leaf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<HtbClassParams>,
}

/// Makes `discipline`, a tree of this kind, share the rates of some classes with trees on other
/// cores. Each class is named by the places from the top down to it, and has an account in which
/// this is tree number `tree`. Returns false if it is no tree, or has no such class.
pub fn share(
    discipline: &mut dyn Discipline,
    tree: usize,
    shared: &[(Vec<u32>, Arc<Account>)],
) -> bool {
    let discipline: &mut dyn Any = discipline;
    discipline.downcast_mut::<Tree>().is_some_and(|own| own.share(tree, shared))
}

/// Whether `discipline` and `fresh` are trees of this kind of the same shape: one can take over the
/// parameters of the other.
pub fn same_shape(discipline: &dyn Discipline, fresh: &dyn Discipline) -> bool {
    let trees: [&dyn Any; 2] = [discipline, fresh];
    let [Some(own), Some(new)] = trees.map(<dyn Any>::downcast_ref::<Tree>) else { return false };
    own.has_shape_of(new)
}

/// The definition of a queue in the schema of a scenario or of the gate's configuration.
fn queue(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "$ref": "#/$defs/queue" })
}

/// The definition of a classifier there.
fn classifier(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "$ref": "#/$defs/classifier" })
}

impl HtbClassParams {
    /// A class with `rate` and defaults for everything else.
    fn at(rate: Rate, ceil: Rate, classes: Vec<HtbClassParams>) -> Self {
        let (burst, cburst, priority, quantum, queue) = (None, None, None, None, None);
        HtbClassParams { rate, ceil: Some(ceil), burst, cburst, priority, quantum, queue, classes }
    }

    /// Fills in its defaults, and those of the classes in it.
    fn resolve(&mut self, site: &ClassfulSite, leaf: Option<&Value>) {
        let ceil = *self.ceil.get_or_insert(self.rate);
        let burst = |rate: Rate| Bytes(1600 + rate.bps() / 8 / 1_000_000_000);
        self.burst.get_or_insert(burst(self.rate));
        self.cburst.get_or_insert(burst(ceil));
        if !self.classes.is_empty() {
            self.classes.iter_mut().for_each(|class| class.resolve(site, leaf));
            return;
        }
        self.priority.get_or_insert(0);
        self.quantum.get_or_insert(Bytes((self.rate.bps() / 80).clamp(1_000, 200_000)));
        // Thousands of leaves share it as it is written.
        if self.queue.is_none() && leaf.is_some() {
            return;
        }
        let queue = self.queue.get_or_insert_with(|| json!({ "kind": "fifo", "limit": "1000p" }));
        // An error in it is reported when the leaf is built.
        if let Ok(effective) = site.disciplines.effective(queue, &below(ceil, site.setting)) {
            *queue = effective;
        }
    }

    /// Number of leaves.
    fn leaves(&self) -> usize {
        match self.classes.as_slice() {
            [] => 1,
            classes => classes.iter().map(HtbClassParams::leaves).sum(),
        }
    }
}

/// The port for which the discipline of a leaf with this `ceil` is built.
fn below(ceil: Rate, setting: &Setting) -> Setting {
    setting.with_rate(ceil.min(setting.rate)).with_queues(1)
}

impl Named for Htb {
    type Family = Classful;
    const NAME: &'static str = "htb";
    const SUMMARY: &'static str = "a tree of classes that lend each other rate, over any queues";
    const SOURCE: &'static str = "Linux 6.1, sch_htb.c";
    const FACTS: forebay_core::Conduct = forebay_core::Conduct::REORDERS.with_shaping(true);
    type Params = HtbParams;

    fn resolve(params: &mut HtbParams, site: &ClassfulSite) {
        let whole = site.setting.rate;
        let half = Rate::from_bps(whole.bps() / 2);
        let leaf = || HtbClassParams::at(half, whole, Vec::new());
        let root = || vec![HtbClassParams::at(whole, whole, vec![leaf(), leaf()])];
        let classes = params.classes.get_or_insert_with(root);
        classes.iter_mut().for_each(|class| class.resolve(site, params.leaf.as_ref()));
        let leaves: usize = classes.iter().map(HtbClassParams::leaves).sum();
        let classify =
            params.classify.get_or_insert_with(|| json!({ "kind": "class", "queues": leaves }));
        if let Ok(effective) = site.disciplines.classifiers.effective(classify, site.setting) {
            *classify = effective;
        }
        params.overhead.get_or_insert(site.setting.overhead);
    }

    fn build(params: &HtbParams, site: &ClassfulSite) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Tree::new(plan::plan(params, site)?)))
    }
}

#[cfg(test)]
mod tests;
