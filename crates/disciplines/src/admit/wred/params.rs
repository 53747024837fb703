//! Parameters of WRED, RIO and WRT.

use super::super::average::Idle;
use super::super::curve::{Curve, Measure};
use super::MAX_LEVELS;
use forebay_core::config::{above_zero, positive_share, require};
use forebay_core::{Bytes, ConfigError, Limit, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

params! {
    /// The RED curve of one drop precedence. Give all three fields, or none: then packets of the
    /// level are never dropped.
    pub struct Level {
        /// Average length from which packets of the level are dropped (min_th), in packets or
        /// bytes; above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub min_th: Option<Limit> = None,
        /// Average length from which all of them are, or with `gentle` from which the probability
        /// grows faster (max_th); in the unit of `min_th` and above it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_th: Option<Limit> = None,
        /// Drop probability at `max_th` (max_p); above 0, at most 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_p: Option<f64> = None,
    }
}

impl Level {
    /// A level with the curve of these parameters, thresholds in packets.
    pub fn packets(min_th: u32, max_th: u32, max_p: f64) -> Self {
        Level {
            min_th: Some(Limit::Packets(min_th)),
            max_th: Some(Limit::Packets(max_th)),
            max_p: Some(max_p),
        }
    }

    fn curve(&self, gentle: bool) -> Result<Option<(Curve, Measure)>, ConfigError> {
        match (self.min_th, self.max_th, self.max_p) {
            (None, None, None) => Ok(None),
            (Some(min_th), Some(max_th), Some(max_p)) => {
                Curve::new(min_th, max_th, max_p, gentle).map(Some)
            }
            _ => Err(ConfigError::new(
                "",
                "needs all of `min_th`, `max_th` and `max_p`, or none of them for a level that is \
                 never dropped",
            )),
        }
    }
}

/// The packets that may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropStrategy {
    /// Only the arriving packet.
    #[default]
    DropArrivals,
    /// A queued packet of the highest droppable level, when the arriving one must not be dropped.
    DropFromQueue,
}

/// The packet of its level that is dropped from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The one that joined last; an arriving one of that level counts as the last.
    #[default]
    Last,
    /// The one that has waited longest.
    First,
    /// Any one at random.
    Random,
}

params! {
    /// Parameters of WRED.
    pub struct WredParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// One curve for each drop precedence, level 0 (in profile) first, all thresholds in one
        /// unit; 1 to 8 levels, 2 to 8 for WRT. Packets of a higher precedence count as the last
        /// level. In RIO the curve of level 0 is over the average of level-0 packets. Default:
        /// level 0 is never dropped as such (40p, 70p and 0.02 in RIO), level 1 has 15p, 45p and
        /// 0.1 (Bodin and Schelén, section 3.1).
        pub levels: Vec<Level> = vec![Level::default(), Level::packets(15, 45, 0.1)],
        /// Weight of the present length in the averages (w_q); above 0, at most 1. Default 0.002.
        pub weight: f64 = 0.002,
        /// Whether a level's probability goes from its `max_p` at `max_th` to 1 at twice `max_th`,
        /// rather than jump to 1 (Bodin and Schelén, figure 2). Default false.
        pub gentle: bool = false,
        /// Whether at least 1/p_b packets pass between two drops, as in ns-2 (`wait_`), so that two
        /// thirds of p_b are lost rather than twice p_b. Default false.
        pub wait: bool = false,
        /// Whether nothing is dropped early while one packet waits or none, however high the
        /// average (ns-2's `REDQueue::enque`: `qlen > 1`). Default false.
        pub spare_short: bool = false,
        /// Whether the arrival with which the average reaches a level's `min_th` is never dropped,
        /// as in ns-2 and ns-3 (`old`). Default false.
        pub spare_first: bool = false,
        /// Typical packet size, in bytes, by which idle time is counted; above 0. Default 500B
        /// (ns-2).
        pub mean_packet: Bytes = Bytes(500),
        /// Ageing of the average by an arrival at an empty queue: by the idle `"time"`, or by whole
        /// packets and itself (`"arrivals"`, as in ns-2 and ns-3). Default "time".
        pub idle: Idle = Idle::default(),
        /// Which packets may be dropped (Bodin and Schelén, section 2.2): "drop-arrivals" or
        /// "drop-from-queue".
        pub drop_strategy: DropStrategy = DropStrategy::default(),
        /// Which queued packet of its level "drop-from-queue" drops: "last" (Bodin and Schelén),
        /// "first" or "random".
        pub victim: Victim = Victim::default(),
        /// Whether a drop from the queue that finds no packet of its level is deferred to the next
        /// arrival of that level or a higher one, rather than left out. Default true.
        pub defer_drop: bool = true,
    }
}

/// The result of the checks.
pub(super) struct Checked {
    pub(super) curves: Vec<Curve>,
    pub(super) measure: Measure,
}

/// Checks the parameters that the three have in common.
pub(super) fn check(params: &WredParams) -> Result<Checked, ConfigError> {
    above_zero("limit", params.limit)?;
    let count = params.levels.len();
    require((1..=MAX_LEVELS).contains(&count), "levels", || {
        format!("must be 1 to {MAX_LEVELS} levels, got {count}")
    })?;
    positive_share("weight", params.weight)?;
    above_zero("mean_packet", params.mean_packet)?;
    let mut measure = None;
    let mut curves = Vec::with_capacity(count);
    for (index, level) in params.levels.iter().enumerate() {
        let path = format!("levels[{index}]");
        let Some((curve, unit)) = level.curve(params.gentle).map_err(|e| e.within(&path))? else {
            curves.push(Curve::NEVER);
            continue;
        };
        require(measure.is_none_or(|first| first == unit), &format!("{path}.min_th"), || {
            "must be in the unit of the other levels: all in packets or all in bytes".into()
        })?;
        measure = Some(unit);
        curves.push(curve.with_rules(params.wait, params.spare_first));
    }
    Ok(Checked { curves, measure: measure.unwrap_or(Measure::Packets) })
}
