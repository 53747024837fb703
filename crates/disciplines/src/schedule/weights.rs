//! The weights of schedulers that share the link among queues.

use forebay_core::config::{require, within};
use forebay_core::{ConfigError, params};

params! {
    /// Weights of the queues.
    pub struct WeightsParams {
        /// Shares of the link, in packets of a round (`wrr`) or in bytes (`wfq`): one entry for
        /// each queue, lowest queue first; 1 to 65535 each. Default: 1 for each.
        pub weights: Vec<u32> = Vec::new(),
    }
}

impl WeightsParams {
    /// Fills in equal weights for `queues` queues, if none are given.
    pub fn resolve(&mut self, queues: usize) {
        fill_weights(&mut self.weights, queues);
    }
}

/// Makes `weights` equal for `queues` queues, if it is empty.
pub(super) fn fill_weights(weights: &mut Vec<u32>, queues: usize) {
    if weights.is_empty() {
        weights.resize(queues, 1);
    }
}

/// Checks that there is one weight for each queue, each from 1 to 65535.
///
/// # Errors
/// Names `weights`, or the entry that is out of range.
pub(super) fn check_weights(weights: &[u32], queues: usize) -> Result<(), ConfigError> {
    require(weights.len() == queues, "weights", || {
        format!("must be one for each of the {queues} queues, got {}", weights.len())
    })?;
    let mut entries = weights.iter().enumerate();
    entries
        .try_for_each(|(queue, weight)| within(&format!("weights[{queue}]"), *weight, 1..=65_535))
}
