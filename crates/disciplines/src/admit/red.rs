//! RED: drops arriving packets with a probability that grows with the average queue length.
//!
//! Every arrival updates the exponentially weighted average of the queue's length
//! ([`Average`]). If the average is between two thresholds, the packet is dropped or marked with a
//! probability that grows linearly; drops are spaced evenly ([`Curve`], [`Spacing`]). Adaptive RED
//! changes this probability every half second, so that the average stays in the middle between the
//! thresholds ([`Curve::adapt`]), and chooses thresholds and weight by the link's rate.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993, figure 2. Marks: RFC 3168, section 7. Adaptive RED:
//! S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of
//! RED's Active Queue Management", 2001.
//!
//! | symbol | parameter |
//! |---|---|
//! | min_th, max_th | `min_th`, `max_th` |
//! | max_p | `max_p` |
//! | w_q | `weight` |
//! | s, 1 / C | `mean_packet` over the link's rate |
//! | interval | `adapt_every` |
//! | delay_target | `target_delay` |
//!
//! Deviations, beside those of [`Average`] and [`Curve`]: D1. The average does not count the packet
//! in transmission. D2. A packet that finds the buffer full is dropped at any average, and restarts
//! the count, as in ns-2. D3. Thresholds in bytes make the average one of bytes. Scaling p_b by the
//! packet's size is a second, independent choice (`byte_mode`), as in ns-2 (`queue_in_bytes_`,
//! `bytes_`); Linux has only the bytes. D4. Adaptive RED: thresholds from `target_delay` are whole
//! packets. An arrival after a pause makes at most 100 of the missed steps, which is more than
//! there are from one bound to the other. Linux (`adaptative`) has the same rule in integers and no
//! automatic parameters. D5. `spare_short` and `spare_first` are not in the paper, but in ns-2
//! (`REDQueue::enque`: `qlen > 1`, `old`) and ns-3. With `gaps` and `idle` "linux" the rule is that
//! of `sch_red`.
//!
//! Cost: one multiplication and two comparisons per packet below min_th, one random number above;
//! every `adapt_every` a comparison for each queue.

use super::average::{Average, Idle, Pace};
use super::curve::{Curve, Gaps, Measure, Signal, Spacing};
use crate::Admit;
use forebay_core::config::{above_zero, positive_share, require};
use forebay_core::{
    Bank, Bytes, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Rate,
    Setting, Time, params,
};
use std::any::Any;

/// Random early detection, with one state for each queue.
pub struct Red {
    params: RedParams,
    adaptation: Option<Adaptation>,
    measure: Measure,
    weight: f64,
    pace: Pace,
    /// 1/mtu in byte mode.
    per_byte: Option<f64>,
    states: Vec<State>,
}

#[derive(Clone)]
struct State {
    curve: Curve,
    average: Average,
    spacing: Spacing,
}

/// The times at which max_p is adapted.
struct Adaptation {
    every: Duration,
    next: Time,
}

/// Most missed steps of max_p that are made after a pause.
const MOST_STEPS: u32 = 100;

params! {
    /// Parameters of RED.
    pub struct RedParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Average length from which packets are dropped (min_th), in packets or bytes; above 0.
        /// Default: 5p, the paper's minimum (section 6.2); with `target_delay` half of the packets
        /// of `mean_packet` that the link sends in it, at least 5.
        pub min_th: Option<Limit> = None,
        /// Average length from which all packets are dropped, or with `gentle` from which the
        /// probability grows faster (max_th); in the unit of `min_th` and above it. The paper asks
        /// for at least twice `min_th` (section 6.3). Default: 15p; with `target_delay` three times
        /// `min_th`.
        pub max_th: Option<Limit> = None,
        /// Drop probability at `max_th` (max_p); above 0, at most 1. With `adapt_every`, this is
        /// the initial value. Default 0.1 (Floyd, "Discussions of setting parameters", 1997; the
        /// paper of 1993 has 0.02).
        pub max_p: f64 = 0.1,
        /// Weight of the present length in the average (w_q); above 0, at most 1. Default: 0.002
        /// (section 6.1); with `target_delay` 1 - exp(-1/C), where C is what the link sends of
        /// `mean_packet` in 1 s.
        pub weight: Option<f64> = None,
        /// Interval of adapting `max_p`, between 0.01 and 0.5, so that the average stays between
        /// 0.4 and 0.6 of the way from `min_th` to `max_th` (Adaptive RED, which has 500ms); above
        /// 0. Default: never.
        pub adapt_every: Option<Duration> = None,
        /// Queueing delay by which Adaptive RED chooses `min_th`, `max_th` and `weight` where they
        /// are not given (its section 3; 5ms there); above 0. Default: none, they do not depend on
        /// the link.
        pub target_delay: Option<Duration> = None,
        /// Whether the probability goes from `max_p` at `max_th` to 1 at twice `max_th`, rather
        /// than jump to 1 (Floyd 2000). Default true.
        pub gentle: bool = true,
        /// Whether at least 1/p_b packets pass between two drops, as in ns-2 (`wait_`), so that two
        /// thirds of p_b are lost rather than twice p_b. Default false.
        pub wait: bool = false,
        /// Whether an arrival that finds one packet waiting or none is never dropped early, however
        /// high the average (ns-2 and ns-3). It keeps the link busy when senders have just slowed
        /// down. Default false.
        pub spare_short: bool = false,
        /// Whether the arrival with which the average reaches `min_th` is never dropped, as in ns-2
        /// and ns-3 (`old`). Default false.
        pub spare_first: bool = false,
        /// Typical packet size, in bytes, by which idle time is counted (s, section 11); above 0.
        /// Default 500B (ns-2).
        pub mean_packet: Bytes = Bytes(500),
        /// Ageing of the average by an arrival at an empty queue: by the idle `"time"`, by whole
        /// packets and itself (`"arrivals"`, as in ns-2 and ns-3), or by the idle time and, while
        /// the last packet is being sent, itself (`"linux"`). Default "time".
        pub idle: Idle = Idle::default(),
        /// Arrivals from one drop to the next: 1 to 1/p_b - 1 (`"paper"`, figure 2), or 1 to 1/p_b
        /// (`"linux"`), which is one drop in 10.5 rather than 10 if p_b is 0.05. Not with `wait`.
        /// Default "paper".
        pub gaps: Gaps = Gaps::default(),
        /// Whether a packet's drop probability is proportional to its size, the largest having that
        /// of the curve (section 4, byte mode; RFC 7141 advises against it). Default false.
        pub byte_mode: bool = false,
        /// Whether packets of ECN-capable transports are marked rather than dropped while the
        /// average is below `max_th` (RFC 3168, section 7). Default false.
        pub ecn: bool = false,
    }
}

impl Red {
    /// Makes the steps of max_p that are due.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.adaptation.as_ref().is_some_and(|adaptation| adaptation.next <= now) {
            self.adapt(now);
        }
    }

    #[cold]
    fn adapt(&mut self, now: Time) {
        let Some(Adaptation { every, next }) = &mut self.adaptation else { return };
        let mut steps = 0;
        while *next <= now && steps < MOST_STEPS {
            for State { curve, average, .. } in &mut self.states {
                curve.adapt(average.at(self.weight, *next, &self.pace));
            }
            *next += *every;
            steps += 1;
        }
        let missed = now.as_nanos().saturating_sub(next.as_nanos()) / every.as_nanos();
        if *next <= now {
            *next += *every * (missed + 1);
        }
    }
}

const MIN_TH: Limit = Limit::Packets(5);
const MAX_TH: Limit = Limit::Packets(15);
const WEIGHT: f64 = 0.002;

/// The values that Adaptive RED chooses for a delay (section 3): min_th and weight, from C, the
/// number of packets of `mean_packet` that the link sends in 1 s.
fn automatic(target: Duration, mean_packet: Bytes, setting: &Setting) -> (Limit, f64) {
    let bits = 8.0 * (mean_packet.0 as f64 + f64::from(setting.overhead));
    let capacity = setting.rate.bps() as f64 / bits;
    let packets = libm::round(capacity * target.as_secs_f64() / 2.0);
    (Limit::Packets((packets as u32).max(5)), 1.0 - libm::exp(-1.0 / capacity))
}

impl Named for Red {
    type Family = dyn Admit;
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "random early detection by the average queue length";
    const SOURCE: &'static str = "Floyd and Jacobson 1993, figure 2";
    type Params = RedParams;

    fn resolve(params: &mut RedParams, setting: &Setting) {
        let Some(target) = params.target_delay else {
            params.min_th.get_or_insert(MIN_TH);
            params.max_th.get_or_insert(MAX_TH);
            params.weight.get_or_insert(WEIGHT);
            return;
        };
        let (least, weight) = automatic(target, params.mean_packet, setting);
        params.weight.get_or_insert(weight);
        let thrice = match *params.min_th.get_or_insert(least) {
            Limit::Packets(packets) => Limit::Packets(packets.saturating_mul(3)),
            Limit::Bytes(bytes) => Limit::Bytes(bytes.saturating_mul(3)),
        };
        params.max_th.get_or_insert(thrice);
    }

    fn build(params: &RedParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        above_zero("limit", params.limit)?;
        for (path, span) in
            [("adapt_every", params.adapt_every), ("target_delay", params.target_delay)]
        {
            require(span != Some(Duration::ZERO), path, || {
                "must be above 0; leave it out to have none".into()
            })?;
        }
        let (min_th, max_th) = (params.min_th.unwrap_or(MIN_TH), params.max_th.unwrap_or(MAX_TH));
        let weight = params.weight.unwrap_or(WEIGHT);
        let (curve, measure) = Curve::new(min_th, max_th, params.max_p, params.gentle)?;
        let curve = curve.with_rules(params.wait, params.spare_first).with_gaps(params.gaps);
        positive_share("weight", weight)?;
        above_zero("mean_packet", params.mean_packet)?;
        require(!(params.wait && params.gaps == Gaps::Linux), "gaps", || {
            "must be \"paper\" with wait, got \"linux\"".into()
        })?;
        let adaptation =
            params.adapt_every.map(|every| Adaptation { every, next: Time::ZERO + every });
        let state = State { curve, average: Average::default(), spacing: Spacing::default() };
        Ok(Box::new(Red {
            params: params.clone(),
            adaptation,
            measure,
            weight,
            pace: Pace::new(setting, params.mean_packet, params.idle),
            per_byte: params.byte_mode.then(|| 1.0 / f64::from(setting.mtu)),
            states: vec![state; setting.queues],
        }))
    }
}

impl Admit for Red {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        self.catch_up(cx.now);
        let (packets, bytes) = (bank.packets(queue), bank.bytes(queue));
        let state = &mut self.states[queue];
        let length = self.measure.length(packets, bytes);
        let average = state.average.update(self.weight, length, cx.now, &self.pace);
        if !self.params.limit.admits(packets, bytes, packet.len) {
            state.spacing.restart(&state.curve);
            return Err(DropReason::Overflow);
        }
        let share = self.per_byte.map_or(1.0, |per_byte| f64::from(packet.len) * per_byte);
        let average = if self.params.spare_short && packets <= 1 { 0.0 } else { average };
        match state.spacing.step(&state.curve, average, share, cx.rng) {
            Signal::Pass => Ok(()),
            Signal::Early if self.params.ecn && cx.mark(packet) => Ok(()),
            Signal::Early | Signal::Forced => Err(DropReason::Aqm),
        }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        self.catch_up(cx.now);
        let packet = bank.pop(queue)?;
        if bank.packets(queue) == 0 {
            self.states[queue].average.emptied(cx.now, packet.len, &self.pace);
        }
        Some(packet)
    }

    fn set_link_rate(&mut self, _: Time, rate: Rate) {
        self.pace.set_rate(rate);
    }

    /// Shows the queue with the longest average.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let longest = |a: &&State, b: &&State| a.average.value().total_cmp(&b.average.value());
        if let Some(state) = self.states.iter().max_by(longest) {
            out("average_queue", state.average.value());
            out("drop_probability", state.curve.probability(state.average.value()));
            if self.adaptation.is_some() {
                out("max_p", state.curve.max_p());
            }
            out("count", state.spacing.count() as f64);
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        let Some(fresh) = fresh.downcast_mut::<Self>() else { return false };
        let adapts = self.adaptation.is_some();
        if adapts != fresh.adaptation.is_some() {
            return false;
        }
        for (own, fresh) in self.states.iter().zip(&mut fresh.states) {
            (fresh.average, fresh.spacing) = (own.average, own.spacing);
            if adapts {
                fresh.curve.adapted_as(&own.curve);
            }
        }
        if let (Some(own), Some(fresh)) = (&self.adaptation, &mut fresh.adaptation) {
            fresh.next = own.next;
        }
        std::mem::swap(self, fresh);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::Disciplines;
    use crate::fixture::{Rig, SETTING, ms};
    use forebay_core::{DropReason, Ecn, Time, Verdict};
    use serde_json::json;

    /// RED whose average is the queue itself, held at 30 packets: p_b = 0.05.
    fn at_thirty(extra: serde_json::Value) -> Rig {
        let mut block = json!({
            "kind": "red", "min_th": "15p", "max_th": "45p", "max_p": 0.1, "weight": 1.0,
        });
        block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let mut rig = Rig::new(block);
        while rig.held() < 30 {
            rig.offer(Time::ZERO, |_| {});
        }
        rig.record.dropped.clear();
        rig
    }

    /// Offers `n` packets, each followed by a departure if it stayed. Returns the loss.
    fn run(rig: &mut Rig, n: usize) -> usize {
        for _ in 0..n {
            if rig.offer(Time::ZERO, |p| p.set_ecn(Ecn::Ect0)) == Verdict::Queued {
                rig.take(Time::ZERO);
            }
        }
        rig.record.dropped.len()
    }

    #[test]
    fn loss_is_that_of_the_curve() {
        // Gaps uniform on 1..=19: the mean is 10, the variance 30. Over 20 000 arrivals a renewal
        // process gives 2000 drops with a deviation of sqrt(20000 * 30 / 10^3) = 24.5.
        let loss = run(&mut at_thirty(json!({})), 20_000);
        assert!((1900..=2100).contains(&loss), "{loss}");
    }

    #[test]
    fn with_wait_two_thirds_of_the_curve_are_lost() {
        // Gaps uniform on 20..=39: the mean is 29.5, the variance 33.3.
        let loss = run(&mut at_thirty(json!({ "wait": true })), 59_000);
        assert!((1970..=2030).contains(&loss), "{loss}");
    }

    #[test]
    fn a_short_queue_may_be_spared() {
        for (spare, lost) in [(false, 1), (true, 0)] {
            let mut rig = at_thirty(json!({ "weight": 0.001, "spare_short": spare }));
            while rig.probe("average_queue") < 100.0 {
                rig.offer(Time::ZERO, |_| {});
            }
            while rig.held() > 1 {
                rig.take(Time::ZERO);
            }
            rig.record.dropped.clear();
            rig.offer(Time::ZERO, |_| {});
            assert_eq!(rig.record.dropped.len(), lost);
        }
    }

    #[test]
    fn max_p_adapts_until_the_average_is_in_the_middle() {
        let mut rig = at_thirty(json!({ "adapt_every": "500ms", "max_p": 0.02 }));
        let max_p = |rig: &mut Rig, now: Time| {
            // A drop would change the length: what is marked stays and leaves.
            rig.offer(now, |packet| packet.set_ecn(Ecn::Ect0));
            while rig.held() > 0 && rig.probe("average_queue") < rig.held() as f64 {
                rig.take(now);
            }
            rig.probe("max_p")
        };
        // Thirty packets are within the target.
        assert_eq!(max_p(&mut rig, ms(1900)), 0.02);
        while rig.probe("average_queue") < 40.0 {
            rig.offer(ms(1950), |_| {});
        }
        // 2.0 and 2.5 s: by a quarter, then by a hundredth from 0.04 on.
        let rises = [0.025, 0.03125, 0.0390625, 0.048828125, 0.058828125];
        for (step, wanted) in (0..).zip(rises) {
            rig.offer(ms(2000 + 500 * step), |_| {});
            assert!((rig.probe("max_p") - wanted).abs() < 1e-12, "{step} {wanted}");
        }
        // While the link is idle the average falls, and max_p with it, at most to below 0.01.
        while rig.take(ms(4100)).is_some() {}
        rig.offer(ms(9_000_000), |_| {});
        let low = rig.probe("max_p");
        assert!((0.009..0.01).contains(&low), "{low}");
    }

    #[test]
    fn thresholds_and_weight_may_follow_the_link() {
        // 10 Mbit/s are 2500 packets of 500 B a second: 25 in 10 ms, half of them 12.5.
        let effective =
            |block: serde_json::Value| Disciplines::builtin().effective(&block, &SETTING).unwrap();
        let found = effective(json!({ "kind": "red", "target_delay": "10ms" }));
        assert_eq!((&found["min_th"], &found["max_th"]), (&json!("13p"), &json!("39p")));
        let weight = found["weight"].as_f64().unwrap();
        assert!((weight - 0.000_399_920).abs() < 1e-9, "{weight}");
        let found = effective(json!({ "kind": "red", "target_delay": "1ms" }));
        assert_eq!((&found["min_th"], &found["max_th"]), (&json!("5p"), &json!("15p")));
        let given = json!({ "kind": "red", "target_delay": "9ms", "min_th": "7KB", "weight": 0.5 });
        let found = effective(given);
        assert_eq!((&found["max_th"], &found["weight"]), (&json!("21KB"), &json!(0.5)));
        for field in ["target_delay", "adapt_every"] {
            let refused =
                Disciplines::builtin().build(&json!({ "kind": "red", field: "0ms" }), &SETTING);
            assert_eq!(refused.err().unwrap().path, field);
        }
    }

    #[test]
    fn marks_replace_drops_below_max_th_only() {
        let mut rig = at_thirty(json!({ "ecn": true }));
        assert_eq!(run(&mut rig, 20_000), 0);
        assert!((1900..=2100).contains(&rig.record.marked.len()));
        // From 44 packets on, the average (the queue itself) is at max_th and all are dropped.
        let mut rig = at_thirty(json!({ "ecn": true, "gentle": false }));
        while rig.held() < 45 {
            rig.offer(Time::ZERO, |p| p.set_ecn(Ecn::Ect0));
        }
        rig.record.marked.clear();
        assert_eq!(rig.offer(Time::ZERO, |p| p.set_ecn(Ecn::Ect0)), Verdict::Dropped);
        assert!(rig.record.marked.is_empty());
    }

    #[test]
    fn with_the_gaps_of_linux_fewer_are_lost() {
        // Gaps uniform on 1..=20: the mean is 10.5, the variance 33.25; the deviation of 2000 drops
        // is sqrt(21000 * 33.25 / 10.5^3) = 25.
        let loss = run(&mut at_thirty(json!({ "gaps": "linux" })), 21_000);
        assert!((1900..=2100).contains(&loss), "{loss}");
        let both = json!({ "kind": "red", "gaps": "linux", "wait": true });
        let refused = Disciplines::builtin().build(&both, &SETTING).err();
        assert_eq!(refused.unwrap().path, "gaps");
    }

    #[test]
    fn byte_mode_spares_small_packets() {
        // 1000 of 1500 bytes: p_b = 0.05 * 2/3, one in 30; gaps uniform on 1..=29.
        let loss = run(&mut at_thirty(json!({ "byte_mode": true })), 20_000);
        assert!((1240..=1430).contains(&loss), "{loss}");
    }

    #[test]
    fn a_full_buffer_overflows() {
        let mut rig = Rig::new(json!({ "kind": "red", "limit": "3KB" }));
        for _ in 0..4 {
            rig.offer(Time::ZERO, |_| {});
        }
        assert_eq!(rig.record.dropped, [(3, DropReason::Overflow)]);
    }

    #[test]
    fn thresholds_in_bytes_average_bytes() {
        let mut rig =
            Rig::new(json!({ "kind": "red", "min_th": "5KB", "max_th": "15KB", "weight": 0.5 }));
        for _ in 0..3 {
            rig.offer(Time::ZERO, |_| {});
        }
        // Lengths 0, 1000, 2000 with half the weight each: 0, 500, 1250.
        assert_eq!(rig.probe("average_queue"), 1250.0);
    }

    #[test]
    fn the_average_decays_while_the_link_is_idle() {
        let mut rig = Rig::new(json!({ "kind": "red", "weight": 0.5, "mean_packet": "1000B" }));
        rig.offer(Time::ZERO, |_| {});
        rig.offer(Time::ZERO, |_| {});
        rig.offer(Time::ZERO, |_| {});
        assert_eq!(rig.probe("average_queue"), 1.25);
        for _ in 0..3 {
            rig.take(ms(10));
        }
        // 1000 bytes take 0.8 ms: gone at 10.8 ms, and two more could have gone by 12.4 ms.
        rig.offer(Time::from_nanos(12_400_000), |_| {});
        assert!((rig.probe("average_queue") - 1.25 / 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_high_average_does_not_shut_an_idle_link_for_ever() {
        let mut rig = Rig::new(json!({ "kind": "red", "mean_packet": "1000B" }));
        while rig.probe("average_queue") < 40.0 {
            rig.offer(Time::ZERO, |_| {});
        }
        while rig.take(Time::ZERO).is_some() {}
        rig.drops();
        // Senders whose every packet is dropped try again seldom. By 50 ms 61.5 packets could have
        // gone, and 0.998^61.5 of 40 is above 30; by 1.05 s 1311, and 0.998^1311 of 40 below 5.
        rig.offer(ms(50), |_| {});
        assert_eq!(rig.take(ms(50)), None);
        assert_eq!(rig.drops().len(), 1);
        for n in 2..=30 {
            rig.offer(ms(50 * n), |_| {});
            assert!(rig.take(ms(50 * n)).is_some() || n < 21, "refused at {} ms", 50 * n);
        }
    }
}
