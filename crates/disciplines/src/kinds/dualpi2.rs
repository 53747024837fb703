//! `dualpi2`: two queues with coupled AQMs. Scalable senders get low latency beside classic ones.
//!
//! What it does: packets of scalable senders, ECT(1) or CE, have a queue of their own
//! ([`LowLatency`]). It is served first, except for a small share of the classic queue
//! ([`ClassicProtection`]). The classic queue is under PI2 ([`Pi2State`]), which drops packets, or
//! marks ECT(0) packets, with the square of a base probability. Packets of the low-latency queue
//! are marked above a shallow step or ramp ([`Ramp`]), and at least with `coupling` times the base
//! probability. So flows of both sorts have similar rates although they do not share a queue.
//!
//! Source: RFC 9332, sections 2.4 and 2.5, appendix A.1 (pseudo-code) and A.2 (with overload).
//! Defaults are those of Linux 6.17, `sch_dualpi2.c`; those of the RFC are a ramp (`step_threshold =
//! "800us"`, `step_range = "400us"`, `step_packets = 1`) and `derandomize = true`.
//!
//! | RFC 9332 | here |
//! |---|---|
//! | limit | `limit` |
//! | target, Tupdate, alpha, beta, k | `target`, `t_update`, `alpha`, `beta`, `coupling` |
//! | minTh, range, Th_len | `step_threshold`, `step_range`, `step_packets` |
//! | p', p_C, p_CL, p'_L | base, drop, coupled probability; [`Ramp::likelihood`] |
//! | scheduler() | [`ClassicProtection`] |
//! | curq | the longer of both queues' waits (A.2) |
//!
//! Deviations are those of the parts, and: D1. If a packet is dropped when it would leave, the next
//! one of its queue follows. The pseudo-code asks the scheduler again, with the same result,
//! because a dropped packet does not count as served. D2. Packets that are low-latency by their
//! DSCP and understand no marks pass unmarked. They are dropped only by a full buffer, as in Linux.
//! D3. One signal is drawn with the greater of the coupled probability and the step's (the RFC's
//! combination). Linux draws one after the other, which for a step, 0 or 1, is the same. D4.
//! Linux's limit in bytes of memory, its classification by any ECT and by filters, and splitting of
//! aggregates are not included. D5. The room is measured with the arriving packet's own length
//! (figure 3 takes the largest). D6. Th_len counts the departing packet, by the words of A.2 ("if
//! the queue is only 1 packet"). Figure 7, which asks after that packet has left, would be
//! `step_packets = 2`.
//!
//! Cost: that of PI2, and a comparison of both queues' lengths.

use crate::Composed;
use crate::admit::{self, Overload, Pi2Law, Pi2Params, Ramp, Recur, StepParams};
use crate::classify::{LowLatency, LowLatencyParams, QueueProtectionParams};
use crate::schedule::{ClassicProtection, ClassicProtectionParams};
use forebay_core::config::require;
use forebay_core::{Codepoint, Conduct, ConfigError, Discipline, Duration, Limit, Named, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A classic and a low-latency queue with coupled AQMs.
pub struct DualPi2;

/// Parameters of DualPI2.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Params {
    /// Room in both queues together, in packets ("10000p") or bytes ("15MB"); without the packet in
    /// transmission. Above 0. Default 10000p.
    pub limit: Limit,
    /// Target delay of the classic queue; above 0. Default 15ms.
    pub target: Duration,
    /// Time between updates of the probability (Tupdate); above 0. Default 16ms.
    pub t_update: Duration,
    /// Weight of the distance from the target, in 1/s; above 0. Default 41/256.
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s; above 0. Default 819/256.
    pub beta: f64,
    /// Marking probability of low-latency packets, in base probabilities (k); at least 1. Default
    /// 2: equal rates of CUBIC or Reno and Prague with equal round-trip times.
    pub coupling: f64,
    /// Waiting time above which low-latency packets are marked whatever the classic queue does
    /// (minTh). Default 1ms.
    pub step_threshold: Duration,
    /// Time above that threshold over which the probability rises to 1. Default 0ms: at once.
    pub step_range: Duration,
    /// Packets that must stay behind in the low-latency queue for such a mark (Th_len). Default 0.
    pub step_packets: u32,
    /// What happens when marks no longer limit the queue: "drop" (all packets, with the classic
    /// probability), or "saturate" (mark all scalable ones; the queue grows until it is full).
    /// Default "drop".
    pub overload: Overload,
    /// Share of the link that the classic queue has while both wait, 0 to 1. Default 0.1.
    pub classic_protection: f64,
    /// DSCPs whose packets join the low-latency queue too, such as ["NQB"] (RFC 9332, section
    /// 2.5.1.1). Default: none.
    pub dscp: Vec<Codepoint>,
    /// Queue protection (RFC 9957), which moves packets of flows that build up the low-latency
    /// queue to the classic one: {} for the RFC's values, or any of `min_th`, `range`,
    /// `critical_ql`, `critical_ql_score`, `lg_aging`, `buckets`, `attempts` and `max_ql_score`.
    /// Default: off.
    pub queue_protection: Option<QueueProtectionParams>,
    /// Whether signals are spaced evenly (recur() of the RFC) rather than drawn at random. Default
    /// false.
    pub derandomize: bool,
}

impl Default for DualPi2Params {
    fn default() -> Self {
        let Pi2Params { limit, target, t_update, alpha, beta, coupling, overload, derandomize } =
            Pi2Params::default();
        let step = StepParams::default();
        DualPi2Params {
            limit,
            target,
            t_update,
            alpha,
            beta,
            coupling,
            step_threshold: step.threshold,
            step_range: step.range,
            step_packets: step.packets,
            overload,
            classic_protection: ClassicProtectionParams::default().share,
            dscp: Vec::new(),
            queue_protection: None,
            derandomize,
        }
    }
}

impl Named for DualPi2 {
    type Family = dyn Discipline;
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str = "a low-latency queue for L4S beside a classic one, coupled";
    const SOURCE: &'static str = "RFC 9332; Linux 6.17, sch_dualpi2.c";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = DualPi2Params;

    fn build(
        params: &DualPi2Params,
        setting: &Setting,
    ) -> Result<Box<dyn Discipline>, ConfigError> {
        let DualPi2Params { limit, target, t_update, alpha, beta, coupling, overload, .. } =
            *params;
        let derandomize = params.derandomize;
        require(!limit.is_zero(), "limit", || "must be above 0, got \"0\"".into())?;
        let pi2 =
            Pi2Params { limit, target, t_update, alpha, beta, coupling, overload, derandomize };
        let law = Pi2Law::new(&pi2, setting)?;
        let ramp = Ramp::new(params.step_threshold, params.step_range, params.step_packets);
        let schedule =
            ClassicProtection::new(params.classic_protection, "classic_protection", setting)?;
        let (dscp, queue_protection) = (params.dscp.clone(), params.queue_protection.clone());
        let classify = LowLatencyParams { ecn: true, dscp, queue_protection };
        let classify = LowLatency::new(&classify, setting)?;
        let admit = admit::DualPi2::new(limit, law, ramp, Recur::new(derandomize));
        Ok(Box::new(Composed::new(classify, admit, schedule)))
    }
}

#[cfg(test)]
mod tests;
