//! CQ-AQM's thresholds as a scenario gives them, and those that follow from it.

use super::adapt::{AdaptiveParams, Reserve};
use super::spread::Spread;
use super::{Level, Queue};
use crate::OneOrEach;
use forebay_core::config::{require, within};
use forebay_core::{ConfigError, Limit, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thresholds of one queue.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CqQueueParams {
    /// Room in the queue, in packets ("750p"), above 0 (B_low, B_high; section II).
    pub limit: Limit,
    /// Number of packets from which the queue denies entry (T^(local), section II): a number for p
    /// = 0, from which those of the higher precedences follow, spread evenly up to `limit`; or a
    /// list with one for each precedence but the highest. 1 to `limit`. Default: from `thresholds`,
    /// or else `limit`, which is off.
    pub local: Option<OneOrEach<u32>>,
    /// Number of packets below which a denial, and the plea with it, ends (footnote 1): a number
    /// for p = 0, with the others as far below their `local`; or a list as for `local`. 1 to
    /// `local`. Default: `local`.
    pub local_lower: Option<OneOrEach<u32>>,
    /// Number of packets from which the queue pleads to those above it (T^(non-local), section II):
    /// a number for p = 0, with the others as far above their `local`; or a list as for `local`.
    /// From `local` to the next precedence's `local`; or `limit`, which is off, and the default.
    pub non_local: Option<OneOrEach<u32>>,
}

/// Thresholds of all queues from two or three numbers, as shares of each queue's room.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharesParams {
    /// Share of a queue's room from which it denies p = 0; above 0, at most 1. The higher
    /// precedences follow, spread evenly over the rest.
    pub local: f64,
    /// Share from which it pleads for p = 0; from `local` to the next precedence's. Default:
    /// midway.
    pub non_local: Option<f64>,
    /// Share below which a denial of p = 0 ends; above 0, at most `local`. Default: `local`.
    pub lower: Option<f64>,
}

params! {
    /// Parameters of CQ-AQM.
    pub struct CqAqmParams {
        /// Number of precedences (P), 2 to 8; packets with a higher one count as the highest.
        pub precedences: u8 = 2,
        /// One entry for each queue, lowest first, 1 to 256. Default: for each queue the thresholds
        /// of the low queue in the paper's mixed experiment (section IV): limit "750p", local 500,
        /// non_local 650. The kind `cq-aqm` has a low and a high queue.
        pub queues: Vec<CqQueueParams> = Vec::new(),
        /// Thresholds of the queues that give no `local`, from two or three numbers, as shares of
        /// each queue's room: `{ local = 0.6, non_local = 0.8 }`.
        pub thresholds: Option<SharesParams> = None,
        /// Thresholds that follow the traffic: `{ target = 0.001 }`. Those of p = 0 are the initial
        /// values.
        pub adaptive: Option<AdaptiveParams> = None,
    }
}

impl CqAqmParams {
    /// Fills in the thresholds that are not given, for `queues` queues.
    pub fn resolve(&mut self, queues: usize) {
        if self.queues.is_empty() {
            self.queues = vec![CqQueueParams::new(750, Some(500), Some(650)); queues];
        }
        // The number of precedences is not yet checked.
        let levels = usize::from(self.precedences.clamp(2, 8)) - 1;
        for queue in &mut self.queues {
            if let Some(shares) = &self.thresholds {
                queue.take_shares(shares, levels);
            }
            queue.resolve(levels);
        }
    }

    /// Checks the fields beside `queues`.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let precedences = self.precedences;
        within("precedences", precedences, 2..=8)?;
        if let Some(shares) = &self.thresholds {
            shares.check(usize::from(precedences) - 1)?;
        }
        self.adaptive.as_ref().map_or(Ok(()), AdaptiveParams::check)
    }
}

impl SharesParams {
    fn check(&self, levels: usize) -> Result<(), ConfigError> {
        let within = |value: f64, path: &str, least: f64, most: f64| {
            require(value >= least && value <= most && value > 0.0, path, || {
                format!("must be above 0 and from {least} to {most}, got {value}")
            })
            .map_err(|error| error.within("thresholds"))
        };
        within(self.local, "local", 0.0, 1.0)?;
        let next = self.local + (1.0 - self.local) / levels as f64;
        within(self.non_local.unwrap_or(next), "non_local", self.local, next)?;
        within(self.lower.unwrap_or(self.local), "lower", 0.0, self.local)
    }
}

impl CqQueueParams {
    /// A queue of `limit` packets with thresholds for p = 0; None is off.
    pub fn new(limit: u32, local: Option<u32>, non_local: Option<u32>) -> Self {
        CqQueueParams {
            limit: Limit::Packets(limit),
            local: local.map(OneOrEach::One),
            local_lower: None,
            non_local: non_local.map(OneOrEach::One),
        }
    }

    /// Takes the thresholds from shares, unless the queue has its own.
    fn take_shares(&mut self, shares: &SharesParams, levels: usize) {
        // A limit of 0 is refused by name, later.
        let Limit::Packets(limit @ 1..) = self.limit else { return };
        if self.local.is_some() || shares.check(levels).is_err() {
            return;
        }
        let room = f64::from(limit);
        let local = shares.local * room;
        let step = (room - local) / levels as f64;
        let plea = shares.non_local.map_or(step / 2.0, |share| share * room - local);
        let gap = local - shares.lower.map_or(local, |share| share * room);
        self.set(Spread { limit, local, plea: Some(plea), gap }.thresholds(levels));
    }

    /// Fills in the thresholds that are not given, also those of the precedences above p = 0.
    fn resolve(&mut self, levels: usize) {
        // A limit of 0 is refused by name, later.
        let Limit::Packets(limit @ 1..) = self.limit else { return };
        let local = self.local.get_or_insert(OneOrEach::One(limit)).clone();
        let lower = self.local_lower.get_or_insert(local.clone()).clone();
        let non_local = self.non_local.get_or_insert(OneOrEach::One(limit)).clone();
        // Thresholds that are out of order are refused by name, later.
        if let (OneOrEach::One(local), OneOrEach::One(lower), OneOrEach::One(plea)) =
            (local, lower, non_local)
            && levels > 1
            && lower <= local
            && local <= plea
            && plea <= limit
        {
            let spread = Spread {
                limit,
                local: f64::from(local),
                plea: (plea < limit).then(|| f64::from(plea - local)),
                gap: f64::from(local - lower),
            };
            self.set(spread.thresholds(levels));
        }
    }

    fn set(&mut self, thresholds: Vec<[u32; 3]>) {
        let column = |at: usize| match thresholds.as_slice() {
            [only] => OneOrEach::One(only[at]),
            each => OneOrEach::Each(each.iter().map(|level| level[at]).collect()),
        };
        (self.local_lower, self.local, self.non_local) =
            (Some(column(0)), Some(column(1)), Some(column(2)));
    }

    /// The queue with these (resolved) thresholds, for `levels` precedences below the highest.
    pub(super) fn build(
        &self,
        levels: usize,
        adaptive: Option<&AdaptiveParams>,
    ) -> Result<Queue, ConfigError> {
        let mut params = self.clone();
        params.resolve(levels);
        let Limit::Packets(limit) = params.limit else {
            let message = format!("must be in packets such as \"750p\", got \"{}\"", self.limit);
            return Err(ConfigError::new("limit", message));
        };
        require(limit > 0, "limit", || "must be above 0, got \"0p\"".into())?;
        let expand = |thresholds: Option<OneOrEach<u32>>, path: &str| match thresholds {
            Some(list) => list.expand(levels, path, "precedences below the highest"),
            None => Ok(vec![limit; levels]),
        };
        let local = expand(params.local, "local")?;
        let lower = expand(params.local_lower, "local_lower")?;
        let non_local = expand(params.non_local, "non_local")?;
        for p in 0..levels {
            let next = *local.get(p + 1).unwrap_or(&limit);
            let within = |value: u32, path: &str, least: u32, most: u32, bounds: &str| {
                require((least..=most).contains(&value), path, || {
                    format!("must be {least} to {most} ({bounds}) for p = {p}, got {value}")
                })
            };
            within(local[p], "local", 1, next, "the next precedence's or the limit")?;
            let most = local[p].min(*lower.get(p + 1).unwrap_or(&limit));
            within(lower[p], "local_lower", 1, most, "`local` and the next precedence's")?;
            let bounds = "from `local` to the next precedence's, or the limit, which is off";
            if non_local[p] != limit {
                within(non_local[p], "non_local", local[p], next, bounds)?;
            }
        }
        let levels = (0..levels).map(|p| Level::new([lower[p], local[p], non_local[p]], limit));
        Ok(Queue {
            limit: limit as usize,
            levels: levels.collect(),
            reserve: adaptive
                .map(|law| Reserve::new(law, limit, [lower[0], local[0], non_local[0]])),
        })
    }
}

impl Level {
    /// With `local_lower`, `local` and `non_local`.
    fn new(thresholds: [u32; 3], limit: u32) -> Self {
        let mut level =
            Level { local_lower: 0, local: 0, non_local: None, denied: false, pleading: false };
        level.set(thresholds, limit);
        level
    }

    /// Moves the thresholds.
    pub(super) fn set(&mut self, [lower, local, non_local]: [u32; 3], limit: u32) {
        self.local_lower = lower as usize;
        self.local = local as usize;
        self.non_local = (non_local < limit).then_some(non_local as usize);
    }
}
