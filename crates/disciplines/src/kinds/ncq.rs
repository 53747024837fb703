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
use crate::{Composed, classify, schedule};
use forebay_core::{Conduct, ConfigError, Discipline, Named, Setting, compose};

/// A shared buffer with a high queue for small, rare packets.
pub struct Ncq;

compose! {
    /// Parameters of `ncq`.
    pub struct NcqParams {
        buffer: SharedTailDropParams = SharedTailDropParams::default() => described {
            "push_out": "Whether a favoured packet that finds the buffer full takes the place of \
                the last normal one.",
        },
        favour: classify::NcqParams = classify::NcqParams::default(),
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
        let classify = classify::Ncq::new(&params.favour)?;
        let admit = SharedTailDrop::new(&params.buffer)?;
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
