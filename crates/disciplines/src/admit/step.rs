//! Step: marks departing packets that have waited for longer than a threshold.
//!
//! This is the immediate AQM of scalable senders, which answer each mark with a small
//! step. It has no average and no state. With `range` the probability rises as a ramp.
//!
//! Source: RFC 9332, section 2.5.1.2 and appendix A.1, laqm(); RFC 8257, section 3.1 (DCTCP's, by
//! length). [`Ramp`] is the algorithm without a queue: for `step`, and for the low-latency queue of
//! `dualpi2`. Defaults are those of Linux 6.17, `sch_dualpi2.c`.
//!
//! | RFC 9332 | here |
//! |---|---|
//! | minTh, range, Th_len | `threshold`, `range`, `packets` |
//!
//! Deviations: D1. Without a range, packets that waited for longer than the threshold are marked,
//! as in Linux; the RFC has "at least". D2. For packets of senders that do not understand marks
//! there is only tail drop, as in RFC 8257 and in `ce_threshold` of Linux's FQ-CoDel; a step that
//! dropped them would leave almost none. D3. The least number of packets counts those that stay in
//! the queue; Linux counts those that an arriving packet finds (`min_qlen_step`).
//!
//! Cost: one subtraction and one comparison per packet; one random number on the ramp.

use super::Recur;
use crate::Admit;
use crate::retune::retuned;
use forebay_core::config::above_zero;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Setting, Time,
    params,
};
use std::any::Any;

/// A marking probability that rises with the waiting time of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Ramp {
    threshold: Duration,
    range: Duration,
    packets: u32,
}

impl Ramp {
    /// From 0 at `threshold` to 1 at `range` above it, if at least `packets` stay in the queue.
    pub fn new(threshold: Duration, range: Duration, packets: u32) -> Self {
        Ramp { threshold, range, packets }
    }

    /// laqm(): the probability for a packet that waited for `delay` and leaves `left` behind.
    #[inline]
    pub fn likelihood(&self, delay: Duration, left: usize) -> f64 {
        if delay <= self.threshold || left < self.packets as usize {
            return 0.0;
        }
        let above = (delay - self.threshold).as_nanos();
        if above >= self.range.as_nanos() {
            return 1.0;
        }
        above as f64 / self.range.as_nanos() as f64
    }
}

/// Tail drop, and marks by a [`Ramp`].
pub struct Step {
    limit: Limit,
    ramp: Ramp,
    signals: Vec<Recur>,
}

params! {
    /// Parameters of `step`.
    pub struct StepParams {
        /// Room in each queue, in packets ("10000p") or bytes ("15MB"); without the packet in
        /// transmission. Above 0. Default 10000p.
        pub limit: Limit = Limit::Packets(10_000),
        /// Waiting time above which packets are marked (minTh). Default 1ms.
        pub threshold: Duration = Duration::from_millis(1),
        /// Time above the threshold over which the probability rises to 1. Default 0ms: at once.
        pub range: Duration = Duration::ZERO,
        /// Packets that must stay behind for a mark (Th_len): above 0 for slow links, where a
        /// single packet takes longer than the threshold. Default 0.
        pub packets: u32 = 0,
    }
}

impl Named for Step {
    type Family = dyn Admit;
    const NAME: &'static str = "step";
    const SUMMARY: &'static str = "mark packets that have waited longer than a threshold";
    const SOURCE: &'static str = "RFC 9332, appendix A.1; RFC 8257, section 3.1";
    type Params = StepParams;

    fn build(params: &StepParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let StepParams { limit, threshold, range, packets } = *params;
        above_zero("limit", limit)?;
        let ramp = Ramp::new(threshold, range, packets);
        Ok(Box::new(Step { limit, ramp, signals: vec![Recur::new(false); setting.queues] }))
    }
}

impl Admit for Step {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        _: &mut Context,
    ) -> Result<(), DropReason> {
        bank.room(queue, self.limit, packet.len)
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let mut packet = bank.pop(queue)?;
        let likelihood = self.ramp.likelihood(cx.now.since(packet.queued), bank.packets(queue));
        if self.signals[queue].hits(likelihood, cx.rng) {
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.signals)
    }
}

#[cfg(test)]
mod tests {
    use super::Ramp;
    use crate::fixture::{Rig, ms, us};
    use forebay_core::{Duration, Ecn};
    use serde_json::{Value, json};

    /// Marks among packets that waited for 0.5, 1, 1.5, ... 3 ms.
    fn marked(rest: Value, ecn: Ecn) -> Vec<u32> {
        let mut block = json!({ "kind": "step" });
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let mut rig = Rig::new(block);
        for _ in 0..6 {
            rig.offer(ms(0), |packet| packet.set_ecn(ecn));
        }
        for turn in 1..=6 {
            rig.take(us(500 * turn)).unwrap();
        }
        assert_eq!(rig.record.dropped, []);
        rig.record.marked
    }

    #[test]
    fn what_waited_for_longer_is_marked() {
        assert_eq!(marked(json!({}), Ecn::Ect1), [2, 3, 4, 5]);
        assert_eq!(marked(json!({ "threshold": "2ms" }), Ecn::Ect0), [4, 5]);
        assert_eq!(marked(json!({}), Ecn::NotEct), [0_u32; 0]);
        // The fourth leaves two behind.
        assert_eq!(marked(json!({ "packets": 2 }), Ecn::Ect1), [2, 3]);
    }

    #[test]
    fn the_ramp_is_the_pseudo_code_s() {
        let us = Duration::from_micros;
        let ramp = Ramp::new(us(800), us(400), 1);
        let at = |delay: u64| ramp.likelihood(us(delay), 1);
        assert_eq!(
            [0, 800, 900, 1000, 1100, 1200, 5000].map(at),
            [0., 0., 0.25, 0.5, 0.75, 1., 1.]
        );
        assert_eq!(ramp.likelihood(us(5000), 0), 0.0);
    }
}
