//! Choices of a part that several kinds offer. Each choice is a type of its own, so packets do not
//! pay for it.

use crate::classify::{Class, ClassParams, Dscp, DscpParams, MOST_QUEUES};
use crate::schedule::{DrrParams, WeightsParams};
use crate::{Admit, Classify, Composed, Schedule};
use forebay_core::{ConfigError, Discipline, NoParams, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The classifier of a kind that sorts packets by class.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SorterParams {
    /// By QoS class.
    Class(ClassParams),
    /// By differentiated services codepoint.
    Dscp(DscpParams),
}

impl Default for SorterParams {
    fn default() -> Self {
        SorterParams::Class(ClassParams::default())
    }
}

impl SorterParams {
    /// Sorts by class, into `queues` queues.
    pub fn by_class(queues: usize) -> Self {
        SorterParams::Class(ClassParams { queues })
    }

    /// Number of queues, at most [`MOST_QUEUES`], because it is used for defaults before it is
    /// checked.
    pub fn queues(&self) -> usize {
        let queues = match self {
            SorterParams::Class(params) => params.queues,
            SorterParams::Dscp(params) => params.queues,
        };
        queues.min(MOST_QUEUES)
    }
}

/// Parameters of a kind that sorts packets by class.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClassesParams {
    /// The classifier: `{ kind = "class", queues = 2 }`, or `{ kind = "dscp" }`, which reads
    /// the precedence too. Under strict priority, higher queues are served first. Default: by class,
    /// with as many queues as the other parameters have entries, or 2.
    pub classify: Option<SorterParams>,
}

impl ClassesParams {
    /// Fills in `queues` queues by class, if nothing else is given. Returns the number of queues.
    pub(super) fn resolve(&mut self, queues: usize) -> usize {
        self.classify.get_or_insert(SorterParams::by_class(queues)).queues()
    }

    /// The discipline of the classifier, and of the other two parts for its number of queues.
    ///
    /// # Errors
    /// Errors of the classifier, within `classify`, or those of `rest`.
    pub(super) fn compose<A: Admit + 'static, S: Schedule>(
        &self,
        rest: impl FnOnce(usize) -> Result<(A, S), ConfigError>,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        match self.classify.clone().unwrap_or_default() {
            SorterParams::Class(params) => compose(Class::new(&params), rest),
            SorterParams::Dscp(params) => compose(Dscp::new(&params), rest),
        }
    }
}

fn compose<C: Classify, A: Admit + 'static, S: Schedule>(
    classify: Result<C, ConfigError>,
    rest: impl FnOnce(usize) -> Result<(A, S), ConfigError>,
) -> Result<Box<dyn Discipline>, ConfigError> {
    let classify = classify.map_err(|error| error.within("classify"))?;
    let (admit, schedule) = rest(classify.queues())?;
    Ok(Box::new(Composed::new(classify, admit, schedule)))
}

/// The scheduler of a kind that leaves the choice.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServerParams {
    /// The highest queue that holds packets.
    StrictPriority(NoParams),
    /// Weighted round robin by packets.
    Wrr(WeightsParams),
    /// Deficit round robin, by bytes.
    Drr(DrrParams),
    /// Weighted fair queuing, by bytes.
    Wfq(WeightsParams),
}

impl Default for ServerParams {
    fn default() -> Self {
        ServerParams::StrictPriority(NoParams {})
    }
}

impl ServerParams {
    /// Fills in the defaults that depend on the port and on `queues`.
    pub(super) fn resolve(&mut self, queues: usize, setting: &Setting) {
        match self {
            ServerParams::StrictPriority(_) => {}
            ServerParams::Wrr(params) | ServerParams::Wfq(params) => params.resolve(queues),
            ServerParams::Drr(params) => params.resolve(queues, setting.mtu),
        }
    }
}

/// Parameters of a kind that leaves the choice of its scheduler.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceParams {
    /// The scheduler: `{ kind = "strict-priority" }` (default), `{ kind = "wrr", weights =
    /// [...] }`, `{ kind = "drr", weights = [...] }` or `{ kind = "wfq", weights = [...] }`.
    pub schedule: ServerParams,
}
