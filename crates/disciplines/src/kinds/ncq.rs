//! `ncq`: non-congestive queuing. Small, rare packets come first, within one shared buffer.
//!
//! [`crate::classify::Ncq`] explains the favour rule. Favoured packets may overtake others of their
//! flow.
//!
//! Source: "Less Impact, Better Service", section 3: non-preemptive priority within one buffer. The
//! paper does not say what is dropped when the buffer is full. Here it is the arriving packet. With
//! `push_out` and a favoured arriving packet, it is the last normal packet, as in the priority
//! queue of ns-2, with which the paper was simulated.

use crate::admit::{SharedTailDrop, SharedTailDropParams};
use crate::classify::{self, FavourMode, Identify, NcqParams as FavourParams, Window};
use crate::{Composed, schedule};
use forebay_core::{Bytes, Conduct, ConfigError, Discipline, Limit, Named, Setting};
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
    /// Whether a favoured packet that finds the buffer full takes the place of the last normal one.
    pub push_out: bool,
    /// Largest favoured share of all received packets (ncqthresh, section 3), 0 to 1; typically
    /// 0.01 to 0.05.
    pub ncqthresh: f64,
    /// Length from which a packet is not small, in bytes (section 3), above 0.
    pub length: Bytes,
    /// Time over which packets are counted: "lifetime" (the paper's), `{ decaying = "10s" }` or
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
    /// When a packet is non-congestive: "size" (the paper's) or `{ flow = { rate, volume, flows
    /// } }`.
    pub identify: Identify,
}

impl Default for NcqParams {
    fn default() -> Self {
        let favour = FavourParams::default();
        NcqParams {
            limit: SharedTailDropParams::default().limit,
            push_out: false,
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

impl Named for Ncq {
    type Family = dyn Discipline;
    const NAME: &'static str = "ncq";
    const SUMMARY: &'static str = "small, rare packets first, within one shared buffer";
    const SOURCE: &'static str = "NCQ paper, section 3";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = NcqParams;

    fn build(params: &NcqParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let classify = classify::Ncq::new(&params.favour())?;
        let admit = SharedTailDrop::new(&SharedTailDropParams {
            limit: params.limit,
            push_out: params.push_out,
        })?;
        Ok(Box::new(Composed::new(classify, admit, schedule::StrictPriority)))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Rig;
    use forebay_core::{DropReason, Time};
    use serde_json::json;

    /// Room for two large packets; then two small ones arrive, of which the first is favoured.
    /// Returns what is sent.
    fn sent(push_out: bool) -> (Vec<u32>, Vec<(u32, DropReason)>) {
        let mut rig = Rig::new(
            json!({ "kind": "ncq", "limit": "2p", "ncqthresh": 0.25, "push_out": push_out }),
        );
        for len in [1500, 1500, 100, 100] {
            rig.offer(Time::ZERO, |packet| packet.len = len);
        }
        let sent = std::iter::from_fn(|| rig.take(Time::ZERO)).collect();
        (sent, rig.record.dropped)
    }

    #[test]
    fn a_favoured_packet_may_take_the_place_of_the_last_normal_one() {
        use DropReason::{Overflow, PushedOut};
        assert_eq!(sent(false), (vec![0, 1], vec![(2, Overflow), (3, Overflow)]));
        assert_eq!(sent(true), (vec![2, 0], vec![(1, PushedOut), (3, Overflow)]));
    }
}
