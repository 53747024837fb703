//! `ncq`: non-congestive queuing: small, rare packets first, within one shared buffer.
//!
//! The favour rule: [`crate::classify::Ncq`]. Favoured packets may overtake others of their flow.
//!
//! Source: "Less Impact, Better Service", section 3: non-preemptive priority within one buffer;
//! what is dropped at a full buffer is the arriving packet.

use crate::admit::{SharedTailDrop, SharedTailDropParams};
use crate::classify::{self, FavourMode, Identify, NcqParams as FavourParams, Window};
use crate::registry::Named;
use crate::{Composed, schedule};
use forebay_core::{Bytes, ConfigError, Discipline, Limit, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shared buffer with a high queue for small, rare packets.
pub struct Ncq;

/// Parameters of `ncq`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NcqParams {
    /// Room for both queues together, in packets ("100p") or bytes. Above 0.
    pub limit: Limit,
    /// Largest favoured share of all received packets (ncqthresh, section 3), 0 to 1; typically
    /// 0.01 to 0.05.
    pub ncqthresh: f64,
    /// Bytes from which on a packet is not small (section 3), above 0.
    pub length: Bytes,
    /// Over which time packets are counted: "lifetime" (the paper's), `{ decaying = "10s" }` or
    /// `{ sliding = "10s" }`.
    pub window: Window,
    /// How the threshold limits favour: "threshold" (the paper's) or "probabilistic".
    pub mode: FavourMode,
    /// Relative increase of the normal packets' mean wait that is accepted, above 0 to 1. If given,
    /// the threshold is computed from it, and `ncqthresh` is not used. Default: none.
    pub impact: Option<f64>,
    /// Whether pure ACKs are eligible (section 6).
    pub favour_acks: bool,
    /// Whether control packets (SYN, FIN, RST, routing) are eligible (section 6).
    pub favour_control: bool,
    /// What makes a packet non-congestive: "size" (the paper's) or `{ flow = { rate, volume, flows
    /// } }`.
    pub identify: Identify,
}

impl Default for NcqParams {
    fn default() -> Self {
        let favour = FavourParams::default();
        NcqParams {
            limit: SharedTailDropParams::default().limit,
            ncqthresh: favour.ncqthresh,
            length: favour.length,
            window: favour.window,
            mode: favour.mode,
            impact: favour.impact,
            favour_acks: favour.favour_acks,
            favour_control: favour.favour_control,
            identify: favour.identify,
        }
    }
}

impl NcqParams {
    fn favour(&self) -> FavourParams {
        FavourParams {
            ncqthresh: self.ncqthresh,
            length: self.length,
            window: self.window,
            mode: self.mode,
            impact: self.impact,
            favour_acks: self.favour_acks,
            favour_control: self.favour_control,
            identify: self.identify,
        }
    }
}

impl Named<dyn Discipline> for Ncq {
    const NAME: &'static str = "ncq";
    const SUMMARY: &'static str = "small, rare packets first, within one shared buffer";
    const SOURCE: &'static str = "NCQ paper, section 3";
    const KEEPS_ORDER: bool = false;
    type Params = NcqParams;

    fn build(params: &NcqParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = classify::Ncq::new(&params.favour())?;
        let admit = SharedTailDrop::new(&SharedTailDropParams { limit: params.limit })?;
        Ok(Box::new(Composed::new(classify, admit, schedule::StrictPriority)))
    }
}
