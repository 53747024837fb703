//! Checks a tree as it is written, and puts its classes into one list.

use super::bucket::{Bucket, Buckets};
use super::{HtbClassParams, HtbParams, below};
use crate::kinds::Fifo;
use crate::{ClassfulSite, Classify};
use foldhash::fast::FixedState;
use forebay_core::config::{self, require, within};
use forebay_core::{Bytes, ConfigError, Discipline, Limit, Named, Rate};
use serde_json::Value;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Largest depth of the tree; Linux's `TC_HTB_MAXDEPTH`.
pub const DEEPEST: usize = 8;
/// Number of priorities; Linux's `TC_HTB_NUMPRIO`.
pub const PRIORITIES: usize = 8;
/// Most classes of a tree, as in Linux.
const MOST: usize = 65_534;

/// A tree that is checked, with its disciplines built.
pub struct Plan {
    pub classify: Box<dyn Classify>,
    pub overhead: u32,
    /// Classes, level by level. The children of one class follow each other.
    pub classes: Vec<Class>,
    /// The leaves, in the order of the file.
    pub leaves: Vec<Leaf>,
}

/// A class of the plan.
pub struct Class {
    pub buckets: Buckets,
    pub parent: Option<usize>,
    /// Its number among its parent's children.
    pub place: usize,
    /// 0 for a leaf. Classes without a parent have the highest level.
    pub level: usize,
    pub below: Below,
}

/// The leaf or the classes below a class.
pub enum Below {
    /// The leaf with this number.
    Leaf(usize),
    /// Its first child, and the number of children.
    Classes(usize, usize),
}

/// A leaf of the plan.
pub struct Leaf {
    pub class: usize,
    pub priority: usize,
    pub quantum: i32,
    pub ceil: Rate,
    pub queue: Queue,
    /// A hash of the discipline's parameters as they are written.
    pub written: u64,
}

/// The discipline of a leaf.
pub enum Queue {
    /// A `fifo` with this limit. The tree holds its packets itself.
    Fifo(Limit),
    /// Any other discipline.
    Other(Box<dyn Discipline>),
}

/// A class that is not in the list yet.
struct Waiting<'a> {
    params: &'a HtbClassParams,
    path: String,
    parent: Option<usize>,
    place: usize,
    depth: usize,
    /// The number of its first leaf.
    leaf: usize,
}

/// Checks the tables of the tree.
///
/// # Errors
/// The path of the error, and the remedy.
pub fn plan(params: &HtbParams, site: &ClassfulSite) -> Result<Plan, ConfigError> {
    let roots = params.classes.as_deref().unwrap_or_default();
    require(!roots.is_empty(), "classes", || {
        "must have at least one class, or be left out".into()
    })?;
    if let Some(leaf) = &params.leaf {
        let built = site.disciplines.build(leaf, &site.setting.with_queues(1));
        built.map_err(|error| error.within("leaf"))?;
    }
    let mut plan = Plan {
        classify: classifier(params, site)?,
        overhead: params.overhead.unwrap_or_default(),
        classes: Vec::new(),
        leaves: Vec::new(),
    };
    within("overhead", plan.overhead, 0..=65_535)?;
    let mut leaves: Vec<Option<Leaf>> = Vec::new();
    let mut waiting = VecDeque::new();
    line_up(&mut waiting, roots, "", None, 1, 0);
    while let Some(next) = waiting.pop_front() {
        let at = |error: ConfigError| error.within(&next.path);
        let (class, number) = (next.params, plan.classes.len());
        require(number < MOST, "classes", || format!("must be at most {MOST} in all"))?;
        require(next.depth <= DEEPEST, &next.path, || {
            format!("is more than {DEEPEST} classes deep; take a level out")
        })?;
        let inner = !class.classes.is_empty();
        let below = if inner {
            no_leaf(class).and_then(|()| adds_up(class)).map_err(at)?;
            let first = number + 1 + waiting.len();
            let path = format!("{}.", next.path);
            line_up(&mut waiting, &class.classes, &path, Some(number), next.depth + 1, next.leaf);
            Below::Classes(first, class.classes.len())
        } else {
            leaves.resize_with(leaves.len().max(next.leaf + 1), || None);
            leaves[next.leaf] = Some(leaf(class, number, params.leaf.as_ref(), site).map_err(at)?);
            Below::Leaf(next.leaf)
        };
        let (parent, place) = (next.parent, next.place);
        let level = if inner { DEEPEST - next.depth } else { 0 };
        let buckets = buckets(class).map_err(at)?;
        plan.classes.push(Class { buckets, parent, place, level, below });
    }
    plan.leaves = leaves.into_iter().flatten().collect();
    let (queues, leaves) = (plan.classify.queues(), plan.leaves.len());
    require(queues == leaves, "classify", || {
        format!("has {queues} queues, and the tree has {leaves} leaves; the numbers must be equal")
    })?;
    Ok(plan)
}

/// Adds classes to those that are not in the list yet.
fn line_up<'a>(
    waiting: &mut VecDeque<Waiting<'a>>,
    classes: &'a [HtbClassParams],
    path: &str,
    parent: Option<usize>,
    depth: usize,
    mut leaf: usize,
) {
    for (place, params) in classes.iter().enumerate() {
        let path = format!("{path}classes[{place}]");
        waiting.push_back(Waiting { params, path, parent, place, depth, leaf });
        leaf += params.leaves();
    }
}

fn classifier(params: &HtbParams, site: &ClassfulSite) -> Result<Box<dyn Classify>, ConfigError> {
    let block = params.classify.as_ref().unwrap_or(&Value::Null);
    let classify = site.disciplines.classifiers.build(block, site.setting);
    let classify = classify.map_err(|error| error.within("classify"))?;
    require(!classify.looks_at_queues(), "classify", || {
        "needs to know the lengths of the queues, which leaves do not report; give it to one leaf \
         as its `queue`"
            .into()
    })?;
    Ok(classify)
}

/// Checks that fields that only a leaf may have are not set.
fn no_leaf(class: &HtbClassParams) -> Result<(), ConfigError> {
    let HtbClassParams { priority, quantum, queue, .. } = class;
    for (field, set) in [
        ("priority", priority.is_some()),
        ("quantum", quantum.is_some()),
        ("queue", queue.is_some()),
    ] {
        require(!set, field, || {
            "belongs to a leaf, and this class has `classes`; give it to those".into()
        })?;
    }
    Ok(())
}

/// Checks that a class has the rates that its children are promised.
fn adds_up(class: &HtbClassParams) -> Result<(), ConfigError> {
    let promised =
        class.classes.iter().fold(0_u64, |sum, each| sum.saturating_add(each.rate.bps()));
    require(promised <= class.rate.bps(), "classes", || {
        format!(
            "their rates add up to {}, more than their parent's {}; lower them, or raise that",
            Rate::from_bps(promised),
            class.rate
        )
    })
}

fn buckets(class: &HtbClassParams) -> Result<Buckets, ConfigError> {
    let HtbClassParams { rate, ceil, burst, cburst, .. } = class;
    let ceil = ceil.unwrap_or(*rate);
    require(rate.bps() >= 8, "rate", || format!("must be 8bit/s or more, got {rate}"))?;
    require(ceil >= *rate, "ceil", || {
        format!("must be the rate ({rate}) or more, got {ceil}; leave it out not to borrow")
    })?;
    let depth = |burst: &Option<Bytes>, path| {
        let bytes = burst.unwrap_or_default();
        require(bytes.0 > 0, path, || "must be 1B or more, got \"0B\"".into())?;
        Ok(bytes.0)
    };
    Ok(Buckets::new(
        Bucket::new(*rate, depth(burst, "burst")?),
        Bucket::new(ceil, depth(cburst, "cburst")?),
    ))
}

/// The limit of a valid `fifo`. None for other kinds.
fn fifo(block: &Value, site: &ClassfulSite) -> Option<Limit> {
    let effective = site.disciplines.effective(block, site.setting).ok()?;
    let is_fifo = effective["kind"] == Fifo::NAME;
    is_fifo.then(|| config::read(&effective["limit"]).ok())?
}

fn leaf(
    params: &HtbClassParams,
    class: usize,
    usual: Option<&Value>,
    site: &ClassfulSite,
) -> Result<Leaf, ConfigError> {
    let priority = usize::from(params.priority.unwrap_or_default());
    within("priority", priority, 0..=PRIORITIES - 1)?;
    let quantum = params.quantum.unwrap_or_default();
    require((1..=1_000_000_000).contains(&quantum.0), "quantum", || {
        format!("must be 1B to 1GB, got \"{quantum}\"")
    })?;
    let ceil = params.ceil.unwrap_or(params.rate);
    let own = params.queue.as_ref().or(usual);
    let path = if params.queue.is_some() { "queue" } else { "leaf" };
    let block = own.unwrap_or(&Value::Null);
    let setting = below(ceil, site.setting);
    let built = site.disciplines.build(block, &setting);
    let built = built.map_err(|error| error.within(path))?;
    let written = FixedState::with_seed(0).hash_one(block);
    let queue = fifo(block, site).map_or(Queue::Other(built), Queue::Fifo);
    Ok(Leaf { class, priority, quantum: quantum.0 as i32, ceil, queue, written })
}
