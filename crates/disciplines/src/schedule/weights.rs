//! The weights that round robin schedulers share.

use forebay_core::ConfigError;
use forebay_core::config::require;

/// Checks that there is one weight for each queue, each from 1 to 65535.
///
/// # Errors
/// Names `weights`, or the entry that is out of range.
pub(super) fn check_weights(weights: &[u32], queues: usize) -> Result<(), ConfigError> {
    require(weights.len() == queues, "weights", || {
        format!("must be one for each of the {queues} queues, got {}", weights.len())
    })?;
    for (queue, weight) in weights.iter().enumerate() {
        require((1..=65_535).contains(weight), &format!("weights[{queue}]"), || {
            format!("must be 1 to 65535, got {weight}")
        })?;
    }
    Ok(())
}
