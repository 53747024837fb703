//! GSP: drops one packet when the queue exceeds a threshold, then waits.
//!
//! Senders that share a full queue all lose packets within one round-trip time, and
//! then oscillate together. GSP drops a single packet when the queue is above `threshold`. Then it
//! ignores the threshold for an interval, so that the sender's reaction can take effect. If the
//! queue is still above the threshold most of the time, the interval shrinks.
//!
//! Source: W. Lautenschlaeger and A. Francini, "Global Synchronization Protection for Bandwidth
//! Sharing TCP Flows in High-Speed Links", HPSR 2015 (arXiv 1602.05333), and W. Lautenschlaeger,
//! "Global Synchronization Protection for Packet Queues", draft-lauten-aqm-gsp: basic and
//! adaptive algorithm. At every arrival:
//! ```text
//! cumulTime += alpha * time_above_threshold - time_below_threshold, within [0, maxTime]
//! interval = presetInt / (1 + cumulTime / tau)
//! if queue > threshold and now > expiry: drop the packet; expiry = now + interval
//! ```
//! After an overflow of the buffer, time below the threshold does not count until the queue has
//! been empty and then above the threshold again.
//!
//! | symbol | here |
//! |---|---|
//! | threshold | `threshold` |
//! | presetInt | `interval` |
//! | tau, alpha, maxTime | `tau`, `alpha`, `max_time` |
//! | cumulTime, expiry | `cumulative`, `expiry` |
//! | states clear, overflow, drain | `Phase` |
//!
//! Deviations: D1. The times above and below are measured at departures too, so they are exact and
//! do not depend on the length at the last arrival. D2. The arriving packet counts toward the
//! length that is compared with the threshold. D3. The sources give no default for the threshold,
//! nor for maxTime. Ours are 15 ms of the link's rate, PIE's target, and 100 times tau. D4. The
//! variant by delay is not included. D5. Marks instead of drops are not described and not included.
//!
//! Cost: two comparisons and one addition per packet; one division an arrival above the threshold.

use super::curve::Measure;
use crate::Admit;
use crate::retune::retuned;
use forebay_core::config::above_zero;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Setting, Time,
    params,
};
use std::any::Any;

/// Global synchronization protection, with one state for each queue.
pub struct Gsp {
    params: GspParams,
    threshold: f64,
    measure: Measure,
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    expiry: Time,
    /// cumulTime, in nanoseconds.
    cumulative: f64,
    seen: Time,
    phase: Phase,
}

/// The phase after an overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// Time below the threshold counts.
    #[default]
    Clear,
    /// The buffer has overflowed. This phase ends when the queue is empty.
    Overflow,
    /// The queue has been empty. This phase ends when it is above the threshold again.
    Drain,
}

params! {
    /// Parameters of GSP.
    pub struct GspParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Length above which a packet is dropped, in packets or bytes; above 0, well below
        /// `limit`. Default: what the link sends in 15 ms, but at least two packets of the largest
        /// size.
        pub threshold: Option<Limit> = None,
        /// Time after a drop in which the threshold is ignored, at most (presetInt); above 0, about
        /// the largest usual round-trip time. Default 200ms.
        pub interval: Duration = Duration::from_millis(200),
        /// Whether the interval shrinks while the queue stays above the threshold. Default true.
        pub adaptive: bool = true,
        /// Time constant of that adaptation (tau), comfortably above `interval`. Default 1s.
        pub tau: Duration = Duration::from_secs(1),
        /// Weight of the time above the threshold against that below (alpha); above 0, not much
        /// more than 1. Default 2.
        pub alpha: f64 = 2.0,
        /// Bound of the cumulative time (maxTime). Default 100s.
        pub max_time: Duration = Duration::from_secs(100),
    }
}

impl GspParams {
    fn default_threshold(setting: &Setting) -> Limit {
        let bytes = setting.rate.bytes_in(Duration::from_millis(15)) as u64;
        Limit::Bytes(bytes.max(2 * u64::from(setting.mtu)))
    }
}

fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

impl Gsp {
    fn interval(&self, state: &State) -> f64 {
        let tau = if self.params.adaptive { nanos(self.params.tau) } else { f64::INFINITY };
        nanos(self.params.interval) / (1.0 + state.cumulative / tau)
    }

    /// Accounts for the time up to `now`, during which the queue's length has not changed.
    #[inline]
    fn account(&mut self, queue: QueueId, bank: &Bank, now: Time) {
        if !self.params.adaptive {
            return;
        }
        let state = &mut self.states[queue];
        let span = now.since(state.seen).as_nanos() as f64;
        state.seen = now;
        let length = self.measure.length(bank.packets(queue), bank.bytes(queue));
        if length > self.threshold {
            let most = nanos(self.params.max_time);
            state.cumulative = (state.cumulative + self.params.alpha * span).min(most);
        } else if state.phase == Phase::Clear {
            state.cumulative = (state.cumulative - span).max(0.0);
        }
    }
}

impl Named for Gsp {
    type Family = dyn Admit;
    const NAME: &'static str = "gsp";
    const SUMMARY: &'static str = "drop one packet above a threshold, then wait for the reaction";
    const SOURCE: &'static str = "Lautenschlaeger and Francini 2015; draft-lauten-aqm-gsp";
    type Params = GspParams;

    fn resolve(params: &mut GspParams, setting: &Setting) {
        params.threshold.get_or_insert_with(|| GspParams::default_threshold(setting));
    }

    fn build(params: &GspParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let threshold = params.threshold.unwrap_or_else(|| GspParams::default_threshold(setting));
        above_zero("limit", params.limit)?;
        above_zero("threshold", threshold)?;
        above_zero("interval", params.interval)?;
        above_zero("tau", params.tau)?;
        above_zero("alpha", params.alpha)?;
        let (measure, threshold) = Measure::of(threshold);
        let states = vec![State::default(); setting.queues];
        Ok(Box::new(Gsp { params: params.clone(), threshold, measure, states }))
    }
}

impl Admit for Gsp {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        self.account(queue, bank, cx.now);
        let (packets, bytes) = (bank.packets(queue), bank.bytes(queue));
        if !self.params.limit.admits(packets, bytes, packet.len) {
            self.states[queue].phase = Phase::Overflow;
            return Err(DropReason::Overflow);
        }
        let length = self.measure.length(packets + 1, bytes + u64::from(packet.len));
        if length <= self.threshold {
            return Ok(());
        }
        let state = self.states[queue];
        if cx.now < state.expiry {
            self.states[queue].cross();
            return Ok(());
        }
        let interval = Duration::from_nanos(self.interval(&state) as u64);
        let state = &mut self.states[queue];
        state.cross();
        state.expiry = cx.now + interval;
        Err(DropReason::Aqm)
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        self.account(queue, bank, cx.now);
        let packet = bank.pop(queue)?;
        let state = &mut self.states[queue];
        if state.phase == Phase::Overflow && bank.packets(queue) == 0 {
            state.phase = Phase::Drain;
        }
        Some(packet)
    }

    /// Shows the queue with the shortest interval.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let most = |a: &&State, b: &&State| a.cumulative.total_cmp(&b.cumulative);
        if let Some(state) = self.states.iter().max_by(most) {
            out("interval_ms", self.interval(state) * 1e-6);
            out("cumulative_time_ms", state.cumulative * 1e-6);
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.states)
    }
}

impl State {
    /// The queue is above the threshold.
    #[inline]
    fn cross(&mut self) {
        if self.phase == Phase::Drain {
            self.phase = Phase::Clear;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Disciplines;
    use crate::fixture::{Rig, SETTING, ms, us};
    use forebay_core::Verdict;
    use serde_json::{Value, json};

    fn gsp(extra: Value) -> Rig {
        let mut block = json!({ "kind": "gsp", "threshold": "3p", "interval": "10ms" });
        block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Rig::new(block)
    }

    #[test]
    fn one_drop_an_interval_however_many_arrive() {
        let mut rig = gsp(json!({ "adaptive": false }));
        // A packet every half millisecond, none leaves: above the threshold from the fourth on.
        let mut drops = Vec::new();
        for turn in 0..100 {
            if rig.offer(us(turn * 500), |_| {}) == Verdict::Dropped {
                drops.push(turn * 500);
            }
        }
        assert_eq!(drops, [1_500, 11_500, 21_500, 31_500, 41_500]);
    }

    #[test]
    fn below_the_threshold_nothing_is_dropped() {
        let mut rig = gsp(json!({}));
        for turn in 0..100 {
            rig.offer(ms(turn), |_| {});
            if rig.held() == 3 {
                rig.take(ms(turn));
            }
        }
        assert!(rig.drops().is_empty());
    }

    #[test]
    fn time_above_shortens_the_interval_and_time_below_restores_it() {
        let mut rig = gsp(json!({ "tau": "50ms", "alpha": 2.0 }));
        for _ in 0..5 {
            rig.offer(ms(0), |_| {});
        }
        // Four are held (the fourth was dropped), above the threshold from 0 on; at 25 ms that is
        // 2 * 25 = 50 ms: interval = 10 / (1 + 50/50) = 5 ms.
        assert_eq!(rig.offer(ms(25), |_| {}), Verdict::Dropped);
        assert_eq!((rig.probe("cumulative_time_ms"), rig.probe("interval_ms")), (50.0, 5.0));
        // So the next drop is due at 30 ms.
        assert_eq!(rig.offer(us(29_999), |_| {}), Verdict::Queued);
        rig.take(us(29_999));
        assert_eq!(rig.offer(ms(30), |_| {}), Verdict::Dropped);
        // 60 ms by now; 20 ms below the threshold leave 40.
        rig.take(ms(30));
        rig.take(ms(50));
        assert!((rig.probe("cumulative_time_ms") - 40.0).abs() < 1e-6);
        // Never below zero.
        rig.take(ms(500));
        assert_eq!((rig.probe("cumulative_time_ms"), rig.probe("interval_ms")), (0.0, 10.0));
    }

    #[test]
    fn the_cumulative_time_is_bounded() {
        let mut rig = gsp(json!({ "max_time": "30ms", "tau": "10ms" }));
        for _ in 0..5 {
            rig.offer(ms(0), |_| {});
        }
        rig.offer(ms(1000), |_| {});
        assert_eq!((rig.probe("cumulative_time_ms"), rig.probe("interval_ms")), (30.0, 2.5));
    }

    #[test]
    fn after_an_overflow_time_below_waits_for_empty_and_above() {
        let mut rig = gsp(json!({ "limit": "5p", "alpha": 1.0, "tau": "10ms" }));
        for _ in 0..7 {
            rig.offer(ms(0), |_| {});
        }
        assert_eq!(rig.record.dropped.len(), 2);
        // 10 ms above; then below, but the buffer has overflowed.
        while rig.held() > 3 {
            rig.take(ms(10));
        }
        rig.take(ms(20));
        assert_eq!(rig.probe("cumulative_time_ms"), 10.0);
        while rig.held() > 0 {
            rig.take(ms(20));
        }
        // Empty, but not above again.
        rig.offer(ms(30), |_| {});
        assert_eq!(rig.probe("cumulative_time_ms"), 10.0);
        for _ in 0..4 {
            rig.offer(ms(30), |_| {});
        }
        while rig.held() > 1 {
            rig.take(ms(30));
        }
        rig.take(ms(34));
        assert_eq!(rig.probe("cumulative_time_ms"), 6.0);
    }

    #[test]
    fn the_threshold_follows_the_links_rate() {
        let effective =
            Disciplines::builtin().effective(&json!({ "kind": "gsp" }), &SETTING).unwrap();
        // 15 ms of 10 Mbit/s.
        assert_eq!(effective["threshold"], "18.75KB");
    }
}
