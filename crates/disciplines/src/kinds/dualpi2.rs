//! `dualpi2`: two queues with coupled AQMs. Scalable senders get low latency beside classic ones.
//!
//! Packets of scalable senders, ECT(1) or CE, have a queue of their own
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
use crate::admit::{self, Pi2Law, Pi2Params, Ramp, Recur, StepParams};
use crate::classify::{LowLatency, LowLatencyParams};
use crate::schedule::{ClassicProtection, ClassicProtectionParams};
use forebay_core::config::above_zero;
use forebay_core::{Conduct, ConfigError, Discipline, Duration, Named, Setting, compose, params};

/// A classic and a low-latency queue with coupled AQMs.
pub struct DualPi2;

compose! {
    /// Parameters of DualPI2.
    pub struct DualPi2Params {
        pi2: Pi2Params = Pi2Params::default() => described {
            "limit": "Room in both queues together, in packets (\"10000p\") or bytes (\"15MB\"); \
                without the packet in transmission. Above 0. Default 10000p.",
            "target": "Target queueing delay of the queue that waits longer; above 0. Default 15ms.",
        },
        low_latency: StepAndShareParams = StepAndShareParams::default(),
        classify: LowLatencyParams = LowLatencyParams::default() => fixed ["ecn"],
    }
}

params! {
    /// Parameters of the low-latency queue.
    pub struct StepAndShareParams {
        /// Waiting time above which low-latency packets are marked whatever the classic queue does
        /// (minTh). Default 1ms.
        pub step_threshold: Duration = StepParams::default().threshold,
        /// Time above that threshold over which the probability rises to 1. Default 0ms: at once.
        pub step_range: Duration = StepParams::default().range,
        /// Packets that must stay behind in the low-latency queue for such a mark (Th_len). Default
        /// 0.
        pub step_packets: u32 = StepParams::default().packets,
        /// Share of the link that the classic queue has while both wait, 0 to 1. Default 0.1.
        pub classic_protection: f64 = ClassicProtectionParams::default().share,
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
        let DualPi2Params { pi2, low_latency, classify } = params;
        let StepAndShareParams { step_threshold, step_range, step_packets, classic_protection } =
            *low_latency;
        above_zero("limit", pi2.limit)?;
        let law = Pi2Law::new(pi2, setting)?;
        let ramp = Ramp::new(step_threshold, step_range, step_packets);
        let schedule = ClassicProtection::new(classic_protection, "classic_protection", setting)?;
        let classify = LowLatency::new(classify, setting)?;
        let admit = admit::DualPi2::new(pi2.limit, law, ramp, Recur::new(pi2.derandomize));
        Ok(Box::new(Composed::new(classify, admit, schedule)))
    }
}

#[cfg(test)]
mod tests;
