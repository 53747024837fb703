//! Flows are spread over a fixed number of queues by a hash.
//!
//! Every packet of a flow joins the same queue. Different flows may share one, with
//! the probability that a hash gives. `salt` changes which flows share.
//!
//! Source: RFC 8290, section 4.1.1; P. McKenney, "Stochastic Fairness Queueing", 1990.
//! Deviations: D1. The hash is taken over the flow's handle, which the gateway derives from the
//! five-tuple. D2. The salt is a parameter, not drawn at random at start, so that runs can be
//! repeated. Cost: three multiplications per packet.

use crate::Classify;
use crate::retune::unchanged;
use forebay_core::config::within;
use forebay_core::{Bank, ConfigError, Context, Named, Packet, QueueId, Setting, Time, params};
use std::any::Any;

/// A queue for every bucket of a hash over flows.
#[derive(PartialEq)]
pub struct FlowHash {
    queues: u32,
    salt: u64,
}

params! {
    /// Parameters of the flow hash.
    pub struct FlowHashParams {
        /// Number of queues, 1 to 65536. Default 1024 (RFC 8290, section 5.2.2).
        pub queues: u32 = 1024,
        /// Perturbation of the hash; any whole number. Default 0.
        pub salt: u64 = 0,
    }
}

impl FlowHash {
    /// A hash with these parameters.
    ///
    /// # Errors
    /// A number of queues out of range.
    pub fn new(params: &FlowHashParams) -> Result<Self, ConfigError> {
        within("queues", params.queues, 1..=65_536)?;
        Ok(FlowHash { queues: params.queues, salt: params.salt })
    }

    /// The queue of `flow`.
    #[inline]
    fn queue_of(&self, flow: u32) -> QueueId {
        ((u64::from(mix(self.salt, flow)) * u64::from(self.queues)) >> 32) as QueueId
    }
}

/// 32 bits to which every bit of `value` and of `salt` contributes (SplitMix64's finalizer).
#[inline]
pub fn mix(salt: u64, value: u32) -> u32 {
    let mut x = salt.wrapping_add((u64::from(value) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

impl Named for FlowHash {
    type Family = dyn Classify;
    const NAME: &'static str = "flow-hash";
    const SUMMARY: &'static str = "flows spread over queues by a hash";
    const SOURCE: &'static str = "RFC 8290, section 4.1.1";
    type Params = FlowHashParams;

    fn build(params: &FlowHashParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(FlowHash::new(params)?))
    }
}

impl Classify for FlowHash {
    fn queues(&self) -> usize {
        self.queues as usize
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        self.queue_of(packet.flow)
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(queues: u32, salt: u64) -> FlowHash {
        FlowHash::new(&FlowHashParams { queues, salt }).unwrap()
    }

    #[test]
    fn consecutive_flows_spread_evenly() {
        for queues in [7, 1000, 1024] {
            let hash = hash(queues, 0);
            let mut counts = vec![0_u32; queues as usize];
            let flows = 100 * queues;
            for flow in 0..flows {
                counts[hash.queue_of(flow)] += 1;
            }
            // 100 expected in each, Poisson: chi-squared has queues - 1 degrees of freedom.
            let square = |x: f64| x * x;
            let chi: f64 =
                counts.iter().map(|count| square(f64::from(*count) - 100.0) / 100.0).sum();
            let freedom = f64::from(queues - 1);
            assert!((chi - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{queues}: {chi}");
        }
    }

    #[test]
    fn the_salt_changes_who_shares_a_queue() {
        let collisions = |salt| {
            let hash = hash(64, salt);
            (1..1000).filter(|flow| hash.queue_of(*flow) == hash.queue_of(0)).collect::<Vec<_>>()
        };
        assert_ne!(collisions(0), collisions(1));
        assert_eq!(collisions(7), collisions(7));
    }

    #[test]
    fn the_number_of_queues_is_checked() {
        for queues in [0, 65_537] {
            assert!(FlowHash::new(&FlowHashParams { queues, salt: 0 }).is_err());
        }
    }
}
